"""pgbench: PostgreSQL's own benchmark, on the user's server or one started for the test."""
