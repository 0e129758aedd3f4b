"""The figure that leads a step, its spread so far, and how it stands to the baseline: honest words for each. No Qt."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from app.baselines.bands import medians_text
from app.leading import tail_of
from app.records import Band
from app.wording import figure_text, label_text, ratio_text, spread_text
from suites.errors import UnknownSuiteError
from suites.units import convert, unit
from suites.vocab import Better, Figure, Labels, Metric
from widgets.live.model import Place, RunModel, Series, TrialView

LEAST_FOR_QUARTILES = 4
"""Samples below which quartiles say nothing."""

NOTHING = "—"


@dataclass(frozen=True, slots=True)
class Headline:
    """What stands above the plots of a step. `caption` says what the figure is; empty texts are not shown."""

    title: str
    text: str
    caption: str
    better: Better | None = None
    others: str = ""
    tail_title: str = ""
    tail: str = ""
    ratio_title: str = ""
    ratio: str = ""
    ratio_caption: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with half the width of its range, over `n` samples or trials."""

    value: float
    half: float | None
    n: int


def headline_metric(model: RunModel, place: Place) -> Metric | None:
    """Return the metric that leads a step: the suite's first, or the first figure of a suite this program lacks."""
    try:
        return model.plan.step(place[0]).headline
    except UnknownSuiteError:
        return next((figure.metric for view in model.trials_at(place) for figure in view.figures), None)


def headline(model: RunModel, place: Place, bands: Sequence[Band]) -> Headline:
    """Return what to show for a step now: the trial under way, or all its trials."""
    metric = headline_metric(model, place)
    if metric is None:
        return Headline("", NOTHING, "no figure yet")
    running = model.running_at(place)
    return _under_way(running, metric, bands) if running is not None else _so_far(model, place, metric, bands)


def of_samples(series: Series) -> Estimate | None:
    """Return the median of the samples that count and half the distance of their quartiles, or None."""
    values = series.counted()
    if not len(values):
        return None
    if len(values) < LEAST_FOR_QUARTILES:
        return Estimate(float(np.median(values)), None, len(values))
    low, median, high = np.percentile(values, [25, 50, 75])
    return Estimate(float(median), float(high - low) / 2, len(values))


def of_trials(values: Sequence[float]) -> Estimate | None:
    """Return the median of the trials and half the distance of the lowest and highest, or None."""
    if not values:
        return None
    half = (max(values) - min(values)) / 2 if len(values) > 1 else None
    return Estimate(statistics.median(values), half, len(values))


def estimate_text(metric: Metric, estimate: Estimate) -> str:
    """Return an estimate in words: ``41.2k IOPS ± 0.9k``."""
    if estimate.half:
        return spread_text(metric, estimate.value, estimate.half)
    return figure_text(metric, estimate.value)


def _under_way(view: TrialView, metric: Metric, bands: Sequence[Band]) -> Headline:
    found = [(series, estimate) for series in _of_metric(view, metric) if (estimate := of_samples(series))]
    if not found:
        return Headline(metric.title, NOTHING, "no sample yet", metric.better)
    series, estimate = found[0]
    spread = ", ± quartiles" if estimate.half else ""
    samples = "sample" if estimate.n == 1 else "samples"
    tail = _tail([(other.metric, of_samples(other)) for other in view.series.values() if other.labels == series.labels])
    band = band_for(bands, metric, series.labels)
    return Headline(
        _titled(metric, series.labels),
        estimate_text(metric, estimate),
        f"median of {estimate.n} {samples} so far{spread}",
        metric.better,
        _others(metric, [(other.labels, est) for other, est in found[1:]]),
        *tail,
        *_ratio(metric, estimate.value, band, band.median if band is not None else None),
    )


def _so_far(model: RunModel, place: Place, metric: Metric, bands: Sequence[Band]) -> Headline:
    counted = [view for view in model.trials_at(place) if view.counts]
    by_labels: dict[Labels, list[float]] = {}
    for figure in _figures(counted, metric.name):
        by_labels.setdefault(figure.labels, []).append(figure.value)
    found = [(labelled, estimate) for labelled, values in by_labels.items() if (estimate := of_trials(values))]
    if not found:
        return _of_what_was_kept(model, place, metric)
    labelled, estimate = found[0]
    caption = "one trial, spread not known" if estimate.n == 1 else f"median of {estimate.n} trials"
    band = band_for(bands, metric, labelled)
    open_yet = not model.phase.over
    return Headline(
        _titled(metric, labelled),
        estimate_text(metric, estimate),
        f"{caption}, ± half their range" if estimate.half else caption,
        metric.better,
        _others(metric, found[1:]),
        *_tail(_percentiles(counted, labelled)),
        *_ratio(
            metric, estimate.value, band, band.figure if band is not None else None, None if open_yet else estimate.n
        ),
    )


def _of_what_was_kept(model: RunModel, place: Place, metric: Metric) -> Headline:
    """Return the samples of a trial that does not count, saying so, or why there is nothing."""
    for view in reversed(model.trials_at(place)):
        for series in _of_metric(view, metric):
            estimate = of_samples(series)
            if estimate is not None and view.ended is not None:
                samples = "sample" if estimate.n == 1 else "samples"
                caption = f"median of {estimate.n} {samples}; the trial does not count"
                return Headline(_titled(metric, series.labels), estimate_text(metric, estimate), caption, metric.better)
    return Headline(metric.title, NOTHING, _why_nothing(model, place), metric.better)


def band_for(bands: Iterable[Band], metric: Metric, labelled: Labels) -> Band | None:
    """Return the newest band of this series, or None."""
    return next((band for band in bands if band.metric == metric.name and band.labels == labelled), None)


def _ratio(
    metric: Metric, value: float, band: Band | None, reference: float | None, trials: int | None = None
) -> tuple[str, str, str]:
    """Return what the ratio is, the ratio, and to which baseline; inside its quartiles it shows nothing.

    While the run goes on, so that its `trials` are not known, it says which way, and that this is no verdict; then
    of how many trials it is: without an interval it is none either.
    """
    if band is None or not reference:
        return "", "", ""
    low, high, base = (convert(edge, unit(band.unit), metric.unit) for edge in (band.low, band.high, reference))
    title, words = "baseline, so far" if trials is None else "baseline", ratio_text(value / base, metric.better)
    if band.reference:  # nobody knows how far its figures spread: the ratio alone, never better or worse
        return title.replace("baseline", "reference"), words.split(",")[0], band.said
    if low <= value <= high:
        return title, words.split(",")[0], f"inside its quartiles · {band.said}"
    return title, words, f"{'no verdict yet' if trials is None else medians_text(trials, band)} · {band.said}"


def _tail(found: Iterable[tuple[Metric, Estimate | None]]) -> tuple[str, str]:
    """Return the title and value of the percentile nearest to p99, between 90 and 100."""
    known = {metric: estimate for metric, estimate in found if estimate is not None}
    metric = tail_of(known)
    return ("", "") if metric is None else (f"p{metric.percentile:g} latency", figure_text(metric, known[metric].value))


def _percentiles(views: Sequence[TrialView], labelled: Labels) -> list[tuple[Metric, Estimate | None]]:
    gathered: dict[Metric, list[float]] = {}
    for view in views:
        for figure in view.figures:
            if figure.labels == labelled and figure.metric.percentile is not None:
                gathered.setdefault(figure.metric, []).append(figure.value)
    return [(metric, of_trials(values)) for metric, values in gathered.items()]


def _of_metric(view: TrialView, metric: Metric) -> list[Series]:
    return [series for (name, _), series in view.series.items() if name == metric.name]


def _figures(views: Iterable[TrialView], name: str) -> list[Figure]:
    return [figure for view in views for figure in view.figures if figure.metric.name == name]


def _others(metric: Metric, found: Iterable[tuple[Labels, Estimate]]) -> str:
    return " · ".join(
        f"{label_text(labelled)} {figure_text(metric, estimate.value, estimate.half)}" for labelled, estimate in found
    )


def _titled(metric: Metric, labelled: Labels) -> str:
    return f"{metric.title}, {label_text(labelled)}" if labelled else metric.title


def _why_nothing(model: RunModel, place: Place) -> str:
    ended = [view.ended for view in model.trials_at(place) if view.ended is not None]
    if ended and ended[-1].reason:
        return ended[-1].reason
    return "no trial counted" if model.phase.over else "not measured yet"
