"""The hosts a user has: what is known, kept, installed and put back on them."""
