"""A metric over time, and where its level changed."""
