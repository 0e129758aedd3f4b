"""Shared widgets: text, notices, tables, finding cards, dialogs."""
