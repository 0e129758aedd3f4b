"""iperf3: how much a network carries between two hosts, by TCP or UDP, one way or both."""
