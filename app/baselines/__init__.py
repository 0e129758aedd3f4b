"""Baselines: pinned runs, groups of runs, and published tables."""
