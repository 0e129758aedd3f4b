"""Timestamps as they are stored: UTC, ISO 8601."""

from datetime import UTC, datetime


def now() -> str:
    """Return the present time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def seconds_since(timestamp: str) -> float:
    """Return the seconds that have passed since `timestamp`, in UTC, ISO 8601; 0 if it is invalid."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
