"""Rebuild the model of a stored run by replaying its events. No Qt."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np

from app.events import (
    Event,
    FactsRead,
    Moment,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    TrialEnded,
    TrialStarted,
    VerdictReached,
)
from app.records import RunRecord, SampleSeries, TrialRecord
from app.runs.policies import replayed
from suites.outputs import ParsedTrial
from suites.quantities import duration_text
from suites.vocab import Sample
from widgets.live.model import GAP, RunModel, TrialView
from widgets.plots.timeline import MarkKind, PlotMark

TimedEvents = Iterator[tuple[Event, float]]


def stored(record: RunRecord, samples: SampleSeries, telemetry: Mapping[str, tuple[Sample, ...]]) -> RunModel:
    """Return the model of a stored run at its end. Its clock is UTC in seconds since 1970."""
    model = RunModel(record.plan)
    for event, now in _replayed(record, samples, telemetry):
        model.fold(event, now)
    for view in model.trials.values():
        model.marks.setdefault(view.trial.host, []).extend(_silences(model, view))
    return model


def _silences(model: RunModel, view: TrialView) -> Iterator[PlotMark]:
    """Yield the gaps in the telemetry of a host during a trial, which a lost connection leaves."""
    watched = model.telemetry.get(view.trial.host, {}).values()
    longest = max(watched, key=lambda series: len(series.buffer), default=None)
    if view.zero is None or longest is None:
        return
    times = longest.buffer.times()
    times = times[(times >= view.zero) & (times <= view.zero + view.latest()) & np.isfinite(longest.buffer.values())]
    for index in np.flatnonzero(np.diff(times) > GAP):
        lost, back = float(times[index]), float(times[index + 1])
        yield PlotMark(lost, f"no telemetry for {duration_text(round(back - lost))}", MarkKind.LINK)


def _replayed(record: RunRecord, samples: SampleSeries, telemetry: Mapping[str, tuple[Sample, ...]]) -> TimedEvents:
    summary = record.summary
    began = _timestamp(summary.started, 0.0)
    yield RunStarted(summary.id, record.plan, summary.started), began
    for host, facts in record.facts_before.items():
        yield FactsRead(host, Moment.BEFORE, facts), began
    for raised in record.raised:
        yield raised, began
    for host, watched in telemetry.items():
        yield TelemetryRead(host, watched), began
    decided = replayed(record)
    for trial in record.trials:
        yield from _trial(record, trial, samples.get(trial.trial.id, ()))
        if trial.trial.id in decided:
            yield decided[trial.trial.id], _timestamp(trial.ended, began)
    for verdict in record.verdicts:
        yield VerdictReached(verdict), began
    if summary.state is not State.RUNNING:
        over = RunEnded(
            summary.id, summary.state, record.reason, record.telemetry_cost, telemetry_program=record.telemetry_program
        )
        yield over, _timestamp(summary.ended, began)


def _trial(record: RunRecord, stored_trial: TrialRecord, samples: tuple[Sample, ...]) -> TimedEvents:
    trial = stored_trial.trial
    began = _timestamp(trial.started, 0.0)
    yield TrialStarted(trial, None), began
    interval = record.interval(stored_trial, samples)
    origin = None if interval is None else interval.origin
    for sample in samples:
        yield SampleRead(trial.id, sample, origin), began
    if stored_trial.state is not State.RUNNING:
        parsed = ParsedTrial(stored_trial.figures, (), stored_trial.notes, stored_trial.state is State.DONE)
        ended = TrialEnded(trial.id, stored_trial.state, stored_trial.exit_status, parsed, stored_trial.reason)
        ended = replace(ended, origin=origin, ended_clock=stored_trial.ended_clock)
        yield ended, _timestamp(stored_trial.ended, began)


def _timestamp(text: str | None, default: float) -> float:
    """Return a time in ISO 8601 as seconds since 1970, or `default` if it is missing or malformed."""
    try:
        return default if text is None else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return default
