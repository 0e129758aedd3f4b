"""Tests on a real sshd and real tools."""
