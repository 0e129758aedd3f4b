"""pgbench: PostgreSQL's own benchmark, of a server the user names or of one started for the purpose."""
