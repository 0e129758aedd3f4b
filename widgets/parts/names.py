"""Display names of hosts and icons of verdict levels. No Qt."""

from collections.abc import Mapping

from app.plans.plan import LOCAL, host_label
from suites.verdict import Trust

MOST_NAME = 220
"""Greatest width in pixels of the names of hosts in a table; a longer one is cut, and its tool tip has it."""

MISSING = "—"
"""Shown for a missing value."""

__all__ = ["MISSING", "host_label", "host_title", "step_host_label"]


def host_title(name: str) -> str:
    """Return the display name of a host as a title."""
    return "This computer" if name == LOCAL else name


def step_host_label(step: str | None, host: str | None) -> str:
    """Return the step and host of a finding: ``fio · i-0ab1``."""
    return " · ".join(part for part in (step, host_label(host) if host else None) if part)


MARKS: Mapping[Trust, str] = {
    Trust.VALID: "good",
    Trust.UNVERIFIED: "unknown",
    Trust.CAVEATS: "info",
    Trust.UNDECIDED: "undecided",
    Trust.DOUBTFUL: "warning",
    Trust.INVALID: "error",
}
"""Icons that differ in shape, not only in colour: tick, dotted ring, ring with an i, question, triangle, cross."""


def mark_of(level: str) -> str:
    """Return the icon of a verdict level given as text; empty without a verdict."""
    return MARKS[Trust(level)] if level in set(Trust) else ""
