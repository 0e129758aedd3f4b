"""Parsers of the output of facts.sh: pure functions, one module for each part of the Facts."""
