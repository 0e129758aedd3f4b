"""Progress of several runs at once: their trials, figures, verdicts and most severe findings, no samples."""

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from app.events import State
from app.fleet_study import FigureKey, RunProgress
from app.store import run_reader, schema
from app.timestamps import seconds_between
from suites.verdict import Trust
from suites.vocab import Severity

_AT_A_TIME = 400
"""Runs of one query."""


class _Trial(NamedTuple):
    number: int
    step: str
    place: int
    warm_up: bool
    state: str
    version: str | None
    started: str
    ended: str | None

    @property
    def counted(self) -> bool:
        return not self.warm_up and self.state == State.DONE.value


def progress_of(
    connection: Connection, runs: Sequence[str], metrics: Collection[str] | None = None
) -> Mapping[str, RunProgress]:
    """Return the progress of each of `runs` that is in the library, not in its bin.

    Of its figures only those of `metrics`, by name.
    """
    found: dict[str, RunProgress] = {}
    for start in range(0, len(runs), _AT_A_TIME):
        found.update(_progress(connection, runs[start : start + _AT_A_TIME], metrics))
    return found


def _progress(
    connection: Connection, runs: Sequence[str], metrics: Collection[str] | None
) -> Iterator[tuple[str, RunProgress]]:
    trials = schema.trials.c
    columns = (trials.id, trials.step, trials.number, trials.warm_up, trials.state, trials.tool_version)
    times = (trials.started, trials.ended)
    stored = select(schema.runs.c.id).where(schema.runs.c.id.in_(runs), schema.runs.c.id.not_in(run_reader.binned()))
    of_runs: dict[str, list[_Trial]] = {run: [] for run in connection.execute(stored).scalars()}
    query = select(trials.run_id, *columns, *times).where(trials.run_id.in_(runs))
    for run, *trial in connection.execute(query.order_by(trials.id)):
        if run in of_runs:
            of_runs[run].append(_Trial(*trial))
    steps = {(run, one.number): one.step for run, found in of_runs.items() for one in found if one.counted}
    figures = _figures(connection, runs, steps, metrics)
    trusts = _trusts(connection, runs)
    findings = _findings(connection, runs)
    for run, found in of_runs.items():
        own = trusts.get(run, {})
        under_way = next((one for one in reversed(found) if one.state == State.RUNNING.value), None)
        counted = [one for one in found if one.counted]
        severity, title = findings.get(run, (None, ""))
        yield (
            run,
            RunProgress(
                ended=sum(one.state != State.RUNNING.value for one in found),
                counted=len(counted),
                step=under_way.step if under_way else "",
                trial=under_way.place if under_way else 0,
                figures={key: tuple(values) for key, values in figures.get(run, {}).items()},
                versions=_versions((one.step, one.version) for one in counted),
                seconds=_seconds(counted),
                trusts={step: trust for step, trust in own.items() if step is not None},
                trust=own.get(None),
                finding=title,
                severity=severity,
            ),
        )


def _versions(trials: Iterable[tuple[str, str | None]]) -> Mapping[str, frozenset[str]]:
    """Return the versions of the tool by step; none for a step with a trial of an unknown one."""
    found: dict[str, set[str | None]] = defaultdict(set)
    for step, version in trials:
        found[step].add(version or None)
    return {step: frozenset(filter(None, own)) if None not in own else frozenset() for step, own in found.items()}


def _seconds(trials: Iterable[_Trial]) -> Mapping[str, float]:
    """Return the median seconds of a trial by step, of those whose end is known."""
    found: dict[str, list[float]] = defaultdict(list)
    for one in trials:
        if one.ended is not None and (seconds := seconds_between(one.started, one.ended)) > 0:
            found[one.step].append(seconds)
    return {step: statistics.median(own) for step, own in found.items()}


def _figures(
    connection: Connection,
    runs: Sequence[str],
    steps: Mapping[tuple[str, int], str],
    metrics: Collection[str] | None,
) -> Mapping[str, Mapping[FigureKey, list[float]]]:
    figures = schema.figures.c
    known = {
        number: metric
        for number, metric in run_reader.metrics_by_id(connection).items()
        if metrics is None or metric.name in metrics
    }
    query = select(figures.run_id, figures.trial, figures.metric, figures.labels, figures.value)
    query = query.where(figures.run_id.in_(runs), figures.metric.in_(known)).order_by(figures.trial, figures.id)
    found: dict[str, dict[FigureKey, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run, trial, metric, labels, value in connection.execute(query):
        step = steps.get((run, trial))
        if step is not None:
            found[run][step, known[metric], run_reader.read_labels(labels)].append(value)
    return found


def _trusts(connection: Connection, runs: Sequence[str]) -> Mapping[str, dict[str | None, Trust]]:
    verdicts = schema.verdicts.c
    found: dict[str, dict[str | None, Trust]] = defaultdict(dict)
    query = select(verdicts.run_id, verdicts.step, verdicts.level).where(verdicts.run_id.in_(runs))
    for run, step, level in connection.execute(query):
        found[run][step] = Trust(level)
    return found


def _findings(connection: Connection, runs: Sequence[str]) -> Mapping[str, tuple[Severity, str]]:
    """Return the most severe finding of each run, the latest of equal ones; without remarks."""
    findings = schema.findings.c
    query = select(findings.run_id, findings.level, findings.title)
    query = query.where(findings.run_id.in_(runs), findings.level != Severity.INFO.value).order_by(findings.id)
    found: dict[str, tuple[Severity, str]] = {}
    for run, level, title in connection.execute(query):
        severity = Severity(level)
        if run not in found or severity.rank >= found[run][0].rank:
            found[run] = severity, title
    return found
