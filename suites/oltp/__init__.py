"""sysbench OLTP: transactions on PostgreSQL, MySQL or MariaDB, named by the user or started for the purpose."""
