"""fio-sweep: IOPS and latency of a disk over queue depth, jobs and block size, with the knee of each curve."""
