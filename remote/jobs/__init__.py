"""Detached jobs on a host, their private workspaces, and leases that show who is measuring."""
