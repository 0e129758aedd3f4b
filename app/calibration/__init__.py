"""Calibration: overhead of measuring on a host, and noise of its results within and between sessions."""
