"""The headline of a step as texts: finished trials with their interval, current trial, baseline ratio, goal. No Qt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.centres import centre_over
from app.checks.limits import limiter_text
from app.events import State, Trial
from app.plans.duet import halves_of_trials
from app.plans.plan import Plan, host_label
from app.records import Band
from app.summary import tail_of
from suites.errors import UnitError, UnknownSuiteError
from suites.quantities import (
    clock_text,
    estimate_text,
    exact_share_text,
    figure_text,
    label_text,
    metric_text,
    range_text,
    share_text,
)
from suites.units import convert
from suites.verdict import Limiter
from suites.vocab import Better, Labels, Metric
from widgets.live.baseline_ratio import band_for, ratio_of_trials, ratio_so_far
from widgets.live.messages import AWAY, between_text, trial_text, under_way_text
from widgets.live.model import LiveSeries, RunModel, StepKey, TrialView
from widgets.live.plot_groups import SO_FAR, running_names
from widgets.plots.series import Numbers

NO_FIGURE = "No figure"
"""Shown in place of the figure until the first sample or figure of any trial of the step."""


_ROUNDING = 1e-9
"""Relative half width of an interval below which trials differ by rounding alone."""


@dataclass(frozen=True, slots=True)
class Headline:
    """Texts of the headline bar; empty ones are hidden.

    `caption` describes the figure `text`, `n` is the number of finished trials that it is of, 0 if it is of a single
    trial that does not count yet. `current` is the trial or phase under way, `goal` the interval so far against the
    goal of the repetition policy, `limit` what limited the trials so far.
    """

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
    current: str = ""
    goal: str = ""
    limit: str = ""
    n: int = 0

    @property
    def counted(self) -> bool:
        """Whether the figure is of finished trials that count."""
        return self.n > 0


@dataclass(frozen=True, slots=True)
class TrialsEstimate:
    """The mean of `values`, one per trial, and the distance of the farther edge of its 95 % interval."""

    value: float
    half: float | None
    values: tuple[float, ...]

    @property
    def n(self) -> int:
        """The number of trials."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class SampleSpread:
    """Median, least and greatest of `n` samples of one trial."""

    median: float  # of a search, the last
    least: float
    greatest: float
    n: int


def headline_metric(model: RunModel, step_key: StepKey) -> Metric | None:
    """Return the headline metric of a step: the suite's first, or that of the first figure of an unknown suite."""
    try:
        return model.plan.step(step_key[0]).headline
    except UnknownSuiteError:
        views = model.trials_at(step_key)
        found = [figure.metric for view in views for figure in view.figures]
        found += [series.metric for view in views for series in view.series.values()]
        return next(iter(found), None)


def headline(model: RunModel, step_key: StepKey, bands: Sequence[Band], now: float = 0.0) -> Headline:
    """Return the headline of a step at `now`: of its counted trials, else of the last trial with a figure.

    Once a sample of any trial has arrived, there is always a figure with what it is.
    """
    metric = headline_metric(model, step_key)
    return replace(
        _figure(model, step_key, metric, bands),
        current=current_text(model, step_key, metric, now),
        goal=goal_text(model, step_key),
        limit=limit_text(model, step_key),
    )


def leading_figure(model: RunModel, step_key: StepKey) -> str:
    """Return the figure of the counted trials, else of the one under way: ``41.2k IOPS so far``; empty without."""
    metric, view = headline_metric(model, step_key), model.running_at(step_key)
    if metric is not None and (counted := _of_counted(model, step_key, metric, ())) is not None:
        return counted.text
    figure = "" if view is None or view.trial.warm_up else figure_so_far(view, metric)
    return figure and f"{figure} so far"


def _figure(model: RunModel, step_key: StepKey, metric: Metric | None, bands: Sequence[Band]) -> Headline:
    counted = None if metric is None else _of_counted(model, step_key, metric, bands)
    if counted is not None:
        return counted
    found = (_of_trial(model, view, metric, bands) for view in reversed(model.trials_at(step_key)))
    title = "" if metric is None else metric.title
    without = Headline(title, NO_FIGURE, _no_figure_reason(model, step_key, metric))
    return next((one for one in found if one is not None), without)


def spread_of(series: LiveSeries) -> SampleSpread | None:
    """Return the spread of the counted samples; None without any."""
    return _spread(series.counted())


def samples_text(metric: Metric, spread: SampleSpread) -> str:
    """Return the number and range of samples: ``median of 5 samples, 40.9k to 41.8k IOPS``; of a search, its title."""
    if metric.name.endswith(SO_FAR):
        return "best of the rates tried"
    if spread.n == 1:
        return "1 sample"
    return f"median of {spread.n} samples, {range_text(metric, spread.least, spread.greatest, value=spread.median)}"


def current_text(model: RunModel, step_key: StepKey, metric: Metric | None, now: float) -> str:
    """Return the trial of the step under way with its running figure, or what the run does between trials.

    ``trial 3 of 8: 409k IOPS so far, 00:12 of 01:00``; empty when the run is over.
    """
    if model.phase.over:
        return ""
    view = model.running_at(step_key)
    link = model.links.get(step_key[1])
    trouble = "" if link is None else f"connection {AWAY.get(link.state, link.state.value)}"
    if view is None:
        return trouble or _current_elsewhere(model, step_key)
    figure = figure_so_far(view, metric)
    time = f"state not known, {trouble}" if trouble else _trial_time(view, now)
    return ", ".join(filter(None, [f"{trial_text(model, view)}{f': {figure} so far' if figure else ''}", time]))


def _current_elsewhere(model: RunModel, step_key: StepKey) -> str:
    """Return what the run does while no trial of the step is under way."""
    latest = model.current
    if latest is not None and latest.ended is None:
        return f"now: {latest.trial.step} on {host_label(latest.trial.host)}, {trial_text(model, latest)}"
    if latest is not None and latest.step_key == step_key and step_key not in model.verdicts:
        return under_way_text(model, latest)
    activity = between_text(model)
    return f"now: {activity}" if activity else ""


def goal_text(model: RunModel, step_key: StepKey) -> str:
    """Return the interval so far against the goal: ``CI ±0.7 % of goal ±1 %``; empty without a goal."""
    decided = model.decisions.get(step_key, ())
    if not decided or decided[-1].decision.wanted is None:
        return ""
    last = decided[-1].decision
    wanted = exact_share_text(last.wanted or 0.0)
    if last.of_ratio:
        return f"ratio within ±{wanted}" if last.settled else f"goal: ratio beyond ±{wanted}"
    reached = "no CI yet" if last.reach is None else f"CI ±{share_text(last.reach)}"
    return f"{reached} of goal ±{wanted}{', reached' if last.settled else ''}"


def limit_text(model: RunModel, step_key: StepKey) -> str:
    """Return what limited the trials so far; empty before the first one, and once the verdict names the limit."""
    if model.phase.over or step_key in model.verdicts or not model.trials_at(step_key):
        return ""
    limiter = model.limits.get(step_key, Limiter.UNKNOWN)
    return "limit not found yet" if limiter is Limiter.UNKNOWN else f"limited by {limiter_text(limiter)} so far"


def counted_estimates(
    model: RunModel, step_key: StepKey, metric: Metric
) -> dict[tuple[Metric, Labels], TrialsEstimate]:
    """Return the estimates of `metric` and of the percentiles over the counted trials of a step."""
    gathered: dict[tuple[Metric, Labels], list[tuple[float, Trial]]] = {}
    for view in model.trials_at(step_key):
        for figure in view.figures if view.counts else ():
            if figure.metric.name == metric.name or figure.metric.percentile is not None:
                gathered.setdefault((figure.metric, figure.labels), []).append((figure.value, view.trial))
    return {key: _of_trials(model.plan, found) for key, found in gathered.items()}


def _of_counted(model: RunModel, step_key: StepKey, metric: Metric, bands: Sequence[Band]) -> Headline | None:
    shown = counted_estimates(model, step_key, metric)
    found = [(labelled, estimate) for (one, labelled), estimate in shown.items() if one.name == metric.name]
    if not found:
        return None
    labelled, estimate = found[0]
    tail = tail_of(one for one, at in shown if at == labelled)
    return Headline(
        metric_text(metric, labelled),
        estimate_text(metric, estimate.value, estimate.half),
        f"{_interval_text(estimate)}, n={estimate.n}{_excluded(model, step_key)}",
        metric.better,
        " · ".join(f"{figure_text(metric, one.value, one.half)} {label_text(at)}" for at, one in found[1:]),
        *(
            ("", "")
            if tail is None or tail == metric
            else (_tail_title(tail), figure_text(tail, shown[tail, labelled].value))
        ),
        *ratio_of_trials(
            metric, estimate.value, estimate.values, band_for(bands, metric, labelled), over=model.phase.over
        ),
        n=estimate.n,
    )


def _interval_text(estimate: TrialsEstimate) -> str:
    if estimate.half:
        return "95 % CI"
    return "no interval" if estimate.n == 1 else "equal in every trial"


def _excluded(model: RunModel, step_key: StepKey) -> str:
    """Return how many trials have ended without counting, with the reason of the last one."""
    lost = [view for view in model.trials_at(step_key) if view.ended and not view.counts and not view.trial.warm_up]
    if not lost:
        return ""
    reason = lost[-1].ended.reason if lost[-1].ended is not None else ""
    return f"; {len(lost)} not counted{f': {reason}' if reason else ''}"


def _of_trial(model: RunModel, view: TrialView, metric: Metric | None, bands: Sequence[Band]) -> Headline | None:
    """Return the headline of one trial: its running samples, or what an ended one that does not count has left."""
    spreads = list(_spreads(view, metric))
    if not spreads:
        return _of_figure(model, view, metric)
    one, spread = spreads[0]
    at = None if one.metric.name.endswith(SO_FAR) else one.labels  # the latencies of a search are of all rates
    same = (each for each in view.series.values() if each.labels == at and len(each.counted()))
    tails = {each.metric: spread_of(each) for each in same}
    tail = tail_of(tails)
    tail_spread = None if tail is None else tails[tail]
    caption = f"{_which(model, view)}: {samples_text(one.metric, spread)}"
    if not len(one.counted()):
        caption = f"{caption}, ramp"
    return Headline(
        metric_text(metric if metric is not None and at is None else one.metric, one.labels),
        figure_text(one.metric, spread.median),
        caption,
        one.metric.better,
        " · ".join(f"{figure_text(o.metric, s.median)} {label_text(o.labels)}" for o, s in spreads[1:]),
        *(
            ("", "")
            if tail is None or tail_spread is None or tail == one.metric
            else (_tail_title(tail), figure_text(tail, tail_spread.median))
        ),
        *ratio_so_far(one.metric, spread.median, band_for(bands, one.metric, one.labels)),
    )


def _of_figure(model: RunModel, view: TrialView, metric: Metric | None) -> Headline | None:
    """Return the headline of an ended trial without samples that does not count."""
    found = sorted(view.figures, key=lambda figure: metric is None or figure.metric.name != metric.name)
    if not found:
        return None
    one = found[0]
    return Headline(
        metric_text(one.metric, one.labels),
        figure_text(one.metric, one.value),
        _which(model, view),
        one.metric.better,
    )


def _which(model: RunModel, view: TrialView) -> str:
    """Return which trial a figure is of, and why it does not count."""
    text = trial_text(model, view)
    if view.ended is None:
        return f"{text}, not counted, so far" if view.trial.warm_up else f"{text} so far"
    state = {State.FAILED: " failed", State.PARTIAL: " ended early"}.get(view.ended.state, "")
    reason = f" ({view.ended.reason.rstrip('.')})" if view.ended.reason else ""
    return f"{text}{state}, not counted{reason}"


def _leading(view: TrialView, metric: Metric | None) -> list[LiveSeries]:
    """Return the series of the headline metric; else those of its kind, else any, so that a figure is shown."""
    every = list(view.series.values())
    if metric is None:
        return every
    for name in running_names(metric):
        found = [series for series in every if series.metric.name == name]
        if any(len(series.buffer) for series in found):
            return found
    return [series for series in every if _same_dimension(series.metric, metric)] or every


def _same_dimension(one: Metric, other: Metric) -> bool:
    try:
        convert(1.0, one.unit, other.unit)
    except UnitError:
        return False
    return True


def figure_so_far(view: TrialView, metric: Metric | None) -> str:
    """Return the median of the samples of a running trial so far; empty without any."""
    one, spread = next(_spreads(view, metric), (None, None))
    return "" if one is None or spread is None else figure_text(one.metric, spread.median)


def _spreads(view: TrialView, metric: Metric | None) -> Iterator[tuple[LiveSeries, SampleSpread]]:
    """Yield the leading series that have samples; those of a ramp alone are taken until others arrive."""
    for series in _leading(view, metric):
        if (spread := spread_of(series) or _spread(series.finite())) is not None:
            if series.metric.name.endswith(SO_FAR):
                spread = replace(spread, median=float(series.finite()[-1]))
            yield series, spread


def _trial_time(view: TrialView, now: float) -> str:
    """Return the time of a running trial: ``00:12 of 01:00``; beyond that, ``01:05, expected 01:00``."""
    if view.began is None:
        return ""
    elapsed = max(0.0, now - view.began)
    if view.expected is None:
        return clock_text(elapsed)
    joined = " of" if elapsed <= view.expected + 1.0 else ", expected"
    return f"{clock_text(elapsed)}{joined} {clock_text(view.expected)}"


def _spread(values: Numbers) -> SampleSpread | None:
    if not len(values):
        return None
    return SampleSpread(float(np.median(values)), float(values.min()), float(values.max()), len(values))


def _of_trials(plan: Plan, found: Sequence[tuple[float, Trial]]) -> TrialsEstimate:
    """Return the mean of trials with its 95 % interval."""
    halves = halves_of_trials(plan, found[0][1].step, (trial.number for _, trial in found))
    values = tuple(value for value, _ in found)
    centre = centre_over(values, halves)
    half = centre.half if centre.half is not None and centre.half > _ROUNDING else None
    return TrialsEstimate(centre.value, half and half * centre.value, values)


def _tail_title(metric: Metric) -> str:
    return f"p{metric.percentile:g} latency"


def _no_figure_reason(model: RunModel, step_key: StepKey, metric: Metric | None) -> str:
    ended = [view.ended for view in model.trials_at(step_key) if view.ended is not None]
    if ended and ended[-1].reason:
        return ended[-1].reason
    if model.phase.over:
        return "no trial counted" if model.run_id else "not started"
    if model.running_at(step_key) is None:
        return "not measured yet"
    live = "no" if metric is None else model.plan.step(step_key[0]).suite.tried.live
    return "figure at the end of the trial" if live == "no" else "no sample yet"
