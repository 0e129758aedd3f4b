"""Noise study: repeatability (CoV) of each test, host and run, ranked by level, as charts, JSON and CSV."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, TypedDict

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries
from app.json_converter import Json, publish, published
from app.numeric import mean_of
from app.plans.plan import host_label
from app.spreads import (
    FEWEST,
    METHOD,
    Spread,
    deviation_score,
    is_poolable,
    pooled_spread,
    ranks_of,
    sample_score,
    spread_of,
    spread_within_trials,
)
from suites.quantities import count_text, label_pairs, label_text, listed, metric_text
from suites.verdict import Trust, Verdict, least_trusted, trust_mark, worst
from suites.vocab import Labels, Metric


class NoiseLevel(StrEnum):
    """A variance level: samples within a trial, trials on a host, or the means of hosts within a group.

    The spread of the means of hosts includes the remaining variance of their trials.
    """

    SAMPLE = "sample"
    TRIAL = "trial"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class NoiseEntry:
    """The spread of a metric of a step on a host (or several) in a run (or group), at one level.

    `rank` is None without the evidence for one: see app.spreads.deviation_score().
    """

    run: str
    step: str
    suite: str
    host: str
    metric: Metric
    labels: Labels
    level: NoiseLevel
    spread: Spread
    rank: int | None = None
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class PooledSpread:
    """The pooled spread of one test, host or run; `n` is the number of results in it, `trust` their lowest."""

    name: str
    n: int
    spread: Spread
    trust: Trust | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """A noise study: entries ranked within their level, and tests, hosts and runs ranked by their trials.

    `excluded` names the results that do not count: invalid ones, and those without a spread relative to their mean.
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
    value: float | None = None

    @property
    def mean(self) -> float:
        """The value of the metric, by default the mean of the trials."""
        return mean_of(self.values) if self.value is None else self.value

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
        *_entries(NoiseLevel.SAMPLE, [(one, spread_within_trials(one.samples)) for one in measured]),
        *_entries(NoiseLevel.TRIAL, [(one, spread_of(one.values)) for one in measured]),
        *_entries(NoiseLevel.HOST, _groups(measured)),
    ]
    return Noise(
        tuple(entries),
        _pooled(measured, lambda one: one.step),
        _pooled(measured, lambda one: one.host),
        _pooled(measured, lambda one: one.run),
        excluded=(*excluded, *_without_spread(measured)),
    )


MOST_NAMED = 10
"""Most results without a spread that a note names."""


def _without_spread(measured: Sequence[MetricTrials]) -> list[str]:
    """Return for each reason the results that are not pooled."""
    few, rest = "fewer than two trials", "a value not above zero"
    names: dict[str, list[str]] = {}
    for one in measured:
        if not is_poolable(one.values):
            name = f"{metric_text(one.metric, one.labels)} ({one.run}: {one.step} on {host_label(one.host)})"
            names.setdefault(few if len(one.values) < FEWEST else rest, []).append(name)
    return [
        f"{count_text(len(found), 'result')} left out of tests, hosts and runs, {reason}: {listed(found, MOST_NAMED)}"
        for reason, found in names.items()
    ]


def _entries(level: NoiseLevel, found: Iterable[tuple[MetricTrials, Spread | None]]) -> list[NoiseEntry]:
    known = [(one, spread) for one, spread in found if spread is not None]
    if level is NoiseLevel.SAMPLE:
        ranks = ranks_of([sample_score(one.samples) for one, _ in known])
    else:
        ranks = ranks_of([deviation_score([one.values]) for one, _ in known], equal_variances=True)
    entries = [
        NoiseEntry(one.run, one.step, one.suite, one.host, one.metric, one.labels, level, spread, rank, one.trust)
        for (one, spread), rank in zip(known, ranks, strict=True)
    ]
    return sorted(entries, key=_best_first)


def _best_first(one: NoiseEntry | PooledSpread) -> tuple[float, float]:
    return math.inf if one.rank is None else one.rank, one.spread.cov


def _groups(measured: Sequence[MetricTrials]) -> list[tuple[MetricTrials, Spread | None]]:
    """Return the means of the hosts of a run as trials of one, for each metric, and their spread."""
    hosts: dict[tuple[str, str, str, Labels], list[MetricTrials]] = {}
    for one in measured:
        hosts.setdefault((one.run, one.step, one.metric.name, one.labels), []).append(one)
    together = [_together(found) for found in hosts.values() if len(found) >= FEWEST]
    return [(one, spread_of(one.values)) for one in together]


def _together(found: Sequence[MetricTrials]) -> MetricTrials:
    verdict = least_trusted(one.verdict for one in found if one.verdict is not None)
    means = tuple(one.mean for one in found)
    return replace(found[0], host=f"{len(found)} hosts", values=means, verdict=verdict)


def _pooled(measured: Sequence[MetricTrials], key: Callable[[MetricTrials], str]) -> tuple[PooledSpread, ...]:
    groups: dict[str, list[MetricTrials]] = {}
    for one in measured:
        if is_poolable(one.values):
            groups.setdefault(key(one), []).append(one)
    known = {
        name: (found, spread)
        for name, found in groups.items()
        if (spread := pooled_spread([one.values for one in found])) is not None
    }
    ranks = ranks_of([deviation_score([one.values for one in found]) for found, _ in known.values()])
    pooled = [
        PooledSpread(name, len(found), spread, worst(levels) if levels else None, rank)
        for (name, (found, spread)), rank in zip(known.items(), ranks, strict=True)
        for levels in [tuple(one.trust for one in found if one.trust is not None)]
    ]
    return tuple(sorted(pooled, key=_best_first))


def rank_text(one: NoiseEntry | PooledSpread) -> str:
    """Return the rank as text; a dash without one."""
    return "–" if one.rank is None else str(one.rank)


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
    names = tuple(f"{rank_text(entry)}  {name}" for entry, name in zip(entries, _names(entries), strict=True))
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


FORMAT = "benchwright-noise/2"

_SPREAD = "n=spread.n cov=spread.cov low=spread.low high=spread.high range=spread.range"
publish(NoiseEntry, f"level rank run step suite host metric=metric.name labels {_SPREAD} trust")
publish(PooledSpread, f"name rank entries=n {_SPREAD} trust")
publish(Noise, "method entries tests hosts runs excluded")

NOISE_COLUMNS = (
    "level", "rank", "run", "step", "suite", "host", "metric", "labels", "n", "cov", "low", "high", "range", "trust",
)  # fmt: skip


class NoiseKeys(TypedDict):
    """Keys of the noise beside those of Noise."""

    format: Annotated[str, FORMAT]


NoiseJson = Annotated[Json, NoiseKeys, Noise]


def noise_to_json(found: Noise) -> NoiseJson:
    """Return the public JSON. Shares are fractions: 0.05 is 5 %."""
    return {"format": FORMAT, **published(found)}


def noise_entry_rows(found: Noise) -> list[Json]:
    """Return the entries as rows of a table with NOISE_COLUMNS."""
    return [published(entry) | {"labels": label_pairs(entry.labels)} for entry in found.entries]
