"""Ranking of candidates by the criteria of the user."""
