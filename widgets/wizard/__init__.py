"""The wizard: hosts, tests, parameters, findings, review."""
