"""Access to hosts: the only package that uses paramiko, subprocess and shell scripts."""
