"""Noise study: repeatability (CoV) of each test, host and run, ranked by level, as charts, JSON and CSV."""

import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries
from app.comparison.estimates import CONFIDENCE, student
from app.json_converter import Json, publish, published
from app.numeric import special
from app.plans.plan import host_label
from suites.quantities import label_pairs, label_text, metric_text
from suites.verdict import Trust, Verdict, least_trusted, trust_mark, worst
from suites.vocab import Labels, Metric

METHOD = (
    "CoV = standard deviation / mean, one trial is one value; 95 % interval from the chi-square distribution of the "
    "variance of the logarithms, for samples within trials Student's of the trials' CoV; overlapping intervals share "
    "a rank"
)
"""The method. The bootstrap covers worse: its 95 % interval of the CoV contains the true value in 69 % of cases with
six trials, in 75 % with ten; the interval used in 94 %, with three bimodal trials in 88 % (simulated for this
project)."""

FEWEST = 2
"""Fewest values for a CoV."""

OPEN_FROM = 10.0
"""The CoV above which the upper bound is None: two values that differ by 30 % would give a bound of a billion per
cent."""


class NoiseLevel(StrEnum):
    """A variance level: samples within a trial, trials on a host, or the means of hosts within a group.

    The spread of the means of hosts includes the remaining variance of their trials.
    """

    SAMPLE = "sample"
    TRIAL = "trial"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of `n` values: `cov` with its 95 % interval, and `range`, (largest - smallest) / median.

    For samples, `n` is the number of their trials. The bounds are None if all values agree, or one is not above zero.
    `high` alone is None beyond OPEN_FROM.
    """

    n: int
    cov: float
    low: float | None = None
    high: float | None = None
    range: float | None = None


@dataclass(frozen=True, slots=True)
class NoiseEntry:
    """The spread of a metric of a step on a host (or several) in a run (or group), at one level."""

    run: str
    step: str
    suite: str
    host: str
    metric: Metric
    labels: Labels
    level: NoiseLevel
    spread: Spread
    rank: int = 0
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class PooledSpread:
    """The pooled spread of one test, host or run; `n` is the number of its entries, `trust` their lowest."""

    name: str
    n: int
    spread: Spread
    trust: Trust | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Noise:
    """A noise study: entries ranked within their level, and tests, hosts and runs ranked by their trials.

    `excluded` names the invalid results, which do not count.
    """

    entries: tuple[NoiseEntry, ...]
    tests: tuple[PooledSpread, ...]
    hosts: tuple[PooledSpread, ...]
    runs: tuple[PooledSpread, ...]
    method: str = METHOD
    excluded: tuple[str, ...] = ()

    def at(self, level: NoiseLevel) -> tuple[NoiseEntry, ...]:
        """Return the entries of one level, the most repeatable first."""
        return tuple(entry for entry in self.entries if entry.level is level)


def spread_of(values: Sequence[float]) -> Spread | None:
    """Return the spread of values; None for fewer than two or a mean of zero."""
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
    """Return `found` with the interval of the CoV for log-normal values of this variance (Koopmans 1964)."""
    if variance < 1e-24:  # the logarithms differ by rounding alone
        return found
    error = (1 - CONFIDENCE) / 2
    edges = [freedom * variance / float(special.chdtri(freedom, part)) for part in (error, 1 - error)]
    low, high = (math.sqrt(math.expm1(min(edge, 50.0))) for edge in edges)
    return replace(found, low=min(low, found.cov), high=_end(max(high, found.cov)))


def _end(high: float) -> float | None:
    """Return the upper bound of an interval, None beyond OPEN_FROM."""
    return high if high <= OPEN_FROM else None


def pooled_spread(groups: Sequence[Sequence[float]]) -> Spread | None:
    """Return the spread within groups of values, pooled by their degrees of freedom; None without any.

    The CoV is the root mean square of those of the groups.
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


def spread_within_trials(trials: Sequence[Sequence[float]]) -> Spread | None:
    """Return the spread of samples within trials: the geometric mean of the CoV of `n` trials, and its interval.

    The interval is Student's on the logarithms of the trials' CoV: samples are autocorrelated, so their number
    does not narrow the interval.
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


def shared_ranks(spreads: Sequence[Spread]) -> list[int]:
    """Return the rank of each: one more than the number of intervals entirely below it."""
    ends = sorted(one.high for one in spreads if one.high is not None)
    return [1 if one.low is None else 1 + bisect_left(ends, one.low) for one in spreads]


@dataclass(frozen=True, slots=True)
class MetricTrials:
    """The trials of one metric on one step and host of a run, the samples within them, if any, and their verdict."""

    run: str
    step: str
    suite: str
    host: str
    metric: Metric
    labels: Labels
    values: tuple[float, ...]
    samples: tuple[tuple[float, ...], ...] = ()
    verdict: Verdict | None = None

    @property
    def trust(self) -> Trust | None:
        """The trust in the trials; None without a verdict."""
        return None if self.verdict is None else self.verdict.trust


def noise_of(given: Sequence[MetricTrials]) -> Noise:
    """Return the noise study of some metrics, without those that are invalid."""
    measured = [one for one in given if one.trust is not Trust.INVALID]
    excluded = dict.fromkeys(
        f"{one.run}: {one.step} on {host_label(one.host)} does not count, {one.verdict.text}"
        for one in given
        if one.verdict is not None and one.trust is Trust.INVALID
    )
    entries = [
        *_entries(NoiseLevel.SAMPLE, ((one, spread_within_trials(one.samples)) for one in measured)),
        *_entries(NoiseLevel.TRIAL, ((one, spread_of(one.values)) for one in measured)),
        *_entries(NoiseLevel.HOST, _groups(measured)),
    ]
    return Noise(
        tuple(entries),
        _pooled(measured, lambda one: one.step),
        _pooled(measured, lambda one: one.host),
        _pooled(measured, lambda one: one.run),
        excluded=tuple(excluded),
    )


def _entries(level: NoiseLevel, found: Iterable[tuple[MetricTrials, Spread | None]]) -> list[NoiseEntry]:
    known = [(one, spread) for one, spread in found if spread is not None]
    ranks = shared_ranks([spread for _, spread in known])
    entries = [
        NoiseEntry(one.run, one.step, one.suite, one.host, one.metric, one.labels, level, spread, rank, one.trust)
        for (one, spread), rank in zip(known, ranks, strict=True)
    ]
    return sorted(entries, key=lambda entry: (entry.rank, entry.spread.cov))


def _groups(measured: Sequence[MetricTrials]) -> list[tuple[MetricTrials, Spread | None]]:
    """Return the spread of the means of the hosts of a run, for each metric."""
    hosts: dict[tuple[str, str, str, Labels], list[MetricTrials]] = {}
    for one in measured:
        hosts.setdefault((one.run, one.step, one.metric.name, one.labels), []).append(one)
    return [
        (_together(found), spread_of([statistics.fmean(one.values) for one in found]))
        for found in hosts.values()
        if len(found) >= FEWEST
    ]


def _together(found: Sequence[MetricTrials]) -> MetricTrials:
    verdict = least_trusted(one.verdict for one in found if one.verdict is not None)
    return replace(found[0], host=f"{len(found)} hosts", verdict=verdict)


def _pooled(measured: Sequence[MetricTrials], key: Callable[[MetricTrials], str]) -> tuple[PooledSpread, ...]:
    groups: dict[str, list[MetricTrials]] = {}
    for one in measured:
        groups.setdefault(key(one), []).append(one)
    known = [
        (name, len(found), spread, worst(levels) if levels else None)
        for name, found in groups.items()
        if (spread := pooled_spread([one.values for one in found])) is not None
        for levels in [tuple(one.trust for one in found if one.trust is not None)]
    ]
    ranks = shared_ranks([one[2] for one in known])
    pooled = [PooledSpread(*found, rank) for found, rank in zip(known, ranks, strict=True)]
    return tuple(sorted(pooled, key=lambda one: (one.rank, one.spread.cov)))


MOST = 40
"""Most rows of a chart; the table has all."""

TITLES = {
    NoiseLevel.SAMPLE: "Samples within a trial",
    NoiseLevel.TRIAL: "Trials on a host",
    NoiseLevel.HOST: "Means of hosts within a group",
}
"""Titles of the levels for charts and tables."""


def noise_charts(found: Noise) -> tuple[Chart, ...]:
    """Return a chart for each level with entries. Trials come first: they limit what a comparison can detect."""
    order = (NoiseLevel.TRIAL, NoiseLevel.HOST, NoiseLevel.SAMPLE)
    charts = [noise_chart(found, level) for level in order if found.at(level)]
    last = ". ".join((*found.excluded, found.method))
    return (*charts[:-1], *(replace(chart, note=f"{chart.note} {last}.".strip()) for chart in charts[-1:]))


def noise_chart(found: Noise, level: NoiseLevel) -> Chart:
    """Return the entries of one level, the most repeatable at the top."""
    entries = found.at(level)[:MOST]
    spreads = [entry.spread for entry in entries]
    names = tuple(f"{entry.rank}  {name}" for entry, name in zip(entries, _names(entries), strict=True))
    omitted = len(found.at(level)) - len(entries)
    note = f"{omitted} more are in the table." if omitted else ""
    return Chart(
        f"{TITLES[level]}, most repeatable first",
        ChartAxis("coefficient of variation", share=True, from_zero=True),
        ChartAxis("", names=names),
        (dots(spreads),),
        note,
    )


def dots(spreads: Sequence[Spread]) -> ChartSeries:
    """Return spreads as dots with whiskers, one below the other."""
    rows = tuple(map(float, range(len(spreads))))
    return ChartSeries(
        "", tuple(spread.cov for spread in spreads), rows, ChartMark.DOTS, 0,
        tuple(spread.low for spread in spreads), tuple(spread.high for spread in spreads), across=True,
    )  # fmt: skip


def _names(entries: Sequence[NoiseEntry]) -> list[str]:
    """Return the shortest distinguishing name of each entry."""
    several = {"run": len({entry.run for entry in entries}) > 1, "host": len({entry.host for entry in entries}) > 1}
    metrics: dict[str, set[str]] = {}
    for entry in entries:
        metrics.setdefault(entry.step, set()).add(entry.metric.name)
    return [", ".join(part for part in _parts(entry, several, metrics) if part) for entry in entries]


def _parts(entry: NoiseEntry, several: dict[str, bool], metrics: dict[str, set[str]]) -> Sequence[str]:
    whole = len(metrics[entry.step]) > 1
    what = metric_text(entry.metric, entry.labels) if whole else label_text(entry.labels)
    return (
        entry.step, what, host_label(entry.host) if several["host"] else "", entry.run[:40] if several["run"] else "",
        trust_mark(entry.trust),
    )  # fmt: skip


FORMAT = "benchwright-noise/1"

_SPREAD = "n=spread.n cov=spread.cov low=spread.low high=spread.high range=spread.range"
publish(NoiseEntry, f"level rank run step suite host metric=metric.name labels {_SPREAD} trust")
publish(PooledSpread, f"name rank entries=n {_SPREAD} trust")
publish(Noise, "method entries tests hosts runs excluded")

NOISE_COLUMNS = (
    "level", "rank", "run", "step", "suite", "host", "metric", "labels", "n", "cov", "low", "high", "range", "trust",
)  # fmt: skip


def noise_to_json(found: Noise) -> Json:
    """Return the public JSON. Shares are fractions: 0.05 is 5 %."""
    return {"format": FORMAT, **published(found)}


def noise_entry_rows(found: Noise) -> list[Json]:
    """Return the entries as rows of a table with NOISE_COLUMNS."""
    return [published(entry) | {"labels": label_pairs(entry.labels)} for entry in found.entries]
