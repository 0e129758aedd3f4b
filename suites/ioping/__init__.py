"""ioping: the latency of single requests, as ping is for a network."""
