"""Comparison of runs: ratios to a baseline with 95 % intervals, and verdicts."""
