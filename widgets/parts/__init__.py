"""What pages are made of: text, notices, tables, cards, questions."""
