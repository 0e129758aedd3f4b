"""Where a spread comes from: samples within a trial, trials within a host, hosts within a group."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

SAMPLE, TRIAL, HOST = "sample", "trial", "host"

HOSTS_DOMINATE = 0.5
"""The intraclass correlation from which hosts, not trials, decide what a group shows (check M21)."""


@dataclass(frozen=True, slots=True)
class Within:
    """The samples within one trial: their number, mean and variance, and how many independent ones they are worth.

    Neighbours hang together, so n samples say as much as n (1 - r) / (1 + r) independent ones, with r their first
    autocorrelation (Bayley and Hammersley 1946).
    """

    n: int
    mean: float
    variance: float
    worth: float


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a spread: its own standard deviation by the mean of all, its share of the whole variance, and the
    number of things on it. `cov` and `share` are None where too few things stand on the level."""

    name: str
    n: int
    cov: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a spread, the innermost first. `icc` is the share of the spread of trials that lies between hosts
    (intraclass correlation), None for fewer than two hosts or where no host has two trials."""

    levels: tuple[Level, ...]
    icc: float | None = None

    def level(self, name: str) -> Level | None:
        """Return the level `name`, or None."""
        return next((level for level in self.levels if level.name == name), None)


def within_of(values: "Sequence[float] | Numbers") -> Within | None:
    """Return what the samples of a trial say; None for fewer than two."""
    import numpy as np

    samples = np.asarray(values, dtype=float)
    count = len(samples)
    if count < 2:
        return None
    apart = samples - samples.mean()
    whole = float(apart @ apart)
    together = float(apart[1:] @ apart[:-1]) / whole if whole else 0.0
    worth = count * (1 - together) / (1 + together) if together > 0 else float(count)
    return Within(count, float(samples.mean()), whole / (count - 1), min(float(count), max(1.0, worth)))


def levels_of(hosts: Iterable[Sequence[float]], within: Sequence[Within] = ()) -> Levels | None:
    """Return the levels of the trials of some hosts; `within` are those of their trials that have samples.

    Nested analysis of variance, its variances found by the method of moments for unbalanced groups (Searle, Casella
    and McCulloch 1992, 3.6): what spreads more than the level below explains belongs to the level itself, and nothing
    is negative. None without a trial or with a mean of zero.
    """
    groups = [list(host) for host in hosts if len(host)]
    values = [value for group in groups for value in group]
    if not values or not (mean := statistics.fmean(values)):
        return None
    sample = _pooled([(one.variance, one.n - 1) for one in within])
    among = _pooled([(statistics.variance(group), len(group) - 1) for group in groups if len(group) > 1])
    noise = statistics.fmean(one.variance / one.worth for one in within) if within else 0.0
    trial = None if among is None else max(0.0, among - noise)
    host, icc = _between(groups, among)
    found = {SAMPLE: sample, TRIAL: trial, HOST: host}
    counts = {SAMPLE: sum(one.n for one in within), TRIAL: len(values), HOST: len(groups)}
    whole = sum(variance for variance in found.values() if variance is not None)
    levels = [
        Level(name, counts[name], _root(variance, mean), variance / whole if whole and variance is not None else None)
        for name, variance in found.items()
        if counts[name]
    ]
    return Levels(tuple(levels), icc)


def _pooled(parts: Sequence[tuple[float, int]]) -> float | None:
    """Return the mean of variances, weighted by their degrees of freedom; None without any."""
    freedom = sum(count for _, count in parts)
    return sum(variance * count for variance, count in parts) / freedom if freedom else None


def _between(groups: Sequence[Sequence[float]], among: float | None) -> tuple[float | None, float | None]:
    """Return the variance between groups and the intraclass correlation: (MSB - MSW) / k, and its share of the sum."""
    if len(groups) < 2 or among is None:
        return None, None
    sizes = [len(group) for group in groups]
    total = sum(sizes)
    grand = sum(sum(group) for group in groups) / total
    between = sum(size * (statistics.fmean(group) - grand) ** 2 for size, group in zip(sizes, groups, strict=True)) / (
        len(groups) - 1
    )
    typical = (total - sum(size**2 for size in sizes) / total) / (len(groups) - 1)
    own = max(0.0, (between - among) / typical)
    return own, own / (own + among) if own + among else None


def _root(variance: float | None, mean: float) -> float | None:
    return None if variance is None else variance**0.5 / abs(mean)


WithinTrials = Mapping[tuple[str, int], Mapping[tuple[str, tuple[tuple[str, str], ...]], Within]]
"""The samples of each trial (run id, trial id) by metric name and labels."""
