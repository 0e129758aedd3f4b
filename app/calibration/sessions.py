"""Noise of a host within and between sessions, the smallest difference it lets show, and the trials that show one."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.calibration.calibration import UNWATCHED, aged, changed
from app.comparison.estimates import CONFIDENCE, FEWEST_TRIALS
from app.comparison.variance import RUN, TRIAL, levels_of
from app.comparison.verdicts import FEWEST_SESSIONS
from app.json_converter import publish
from app.numeric import np, optimize, special
from app.records import Calibration, HistoryRow
from app.store import Store
from app.store.errors import StoreError
from suites.verdict import Trust
from suites.vocab import Labels, Metric

POWER = 0.8
"""Share of comparisons that show the smallest detectable difference (Cohen 1988)."""

MOST = 30
"""Most sessions, and most trials of one, of a proposed design; and the newest sessions that are read."""

DESIGNS = ((1, 6), (3, 6), (5, 6), (5, 10))
"""Sessions and trials of each side for which the smallest detectable difference is shown; one session is the claim
within that session."""


@lru_cache(maxsize=256)
def _distance(count: int) -> float:
    """Return the true difference in standard errors that Welch's test of `count` values a side shows with POWER.

    Its power, for sides of equal variance: the statistic has a noncentral t distribution with 2 (count - 1) degrees of
    freedom (Cohen 1988, 2.5), whatever the share of one side of the variance, which has a beta distribution and decides
    on the degrees of freedom of the critical value. With 3 values on each side they are 3.1 on average, not 4.
    """
    half = (count - 1) / 2
    share = special.betaincinv(half, half, (np.arange(200) + 0.5) / 200)
    critical = special.stdtrit(2 * half / (share**2 + (1 - share) ** 2), (1 + CONFIDENCE) / 2)

    def missed(effect: float) -> float:
        return float(np.mean(np.nan_to_num(special.nctdtr(4 * half, effect, critical)))) - (1 - POWER)  # NaN: far below

    return float(optimize.brentq(missed, 0.0, 30.0))


def least_detectable(trial: float, session: float | None, sessions: int, trials: int) -> float | None:
    """Return the smallest difference, as a share, that sides of `sessions` x `trials` show; None if not known.

    `trial` and `session` are the coefficients of variation of trials within a session and of sessions. On logarithms,
    the mean of a side has the variance s_session^2 / k + s_trial^2 / (k n), and k values (nested analysis of variance;
    Kalibera and Jones 2013). One session shows differences within itself only: s_trial^2 / n, n values.
    """
    if session is None and sessions > 1:
        return None
    between = 0.0 if session is None or sessions == 1 else math.log1p(session**2)
    variance = (between + math.log1p(trial**2) / trials) / sessions
    return math.expm1(min(_distance(sessions if sessions > 1 else trials) * math.sqrt(2 * variance), 50.0))


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

    def detectable(self, sessions: int, trials: int) -> float | None:
        """Return the smallest detectable difference with `sessions` x `trials` on each side."""
        return least_detectable(self.trial, self.session, sessions, trials)

    def design(self, wanted: float) -> tuple[int, int] | None:
        """Return the sessions and trials of each side that show a difference of `wanted`, with the fewest trials.

        One session if the variation between sessions is not known. None if MOST of each do not suffice.
        """

        def difference(sessions: int, trials: int) -> float:
            return least_detectable(self.trial, self.session, sessions, trials) or 0.0

        designs = []
        for sessions in (1,) if self.session is None else range(FEWEST_SESSIONS, MOST + 1):
            fewer = range(FEWEST_TRIALS, MOST)
            trials = FEWEST_TRIALS + bisect_left(fewer, -wanted, key=lambda count: -difference(sessions, count))
            designs.append((sessions, trials))
        enough = [design for design in designs if difference(*design) <= wanted]
        return min(enough, key=lambda design: (design[0] * design[1], design[0]), default=None)


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
