"""latency-under-load: round trips of the idle network, then while iperf3 loads it: the difference is the queue."""
