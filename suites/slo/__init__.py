"""SLO search: the highest rate of an open loop within a latency target, with fio and pgbench."""
