"""When an output was measured, by the time that it states."""

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

from suites.outputs import OutputStart, StartOf

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

MOST_TIMES = 10_000
"""Times of an output that are read: of fio one for each second and job."""

CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:\.\d{1,9})?"
ZONE = r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)"

DATE = r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)"
ISO = rf"{DATE}[T ]{CLOCK} ?{ZONE}?"
"""2026-11-28T10:02:33.120+0200"""
CTIME = rf"[A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) {CLOCK} (?P<year>\d{{4}})"
"""Sat Nov 28 10:02:33 2026, as C writes it: local time."""


EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
"""No earlier start is believed: a clock that was not set counts from 1970 or 1980."""

AHEAD = timedelta(days=1)
"""How far a start may be after the import: clocks differ, and so do time zones."""


def is_possible(start: datetime) -> bool:
    """Return whether something measured by now can have begun at `start`."""
    return EARLIEST <= start <= datetime.now(UTC) + AHEAD


def start_in(*patterns: str) -> StartOf:
    """Return the reader of the first time in a text: of the first pattern that has one.

    Its groups are year, month (number or English), day, hour, minute, second, and `zone` and `half` (AM, PM) if it has
    them; or `epoch`, seconds since 1970.
    """
    compiled = [re.compile(pattern, re.MULTILINE) for pattern in patterns]

    def read(text: str) -> OutputStart | None:
        for pattern in compiled:
            found = [start for match in _first(pattern, text) if (start := _start(match)) is not None]
            if found:
                return min(found, key=lambda start: start.moment)
        return None

    return read


def start_before_end(ends: re.Pattern[str], lengths: re.Pattern[str]) -> StartOf:
    """Return the reader of an output that states when it ended: the longest time it took is taken off.

    `lengths` has the group `s` of seconds or `ms` of milliseconds. Each time that `ends` matches is the end of the
    lengths after it, up to the next one.
    """

    def read(text: str) -> OutputStart | None:
        found = list(_first(ends, text))
        starts = []
        for match, following in itertools.zip_longest(found, found[1:]):
            end = _start(match)
            stop = len(text) if following is None else following.start()
            taken = max(map(_seconds, lengths.finditer(text, match.end(), stop)), default=0.0)
            if end is not None and (start := _earlier(end, taken)) is not None:
                starts.append(start)
        return min(starts, key=lambda start: start.moment, default=None)

    return read


def _first(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return itertools.islice(pattern.finditer(text), MOST_TIMES)


def _seconds(match: re.Match[str]) -> float:
    given = match.groupdict()
    return float(given["s"]) if given.get("s") else float(given.get("ms") or 0) / 1000


def _earlier(end: OutputStart, seconds: float) -> OutputStart | None:
    try:
        return OutputStart(end.moment - timedelta(seconds=seconds), zone=end.zone)
    except OverflowError:
        return None


def _start(match: re.Match[str]) -> OutputStart | None:
    """Return the time of a match; None for one that is no date."""
    given = match.groupdict()
    try:
        if given.get("epoch") is not None:
            return OutputStart(datetime.fromtimestamp(float(given["epoch"]), UTC), zone=True)
        hour = int(given["hour"])
        if given.get("half"):
            hour = hour % 12 + (12 if given["half"].upper() == "PM" else 0)
        local = datetime(
            int(given["year"]), _month(given["month"]), int(given["day"]), hour, int(given["minute"]),
            int(given["second"]), tzinfo=_zone(given.get("zone")),
        )  # fmt: skip
        return OutputStart(local.astimezone(UTC), zone=bool(given.get("zone")))
    except (ValueError, OverflowError, OSError):
        return None


def _month(text: str) -> int:
    return int(text) if text.isdecimal() else _MONTHS.index(text.lower()[:3]) + 1


def _zone(text: str | None) -> timezone:
    """Return a time zone; UTC without one, and for names of it."""
    if not text or text[0] not in "+-":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)
