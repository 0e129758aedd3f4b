"""Variance levels (sample, trial, session, host) of a metric, and the intraclass correlation with its interval."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.centres import CONFIDENCE
from app.json_converter import publish
from app.numeric import Numbers, np, special
from app.sample_statistics import WithinTrial
from suites.quantities import ends_text, share_text

SAMPLE, TRIAL, RUN, HOST = "sample", "trial", "run", "host"
"""The levels, innermost first; the trials of one run on a host are a session."""

UPPER = 0.8
"""Confidence of the one-sided upper limit of a component, for designs that few units must not make too small."""

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
class _Stratum:
    """The variance of the means of one level within the next, and its degrees of freedom, 0 if there are none.

    Its expectation is the level's own variance, plus the parts `of_runs` and `of_trials` of those below it.
    """

    variance: float = 0.0
    freedom: int = 0
    of_runs: float = 0.0
    of_trials: float = 0.0


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
    strata = _strata(groups)
    trial, run, host = _components(*strata)
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
    return VarianceLevels(tuple(levels), *_intraclass(*strata))


def components_of(sides: Sequence[Hosts]) -> tuple[VarianceComponent, ...]:
    """Return the variance components of trials, sessions and hosts, pooled over sides that may differ in their mean.

    Components as in levels_of(), on logarithms; mean squares are pooled by their degrees of freedom. The limits are
    quantiles of generalised intervals (_components_drawn). Raises ValueError for a value that is not above zero.
    """
    groups = [[[[math.log(value) for value in run] for run in host if run] for host in side] for side in sides]
    groups = [[host for host in side if host] for side in groups]
    strata = _pooled_strata([_strata(side) for side in groups if side])
    runs = [run for side in groups for host in side for run in host]
    counts = (sum(map(len, runs)), len(runs), sum(map(len, groups)))
    named = zip((TRIAL, RUN, HOST), counts, strata, _components(*strata), _components_drawn(*strata), strict=True)
    return tuple(_component(*one) for one in named)


def _component(name: str, n: int, stratum: "_Stratum", found: float | None, drawn: "Numbers") -> VarianceComponent:
    if found is None:
        return VarianceComponent(name, n)
    edges = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2, UPPER]
    return VarianceComponent(name, n, stratum.freedom, found, *map(float, np.quantile(drawn, edges)))


def _pooled_strata(sides: Sequence[tuple[_Stratum, _Stratum, _Stratum]]) -> tuple[_Stratum, _Stratum, _Stratum]:
    """Return the strata of several sides, each part a mean weighted by the degrees of freedom."""
    trial, run, host = (
        _Stratum(*_pooled([(one.variance, one.freedom) for one in level]),
                 _pooled([(one.of_runs, one.freedom) for one in level])[0],
                 _pooled([(one.of_trials, one.freedom) for one in level])[0])
        for level in zip(*sides, strict=True)
    )  # fmt: skip
    return trial, run, host


def _strata(groups: Hosts) -> tuple[_Stratum, _Stratum, _Stratum]:
    """Return the strata of trials, runs and hosts."""
    runs = [run for host in groups for run in host]
    trial = _Stratum(*_pooled([(statistics.variance(run), len(run) - 1) for run in runs if len(run) > 1]))
    means = [[statistics.fmean(run) for run in host] for host in groups]
    parts = [statistics.fmean(1 / len(run) for run in host) for host in groups]  # of a trial's variance in a run's mean
    repeated = [
        (statistics.variance(own), len(own) - 1, part) for own, part in zip(means, parts, strict=True) if len(own) > 1
    ]
    of_trials, _ = _pooled([(part, freedom) for _, freedom, part in repeated])
    run = _Stratum(*_pooled([(variance, freedom) for variance, freedom, _ in repeated]), of_trials=of_trials)
    if len(groups) < 2:
        return trial, run, _Stratum()
    return (
        trial,
        run,
        _Stratum(
            statistics.variance(map(statistics.fmean, means)),
            len(groups) - 1,
            statistics.fmean(1 / len(host) for host in groups),
            statistics.fmean(part / len(host) for part, host in zip(parts, groups, strict=True)),
        ),
    )


def _components(trial: _Stratum, run: _Stratum, host: _Stratum) -> tuple[float | None, float | None, float | None]:
    """Return the variance components of trials, runs and hosts; None for a level that is not repeated."""
    own = trial.variance if trial.freedom else None
    of_run = max(0.0, run.variance - run.of_trials * trial.variance) if run.freedom else None
    if not host.freedom or (own is None and of_run is None):
        return own, of_run, None
    return own, of_run, max(0.0, host.variance - host.of_runs * (of_run or 0.0) - host.of_trials * trial.variance)


def _intraclass(trial: _Stratum, run: _Stratum, host: _Stratum) -> tuple[float | None, float | None, float | None]:
    """Return the intraclass correlation of trials on a host, and its 95 % interval.

    With one run a host it is the F interval: exact for equal numbers of trials (Searle 1971, 9.8), and with the
    harmonic mean of unequal ones that of Thomas and Hultquist (1978). With several, the quantiles of the correlation
    over _components_drawn(); without runs these are the F interval.
    """
    *below, between = _components(trial, run, host)
    whole = sum(part or 0.0 for part in (*below, between))
    if between is None or not whole:
        return None, None, None
    icc = between / whole
    if not run.freedom:
        if not trial.variance:
            return icc, None, None
        ratio, size = host.variance / (host.of_trials * trial.variance), 1 / host.of_trials
        quantiles = special.fdtri(host.freedom, trial.freedom, [(1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2])
        low, high = (max(0.0, (ratio / edge - 1) / (ratio / edge - 1 + size)) for edge in map(float, quantiles))
        return icc, low, high
    trials, runs, hosts = _components_drawn(trial, run, host)
    low, high = np.quantile(hosts / (hosts + runs + trials), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return icc, float(low), float(high)


def _components_drawn(trial: _Stratum, run: _Stratum, host: _Stratum) -> "tuple[Numbers, Numbers, Numbers]":
    """Return draws of the components over the distribution that each mean square leaves for its expectation.

    It is a multiple of 1 / chi-square (generalised interval, Burdick, Borror and Montgomery 2005).
    """
    scales = _scales(trial.freedom, run.freedom, host.freedom)
    trials, runs, hosts = (one.variance * scale for one, scale in zip((trial, run, host), scales, strict=True))
    runs = np.maximum(0.0, runs - run.of_trials * trials)
    hosts = np.maximum(0.0, hosts - host.of_runs * runs - host.of_trials * trials)
    return trials, runs, hosts


_DRAWS = 10_000
"""Draws of a generalised interval: its confidence is then off by 0.3 % at most."""


@lru_cache(maxsize=64)
def _scales(*freedoms: int) -> "tuple[Numbers, ...]":
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
