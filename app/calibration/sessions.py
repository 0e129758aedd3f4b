"""Noise of a host within and between sessions, the smallest difference it lets show, and the trials that show one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.calibration.calibration import UNWATCHED, aged, changed
from app.comparison.power import NestedVariance, SampleDesign, least_detectable
from app.comparison.variance import RUN, TRIAL, levels_of
from app.json_converter import publish
from app.records import Calibration, HistoryRow
from app.sample_size.designs import DesignLimits, sufficient_designs
from app.store.errors import StoreError
from app.store.store import Store
from suites.verdict import Trust
from suites.vocab import Labels, Metric

MOST = 30
"""Most sessions, and most trials of one, of a proposed design; and the newest sessions that are read."""

DESIGNS = ((1, 6), (3, 6), (5, 6), (5, 10))
"""Sessions and trials of each side for which the smallest detectable difference is shown; one session is the claim
within that session."""


@dataclass(frozen=True, slots=True)
class SessionNoise:
    """Noise of a metric: coefficients of variation of `n` trials within sessions, and of sessions, a session a run.

    `session` is None with one session.
    """

    metric: Metric
    labels: Labels
    sessions: int
    n: int
    trial: float
    session: float | None

    @property
    def variance(self) -> NestedVariance:
        """The variances of the logarithms."""
        return NestedVariance(math.log1p(self.trial**2), None if self.session is None else math.log1p(self.session**2))

    def detectable(self, sessions: int, trials: int) -> float | None:
        """Return the smallest detectable difference with `sessions` x `trials` on each side."""
        return least_detectable(self.variance, SampleDesign(1, sessions, trials))

    def design(self, wanted: float) -> tuple[int, int] | None:
        """Return the sessions and trials of each side that show a difference of `wanted`, with the fewest trials.

        One session if the variation between sessions is not known. None if MOST of each do not suffice.
        """
        found = sufficient_designs(self.variance, wanted, DesignLimits(1, MOST, MOST))
        best = min(found, key=lambda one: (one.sessions * one.trials, one.sessions), default=None)
        return None if best is None else (best.sessions, best.trials)


def noise_of(metric: Metric, labels: Labels, sessions: Sequence[Sequence[float]]) -> SessionNoise | None:
    """Return the noise of the values of some sessions.

    Variance components by the method of moments (levels_of). None if a value is not above zero, or no session has two.
    """
    if not sessions or min(map(min, sessions)) <= 0 or (levels := levels_of([sessions])) is None:
        return None
    covs = {level.name: level.cov for level in levels.levels}
    trial = covs.get(TRIAL)
    if trial is None:
        return None
    return SessionNoise(metric, labels, len(sessions), sum(map(len, sessions)), trial, covs.get(RUN))


def session_noise(store: Store, calibration: Calibration) -> tuple[SessionNoise, ...]:
    """Return the noise of each metric of a calibration's parameter set on its host, over all runs of that set.

    Each run is a session, whether a calibration or not. Runs of a changed host, too old or invalid ones, and trials
    without telemetry do not count. Empty if the run of the calibration was deleted.
    """
    try:
        record = store.load(calibration.run)
    except StoreError:
        return ()
    step = record.plan.steps[0]
    reader = _Reader(store, calibration, step.fingerprint())
    figures = [figure for trial in record.trials_of(step.name) for figure in trial.figures]
    found = (reader.noise(*key) for key in dict.fromkeys((figure.metric, figure.labels) for figure in figures))
    return tuple(noise for noise in found if noise is not None)


class _Reader:
    """Reads the sessions of a parameter set."""

    def __init__(self, store: Store, calibration: Calibration, fingerprint: str) -> None:
        self._store, self._calibration, self._fingerprint = store, calibration, fingerprint
        self._same_host: dict[str, bool] = {}
        self._same_step: dict[tuple[str, str], bool] = {}

    def noise(self, metric: Metric, labels: Labels) -> SessionNoise | None:
        """Return the noise of a metric."""
        host = self._calibration.host
        sessions: dict[str, list[float]] = {}
        with self._store.history((host,), metric.name) as (rows, plans, facts_of):
            for row in rows:
                if (row.metric, row.labels) != (metric, labels) or not self._counts(row):
                    continue
                step = (row.plan, row.step)
                if step not in self._same_step:
                    self._same_step[step] = plans[row.plan].step(row.step).fingerprint() == self._fingerprint
                if self._same_step[step] and row.run not in self._same_host:
                    facts = next(iter(facts_of(row.run, (host,))), None)
                    self._same_host[row.run] = not changed(self._calibration, facts)
                if self._same_step[step] and self._same_host[row.run]:
                    sessions.setdefault(row.run, []).append(row.value)
        return noise_of(metric, labels, list(sessions.values())[-MOST:])

    def _counts(self, row: HistoryRow) -> bool:
        old = aged(self._calibration, row.started)
        return row.trust != Trust.INVALID and not row.step.endswith(UNWATCHED) and not old


publish(SessionNoise, "metric=metric.name labels sessions n cov=trial session_cov=session")
