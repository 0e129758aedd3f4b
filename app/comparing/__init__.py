"""Runs beside each other: what may be compared, how sure a ratio is, and what may be said of it."""
