"""Outputs of tools that ran elsewhere: opened, pasted or dropped, judged and imported."""
