"""What the window shows of the library everywhere: numbers of runs, saved searches, the last result of each host."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.library_rows import LibraryRow, LibraryRows
from app.run_filter import parse_filter
from app.run_matching import matcher

TODAY, BASELINES, ALL, BIN = "since:today", "baseline:yes", "", "bin:yes"
"""Filters of the library that the window offers."""


@dataclass(frozen=True, slots=True)
class LibraryDigest:
    """The number of runs by filter, the saved searches, and the newest run with a figure of each host."""

    counts: Mapping[str, int] = field(default_factory=dict)
    searches: Mapping[str, str] = field(default_factory=dict)
    last: Mapping[str, LibraryRow] = field(default_factory=dict)
    empty: bool = True  # no run, not even in the bin


def digest_of(library: LibraryRows, now: datetime) -> LibraryDigest:
    """Return the digest of a library at `now`."""

    def count(text: str) -> int:
        return len(matcher(parse_filter(text), library, lambda _name: {}, now)(library.rows))

    counts = {text: count(text) for text in (TODAY, BASELINES, ALL, BIN)}
    return LibraryDigest(counts, library.searches, _last_runs(library), not library.rows)


def _last_runs(library: LibraryRows) -> Mapping[str, LibraryRow]:
    last = dict[str, LibraryRow]()
    for row in library.rows:  # the newest first
        new = [host for host in row.summary.hosts if host not in last]
        if new and not row.binned and row.headline:
            last |= dict.fromkeys(new, row)
    return last
