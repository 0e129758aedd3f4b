"""Hosts page and dialogs about hosts."""
