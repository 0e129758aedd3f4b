"""Timestamps as they are stored: UTC, ISO 8601."""

from datetime import UTC, datetime


def now() -> str:
    """Return the present time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def seconds_between(earlier: str, later: str) -> float:
    """Return the seconds from one moment to a later one, in UTC, ISO 8601; 0 if one is invalid."""
    try:
        return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def seconds_since(timestamp: str) -> float:
    """Return the seconds that have passed since `timestamp`, in UTC, ISO 8601; 0 if it is invalid."""
    return seconds_between(timestamp, datetime.now(UTC).isoformat())
