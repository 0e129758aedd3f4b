"""sysbench OLTP: transactions on PostgreSQL, MySQL or MariaDB, on the user's server or one started for the test."""
