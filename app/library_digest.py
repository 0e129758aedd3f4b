"""What the window shows of the library everywhere: numbers of runs, saved searches, the last result of each host."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from app.library_rows import LibraryRow, LibraryRows
from app.run_filter import parse_filter
from app.run_matching import matcher

if TYPE_CHECKING:
    from app.summary import MetricSummary

TODAY, BASELINES, ALL, BIN = "since:today", "baseline:yes", "", "bin:yes"
"""Filters of the library that the window offers."""

MOST_READ = 3
"""Most runs of a host that are read for its last result: it may never have had one."""


@dataclass(frozen=True, slots=True)
class HostResult:
    """The first metric that a run measured on a host, with its verdict there."""

    row: LibraryRow
    figure: "MetricSummary"


FiguresReader = Callable[[LibraryRow], "Mapping[str, MetricSummary]"]
"""Returns the first metric of a run by host."""


@dataclass(frozen=True, slots=True)
class LibraryDigest:
    """The number of runs by filter, the saved searches, and the newest result of each host."""

    counts: Mapping[str, int] = field(default_factory=dict)
    searches: Mapping[str, str] = field(default_factory=dict)
    last: Mapping[str, HostResult] = field(default_factory=dict)
    empty: bool = True  # no run, not even in the bin


def digest_of(library: LibraryRows, now: datetime, figures: FiguresReader) -> LibraryDigest:
    """Return the digest of a library at `now`."""

    def count(text: str) -> int:
        return len(matcher(parse_filter(text), library, lambda _name: {}, now)(library.rows))

    counts = {text: count(text) for text in (TODAY, BASELINES, ALL, BIN)}
    return LibraryDigest(counts, library.searches, _last_results(library, figures), not library.rows)


def _last_results(library: LibraryRows, figures: FiguresReader) -> Mapping[str, HostResult]:
    last, reads = dict[str, HostResult](), Counter[str]()
    for row in library.rows:  # the newest first
        if row.binned or not row.headline:
            continue
        if missing := [host for host in row.summary.hosts if host not in last and reads[host] < MOST_READ]:
            reads.update(missing)
            last = {host: HostResult(row, one) for host, one in figures(row).items()} | last
    return last
