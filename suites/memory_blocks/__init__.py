"""memory-blocks: copying, reading and writing blocks of any size, in order or at random; latency by working set."""
