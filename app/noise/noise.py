"""Noise as a result: how repeatable each test, host and run is, on every level, ranked where it can be told apart."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.comparing.intervals import CONFIDENCE, student
from suites.vocab import Labels, Metric

METHOD = (
    "CoV = standard deviation by mean, one trial is one value; 95 % interval from the chi-square distribution of the "
    "variance of their logarithms, of samples within trials Student's of the trials' CoV; ranks are shared where the "
    "intervals overlap"
)
"""How the figures come about. Resampling the trials would be the other way: of six its 95 % interval of the CoV holds
the truth in 69 % of cases, of ten in 75 %; the one used in 94 % of cases, of three trials on two levels in 88 %
(simulated for this project)."""

FEWEST = 2
"""Values below which nothing spreads."""

OPEN_FROM = 10.0
"""A CoV beyond which an interval has no upper end: two values that lie 30 % apart would give one of a billion per
cent, which says no more than that two are too few."""


class NoiseLevel(StrEnum):
    """What spreads: samples within a trial, trials on a host, or the means of hosts within a group.

    The means of hosts hold what is left of their trials' spread, too: it is what somebody would see who measured each.
    """

    SAMPLE = "sample"
    TRIAL = "trial"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Spread:
    """How far `n` values lie apart: `cov` with its 95 % interval, and `range`, (largest - smallest) / median.

    Of samples, `n` counts their trials. The edges are None where the values carry no interval: all agree, or one is
    not above zero. `high` alone is None where so few leave it open.
    """

    n: int
    cov: float
    low: float | None = None
    high: float | None = None
    range: float | None = None


@dataclass(frozen=True, slots=True)
class NoiseEntry:
    """The spread of a metric of one step on one host (or of several) in one run (or group), on one level."""

    run: str
    step: str
    suite: str
    host: str
    metric: Metric
    labels: Labels
    level: NoiseLevel
    spread: Spread
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Pooled:
    """The spread of everything that belongs to one test, host or run, taken together; `n` counts its entries."""

    name: str
    n: int
    spread: Spread
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Noise:
    """A noise study: every entry ranked on its level, and the tests, hosts and runs ranked by their trials."""

    entries: tuple[NoiseEntry, ...]
    tests: tuple[Pooled, ...]
    hosts: tuple[Pooled, ...]
    runs: tuple[Pooled, ...]
    method: str = METHOD

    def at(self, level: NoiseLevel) -> tuple[NoiseEntry, ...]:
        """Return the entries of one level, the most repeatable first."""
        return tuple(entry for entry in self.entries if entry.level is level)


def spread_of(values: Sequence[float]) -> Spread | None:
    """Return how far values lie apart; None for fewer than two or a mean of zero."""
    if len(values) < FEWEST or not (mean := statistics.fmean(values)):
        return None
    cov = statistics.stdev(values) / abs(mean)
    median = statistics.median(values)
    reach = (max(values) - min(values)) / abs(median) if median else None
    if min(values) <= 0:
        return Spread(len(values), cov, range=reach)
    return _with_interval(Spread(len(values), cov, range=reach), log_variance(values), len(values) - 1)


def log_variance(values: Sequence[float]) -> float:
    """Return the variance of the logarithms of values above zero."""
    return statistics.variance([math.log(value) for value in values])


def _with_interval(found: Spread, variance: float, freedom: int) -> Spread:
    """Return `found` with the interval of the CoV that a log-normal spread of this variance has (Koopmans 1964)."""
    from scipy import special

    if variance < 1e-24:  # the logarithms differ by rounding alone
        return found
    error = (1 - CONFIDENCE) / 2
    edges = [freedom * variance / float(special.chdtri(freedom, part)) for part in (error, 1 - error)]
    low, high = (math.sqrt(math.expm1(min(edge, 50.0))) for edge in edges)
    return replace(found, low=min(low, found.cov), high=_end(max(high, found.cov)))


def _end(high: float) -> float | None:
    """Return where an interval ends, None where that is beyond all that a CoV can mean."""
    return high if high <= OPEN_FROM else None


def together(groups: Sequence[Sequence[float]]) -> Spread | None:
    """Return the spread within groups of values, pooled by their degrees of freedom; None where nothing spreads.

    The CoV is the root of the mean square of the groups' own: of one group it is that group's.
    """
    usable = [group for group in groups if len(group) >= FEWEST and min(group) > 0]
    freedom = sum(len(group) - 1 for group in usable)
    if not freedom:
        return None
    variance = sum(log_variance(group) * (len(group) - 1) for group in usable) / freedom
    square = sum((statistics.stdev(group) / statistics.fmean(group)) ** 2 * (len(group) - 1) for group in usable)
    ranges = [(max(group) - min(group)) / statistics.median(group) for group in usable]
    found = Spread(sum(map(len, usable)), math.sqrt(square / freedom), range=statistics.median(ranges))
    return _with_interval(found, variance, freedom)


def within(trials: Sequence[Sequence[float]]) -> Spread | None:
    """Return the spread of samples within trials: `n` trials, each with one CoV, their geometric mean and its interval.

    The interval is Student's on the logarithms of the trials' CoV: neighbouring samples hang together, so their number
    says nothing of how sure the figure is.
    """
    found = [spread for trial in trials if (spread := spread_of(trial)) is not None and spread.cov]
    if not found:
        return None
    logs = [math.log(spread.cov) for spread in found]
    middle = statistics.fmean(logs)
    median = statistics.median([spread.range for spread in found if spread.range is not None] or [math.nan])
    reach = None if math.isnan(median) else median
    if len(logs) < FEWEST:
        return Spread(len(logs), math.exp(middle), range=reach)
    half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Spread(len(logs), math.exp(middle), math.exp(middle - half), _end(math.exp(middle + half)), reach)


def ranks(spreads: Sequence[Spread]) -> list[int]:
    """Return the rank of each: one more than how many lie wholly below it. What cannot be told apart shares a rank."""
    return [1 + sum(_below(other, one) for other in spreads) for one in spreads]


def _below(one: Spread, other: Spread) -> bool:
    """Return whether `one` is more repeatable for sure; without intervals nothing is."""
    return one.high is not None and other.low is not None and one.high < other.low


@dataclass(frozen=True, slots=True)
class Measured:
    """The trials of one metric on one step and host of a run, and the samples within them, as far as there are any."""

    run: str
    step: str
    suite: str
    host: str
    metric: Metric
    labels: Labels
    values: tuple[float, ...]
    samples: tuple[tuple[float, ...], ...] = ()


def noise_of(measured: Sequence[Measured]) -> Noise:
    """Return how repeatable everything is that was measured."""
    entries = [
        *_entries(NoiseLevel.SAMPLE, ((one, within(one.samples)) for one in measured)),
        *_entries(NoiseLevel.TRIAL, ((one, spread_of(one.values)) for one in measured)),
        *_entries(NoiseLevel.HOST, _groups(measured)),
    ]
    return Noise(
        tuple(entries),
        _pooled(measured, lambda one: one.step),
        _pooled(measured, lambda one: one.host),
        _pooled(measured, lambda one: one.run),
    )


def _entries(level: NoiseLevel, found: Iterable[tuple[Measured, Spread | None]]) -> list[NoiseEntry]:
    known = [(one, spread) for one, spread in found if spread is not None]
    placed = ranks([spread for _, spread in known])
    entries = [
        NoiseEntry(one.run, one.step, one.suite, one.host, one.metric, one.labels, level, spread, rank)
        for (one, spread), rank in zip(known, placed, strict=True)
    ]
    return sorted(entries, key=lambda entry: (entry.rank, entry.spread.cov))


def _groups(measured: Sequence[Measured]) -> list[tuple[Measured, Spread | None]]:
    """Return how far the means of the hosts of one run lie apart, for each metric."""
    hosts: dict[tuple[str, str, str, Labels], list[Measured]] = {}
    for one in measured:
        hosts.setdefault((one.run, one.step, one.metric.name, one.labels), []).append(one)
    return [
        (replace(found[0], host=f"{len(found)} hosts"), spread_of([statistics.fmean(one.values) for one in found]))
        for found in hosts.values()
        if len(found) >= FEWEST
    ]


def _pooled(measured: Sequence[Measured], key: Callable[[Measured], str]) -> tuple[Pooled, ...]:
    groups: dict[str, list[Measured]] = {}
    for one in measured:
        groups.setdefault(key(one), []).append(one)
    known = [
        (name, len(found), spread)
        for name, found in groups.items()
        if (spread := together([one.values for one in found])) is not None
    ]
    placed = ranks([spread for _, _, spread in known])
    pooled = [Pooled(*found, rank) for found, rank in zip(known, placed, strict=True)]
    return tuple(sorted(pooled, key=lambda one: (one.rank, one.spread.cov)))
