"""Checks of hosts, plans, steps and trials, before, during and after a run."""
