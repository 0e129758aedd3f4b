"""Groups of runs in a store, as large as they are wanted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from app.events import FactsRead, Moment, RunEnded, RunStarted, State, TrialEnded, TrialStarted, VerdictReached
from app.plans.plan import Plan, Repetition
from app.services import Workstation
from app.store.store import Store
from suites.outputs import ParsedTrial
from suites.units import Unit
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Better, Figure, Metric, MetricKind, Sample
from tests.app.run_events import STEP, trial
from tests.remote.test_facts_captured import captured, facts_of
from tests.simulation.noise import Numbers

FACTS = replace(facts_of(captured("aws-c7i")), host="web-1")
"""Facts of the size of a real host's."""

_VERDICTS = (
    Verdict(Trust.VALID, Limiter.DEVICE, "Valid.", (), STEP.name, "web-1"),
    Verdict(Trust.VALID, Limiter.DEVICE, "Valid."),
)

_METRIC = Metric("metric", "Metric", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)


def store_of_groups(
    folder: Path, *, runs: int, metrics: int, samples: int, factor: float = 1.2
) -> tuple[Workstation, tuple[list[str], list[str]]]:
    """Return a workstation with two groups of `runs` stored runs of one trial each, and the ids of their runs.

    Every figure of the second group is `factor` times that of the first.
    """
    path = folder / "runs.sqlite3"
    store = Store(path)
    rng = np.random.default_rng(1)
    groups: tuple[list[str], list[str]] = ([], [])
    for number in range(2 * runs):
        name = f"20261120-{number:06d}-{'ab'[number % 2]}"
        centres = (factor if number % 2 else 1.0) * 1000 * (1 + 0.02 * rng.normal(size=metrics))
        values = centres[:, np.newaxis] * (1 + 0.05 * rng.normal(size=(metrics, samples)))
        _store_run(store, name, datetime(2026, 11, 20, tzinfo=UTC) + timedelta(minutes=number), values)
        groups[number % 2].append(name)
    store.close()
    return Workstation(path, folder / "hosts.toml"), groups


def _store_run(store: Store, name: str, began: datetime, values: Numbers) -> None:
    """Store a run of one trial with a verdict; `values` are its samples, a row a metric, whose mean is the figure."""
    metrics = [replace(_METRIC, name=f"metric_{number}") for number in range(len(values))]
    read = tuple(
        Sample(float(second), metric, float(value))
        for metric, row in zip(metrics, values, strict=True)
        for second, value in enumerate(row)
    )
    figures = tuple(Figure(metric, float(row.mean())) for metric, row in zip(metrics, values, strict=True))
    plan = Plan("group", ("web-1",), (STEP,), repetition=Repetition(trials=1))
    before, after = (replace(FACTS, system=replace(FACTS.system, uptime=began.timestamp() + at)) for at in (0, 60))
    with store.recorder(name) as recorder:
        recorder.record(RunStarted(name, plan, began.isoformat()))
        recorder.record(FactsRead("web-1", Moment.BEFORE, before))
        recorder.record(TrialStarted(replace(trial(1), started=began.isoformat()), 1.0))
        recorder.record(TrialEnded(1, State.DONE, 0, ParsedTrial(figures, read)))
        recorder.record(FactsRead("web-1", Moment.AFTER, after))
        for verdict in _VERDICTS:
            recorder.record(VerdictReached(verdict))
        recorder.record(RunEnded(name, State.DONE))
