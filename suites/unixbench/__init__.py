"""unixbench: the BYTE UNIX benchmarks, from where the user has them or out of an archive."""
