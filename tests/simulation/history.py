"""Histories whose changes are known, and how many are found and made up."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.change_points import change_points
from app.events import FactsRead, Moment, RunEnded, RunStarted, State, VerdictReached
from app.services import Workstation
from app.store.store import Store
from suites.verdict import Trust, Verdict
from suites.vocab import Figure
from tests.app import run_events
from tests.simulation.experiments import Share
from tests.simulation.noise import Numbers


def results(
    rng: np.random.Generator, count: int, spread: float, autocorrelation: float = 0.0, *, heavy: bool = False
) -> Numbers:
    """Return `count` results around 1000; first-order autoregressive with `autocorrelation`, `heavy`: t3."""
    noise = rng.standard_t(3, size=count) / np.sqrt(3) if heavy else rng.normal(size=count)
    found = np.empty(count)
    found[0] = noise[0]
    for place in range(1, count):
        found[place] = autocorrelation * found[place - 1] + np.sqrt(1 - autocorrelation**2) * noise[place]
    return np.asarray(1000 * np.exp(spread * found))


def false_claims(count: int, spread: float, autocorrelation: float, rounds: int, *, heavy: bool = False) -> Share:
    """Return in how many histories without a change a step or a drift is claimed."""
    rng = np.random.default_rng(count)
    found = (change_points(list(results(rng, count, spread, autocorrelation, heavy=heavy))) for _ in range(rounds))
    return Share(sum(bool(each.changes or each.drifts) for each in found), rounds)


@dataclass(frozen=True, slots=True)
class Course:
    """A history of `count` results: `steps` (index: relative change) on a trend of `slope` per result.

    A share of the results, `outliers`, is lower by a fifth.
    """

    count: int
    steps: dict[int, float]
    slope: float = 0.0
    outliers: float = 0.0

    def values(self, rng: np.random.Generator, spread: float, autocorrelation: float = 0.0) -> Numbers:
        """Return results that vary by `spread` about the course."""
        found = results(rng, self.count, spread, autocorrelation) * (1 + self.slope) ** np.arange(self.count)
        for index, step in self.steps.items():
            found[index:] *= 1 + step
        if self.outliers:
            found[rng.random(self.count) < self.outliers] *= 0.8
        return found


DOWN_AND_UP = Course(60, {20: -0.1, 40: 0.04})
FIVE_STEPS = Course(120, {20: -0.04, 40: -0.04, 60: -0.04, 80: -0.04, 100: -0.04})
STEP_ON_TREND = Course(60, {30: -0.1}, -0.001)
STEP_AGAINST_TREND = Course(60, {40: 0.08}, -0.002)
TREND = Course(60, {}, -0.003)
PERMANENT = Course(60, {30: -0.045})
LATE = Course(56, {52: 0.1})
LATE_WITH_OUTLIERS = Course(56, {52: 0.1}, outliers=0.05)


@dataclass(frozen=True, slots=True)
class Claims:
    """Of simulated courses: all steps claimed within three results, claims without a step, and claimed drifts.

    `covered` are the intervals of claimed steps that contain the true ratio, `placed` those of their index.
    """

    all: Share
    extra: Share
    drifting: Share
    covered: Share
    placed: Share


def claims(course: Course, spread: float, rounds: int, autocorrelation: float = 0.0) -> Claims:
    """Return what is claimed of `rounds` histories of a course."""
    rng = np.random.default_rng(1)
    whole = extra = drifting = right = covered = placed = 0
    for _ in range(rounds):
        found = change_points(list(course.values(rng, spread, autocorrelation)))
        near = {
            index: next((one for one in found.changes if abs(one.index - index) <= 3), None) for index in course.steps
        }
        claimed = [(index, one) for index, one in near.items() if one is not None]
        whole += len(claimed) == len(course.steps)
        extra += len(found.changes) > len(claimed)
        drifting += bool(found.drifts)
        right += len(claimed)
        covered += sum(one.low <= 1 + course.steps[index] <= one.high for index, one in claimed)
        placed += sum(one.first <= index <= one.last for index, one in claimed)
    known = max(right, 1)
    return Claims(
        Share(whole, rounds), Share(extra, rounds), Share(drifting, rounds), Share(covered, known), Share(placed, known)
    )


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
