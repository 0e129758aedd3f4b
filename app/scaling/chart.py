"""Scaling as charts: what was measured, the straight line, the model; and the efficiency beneath."""

from app.chart import Axis, Chart, Mark, Series
from app.scaling.scaling import Scaling
from app.scaling.words import scaling_lines
from app.wording import metric_text

_STEPS = 120
"""Points of a model's curve."""

_LOGARITHMIC_FROM = 32.0
"""Times that the last point is the first: from here on, each doubling takes the same room."""


def scaling_charts(one: Scaling) -> tuple[Chart, ...]:
    """Return the charts of a curve: the metric, and where there is a straight line to hold it against, efficiency."""
    charts = [_measured(one)]
    if one.base is not None:
        charts.append(_efficiency(one))
    return tuple(charts)


def _measured(one: Scaling) -> Chart:
    curve = one.curve
    title = metric_text(curve.metric, curve.rest)
    xs = tuple(point.x for point in curve.points)
    dots = Series(
        "measured: median of the trials, lowest to highest",
        xs,
        tuple(point.median for point in curve.points),
        Mark.DOTS,
        0,
        tuple(point.low for point in curve.points),
        tuple(point.high for point in curve.points),
    )
    series = [Series("", dots.xs, dots.ys, Mark.LINE, 0), dots, *_references(one)]
    return Chart(
        f"{one.step} on {one.host}, {title}",
        _foot(one),
        Axis("", curve.metric, from_zero=True),
        tuple(series),
        " ".join(scaling_lines(one)),
    )


def _references(one: Scaling) -> list[Series]:
    """Return the straight line, cut where it would dwarf what was measured, and the model."""
    if one.base is None:
        return []
    points = one.curve.points
    first, last = points[0].x, points[-1].x
    most = 1.3 * max(point.high for point in points)
    end = min(last, most * one.base.x / one.base.median)
    line = Series(
        f"linear from {points[0].text}", (first, end), (one.base.median, one.base.median * end / one.base.x),
        colour=None, dashed=True,
    )  # fmt: skip
    if one.fit is None:
        return [line]
    fit = one.fit
    xs = tuple(first + (last - first) * place / _STEPS for place in range(_STEPS + 1))
    model = Series(f"{fit.model}, fitted", xs, tuple(fit.at(x) for x in xs), colour=1)
    knee = () if fit.peak is None else (Series("peak", (fit.peak.value,), (fit.at(fit.peak.value),), Mark.DOTS, 1),)
    return [line, model, *knee]


def _efficiency(one: Scaling) -> Chart:
    found = one.efficiencies
    xs = tuple(each.x for each in found)
    dots = Series(
        "", xs, tuple(each.value for each in found), Mark.DOTS, 0,
        tuple(each.low for each in found), tuple(each.high for each in found),
    )  # fmt: skip
    line = Series("", xs, dots.ys, Mark.LINE, 0)
    whole = Series("", (xs[0], xs[-1]), (1.0, 1.0), colour=None, dashed=True)
    title = f"Efficiency: value / (n × value at {one.curve.points[0].text}), 95 % intervals"
    return Chart(title, _foot(one), Axis("", share=True, from_zero=True), (whole, line, dots))


def _foot(one: Scaling) -> Axis:
    return Axis(one.curve.label.replace("_", " "), logarithmic=_wide(one))


def _wide(one: Scaling) -> bool:
    points = one.curve.points
    return points[0].x > 0 and points[-1].x / points[0].x >= _LOGARITHMIC_FROM
