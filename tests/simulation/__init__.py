"""Simulated trials with known truth, for what statistics promise: coverage, false alarms, power, trials needed."""
