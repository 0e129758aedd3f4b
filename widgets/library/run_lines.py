"""The runs of the library as lines of words: what the table shows, sorts by and finds. No Qt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from app.records import RunSummary
from app.wording import duration_text
from suites.verdict import Trust
from widgets.parts.names import host_title
from widgets.parts.text import visible

LONGEST = 200
"""Characters of a cell that are shown; the rest is in the tool tip."""

_PREFIXES = {"k": 1e3, "M": 1e6}
_FIGURE = re.compile(r"([\d.]+)([kM]?) ?(.*)", re.DOTALL)

Key = Any
"""What lines are sorted by: of one kind within a column."""


class Column(IntEnum):
    """What the table tells of a run, from left to right."""

    STARTED = 0
    NAME = 1
    HOSTS = 2
    HEADLINE = 3
    STATE = 4
    VERDICT = 5
    TRIALS = 6
    BASELINE = 7
    STEPS = 8
    QUESTION = 9


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in words. `texts` are the cells in the order of Column, `keys` what each column is sorted by."""

    summary: RunSummary
    texts: tuple[str, ...]
    keys: tuple[Key, ...]
    searched: str

    @property
    def id(self) -> str:
        """The run's id."""
        return self.summary.id


def lines_of(runs: Iterable[RunSummary]) -> list[RunLine]:
    """Return a line for each of `runs`."""
    return [_line(run) for run in runs]


def matching(lines: Iterable[RunLine], words: str) -> list[RunLine]:
    """Return the lines in which every one of `words` occurs, however it is written."""
    wanted = words.casefold().split()
    return [line for line in lines if all(word in line.searched for word in wanted)]


def in_order(lines: Iterable[RunLine], column: Column, *, descending: bool) -> list[RunLine]:
    """Return `lines` sorted by `column`; runs that agree in it stay with the newest first."""
    newest_first = sorted(lines, key=lambda line: (line.summary.started, line.id), reverse=True)
    return sorted(newest_first, key=lambda line: line.keys[column], reverse=descending)


def baseline_first(lines: Sequence[RunLine]) -> list[str]:
    """Return the ids of `lines` as they are compared: a pinned run is the baseline, else the oldest."""
    return [line.id for line in sorted(lines, key=lambda line: (line.summary.baseline is None, line.summary.started))]


def local_time(moment: str) -> str:
    """Return a moment (ISO 8601) as the reader's clock shows it, or as it is written where that cannot be told.

    A day alone, as published tables have it, stays one.
    """
    if len(moment) == len("2026-01-31"):
        return visible(moment)
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return visible(moment)


def took(run: RunSummary) -> str:
    """Return how long a run took, or an empty string where that is not known."""
    try:
        began, ended = datetime.fromisoformat(run.started), datetime.fromisoformat(run.ended or "")
        return duration_text((ended - began).total_seconds())
    except (ValueError, TypeError):  # TypeError: one of them names no time zone
        return ""


def _line(run: RunSummary) -> RunLine:
    hosts = ", ".join(host_title(host) for host in run.hosts)
    whole = (
        local_time(run.started), run.name, hosts, run.headline or "—", run.standing, run.trust,
        str(run.trials), run.baseline or "", ", ".join(run.steps), run.question,
    )  # fmt: skip
    texts = tuple(_cell(text) for text in whole)
    keys: list[Key] = [text.casefold() for text in texts]
    keys[Column.STARTED], keys[Column.HEADLINE], keys[Column.TRIALS] = run.started, _size(run.headline), run.trials
    keys[Column.VERDICT] = Trust(run.trust).rank if run.trust in set(Trust) else -1
    searched = " ".join([*whole, *run.hosts, *run.suites, run.id]).casefold()
    return RunLine(run, texts, tuple(keys), searched)


def _cell(text: str) -> str:
    return " ".join(visible(text[:LONGEST]).split())


def _size(headline: str) -> tuple[str, float]:
    """Return a figure in words as something to sort by: its unit, then how large it is."""
    found = _FIGURE.fullmatch(headline)
    try:
        return (found[3], float(found[1]) * _PREFIXES.get(found[2], 1.0)) if found else (headline, 0.0)
    except ValueError:  # several points
        return headline, 0.0
