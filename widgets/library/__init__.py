"""The library: every run that was kept, and what was measured in it."""
