"""Suites: parameters, commands and output parsers of each test, in plain Python without I/O."""
