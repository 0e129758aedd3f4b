"""Scaling over threads, depth, jobs or streams: curves, knee, efficiency, and fitted models."""
