"""Runs side by side: whether they differ, by how much, and how sure that is."""
