"""The headline of a step: its main metric, spread, tail latency and ratio to the baseline, as texts. No Qt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from app.baselines.baselines import counts_text
from app.centres import centre_over
from app.events import Trial
from app.plans.duet import halves_of_trials
from app.plans.plan import Order, Plan
from app.records import Band
from app.summary import tail_of
from suites.errors import UnknownSuiteError
from suites.quantities import figure_text, label_text, metric_text, ratio_text, spread_text, times_text
from suites.units import convert, unit
from suites.vocab import Better, Labels, Metric
from widgets.live.model import LiveSeries, RunModel, StepKey, TrialView
from widgets.parts.names import MISSING

LEAST_FOR_QUARTILES = 4
"""Fewest samples for which quartiles are shown."""


@dataclass(frozen=True, slots=True)
class Headline:
    """Texts of the headline bar. `caption` describes the figure; empty texts are hidden."""

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
class HeadlineEstimate:
    """The median of `n` samples and half their interquartile range, or the mean of `n` trials and half its interval."""

    value: float
    half: float | None
    n: int


def headline_metric(model: RunModel, step_key: StepKey) -> Metric | None:
    """Return the headline metric of a step: the suite's first, or that of the first figure of an unknown suite."""
    try:
        return model.plan.step(step_key[0]).headline
    except UnknownSuiteError:
        return next((figure.metric for view in model.trials_at(step_key) for figure in view.figures), None)


def headline(model: RunModel, step_key: StepKey, bands: Sequence[Band]) -> Headline:
    """Return the headline of a step now: of the trial under way, or else of its finished trials."""
    metric = headline_metric(model, step_key)
    if metric is None:
        return Headline("", MISSING, "no figure yet")
    running = model.running_at(step_key)
    return (
        _running_headline(running, metric, bands)
        if running is not None
        else _finished_headline(model, step_key, metric, bands)
    )


def side_text(model: RunModel, step_key: StepKey) -> str:
    """Return the headline of a side of a duet so far, for both are under way: ``268/s``; empty outside of one."""
    figure = headline(model, step_key, ()).text if model.plan.order is Order.DUET else MISSING
    return "" if figure == MISSING else figure


def of_samples(series: LiveSeries) -> HeadlineEstimate | None:
    """Return the median of the counted samples and half their interquartile range, or None."""
    values = series.counted()
    if not len(values):
        return None
    if len(values) < LEAST_FOR_QUARTILES:
        return HeadlineEstimate(float(np.median(values)), None, len(values))
    low, median, high = np.percentile(values, [25, 50, 75])
    return HeadlineEstimate(float(median), float(high - low) / 2, len(values))


def estimate_text(metric: Metric, estimate: HeadlineEstimate) -> str:
    """Return an estimate as text: ``41.2k IOPS ± 0.9k``."""
    if estimate.half:
        return spread_text(metric, estimate.value, estimate.half)
    return figure_text(metric, estimate.value)


def _running_headline(view: TrialView, metric: Metric, bands: Sequence[Band]) -> Headline:
    found = [(series, estimate) for series in _series_of(view, metric) if (estimate := of_samples(series))]
    if not found:
        return Headline(metric.title, MISSING, "no sample yet", metric.better)
    series, estimate = found[0]
    spread = ", ± IQR/2" if estimate.half else ""
    samples = "sample" if estimate.n == 1 else "samples"
    tail = _tail([(other.metric, of_samples(other)) for other in view.series.values() if other.labels == series.labels])
    band = band_for(bands, metric, series.labels)
    return Headline(
        metric_text(metric, series.labels),
        estimate_text(metric, estimate),
        f"median of {estimate.n} {samples} so far{spread}",
        metric.better,
        _others(metric, [(other.labels, est) for other, est in found[1:]]),
        *tail,
        *_ratio(metric, estimate.value, band, band.median if band is not None else None),
    )


def _finished_headline(model: RunModel, step_key: StepKey, metric: Metric, bands: Sequence[Band]) -> Headline:
    counted = [view for view in model.trials_at(step_key) if view.counts]
    shown = _over_trials(model.plan, counted, metric.name)
    found = [(labelled, estimate) for (one, labelled), estimate in shown.items() if one.name == metric.name]
    if not found:
        return _excluded_headline(model, step_key, metric)
    labelled, estimate = found[0]
    caption = "one trial, no interval" if estimate.n == 1 else f"mean of {estimate.n} trials"
    band = band_for(bands, metric, labelled)
    under_way = not model.phase.over
    return Headline(
        metric_text(metric, labelled),
        estimate_text(metric, estimate),
        f"{caption}, ± 95 % interval" if estimate.half else caption,
        metric.better,
        _others(metric, found[1:]),
        *_tail((one, estimate) for (one, at), estimate in shown.items() if at == labelled),
        *_ratio(
            metric, estimate.value, band, band.figure if band is not None else None, None if under_way else estimate.n
        ),
    )


def _excluded_headline(model: RunModel, step_key: StepKey, metric: Metric) -> Headline:
    """Return the last trial that does not count, marked as such, or the reason why there is no figure."""
    for view in reversed(model.trials_at(step_key)):
        for series in _series_of(view, metric):
            estimate = of_samples(series)
            if estimate is not None and view.ended is not None:
                samples = "sample" if estimate.n == 1 else "samples"
                caption = f"median of {estimate.n} {samples}; the trial does not count"
                return Headline(
                    metric_text(metric, series.labels), estimate_text(metric, estimate), caption, metric.better
                )
    return Headline(metric.title, MISSING, _no_figure_reason(model, step_key), metric.better)


def band_for(bands: Iterable[Band], metric: Metric, labelled: Labels) -> Band | None:
    """Return the newest band of this series, or None."""
    return next((band for band in bands if band.metric == metric.name and band.labels == labelled), None)


def _ratio(
    metric: Metric, value: float, band: Band | None, reference: float | None, trials: int | None = None
) -> tuple[str, str, str]:
    """Return the title, the ratio to the baseline, and its note; within the baseline's quartiles, the ratio alone.

    `trials` is None while the run is under way: the note is then “no verdict yet”. Afterwards it counts the trials,
    because a ratio without an interval is no verdict either.
    """
    if band is None or not reference:
        return "", "", ""
    low, high, base = (convert(edge, unit(band.unit), metric.unit) for edge in (band.low, band.high, reference))
    kind, ratio = "reference" if band.reference else "baseline", value / base
    title = f"{kind}, so far" if trials is None else kind
    if band.reference:  # its spread is unknown: no “better” or “worse”
        return title, times_text(ratio), band.label
    if low <= value <= high:
        return title, times_text(ratio), f"within its quartiles · {band.label}"
    text = ratio_text(ratio, metric.better)
    return title, text, f"{'no verdict yet' if trials is None else counts_text(trials, band)} · {band.label}"


def _tail(found: Iterable[tuple[Metric, HeadlineEstimate | None]]) -> tuple[str, str]:
    """Return the title and value of the percentile nearest to p99, between 90 and 100."""
    known = {metric: estimate for metric, estimate in found if estimate is not None}
    metric = tail_of(known)
    return ("", "") if metric is None else (f"p{metric.percentile:g} latency", figure_text(metric, known[metric].value))


def _over_trials(plan: Plan, views: Iterable[TrialView], name: str) -> dict[tuple[Metric, Labels], HeadlineEstimate]:
    """Return the estimates of the metric `name` and of the percentiles over trials of a step."""
    gathered: dict[tuple[Metric, Labels], list[tuple[float, Trial]]] = {}
    for view in views:
        for figure in view.figures:
            if figure.metric.name == name or figure.metric.percentile is not None:
                gathered.setdefault((figure.metric, figure.labels), []).append((figure.value, view.trial))
    return {key: _of_trials(plan, found) for key, found in gathered.items()}


def _of_trials(plan: Plan, found: Sequence[tuple[float, Trial]]) -> HeadlineEstimate:
    """Return the mean of trials and half the width of its 95 % interval."""
    halves = halves_of_trials(plan, found[0][1].step, (trial.number for _, trial in found))
    centre = centre_over([value for value, _ in found], halves)
    return HeadlineEstimate(centre.value, centre.half and centre.half * centre.value, len(found))


def _series_of(view: TrialView, metric: Metric) -> list[LiveSeries]:
    return [series for (name, _), series in view.series.items() if name == metric.name]


def _others(metric: Metric, found: Iterable[tuple[Labels, HeadlineEstimate]]) -> str:
    return " · ".join(
        f"{label_text(labelled)} {figure_text(metric, estimate.value, estimate.half)}" for labelled, estimate in found
    )


def _no_figure_reason(model: RunModel, step_key: StepKey) -> str:
    ended = [view.ended for view in model.trials_at(step_key) if view.ended is not None]
    if ended and ended[-1].reason:
        return ended[-1].reason
    return "no trial counted" if model.phase.over else "not measured yet"
