"""Outputs of tools that ran elsewhere: recognised in pasted text and files, judged, imported."""
