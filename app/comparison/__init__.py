"""Comparison of runs: comparability, ratios with intervals, and verdicts."""
