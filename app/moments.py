"""Moments as they are stored, and how long ago something was, as roughly as people say it."""

from datetime import UTC, datetime

_STEPS = ((120.0, 1.0, "s"), (7200.0, 60.0, "min"), (48 * 3600.0, 3600.0, "h"))


_YEARS_FROM = 730
"""Days from which an age is told in years."""


def now() -> str:
    """Return the moment in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def age_text(seconds: float) -> str:
    """Return an age: ``45 s``, ``12 min``, ``5 h``, ``3 d``, ``11 years``. What lies ahead by some clock is now."""
    for limit, unit, name in _STEPS:
        if seconds < limit:
            return f"{max(0.0, seconds) / unit:.0f} {name}"
    days = seconds / 86400
    return f"{days:.0f} d" if days < _YEARS_FROM else f"{days / 365.25:.0f} years"
