"""How a host is reached: the only place that knows paramiko, subprocess and the shell."""
