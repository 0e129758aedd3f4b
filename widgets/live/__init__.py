"""The live view: a run as it happens, and a stored one as it was."""
