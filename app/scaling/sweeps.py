"""Sweeps: curves of a metric over a swept label or parameter, and their panels."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.comparison.comparability import parameters_of
from app.comparison.sides import Side, StepHosts
from app.numeric import mean_of
from app.plans.plan import Step
from app.records import RunRecord
from app.scaling.knees import is_flat, knee_bounds
from app.summary import MetricSummary, OfTrials
from suites.errors import UnknownSuiteError
from suites.parameters import Parameter, Type, Value, parse_size
from suites.quantities import figure_text, label_text, quantity
from suites.sweep import FEWEST_POINTS as FEWEST_FOR_KNEE
from suites.sweep import knee
from suites.units import Unit, convert
from suites.verdict import Trust
from suites.vocab import Better, Figure, Labels, Metric, MetricKind

FEWEST_POINTS = 2
"""Fewest values of a label for a curve."""

MOST_POINTS = 512
"""Most values of a label for a curve; with more it is not a swept setting."""


@dataclass(frozen=True, slots=True)
class SweepPoint(OfTrials):
    """A point of a curve: one value of the metric for each trial.

    `x` is the label as a number, in bytes for a size; `text` is the label as written by the suite.
    """

    x: float
    text: str
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """The geometric mean of the trials; the arithmetic one if a trial is not above zero."""
        return mean_of(self.values)


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """A metric over the sorted values of one label; `rest` are the constant labels.

    `sizes`: the values of the label are sizes in bytes.
    """

    metric: Metric
    label: str
    rest: Labels
    points: tuple[SweepPoint, ...]
    sizes: bool = False

    @property
    def flat(self) -> bool:
        """Whether a curve that could have a knee does not depend on the label: see is_flat()."""
        return self._may_have_knee and is_flat([point.values for point in self.points])

    @property
    def knee(self) -> SweepPoint | None:
        """The knee of the curve; None if it is flat, if lower is better, or with too few points."""
        if not self._may_have_knee or self.flat:
            return None
        found = knee({number: point.value for number, point in enumerate(self.points)})
        return None if found is None else self.points[found]

    @property
    def knee_range(self) -> tuple[SweepPoint, SweepPoint] | None:
        """The first and the last point that can be the knee (95 %); None without a knee, or with too few trials."""
        found = None if self.knee is None else knee_bounds([point.values for point in self.points])
        return None if found is None else (self.points[found[0]], self.points[found[1]])

    @property
    def _may_have_knee(self) -> bool:
        """Whether higher is better, with enough points. Over block size a rate of I/Os falls, so it has no knee."""
        falls = self.sizes and self.metric.unit is Unit.PER_SECOND
        return self.metric.better is Better.HIGHER and not falls and len(self.points) >= FEWEST_FOR_KNEE

    @property
    def growing(self) -> bool:
        """Whether the metric still grows at the last point, so that the knee is beyond the measured points."""
        return self.knee is not None and self.knee is self.points[-1]

    def at(self, x: float) -> SweepPoint | None:
        """Return the point at `x`, or None."""
        return next((point for point in self.points if point.x == x), None)


def curves(record: RunRecord, step: str, host: str | None = None) -> tuple[SweepCurve, ...]:
    """Return the curves of a step of `record` (on `host`) over each swept label, from the counted trials.

    A figure is in one curve for each swept label: IOPS over depth for each block size, and IOPS over
    block size for each depth.
    """
    trials = record.trials_of(step, host)
    return curves_of([figure for trial in trials for figure in trial.figures])


def curves_of(figures: Iterable[Figure]) -> tuple[SweepCurve, ...]:
    """Return the curves of `figures` of one or several trials, in the order of the figures."""
    by_metric: dict[Metric, list[Figure]] = {}
    for figure in figures:
        by_metric.setdefault(figure.metric, []).append(figure)
    return tuple(
        curve for metric, found in by_metric.items() for name in _swept(found) for curve in _over(metric, name, found)
    )


def label_with_most_values(found: Sequence[SweepCurve]) -> str | None:
    """Return the label with the most values, the first of equals."""
    reach: dict[str, int] = {}
    for curve in found:
        reach[curve.label] = max(reach.get(curve.label, 0), len(curve.points))
    return max(reach, key=lambda label: reach[label]) if reach else None


def number_of(text: str) -> float | None:
    """Return a label's value as a number, in bytes for a size; None if it is neither."""
    try:
        return float(parse_size(text))
    except ValueError:
        return None


def _swept(figures: Sequence[Figure]) -> list[str]:
    """Return the numeric labels that all of `figures` have and in which they differ."""
    values: dict[str, set[str]] = {}
    for figure in figures:
        for name, value in figure.labels:
            values.setdefault(name, set()).add(value)
    shared = {name for figure in figures[:1] for name, _ in figure.labels}
    for figure in figures:
        shared &= {name for name, _ in figure.labels}
    return [
        name
        for name, found in values.items()
        if name in shared
        and FEWEST_POINTS <= len(found) <= MOST_POINTS
        and all(number_of(value) is not None for value in found)
    ]


def _over(metric: Metric, name: str, figures: Sequence[Figure]) -> list[SweepCurve]:
    grouped: dict[Labels, dict[str, list[float]]] = {}
    for figure in figures:
        rest = tuple(pair for pair in figure.labels if pair[0] != name)
        text = dict(figure.labels)[name]
        grouped.setdefault(rest, {}).setdefault(text, []).append(figure.value)
    return [
        SweepCurve(metric, name, rest, _points(values), sizes=any(not text.isdigit() for text in values))
        for rest, values in grouped.items()
        if len(values) >= FEWEST_POINTS
    ]


def _points(values: dict[str, list[float]]) -> tuple[SweepPoint, ...]:
    points = [SweepPoint(number_of(text) or 0.0, text, tuple(found)) for text, found in values.items()]
    return tuple(sorted(points, key=lambda point: point.x))


Entry = tuple[dict[str, Value], MetricSummary]
"""The identity parameters of a step, and its summary."""


def curves_of_steps(side: Side) -> dict[str, dict[str, list[SweepCurve]]]:
    """Return the curves of a side by suite and host; steps that differ in one number are the points, unless invalid."""
    found: dict[str, dict[str, list[SweepCurve]]] = {}
    for suite in dict.fromkeys(step.suite_id for step in side.steps):
        steps = [step for step in side.steps if step.suite_id == suite]
        if len(steps) < FEWEST_POINTS:
            continue
        name = swept_parameter([step.identity() for step in steps])
        if name is None:
            continue
        for host in side.hosts:
            entries = [
                (step.identity(), summary)
                for step in steps
                for summary in side.figures(StepHosts(step, (host,))).values()
                if summary.trust is not Trust.INVALID
            ]
            found.setdefault(suite, {})[host] = list(_curves(name, parameters_of(steps[0]).get(name), entries))
    return found


def swept_parameter(values: Sequence[dict[str, Value]]) -> str | None:
    """Return the only parameter in which steps differ if it is a number, else None."""
    names = [name for name in values[0] if len({repr(one.get(name)) for one in values}) > 1]
    if len(names) != 1:
        return None
    numbers = [number_of(str(one.get(names[0]))) for one in values]
    return names[0] if None not in numbers and len(set(numbers)) == len(numbers) else None


def _curves(name: str, parameter: Parameter | None, entries: Iterable[Entry]) -> Iterable[SweepCurve]:
    """Yield the curves of `entries` over the parameter `name`; `parameter` is None for an unknown suite."""
    sizes = parameter is not None and parameter.type is Type.SIZE
    grouped: dict[tuple[str, Labels], list[Entry]] = {}
    for entry in entries:
        grouped.setdefault((entry[1].metric.name, entry[1].labels), []).append(entry)
    for (_, labels), found in grouped.items():
        metric = found[0][1].metric
        points = [
            SweepPoint(
                number_of(str(values[name])) or 0.0,
                str(values[name]) if parameter is None else parameter.format(values[name]),
                tuple(convert(value, summary.metric.unit, metric.unit) for value in summary.values),
            )
            for values, summary in found
        ]
        if len(points) >= FEWEST_POINTS:
            yield SweepCurve(metric, name, labels, tuple(sorted(points, key=lambda point: point.x)), sizes)


MOST_CURVES = 12
"""Most curves of a plot: six colours, solid and dashed. The table has the others."""

_LOGARITHMIC_FROM = 8.0
"""Ratio of the highest to the lowest value from which the axis is logarithmic."""

_TAIL = 99.0


@dataclass(frozen=True, slots=True)
class SweepPanel:
    """A plot: curves of one metric over one label, or of several percentiles of one latency.

    `others` is the number of omitted curves.
    """

    metric: Metric
    label: str
    curves: tuple[SweepCurve, ...]
    logarithmic: bool
    others: int = 0

    @property
    def metrics(self) -> frozenset[Metric]:
        """The metrics of its curves."""
        return frozenset(curve.metric for curve in self.curves)

    @property
    def title(self) -> str:
        """The title: the metric, or what its percentiles have in common, by the label."""
        title = self.metric.title.partition(",")[0] if len(self.metrics) > 1 else self.metric.title
        return f"{title} by {self.x_title}"

    @property
    def x_title(self) -> str:
        """The title of the x axis."""
        return self.label.replace("_", " ")

    def position(self, x: float) -> float:
        """Return the axis position of the value `x`: its binary logarithm on a logarithmic axis."""
        return math.log2(x) if self.logarithmic else x

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Return axis position and text of each measured value, in order."""
        found = {point.x: point.text for curve in self.curves for point in curve.points}
        return tuple((self.position(x), found[x]) for x in sorted(found))

    def name(self, curve: SweepCurve) -> str:
        """Return the labels or the percentile that distinguish `curve` in its plot; empty for a single curve."""
        if len(self.metrics) > 1:
            if curve.metric.percentile is None:
                return curve.metric.title
            return _percentile_text(curve.metric)
        varying = {pair for other in self.curves for pair in other.rest if pair not in curve.rest}
        names = {name for name, _ in varying}
        return label_text(tuple(pair for pair in curve.rest if pair[0] in names)) if len(self.curves) > 1 else ""

    def knees(self) -> tuple[tuple[float, float, str], ...]:
        """Return position, value and text of every knee; a curve that still grows has none."""
        found = []
        for curve in self.curves:
            knee = curve.knee
            if knee is not None and not curve.growing:
                suffix = f" of {name}" if (name := self.name(curve)) else ""
                text = f"knee{suffix} at {self.x_title} {knee.text}: {figure_text(self.metric, knee.value)}"
                found.append((self.position(knee.x), knee.value, text))
        return tuple(found)


def _percentile_text(metric: Metric) -> str:
    """Return which percentile a metric is: ``p99``."""
    return "median" if metric.percentile == 50 else f"p{metric.percentile:g}"


def target_of(step: Step) -> Figure | None:
    """Return the figure that the results of a step must not exceed; None without one, or of an unknown suite."""
    try:
        return step.suite.target(step.whole_values())
    except UnknownSuiteError:
        return None


def panels_of(curves: Sequence[SweepCurve], target: Figure | None = None) -> tuple[SweepPanel, ...]:
    """Return the plots of a sweep: the first rate, then the latency nearest to p99, over the same label.

    Without a rate, the first metric takes its place. A `target` is a line in the plot of its metric.
    """
    metrics = list(dict.fromkeys(curve.metric for curve in curves))
    rates = [metric for metric in metrics if metric.kind is MetricKind.RATE and metric.better is Better.HIGHER]
    headline = next(iter([*rates, *metrics]), None)
    if headline is None:
        return ()
    label = label_with_most_values([curve for curve in curves if curve.metric == headline]) or ""
    times = [metric for metric in metrics if metric.kind is MetricKind.TIME and metric != headline]
    beneath = sorted(times, key=lambda metric: abs((metric.percentile or 0.0) - _TAIL))[:1]
    panels = [_panel(curves, headline, label)]
    for metric in beneath:
        own = [curve for curve in curves if curve.metric == metric]
        shared = label if any(curve.label == label for curve in own) else label_with_most_values(own)
        panels.append(_panel(curves, metric, shared or "", _percentiles_with(metric, curves, shared)))
    return tuple(panels if target is None else (_with_target(panel, target) for panel in panels))


def _with_target(panel: SweepPanel, target: Figure) -> SweepPanel:
    """Return the panel with a line at the target from its first to its last point."""
    if target.metric not in panel.metrics:
        return panel
    metric = replace(
        target.metric,
        name="target",
        title=f"target of {_percentile_text(target.metric)} {quantity(target.value, target.metric.unit)}",
        percentile=None,
    )
    points = sorted((point for curve in panel.curves for point in curve.points), key=lambda point: point.x)
    ends = tuple(replace(point, values=(target.value,)) for point in (points[0], points[-1]))
    return replace(panel, curves=(*panel.curves, SweepCurve(metric, panel.label, (), ends)))


def _percentiles_with(metric: Metric, curves: Sequence[SweepCurve], label: str | None) -> tuple[Metric, ...]:
    """Return the percentiles to draw with `metric`: those of the same unit, if each has a single curve over `label`."""
    found = [curve for curve in curves if curve.label == label and _is_shown_percentile(curve.metric)]
    alike = [curve.metric for curve in found if curve.metric.unit is metric.unit]
    single = len(set(alike)) == len(alike) and metric in alike
    return tuple(alike) if single else (metric,)


def _is_shown_percentile(metric: Metric) -> bool:
    """Whether a latency is a percentile other than the minimum and the maximum, which have no scale in common."""
    return metric.kind is MetricKind.TIME and metric.percentile is not None and 0 < metric.percentile < 100


def _panel(curves: Sequence[SweepCurve], metric: Metric, label: str, drawn_with: Sequence[Metric] = ()) -> SweepPanel:
    wanted = (metric, *drawn_with)
    found = [curve for curve in curves if curve.metric in wanted and curve.label == label]
    drawn = tuple(found[:MOST_CURVES])
    values = [point.x for curve in drawn for point in curve.points]
    logarithmic = min(values) > 0 and max(values) / min(values) >= _LOGARITHMIC_FROM
    return SweepPanel(metric, label, drawn, logarithmic, len(found) - len(drawn))
