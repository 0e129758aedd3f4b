"""Telemetry: samples of a host's counters during a run."""
