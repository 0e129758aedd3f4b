"""sysbench's tests: CPU, memory, threads, mutex, files, and their shared code."""
