"""dd: a sequential copy in one process."""
