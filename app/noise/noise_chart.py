"""A noise study as charts: everything ranked by its CoV, with the interval of each."""

from collections.abc import Sequence
from dataclasses import replace

from app.chart import Axis, Chart, Mark, Series
from app.noise.noise import Noise, NoiseEntry, NoiseLevel, Spread
from app.plans.plan import host_words
from app.wording import label_text, metric_text

MOST = 40
"""Rows of a chart: the least repeatable beyond are in the table."""

TITLES = {
    NoiseLevel.SAMPLE: "Samples within a trial",
    NoiseLevel.TRIAL: "Trials on a host",
    NoiseLevel.HOST: "Means of hosts within a group",
}
"""What each level is called above its chart and its table."""


def noise_charts(found: Noise) -> tuple[Chart, ...]:
    """Return a chart for each level that has entries; trials first: they decide what a comparison can show."""
    order = (NoiseLevel.TRIAL, NoiseLevel.HOST, NoiseLevel.SAMPLE)
    charts = [noise_chart(found, level) for level in order if found.at(level)]
    return (*charts[:-1], *(replace(chart, note=f"{chart.note} {found.method}.".strip()) for chart in charts[-1:]))


def noise_chart(found: Noise, level: NoiseLevel) -> Chart:
    """Return the entries of one level, the most repeatable at the top."""
    entries = found.at(level)[:MOST]
    spreads = [entry.spread for entry in entries]
    names = tuple(f"{entry.rank}  {name}" for entry, name in zip(entries, _names(entries), strict=True))
    left = len(found.at(level)) - len(entries)
    note = f"{left} more are not drawn." if left else ""
    return Chart(
        f"{TITLES[level]}, the most repeatable first",
        Axis("coefficient of variation", share=True, from_zero=True),
        Axis("", names=names),
        (dots(spreads),),
        note,
    )


def dots(spreads: Sequence[Spread]) -> Series:
    """Return spreads as dots with whiskers, one below the other."""
    places = tuple(map(float, range(len(spreads))))
    return Series(
        "", tuple(spread.cov for spread in spreads), places, Mark.DOTS, 0,
        tuple(spread.low for spread in spreads), tuple(spread.high for spread in spreads), across=True,
    )  # fmt: skip


def _names(entries: Sequence[NoiseEntry]) -> list[str]:
    """Return what each entry is called: no more than tells it from the others."""
    several = {
        "run": len({entry.run for entry in entries}) > 1,
        "host": len({entry.host for entry in entries}) > 1,
    }
    metrics: dict[str, set[str]] = {}
    for entry in entries:
        metrics.setdefault(entry.step, set()).add(entry.metric.name)
    return [", ".join(part for part in _parts(entry, several, metrics) if part) for entry in entries]


def _parts(entry: NoiseEntry, several: dict[str, bool], metrics: dict[str, set[str]]) -> Sequence[str]:
    whole = len(metrics[entry.step]) > 1
    what = metric_text(entry.metric, entry.labels) if whole else label_text(entry.labels)
    return (
        entry.step, what, host_words(entry.host) if several["host"] else "", entry.run[:40] if several["run"] else "",
    )  # fmt: skip
