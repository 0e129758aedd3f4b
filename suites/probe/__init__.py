"""Probes of our own: built where they run, and what they print."""
