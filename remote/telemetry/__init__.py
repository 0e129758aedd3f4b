"""A host watched while it works."""
