"""iperf3: TCP or UDP throughput between two hosts, one way or both."""
