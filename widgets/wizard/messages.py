"""Texts of facts and estimates. No Qt."""

from collections.abc import Iterable

from suites.quantities import duration_text, quantity

UNKNOWN = "unknown"


def duration(seconds: float | None) -> str:
    """Return `seconds` as text, or ``unknown`` for None."""
    return UNKNOWN if seconds is None else duration_text(seconds)


def size(value: int | None) -> str:
    """Return bytes in binary units: a dash for 0, ``unknown`` for None."""
    if value is None:
        return UNKNOWN
    return quantity(value) if value else "–"


def listed(names: Iterable[str], limit: int = 3) -> str:
    """Return up to `limit` names and the number of the others: ``a, b, c and 2 more``."""
    all_names = list(names)
    more = f" and {len(all_names) - limit} more" if len(all_names) > limit else ""
    return ", ".join(all_names[:limit]) + more
