"""Formatting and order of runs in tables. No Qt."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from app.events import State
from app.library_rows import LibraryRow
from app.library_table import local_moment
from app.natural_order import natural_key
from app.plans.plan import ELSEWHERE
from app.records import RunSummary
from suites.quantities import duration_text, uncertainty_text
from suites.verdict import Trust
from widgets.parts.names import MISSING
from widgets.parts.text import visible

if TYPE_CHECKING:
    from app.history import HistoryPoint
    from app.store.run_transfer import FinishedRun
    from app.summary import MetricSummary  # with all suites, which the first window does not need
    from widgets.parts.dialogs import QuestionDialog

LONGEST = 200
"""Characters shown in a cell; the tooltip has the full text."""

LISTED = 6
"""Runs that a question lists by name; the rest is a count."""

TREND = 30
"""Runs in a trend."""

Trends = Mapping[str, tuple[tuple[float, ...], int]]
"""The headline values of the runs of the same tests, parameters and hosts, and which is the run's, by run."""


def half_interval_text(summary: "MetricSummary") -> str:
    """Return the 95 % interval by the distance of its upper end, without its unit."""
    half = summary.uncertainty
    return uncertainty_text(summary.metric, summary.value, half) if half else MISSING


def baseline_first(rows: Sequence[LibraryRow]) -> list[str]:
    """Return the ids of `rows` in comparison order: a pinned run first, else the oldest."""
    return [row.id for row in sorted(rows, key=lambda row: (row.summary.baseline is None, row.summary.started))]


def local_time(moment: str) -> str:
    """Return an ISO 8601 timestamp in local time, or unchanged if it cannot be parsed.

    A bare date, as in published tables, stays a date.
    """
    return visible(moment if len(moment) == len("2026-01-31") else local_moment(moment))


def run_start(run: "RunSummary | HistoryPoint | FinishedRun") -> str:
    """Return the start of a run in local time; that of an import is marked."""
    return run.start_text(local_time(run.started))


def run_duration(run: RunSummary) -> str:
    """Return the duration of a run, or an empty string if unknown."""
    try:
        began, ended = datetime.fromisoformat(run.started), datetime.fromisoformat(run.ended or "")
        return duration_text((ended - began).total_seconds())
    except (ValueError, TypeError):  # TypeError: only one of them has a time zone
        return ""


def one_line(text: str) -> str:
    """Return `text` cut to LONGEST characters, in one line."""
    return " ".join(visible(text[:LONGEST]).split())


@dataclass(frozen=True, slots=True)
class LibrarySummary:
    """What the page shows of all rows. `unjudged` are the runs without a verdict, and those under way."""

    binned: int
    needed: frozenset[str]
    tags: tuple[str, ...]
    unjudged: tuple[RunSummary, ...]


def summary_of(rows: Sequence[LibraryRow]) -> LibrarySummary:
    """Return the summary of rows."""
    tags = {tag for row in rows for tag in row.annotation.tags}
    runs = [row.summary for row in rows]
    states = {row.summary.state for row in rows}
    present = {"state": bool(states - {State.DONE}), "baseline": any(row.baselines for row in rows), "tag": bool(tags)}
    return LibrarySummary(
        sum(row.binned for row in rows),
        frozenset(name for name, there in present.items() if there),
        tuple(sorted(tags, key=natural_key)),
        tuple(run for run in runs if not run.trust or run.state is State.RUNNING),
    )


def trend_obstacle(row: LibraryRow) -> str:
    """Return why a run is in no trend; empty if it is in one, be it the only run."""
    if row.value is None or not row.configurations:
        return "The run has no headline figure."
    if ELSEWHERE in row.summary.hosts:
        return "The host is not known: no host was given at the import."
    if row.summary.trust == Trust.INVALID:
        return "The result is invalid."
    return "The run is in the bin." if row.binned else ""


def trends_of(rows: Iterable[LibraryRow]) -> Trends:
    """Return the trend of each run that is not the only one of its tests and hosts: TREND runs around it."""
    series: dict[tuple[object, ...], list[LibraryRow]] = {}
    for row in rows:
        if not trend_obstacle(row):
            key = (row.fingerprints, row.summary.hosts, None if row.metric is None else row.metric.name)
            series.setdefault(key, []).append(row)
    found: dict[str, tuple[tuple[float, ...], int]] = {}
    for members in (each for each in series.values() if len(each) > 1):
        ordered = sorted(members, key=lambda row: row.summary.started)
        values = tuple(row.value for row in ordered if row.value is not None)
        for at, row in enumerate(ordered):
            first = max(0, min(at - TREND // 2, len(values) - TREND))
            found[row.id] = (values[first : first + TREND], at - first)
    return found


def lock_text(row: LibraryRow) -> str:
    """Return why a run is locked, in one line; empty if it is not."""
    return f"Locked: {one_line(row.lock)}" if row.lock else ""


def list_runs(question: "QuestionDialog", runs: Sequence[tuple[str, str]]) -> None:
    """List the first runs in a question, each with its written start and a text, and the number of the others."""
    for started, text in runs[:LISTED]:
        question.add_fact(started, one_line(text))
    if len(runs) > LISTED:
        question.add_fact("", f"and {len(runs) - LISTED} more")
