"""Verdicts: findings during trials, and how far a result can be trusted."""
