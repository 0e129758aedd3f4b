"""fio: disk I/O in any pattern of reads and writes."""
