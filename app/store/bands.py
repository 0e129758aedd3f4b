"""What the pinned runs say about a step: the band that is drawn under its curve."""

import statistics
from collections import defaultdict
from collections.abc import Iterator

from sqlalchemy import Connection, select

from app.plan import Step
from app.records import Band, RunRecord, SampleSeries, TrialRecord
from app.store import reading, schema
from suites.vocab import Figure, Labels, Metric

Key = tuple[Metric, Labels]


def bands(connection: Connection, step: Step, host: str) -> list[Band]:
    """Return the bands of every pinned run that measured the same as `step`, the newest pinned first."""
    pins = schema.pins.c
    found: list[Band] = []
    for name, run_id in connection.execute(select(pins.name, pins.run_id).order_by(pins.id.desc())):
        record = reading.record(connection, run_id)
        trials = _matching(record, step, host)
        if trials:
            found += _bands(name, run_id, trials, reading.samples(connection, run_id))
    return found


def _matching(record: RunRecord, step: Step, host: str) -> list[TrialRecord]:
    """Return the trials that measured the same: on `host` where the run has such, else on any host."""
    wanted = step.fingerprint()
    names = [known.name for known in record.plan.steps if known.fingerprint() == wanted]
    trials = [trial for name in names for trial in record.trials_of(name)]
    return [trial for trial in trials if trial.trial.host == host] or trials


def _bands(name: str, run_id: str, trials: list[TrialRecord], series: SampleSeries) -> Iterator[Band]:
    figures: dict[Key, list[float]] = defaultdict(list)
    samples: dict[Key, list[float]] = defaultdict(list)
    for trial in trials:
        for figure in trial.figures:
            figures[_key(figure)].append(figure.value)
        for sample in series.get(trial.trial.id, ()):
            if not sample.warm_up:
                samples[sample.metric, sample.labels].append(sample.value)
    for key in figures | samples:
        metric, labels = key
        values = samples.get(key) or figures[key]
        low, median, high = _quartiles(values)
        whole = statistics.median(figures[key]) if key in figures else None
        yield Band(run_id, name, metric.name, labels, metric.unit.value, median, low, high, whole)


def _key(figure: Figure) -> Key:
    return figure.metric, figure.labels


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the quartiles, by linear interpolation between the values (R's type 7, numpy's default)."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high
