"""sysbench's tests: CPU, memory, threads, mutex, files; what they have in common."""
