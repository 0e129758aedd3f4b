"""Levels of replication: the units on which a ratio rests, and their pairs where the design pairs them."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.comparison.crossover import crossover_of, without_half_effect
from app.comparison.estimates import (
    NO_VARIANCE,
    Ratio,
    group_means,
    paired_ratio_of,
    ratio_of,
    ratio_with_interval,
)
from app.comparison.moments import NO_MOMENTS, MeansByMoment, MomentError, Moments, means_by_moment, moment_error
from app.comparison.verdicts import FEWEST_EXACT, Level, Scope
from app.numeric import balanced_mean
from app.summary import MetricSummary

Rounds = Mapping[tuple[str, int], int]
"""The round of each trial (run id, trial id) of an interleaved run."""

OnFirst = Mapping[tuple[str, int], bool]
"""Whether each trial (run id, trial id) of a duet was measured on the first half of the CPUs."""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of both sides, `values` and `baseline`, each a trial or a mean; in pairs if `pairs` names them.

    `unpaired` counts the units that have no partner and are left out. `fewer` is the squared error, of logarithms, that
    the fewer trials of a single session add, and its degrees of freedom; (0, 0) if they are not fewer. `on_first` is,
    for each pair of a duet, whether the value of this side was measured on the first half of the CPUs. `moments` is the
    error of the moments that hosts share; None without one.
    """

    level: Level
    values: tuple[float, ...]
    baseline: tuple[float, ...]
    scope: Scope = Scope.ACROSS
    pairs: str = ""
    unpaired: int = 0
    fewer: tuple[float, int] = (0.0, 0)
    on_first: tuple[bool, ...] = ()
    moments: MomentError | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of units of this side and of the baseline."""
        return len(self.values), len(self.baseline)

    @property
    def centres(self) -> tuple[float, float]:
        """The means of both sides, whose ratio is that of ratio()."""
        # Of a pair, one side is on the first half and the other on the second: `on_first` divides both alike.
        return balanced_mean(self.values, self.on_first), balanced_mean(self.baseline, self.on_first)

    @property
    def one_session(self) -> bool:
        """Whether one session is compared with several."""
        return self.level is Level.SESSION and 1 in self.counts

    @property
    def exact(self) -> bool:
        """Whether all trials of a side are identical, on both sides: a counter without variance."""
        return min(self.counts) >= FEWEST_EXACT and all(len(set(side)) == 1 for side in (self.values, self.baseline))

    @property
    def half_effect(self) -> Ratio | None:
        """The first half of the CPUs relative to the second, of pairs that are duets; None if unknown."""
        found = crossover_of(self.values, self.baseline, self.on_first) if self.values and self.on_first else ""
        return None if isinstance(found, str) else found[1]

    @property
    def pair_ratios(self) -> list[float]:
        """The ratio of each pair in order, of duets without the effect of the halves."""
        if self.on_first and min(*self.values, *self.baseline) > 0:
            return without_half_effect(self.values, self.baseline, self.on_first)
        return [ours / theirs for ours, theirs in zip(self.values, self.baseline, strict=True) if theirs]

    def ratio(self) -> Ratio | str:
        """Return the ratio of the means with its interval, or the reason for none."""
        found = self._ratio()
        return found if isinstance(found, str) or self.moments is None else self.moments.added_to(found)

    def _ratio(self) -> Ratio | str:
        if not self.values:
            return "no trial has a partner"
        if self.on_first:
            found = crossover_of(self.values, self.baseline, self.on_first)
            return found if isinstance(found, str) else found[0]
        if self.pairs:
            return paired_ratio_of(self.values, self.baseline)
        if self.one_session and min(*self.values, *self.baseline) > 0:
            return _of_one_session(self.values, self.baseline, self.fewer)
        return ratio_of(self.values, self.baseline)


def _of_one_session(values: Sequence[float], baseline: Sequence[float], fewer: tuple[float, int]) -> Ratio:
    """Return the ratio of one session to several, or of several to one.

    The single session has the variance of the others: s^2 (1 + 1 / k), Student's t with k - 1 degrees of freedom
    (a prediction interval), and the error of `fewer` trials beside it (Satterthwaite 1946).
    """
    ours, theirs = ([math.log(value) for value in side] for side in (values, baseline))
    several = max(ours, theirs, key=len)
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    variance = statistics.variance(several)
    if variance < 1e-24:
        return Ratio(math.exp(difference), reason=f"all sessions are {NO_VARIANCE}")
    spread = math.sqrt(variance)
    errors = [(variance * (1 + 1 / len(several)), len(several) - 1)]
    errors += [fewer] if fewer[1] else []
    return ratio_with_interval(difference, errors, spread=spread, spread_baseline=spread)


def _of_fewer_trials(ours: MetricSummary, baseline: MetricSummary) -> tuple[float, int]:
    """Return the squared error that the fewer trials of a single session add, and its degrees of freedom.

    A mean of n trials has the error s^2 / n, s^2 the variance of the logarithms of trials within all sessions; the
    spread of the other sessions' means contains the mean of their s^2 / n only.
    """
    if min(*ours.values, *baseline.values) <= 0:
        return 0.0, 0
    single, several = sorted((_logs_of_sessions(ours), _logs_of_sessions(baseline)), key=len)
    repeated = [trials for trials in (*single, *several) if len(trials) > 1]
    freedom = sum(len(trials) - 1 for trials in repeated)
    shortfall = 1 / len(single[0]) - statistics.fmean(1 / len(trials) for trials in several)
    if shortfall <= 0 or not freedom:
        return 0.0, 0
    within = sum((len(trials) - 1) * statistics.variance(trials) for trials in repeated) / freedom
    return within * shortfall, freedom


def _logs_of_sessions(side: MetricSummary) -> list[list[float]]:
    """Return the logarithms of the trials of each session."""
    found: dict[str, list[float]] = {}
    for (run, _), value in zip(side.trials, side.values, strict=True):
        found.setdefault(run, []).append(math.log(value))
    return list(found.values())


def units_of(
    ours: MetricSummary,
    baseline: MetricSummary,
    rounds: Rounds | None = None,
    on_first: OnFirst | None = None,
    moments: Moments = NO_MOMENTS,
) -> Units:
    """Return the units of two sides at the highest level that is replicated.

    Hosts where a side has several, paired if most are on both; else sessions where both have several, paired if most
    are on both; else one session against several; else trials, paired by `rounds` where both are steps of one
    interleaved session, or of duets, for which `on_first` is given.
    """
    hosts = ours.host_means, baseline.host_means
    if max(map(len, hosts)) > 1:
        return _of_hosts(hosts, [host_means_by_moment(side, moments) for side in (ours, baseline)])
    sessions = [{run: value for (_, run), value in side.session_means.items()} for side in (ours, baseline)]
    counts = sorted(map(len, sessions))
    same_host = set(hosts[0]) == set(hosts[1])
    if same_host and counts[0] > 1:
        return _grouped(Level.SESSION, *sessions)
    if same_host and set(sessions[0]) == set(sessions[1]):
        return _of_one_run(ours, baseline, rounds, on_first or {})
    if counts[0] > 1:
        return _units(Level.SESSION, sessions[0], sessions[1], Scope.ACROSS)
    if counts[1] > 1:
        fewer = _of_fewer_trials(ours, baseline)
        return replace(_units(Level.SESSION, sessions[0], sessions[1], Scope.ONE_SESSION), fewer=fewer)
    scope = Scope.BETWEEN_HOSTS if set(sessions[0]) == set(sessions[1]) else Scope.BETWEEN_SESSIONS
    return Units(Level.TRIAL, ours.values, baseline.values, scope)


def _units(level: Level, ours: Mapping[str, float], baseline: Mapping[str, float], scope: Scope) -> Units:
    return Units(level, tuple(ours.values()), tuple(baseline.values()), scope)


def _grouped(level: Level, ours: Mapping[str, float], baseline: Mapping[str, float]) -> Units:
    """Return the means of hosts or sessions, in pairs if most of them are on both sides."""
    shared = [name for name in ours if name in baseline]
    unpaired = len(ours) + len(baseline) - 2 * len(shared)
    if unpaired > len(shared) or len(shared) < 2:
        return _units(level, ours, baseline, Scope.ACROSS)
    values, others = (tuple(side[name] for name in shared) for side in (ours, baseline))
    return Units(level, values, others, pairs=f"{level}s", unpaired=unpaired)


def _of_hosts(hosts: tuple[Mapping[str, float], Mapping[str, float]], means: Sequence[MeansByMoment]) -> Units:
    """Return the means of hosts with the error of their moments, which of pairs is that of the pairs."""
    units = _grouped(Level.HOST, *hosts)
    kept = set.intersection(*map(set, hosts)) if units.pairs else set.union(*map(set, hosts))
    ours, baseline = ({host: own for host, own in side.items() if host in kept} for side in means)
    error = moment_error(ours, baseline)
    return replace(units, moments=error, scope=Scope.ACROSS if error is None else _scope_of(error))


def _scope_of(error: MomentError) -> Scope:
    """Return the scope of a ratio of hosts at different moments."""
    if error.known:
        return Scope.ONE_SESSION if 1 in error.counts else Scope.ACROSS
    return Scope.BETWEEN_SESSIONS if error.counts == (1, 1) else Scope.BETWEEN_MOMENTS


def host_means_by_moment(side: MetricSummary, moments: Moments) -> MeansByMoment:
    """Return the mean of each host of a side at each of its moments."""
    sessions = side.session_means
    return means_by_moment(group_means(sessions.values(), ((host, moments.get(run, run)) for host, run in sessions)))


def _of_one_run(ours: MetricSummary, baseline: MetricSummary, rounds: Rounds | None, on_first: OnFirst) -> Units:
    """Return the trials of two steps of one run on one host, in pairs by their rounds."""
    if not rounds:
        return Units(Level.TRIAL, ours.values, baseline.values, Scope.BETWEEN_BLOCKS)
    sides = [{rounds[key]: value for key, value in zip(side.trials, side.values, strict=True) if key in rounds}
             for side in (ours, baseline)]  # fmt: skip
    both = [number for number in sides[0] if number in sides[1]]
    halves = {rounds[key]: on_first[key] for key in ours.trials if key in rounds and key in on_first}
    return Units(
        Level.TRIAL,
        tuple(sides[0][number] for number in both),
        tuple(sides[1][number] for number in both),
        Scope.WITHIN_SESSION,
        "duets" if halves else "rounds",
        ours.n + baseline.n - 2 * len(both),
        on_first=tuple(halves[number] for number in both) if halves else (),
    )
