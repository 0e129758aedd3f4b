"""Runs: execution of a plan, and attaching to a detached run."""
