"""Investigations: a question with runs, comparisons, notes and a conclusion."""
