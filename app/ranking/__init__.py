"""Which is best, as the user defines it."""
