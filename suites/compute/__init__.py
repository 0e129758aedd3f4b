"""compute: floating-point and integer operations a second with 1 to all threads, a figure every second."""
