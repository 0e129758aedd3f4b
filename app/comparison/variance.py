"""Variance levels (sample, trial, session, host) of a metric, and the intraclass correlation with its interval."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.centres import CONFIDENCE
from app.json_converter import publish
from app.numeric import Numbers, np, special
from app.sample_statistics import WithinTrial
from suites.quantities import ends_text, share_text

SAMPLE, TRIAL, RUN, HOST, GROUP = "sample", "trial", "run", "host", "group"
"""The levels, innermost first; the trials of one run on a host are a session, a group is the hosts of one type."""

LEVELS = (TRIAL, RUN, HOST, GROUP)
"""The levels of components."""

UPPER = 0.8
"""Confidence of the one-sided upper limit of a component, for designs that few units must not make too small."""

ROUNDING = 1e-12
"""By how much logarithms of equal values differ."""

HOSTS_DOMINATE = 0.5
"""Intraclass correlation above which hosts dominate the variance of a group (check M21)."""


@dataclass(frozen=True, slots=True)
class VarianceLevel:
    """One variance level: its coefficient of variation, its share of the total variance, and its number of units.
    `cov` and `share` are None with too few units."""

    name: str
    n: int
    cov: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class VarianceLevels:
    """The variance levels, innermost first. `icc` is the intraclass correlation, the share of the variance of trials
    that is between hosts, with its 95 % interval; None for fewer than two hosts, or if no host has two trials."""

    levels: tuple[VarianceLevel, ...]
    icc: float | None = None
    icc_low: float | None = None
    icc_high: float | None = None

    def level(self, name: str) -> VarianceLevel | None:
        """Return the level `name`, or None."""
        return next((level for level in self.levels if level.name == name), None)


@dataclass(frozen=True, slots=True)
class VarianceComponent:
    """The variance of the logarithms of one level, with its 95 % interval and its upper limit (UPPER).

    `n` are the units, `freedom` the degrees of freedom. `variance` and its limits are None if the level was not
    replicated.
    """

    name: str
    n: int
    freedom: int = 0
    variance: float | None = None
    low: float | None = None
    high: float | None = None
    upper: float | None = None


Hosts = Sequence[Sequence[Sequence[float]]]
"""The trials of the runs of some hosts."""


def hosts_text(found: VarianceLevels, side: str) -> str:
    """Return the sentence on the share of the variance of `side` between hosts; empty for at most HOSTS_DOMINATE.

    Hosts dominate only if the whole interval is above it. With an interval from 0 there may be no difference of hosts.
    """
    if found.icc is None or found.icc <= HOSTS_DOMINATE or not found.icc_low or found.icc_high is None:
        return ""
    claim = "hosts dominate: " if found.icc_low > HOSTS_DOMINATE else ""
    interval = f"95 % CI {ends_text(f'{100 * found.icc_low:.0f}', f'{100 * found.icc_high:.0f}', ' %')}"
    return f"{claim}{share_text(found.icc)} of the variance of {side} is between hosts ({interval})"


@dataclass(frozen=True, slots=True)
class _Unit:
    """The mean of a unit of one level, and the parts of the variances of all levels below in it, innermost first."""

    mean: float
    parts: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Stratum:
    """The variance of the means of one level within the next, and its degrees of freedom, 0 if there are none.

    Its expectation is the level's own variance, plus the `parts` of those below it, innermost first. `effective` are
    the degrees of freedom of a variance from units with the tails of these: _effective_freedom().
    """

    variance: float = 0.0
    freedom: int = 0
    parts: tuple[float, ...] = ()
    effective: float = 0.0

    def below(self, components: "Sequence[Any]") -> Any:
        """Return what the components of the levels below add to the variance: numbers, or arrays of draws."""
        return sum(part * found for part, found in zip(self.parts, components, strict=True))


def levels_of(hosts: Iterable[Sequence[Sequence[float]]], within: Sequence[WithinTrial] = ()) -> VarianceLevels | None:
    """Return the variance levels of the trials of the runs of some hosts; `within` are the trials that have samples.

    Nested analysis of variance of unweighted means: one mean a run, one a host. Components by the method of moments
    (Searle, Casella and McCulloch 1992, 3.6 and 4.4), negative ones set to 0. A level that was not repeated has no
    component, and its variance is in the one above: hosts with one run each differ by host and by session. None without
    a trial or with a mean of zero.
    """
    groups = [runs for runs in ([run for run in host if len(run)] for host in hosts) if runs]
    values = [value for runs in groups for run in runs for value in run]
    if not values or not (mean := statistics.fmean(values)):
        return None
    strata = _strata([groups])[:3]
    trial, run, host = _components(strata)
    noise = statistics.fmean(one.variance / one.worth for one in within) if within else 0.0
    sample, sampled = _pooled([(one.variance, one.n - 1) for one in within])
    found = {
        SAMPLE: sample if sampled else None,
        TRIAL: None if trial is None else max(0.0, trial - noise),
        RUN: run,
        HOST: host,
    }
    counts = (sum(one.n for one in within), len(values), sum(map(len, groups)), len(groups))
    whole = sum(variance for variance in found.values() if variance is not None)
    levels = [
        VarianceLevel(name, count, _root(variance, mean), variance / whole if whole and variance is not None else None)
        for (name, variance), count in zip(found.items(), counts, strict=True)
        if count
    ]
    return VarianceLevels(tuple(levels), *_intraclass(strata))


def components_of(sides: Sequence[Hosts]) -> tuple[VarianceComponent, ...]:
    """Return the variance components of trials, sessions and hosts, pooled over sides that may differ in their mean.

    Components as in levels_of(), on logarithms; mean squares are pooled by their degrees of freedom. The limits are
    quantiles of generalised intervals (_components_drawn). Raises ValueError for a value that is not above zero.
    """
    return components_with_groups(sides)[:3]


def components_with_groups(groups: Sequence[Hosts], *, tails: bool = False) -> tuple[VarianceComponent, ...]:
    """Return the components of components_of(), and that of the groups (types of hosts) as the outermost level.

    Groups are a random sample of groups like these: the interval of their component speaks of such a sample. With
    `tails`, intervals are as wide as the tails of the units make them; else units are normal. Raises ValueError for a
    value that is not above zero.
    """
    logs = [[[[math.log(value) for value in run] for run in host if run] for host in group] for group in groups]
    logs = [group for group in ([host for host in group if host] for group in logs) if group]
    strata = _strata(logs)
    runs = [run for group in logs for host in group for run in host]
    counts = (sum(map(len, runs)), len(runs), sum(map(len, logs)), len(logs))
    drawn = _components_drawn(strata, tails=tails)
    named = zip(LEVELS, counts, strata, _components(strata), drawn, strict=True)
    return tuple(_component(*one) for one in named)


def _component(name: str, n: int, stratum: "_Stratum", found: float | None, drawn: "Numbers") -> VarianceComponent:
    if found is None:
        return VarianceComponent(name, n)
    edges = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2, UPPER]
    return VarianceComponent(name, n, stratum.freedom, found, *map(float, np.quantile(drawn, edges)))


def _strata(groups: Sequence[Hosts]) -> tuple[_Stratum, ...]:
    """Return the strata of trials, runs, hosts and groups."""
    trials = [[[[_Unit(value) for value in run] for run in host] for host in group] for group in groups]
    runs = [[[_mean_of_units(run) for run in host] for host in group] for group in trials]
    hosts = [[_mean_of_units(host) for host in group] for group in runs]
    return (
        _stratum([run for group in trials for host in group for run in host]),
        _stratum([host for group in runs for host in group]),
        _stratum(hosts),
        _stratum([[_mean_of_units(group) for group in hosts]]),
    )


def _mean_of_units(units: Sequence[_Unit]) -> _Unit:
    """Return the unweighted mean of some units of one level as a unit of the next."""
    count = len(units)
    below = zip(*(unit.parts for unit in units), strict=True)
    parts = (*(statistics.fmean(own) / count for own in below), 1 / count)
    return _Unit(statistics.fmean(unit.mean for unit in units), parts)


def _stratum(families: Sequence[Sequence[_Unit]]) -> _Stratum:
    """Return the stratum of a level; a family is the units within one unit of the next level."""
    repeated = [family for family in families if len(family) > 1]
    if not repeated:
        return _Stratum(parts=(0.0,) * next(len(unit.parts) for family in families for unit in family))
    variance, freedom = _pooled([(statistics.variance(one.mean for one in own), len(own) - 1) for own in repeated])
    weights = [len(family) - 1 for family in repeated]
    parts = zip(*([statistics.fmean(one) for one in _columns(family)] for family in repeated), strict=True)
    means = tuple(statistics.fmean(own, weights) for own in parts)
    return _Stratum(variance, freedom, means, _effective_freedom(repeated, freedom))


def _effective_freedom(families: Sequence[Sequence[_Unit]], freedom: int) -> float:
    """Return the degrees of freedom of a normal variance with the standard error of this one: 2 f / (kurtosis - 1).

    The variance of a sample variance is s^4 (kurtosis - 1) / f, to the order of 1 / f (Cramer 1946, 27.4). The kurtosis
    is that of the deviations from the means of families: with m units in each, it exceeds 3 by the share
    (m^2 - 3 m + 3) / (m^2 - m) of the excess of the units. At most f, and at least 1.
    """
    means = [statistics.fmean(unit.mean for unit in own) for own in families]
    deviations = [unit.mean - mean for own, mean in zip(families, means, strict=True) for unit in own]
    largest = max(map(abs, deviations))
    if largest < ROUNDING:
        return float(freedom)
    squares = [(each / largest) ** 2 for each in deviations]  # of extreme values they would overflow
    kurtosis = len(squares) * sum(each**2 for each in squares) / sum(squares) ** 2
    shares = [(len(own) ** 2 - 3 * len(own) + 3) / (len(own) * (len(own) - 1)) for own in families]
    excess = (kurtosis - 3) / statistics.fmean(shares, [len(own) for own in families])
    return max(1.0, min(float(freedom), 2 * freedom / (2 + max(0.0, excess))))


def _columns(family: Sequence[_Unit]) -> "Iterable[tuple[float, ...]]":
    return zip(*(unit.parts for unit in family), strict=True)


def _components(strata: Sequence[_Stratum]) -> list[float | None]:
    """Return the variance components of the levels; None for one that is not repeated.

    A level above sessions is not known either if none below it is: its variance would be that of all of them.
    """
    found: list[float | None] = []
    for stratum in strata:
        own = max(0.0, stratum.variance - stratum.below([one or 0.0 for one in found]))
        separate = len(found) < 2 or any(one is not None for one in found)
        found.append(own if stratum.freedom and separate else None)
    return found


def _intraclass(strata: Sequence[_Stratum]) -> tuple[float | None, float | None, float | None]:
    """Return the intraclass correlation of trials on a host, and its 95 % interval.

    With one run a host it is the F interval: exact for equal numbers of trials (Searle 1971, 9.8), and with the
    harmonic mean of unequal ones that of Thomas and Hultquist (1978). With several, the quantiles of the correlation
    over _components_drawn(); without runs these are the F interval.
    """
    trial, run, host = strata
    *below, between = _components(strata)
    whole = sum(part or 0.0 for part in (*below, between))
    if between is None or not whole:
        return None, None, None
    icc = between / whole
    if not run.freedom:
        if not trial.variance:
            return icc, None, None
        ratio, size = host.variance / (host.parts[0] * trial.variance), 1 / host.parts[0]
        quantiles = special.fdtri(host.freedom, trial.freedom, [(1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2])
        low, high = (max(0.0, (ratio / edge - 1) / (ratio / edge - 1 + size)) for edge in map(float, quantiles))
        return icc, low, high
    trials, runs, hosts = _components_drawn(strata)
    low, high = np.quantile(hosts / (hosts + runs + trials), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return icc, float(low), float(high)


def _components_drawn(strata: Sequence[_Stratum], *, tails: bool = False) -> "list[Numbers]":
    """Return draws of the components over the distribution that each mean square leaves for its expectation.

    It is a multiple of 1 / chi-square (generalised interval, Burdick, Borror and Montgomery 2005).
    """
    drawn: list[Numbers] = []
    freedoms = [round(one.effective, 1) if tails and one.freedom else one.freedom for one in strata]
    for stratum, scale in zip(strata, _scales(*freedoms), strict=True):
        drawn.append(np.maximum(0.0, stratum.variance * scale - stratum.below(drawn)))
    return drawn


_DRAWS = 10_000
"""Draws of a generalised interval: its confidence is then off by 0.3 % at most."""


@lru_cache(maxsize=64)
def _scales(*freedoms: float) -> "tuple[Numbers, ...]":
    """Return draws of the factor between a mean square and its expectation, by degrees of freedom; ones for 0."""
    rng = np.random.default_rng(_DRAWS)
    return tuple(freedom / rng.chisquare(freedom, _DRAWS) if freedom else np.ones(_DRAWS) for freedom in freedoms)


def _pooled(parts: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """Return the mean of variances, weighted by their degrees of freedom, and these; 0 and 0 without any."""
    freedom = sum(count for _, count in parts)
    return (sum(variance * count for variance, count in parts) / freedom if freedom else 0.0), freedom


def _root(variance: float | None, mean: float) -> float | None:
    return None if variance is None else variance**0.5 / abs(mean)


publish(VarianceLevel, "level=name n cov share")
