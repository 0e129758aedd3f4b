"""Runs of the library as table rows: sort keys, search text and formatting. No Qt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.records import RunSummary
from app.summary import MetricSummary
from suites.quantities import duration_text, uncertainty_text
from suites.verdict import Trust
from widgets.parts.names import MISSING, host_title
from widgets.parts.text import visible

LONGEST = 200
"""Characters shown in a cell; the tooltip has the full text."""

_PREFIXES = {"k": 1e3, "M": 1e6}
_FIGURE = re.compile(r"([\d.]+)([kM]?) ?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run of the library and its case-folded search text."""

    summary: RunSummary
    searched: str

    @property
    def id(self) -> str:
        """The run's id."""
        return self.summary.id


def lines_of(runs: Iterable[RunSummary]) -> list[RunLine]:
    """Return a line for each of `runs`."""
    return [_line(run) for run in runs]


def half_interval_text(summary: MetricSummary) -> str:
    """Return the 95 % interval by the distance of its upper end, without its unit."""
    half = summary.uncertainty
    return uncertainty_text(summary.metric, summary.value, half) if half else MISSING


def baseline_first(lines: Sequence[RunLine]) -> list[str]:
    """Return the ids of `lines` in comparison order: a pinned run first, else the oldest."""
    return [line.id for line in sorted(lines, key=lambda line: (line.summary.baseline is None, line.summary.started))]


def local_time(moment: str) -> str:
    """Return an ISO 8601 timestamp in local time, or unchanged if it cannot be parsed.

    A bare date, as in published tables, stays a date.
    """
    if len(moment) == len("2026-01-31"):
        return visible(moment)
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return visible(moment)


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


def headline_key(line: RunLine) -> tuple[str, float]:
    """Return the sort key of a run's headline: unit, then value."""
    headline = line.summary.headline
    found = _FIGURE.fullmatch(headline)
    try:
        return (found[3], float(found[1]) * _PREFIXES.get(found[2], 1.0)) if found else (headline, 0.0)
    except ValueError:  # several decimal points
        return headline, 0.0


def verdict_key(line: RunLine) -> int:
    """Return the rank of a run's verdict, -1 without one."""
    return Trust(line.summary.trust).rank if line.summary.trust in set(Trust) else -1


def _line(run: RunSummary) -> RunLine:
    hosts = map(host_title, run.hosts)
    texts = (
        local_time(run.started), run.name, *hosts, run.headline, run.status, run.trust, str(run.trials),
        run.baseline or "", *run.steps, run.question, *run.hosts, *run.suites, run.id,
        run.session.series if run.session else "",
    )  # fmt: skip
    return RunLine(run, " ".join(texts).casefold())
