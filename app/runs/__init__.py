"""Runs: a plan as it is executed, from the first connection to the last fact, and taken up again where it was left."""
