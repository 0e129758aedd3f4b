"""Noise as a result: what is the most repeatable."""
