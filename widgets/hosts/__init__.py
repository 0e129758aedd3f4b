"""The page of hosts, and every dialog about one of them."""
