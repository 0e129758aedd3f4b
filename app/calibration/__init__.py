"""Calibration: overhead of measuring on a host, and noise of its results (A/A test)."""
