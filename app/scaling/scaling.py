"""Scaling of a curve: flatness, knee, efficiency and fitted model, as text, JSON, CSV and charts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries
from app.comparison.estimates import ratio_of
from app.json_converter import Json, publish, published
from app.plans.plan import host_label
from app.scaling.fits import CLAMPED, Fit, ParameterEstimate, fit_models
from app.scaling.models import LIMIT, ONE
from app.scaling.sweeps import SweepCurve, SweepPoint
from suites.quantities import (
    ends_text,
    figure_text,
    interval_decimals,
    label_pairs,
    metric_text,
    quantity,
    range_text,
    share_text,
    shares_text,
)
from suites.sweep import KNEE_SHARE
from suites.verdict import Trust, Verdict, trust_mark
from suites.vocab import Better, MetricKind

CONCURRENCY = frozenset(
    {"threads", "depth", "iodepth", "jobs", "numjobs", "streams", "parallel", "copies", "processes", "clients"}
)
"""Labels that are a concurrency, for which linear scaling is defined."""


LOADS = frozenset({"offered_rate", "offered_kbit"})
"""Labels that are an offered load: the rate follows it until the server is saturated."""

OPEN_FROM = 10.0
"""Upper bound beyond which an interval of efficiency is dropped, as with two trials a point."""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The efficiency at a point, value / (n x value at the first point), with its 95 % interval.

    The bounds are None with one trial on a side, or beyond OPEN_FROM.
    """

    x: float
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ScalingAnalysis:
    """The scaling of a curve of a step on a host; `base` is the point through which the linear reference goes.

    `base` is None, and `reasons` says why, if linear scaling is not defined for the curve, or its figures are invalid.
    `sessions` is the number of runs: the intervals of a single one are of its moment.
    """

    run: str
    step: str
    host: str
    curve: SweepCurve
    base: SweepPoint | None = None
    efficiencies: tuple[Efficiency, ...] = ()
    fit: Fit | None = None
    reasons: tuple[str, ...] = ()
    trust: Trust | None = None
    sessions: int = 1
    target: float | None = None  # what the metric must not exceed

    @property
    def flat(self) -> bool:
        """Whether a curve that is not invalid does not depend on the label."""
        return self.curve.flat and self.trust is not Trust.INVALID

    @property
    def knee_range(self) -> tuple[SweepPoint, SweepPoint] | None:
        """The points between which the knee is (95 %); None for an invalid curve, or with too few trials."""
        return None if self.trust is Trust.INVALID else self.curve.knee_range

    @property
    def knee_low(self) -> float | None:
        """The first label that can be the knee; None as `knee_range`."""
        return None if self.knee_range is None else self.knee_range[0].x

    @property
    def knee_high(self) -> float | None:
        """The last label that can be the knee; None as `knee_range`."""
        return None if self.knee_range is None else self.knee_range[1].x

    @property
    def knee(self) -> SweepPoint | None:
        """The knee; None if the curve still grows, has none, or is invalid."""
        return None if self.curve.growing or self.trust is Trust.INVALID else self.curve.knee

    @property
    def growing(self) -> bool:
        """Whether a curve that is not invalid still grows at its last point."""
        return self.curve.growing and self.trust is not Trust.INVALID


def scaling_of(
    run: str, step: str, host: str, curve: SweepCurve, verdict: Verdict | None = None, *, sessions: int = 1
) -> ScalingAnalysis:
    """Return the scaling of a curve, with reasons for what is missing; an invalid one is not analysed."""
    trust = None if verdict is None else verdict.trust
    notes = (verdict.text,) if verdict is not None and trust_mark(trust) else ()
    found = ScalingAnalysis(run, step, host, curve, reasons=notes, trust=trust, sessions=sessions)
    refused = _refused(curve)
    if trust is Trust.INVALID or curve.label in LOADS:
        return found
    if refused:
        return replace(found, reasons=(*notes, refused))
    base = curve.points[0]
    fit, reasons = (None, ()) if curve.flat else fit_models([(point.x, point.values) for point in curve.points])
    efficiencies = tuple(_efficiency(point, base) for point in curve.points)
    return replace(found, base=base, efficiencies=efficiencies, fit=fit, reasons=(*notes, *reasons))


def _refused(curve: SweepCurve) -> str:
    if curve.metric.better is not Better.HIGHER or curve.metric.kind is not MetricKind.RATE:
        return "no efficiency: not a rate"
    if curve.sizes or curve.label not in CONCURRENCY:
        return f"no efficiency: {curve.label.replace('_', ' ')} is not a concurrency"
    if curve.points[0].x <= 0 or curve.points[0].value <= 0:
        return "no efficiency: the first point is not above zero"
    return ""


def _efficiency(point: SweepPoint, base: SweepPoint) -> Efficiency:
    steps = point.x / base.x
    if point is base:
        return Efficiency(point.x, 1.0)
    ratio = ratio_of(point.values, base.values)
    if isinstance(ratio, str):
        return Efficiency(point.x, point.value / base.value / steps)
    if ratio.low is None or ratio.high is None or ratio.high / steps > OPEN_FROM:
        return Efficiency(point.x, ratio.value / steps)
    return Efficiency(point.x, ratio.value / steps, ratio.low / steps, ratio.high / steps)


def headline_curves(found: Iterable[ScalingAnalysis]) -> list[ScalingAnalysis]:
    """Return the curves of the first metric of each step over each label, and of one with a target."""
    first: dict[tuple[str, str, str, str], str] = {}
    headline = []
    for one in sorted(found, key=lambda one: one.base is None):
        key = (one.run, one.step, one.host, one.curve.label)
        if first.setdefault(key, one.curve.metric.name) == one.curve.metric.name or one.target is not None:
            headline.append(one)
    return headline


def scaling_lines(one: ScalingAnalysis) -> Iterator[str]:
    """Yield sentences on a curve: knee, efficiency at the last point, model, and reasons for what is missing."""
    label = one.curve.label.replace("_", " ")
    last = one.curve.points[-1]
    if one.target is not None:
        within = [point for point in one.curve.points if point.value <= one.target]
        target = quantity(one.target, one.curve.metric.unit)
        where = "Within" if within else "Beyond"
        span = f"up to {label} = {within[-1].text}" if within else f"from {label} = {one.curve.points[0].text}"
        yield f"{where} the target of {target} {span}."
    elif one.curve.label in LOADS and one.growing:
        yield f"Not saturated up to {label} = {last.text}."
    elif one.flat:
        yield f"{_flat_text(one)}."
    elif one.knee is not None:
        share = one.knee.value / max(point.value for point in one.curve.points)
        yield f"Knee at {label} = {one.knee.text}{_knee_text(one)}: {share_text(share)} of the maximum."
    elif one.growing:
        yield f"No knee: still growing at {label} = {last.text}."
    if one.base is not None and len(one.efficiencies) > 1:
        end = one.efficiencies[-1]
        base = f"of that at {label} = {one.base.text}"
        yield f"Efficiency at {label} = {last.text}: {share_interval_text(end, '95 % CI ')} {base}."
    if one.fit is not None:
        yield fit_text(one, one.fit)
    for reason in one.reasons:
        yield f"{reason[:1].upper()}{reason[1:]}."


def _flat_text(one: ScalingAnalysis) -> str:
    values = [point.value for point in one.curve.points]
    label, most = one.curve.label.replace("_", " "), max(values)
    shown, noise = ("Flat", "") if min(values) >= KNEE_SHARE * most else ("No difference shown", ", within the noise")
    differ = f"the points differ by {share_text(most / min(values) - 1)}"
    return f"{shown} over {label} = {_range_of(one.curve.points)}: {differ}{noise}"


def _range_of(points: Sequence[SweepPoint]) -> str:
    return f"{points[0].text} to {points[-1].text}"


def _knee_text(one: ScalingAnalysis) -> str:
    if one.knee_range is None:
        return " (no interval: fewer than two trials a point)"
    first, last = one.knee_range
    return f" (95 %: {first.text if first is last else _range_of((first, last))}{_session_text(one)})"


def _session_text(one: ScalingAnalysis) -> str:
    """Return that the intervals are of one session: its trials share its moment."""
    return ", this session" if one.sessions == 1 else ""


def fit_text(one: ScalingAnalysis, fit: Fit) -> str:
    """Return a model as text, each parameter with its interval."""
    interval = f"(95 % CI{_session_text(one)})"
    parts = [f"{each.name} {_estimate(one, each)}" for each in fit.parameters if each.name != LIMIT]
    if fit.peak is not None:
        peak = fit.peak
        parts.append(f"peak at {_peak_text(peak)}")
    text = f"{', '.join(parts)}; largest residual {share_text(fit.residual)}."
    if fit.model != CLAMPED:
        return f"{fit.model} {interval}: {text}"
    limit = next(each for each in fit.parameters if each.name == LIMIT)
    since = one.curve.at(fit.clamped_from or 0.0)
    where = "" if since is None else f" from {one.curve.label.replace('_', ' ')} = {since.text}"
    law = "linear" if len(fit.parameters) == 2 else "Amdahl"
    return f"Clamped at {_estimate(one, limit)}{where} {interval}; below it {law}: {text}"


def _estimate(one: ScalingAnalysis, each: ParameterEstimate) -> str:
    rate = each.name in {ONE, LIMIT}
    if each.low is None or each.high is None:
        return f"{figure_text(one.curve.metric, each.value) if rate else share_text(each.value)} (at its bound)"
    if not rate:
        return share_interval_text(each)
    metric, half = one.curve.metric, (each.high - each.low) / 2 or None
    return (
        f"{figure_text(metric, each.value, half)} ({range_text(metric, each.low, each.high, half, value=each.value)})"
    )


def _peak_text(peak: ParameterEstimate) -> str:
    """Return a peak and its interval with as many decimals as distinguish the ends."""
    low, high = peak.low or 0.0, peak.high or 0.0
    places = max(0, interval_decimals((high - low) / 2) - 1)
    value, *ends = (f"{each:.{places}f}" for each in (peak.value, low, high))
    return f"{value} ({ends_text(*ends)})"


def share_interval_text(found: Efficiency | ParameterEstimate, mark: str = "") -> str:
    """Return a share and its interval: ``0.39 % (0.38 to 0.41 %)``; the digits distinguish value and ends."""
    if found.low is None or found.high is None:
        return share_text(found.value)
    value, low, high = shares_text(found.value, found.low, found.high)
    return f"{value} % ({mark}{ends_text(low, high, ' %')})"


FORMAT = "benchwright-scaling/1"

publish(SweepPoint, "x text n value minimum maximum")
publish(
    ScalingAnalysis,
    "run step host metric=curve.metric.name unit=curve.metric.unit better=curve.metric.better labels=curve.rest "
    "over=curve.label base=base.x knee=knee.x knee_low knee_high flat growing sessions "
    "points=curve.points efficiency=efficiencies fit "
    "reasons trust",
)


class ScalingJson(TypedDict):
    """Scaling analyses, a curve each."""

    format: Annotated[str, FORMAT]
    curves: list[Annotated[Json, ScalingAnalysis]]


def scaling_to_json(found: Sequence[ScalingAnalysis]) -> ScalingJson:
    """Return the public JSON of scaling analyses."""
    return {"format": FORMAT, "curves": [published(one) for one in found]}


SCALING_COLUMNS = (
    "run", "step", "host", "metric", "unit", "labels", "over", "x", "text", "n", "value", "minimum", "maximum",
    "efficiency", "low", "high", "trust",
)  # fmt: skip


def scaling_rows(found: Sequence[ScalingAnalysis]) -> list[Json]:
    """Return the points of all curves as rows of a table with SCALING_COLUMNS."""
    return [row for one in found for row in _rows(one)]


def _rows(one: ScalingAnalysis) -> Iterator[Json]:
    curve = published(one)
    efficient = {each.x: each for each in one.efficiencies}
    for point in curve["points"]:
        at = efficient.get(point["x"])
        interval = {} if at is None else {"efficiency": at.value, "low": at.low, "high": at.high}
        labels = label_pairs(one.curve.rest)
        yield (
            {name: curve[name] for name in SCALING_COLUMNS[:5]}
            | {"over": curve["over"], "labels": labels, "trust": curve["trust"]}
            | point
            | interval
        )


_STEPS = 120
"""Points of a model's curve."""

_LOGARITHMIC_FROM = 32.0
"""Ratio of the last to the first point from which the axis is logarithmic."""


def scaling_charts(one: ScalingAnalysis) -> tuple[Chart, ...]:
    """Return the charts of a curve: the metric, and its efficiency if defined."""
    return (_measured(one),) if one.base is None else (_measured(one), _efficiency_chart(one))


def _measured(one: ScalingAnalysis) -> Chart:
    curve = one.curve
    title = f"{one.step} on {host_label(one.host)}, {metric_text(curve.metric, curve.rest)}"
    columns = zip(*((point.x, point.value, point.minimum, point.maximum) for point in curve.points), strict=True)
    xs, values, lowest, highest = columns
    measured = "measured: geometric mean of the trials, lowest to highest"
    logarithmic = one.target is not None and min(lowest) > 0
    dots = ChartSeries(measured, xs, values, ChartMark.DOTS, 0, lowest, highest)
    series = (ChartSeries("", xs, values, ChartMark.LINE, 0), dots, *_references(one))
    axis = ChartAxis("", curve.metric, from_zero=not logarithmic, logarithmic=logarithmic)
    return Chart(title, _x_axis(one), axis, series, " ".join(scaling_lines(one)))


def _references(one: ScalingAnalysis) -> list[ChartSeries]:
    """Return the target, or the linear reference, cut at 1.3 times the maximum, and the model over the points."""
    if one.target is not None:
        ends, name = (one.curve.points[0].x, one.curve.points[-1].x), quantity(one.target, one.curve.metric.unit)
        return [ChartSeries(f"target {name}", ends, (one.target,) * 2, colour=None, dashed=True)]
    if one.base is None:
        return []
    points = one.curve.points
    first, last = points[0].x, points[-1].x
    most = 1.3 * max(point.maximum for point in points)
    end = min(last, most * one.base.x / one.base.value)
    xs = _steps(first, end)
    ys = tuple(one.base.value * x / one.base.x for x in xs)
    line = ChartSeries(f"linear from {points[0].text}", xs, ys, colour=None, dashed=True)
    if one.fit is None:
        return [line]
    fit = one.fit
    xs = _steps(first, last)
    ys, low, high = zip(*fit.band(xs), strict=True)
    model = ChartSeries(f"{fit.model}, fitted, 95 % band", xs, ys, colour=1, low=low, high=high)
    peak = fit.peak
    if peak is None:
        return [line, model]
    at, low, high = (peak.value,), (peak.low,), (peak.high,)
    dot = ChartSeries("peak, 95 % interval", at, (fit.at(peak.value),), ChartMark.DOTS, 1, low, high, across=True)
    return [line, model, dot]


def _steps(first: float, last: float) -> tuple[float, ...]:
    """Return the x of a curve, in equal ratios: on a logarithmic axis a straight line is curved."""
    return (*(first * (last / first) ** (step / _STEPS) for step in range(_STEPS)), last)


def _efficiency_chart(one: ScalingAnalysis) -> Chart:
    found = one.efficiencies
    xs = tuple(each.x for each in found)
    dots = ChartSeries(
        "", xs, tuple(each.value for each in found), ChartMark.DOTS, 0,
        tuple(each.low for each in found), tuple(each.high for each in found),
    )  # fmt: skip
    line = ChartSeries("", xs, dots.ys, ChartMark.LINE, 0)
    whole = ChartSeries("", (xs[0], xs[-1]), (1.0, 1.0), colour=None, dashed=True)
    title = f"Efficiency: value / (n × value at {one.curve.points[0].text}), 95 % intervals"
    return Chart(title, _x_axis(one), ChartAxis("", share=True, from_zero=True), (whole, line, dots))


def _x_axis(one: ScalingAnalysis) -> ChartAxis:
    first, last = one.curve.points[0].x, one.curve.points[-1].x
    logarithmic = first > 0 and last / first >= _LOGARITHMIC_FROM
    unit = ", B" if one.curve.sizes else ", 1/s" if one.curve.label == "offered_rate" else ""
    return ChartAxis(f"{one.curve.label.replace('_', ' ')}{unit}", logarithmic=logarithmic)
