"""Hosts: saved entries, credentials, leftovers, package installation."""
