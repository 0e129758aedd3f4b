"""Version of the checks: a verdict of an earlier one is judged again from what is stored."""

CHECKS_VERSION = 7
"""Version of everything that decides a verdict on stored evidence: checks, limits, parsers and the verdict itself.

Raise it when a verdict on a stored run may change. tests/app/test_checks_version.py fails when the code that decides,
or a verdict on captured results, has changed without it.
"""
