"""net-blocks: throughput and round trips between two hosts by buffer size, protocol and flows."""
