"""The mark of each level of a verdict, which is its severity, too. No Qt."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.verdict import Trust

MARKS: Mapping[Trust, str] = MappingProxyType(
    {Trust.VALID: "good", Trust.CAVEATS: "info", Trust.DOUBTFUL: "warning", Trust.INVALID: "error"}
)
"""A tick, a ring with an i, a triangle, a circle with a cross: told apart without colour."""


def mark_of(level: str) -> str:
    """Return the mark of a level in words; empty where a run was never judged."""
    return MARKS[Trust(level)] if level in set(Trust) else ""
