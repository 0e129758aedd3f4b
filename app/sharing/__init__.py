"""Sharing of runs with others: what identifies hosts and people is replaced, texts for tickets, reports in one file."""
