"""Histories whose changes are known, and how many are found and made up."""

from pathlib import Path

import numpy as np

from app.change_points import change_points
from app.events import FactsRead, Moment, RunEnded, RunStarted, State, VerdictReached
from app.services import Workstation
from app.store import Store
from suites.verdict import Trust, Verdict
from suites.vocab import Figure
from tests.app import run_events
from tests.simulation.noise import Numbers


def results(rng: np.random.Generator, count: int, spread: float, autocorrelation: float = 0.0) -> Numbers:
    """Return `count` results around 1000; first-order autoregressive with `autocorrelation`."""
    noise = rng.normal(size=count)
    found = np.empty(count)
    found[0] = noise[0]
    for place in range(1, count):
        found[place] = autocorrelation * found[place - 1] + np.sqrt(1 - autocorrelation**2) * noise[place]
    return np.asarray(1000 * np.exp(spread * found))


def false_alarms(spread: float, autocorrelation: float, rounds: int, count: int = 60) -> float:
    """Return in which share of histories without a change one is claimed."""
    rng = np.random.default_rng(1)
    found = (change_points(list(results(rng, count, spread, autocorrelation))) for _ in range(rounds))
    return sum(bool(each.changes) and each.claimed for each in found) / rounds


def power(step: float, after: int, rounds: int, spread: float = 0.03) -> float:
    """Return how often a level that changes by `step` after 52 results is claimed, `after` results later."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(rounds):
        values = results(rng, 52 + after, spread)
        values[52:] *= 1 + step
        found = change_points(list(values))
        hits += found.claimed and any(abs(change.index - 52) <= 3 for change in found.changes)
    return hits / rounds


def store_of_history(
    path: Path,
    values: Numbers,
    kernels: dict[int, str],
    *,
    host: str = "web-1",
    trials: int = 1,
    trust: Trust | None = Trust.VALID,
) -> Workstation:
    """Return a workstation with a run for each of `values`, an hour apart; `kernels` says from which run on which.

    Their stored verdict is `trust`; None stores none.
    """
    store = Store(path)
    kernel = "6.1.0"
    for number, value in enumerate(values):
        kernel = kernels.get(number, kernel)
        run_id = f"2026-{number:06d}-h"
        started = f"2026-{1 + number // 600 % 12:02d}-{1 + number // 24 % 25:02d}T{number % 24:02d}:00:00+00:00"
        with store.recorder(run_id) as recorder:
            recorder.record(RunStarted(run_id, run_events.plan(hosts=(host,), trials=trials), started))
            recorder.record(FactsRead(host, Moment.BEFORE, run_events.facts(host, kernel)))
            for trial in range(1, trials + 1):
                figures = [Figure(run_events.IOPS, float(value), run_events.READ)]
                for event in run_events.trial_events(run_events.trial(trial, host=host), figures):
                    recorder.record(event)
            if trust is not None:
                recorder.record(VerdictReached(Verdict(trust, None, "", (), run_events.STEP.name, host)))
            recorder.record(RunEnded(run_id, State.DONE))
    store.close()
    return Workstation(path, path.with_suffix(".toml"))
