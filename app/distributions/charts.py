"""A distribution as charts: the ECDF of each side, the shift of each against the baseline, and the histograms."""

from collections.abc import Callable, Sequence

from app.chart import Axis, Chart, Mark, Series
from app.distributions.distribution import Distribution, SideDistribution
from app.distributions.values import Source
from app.distributions.words import worst_text
from app.wording import run_name

_DECADE = 10.0
"""Values that span more than this factor stand on a logarithmic axis."""

_VALUES = {Source.REQUESTS: "requests", Source.SAMPLES: "samples", Source.TRIALS: "trials"}


def ecdf_chart(one: Distribution) -> Chart:
    """Return the share of values at or below each figure; the shade is from the lowest to the highest trial."""
    series = _each(one, lambda side, name, colour: Series(
        name, tuple(step.value for step in side.ecdf), tuple(step.share for step in side.ecdf), Mark.STEPS, colour,
        tuple(step.low for step in side.ecdf), tuple(step.high for step in side.ecdf),
    ))  # fmt: skip
    shade = (
        "the shade is from the lowest to the highest trial" if one.source is not Source.TRIALS else "one step a trial"
    )
    return Chart(
        f"ECDF of {_VALUES[one.source]}: {one.title}",
        Axis("", one.metric, logarithmic=_wide(one)), Axis("", share=True, from_zero=True), series,
        f"{worst_text(one)} Mean of the trials' ECDF, each trial weighing alike; {shade}.".strip(),
    )  # fmt: skip


def shift_chart(one: Distribution) -> Chart:
    """Return how far each side lies from the baseline at each percentile."""
    shifts = [shift for side in one.sides for shift in side.shift]
    by_ratio = bool(shifts) and all(shift.ratio is not None for shift in shifts)
    zero = Series("", (0.0, 100.0), (0.0, 0.0), colour=None, dashed=True)
    series = _each(one, lambda side, name, colour: _shift(side, name, colour, by_ratio=by_ratio))
    upward = Axis("", share=True) if by_ratio else Axis("", one.metric)
    return Chart(
        f"Shift against the baseline: {one.title}",
        Axis("percentile"), upward, (zero, *(each for each in series if each.xs)),
        f"95 % intervals, each by itself: {one.method}." if shifts else _unshifted(one),
    )  # fmt: skip


def _shift(side: SideDistribution, name: str, colour: int | None, *, by_ratio: bool) -> Series:
    rows = [
        (shift.ratio, shift.ratio_low, shift.ratio_high) if by_ratio else (shift.difference, shift.low, shift.high)
        for shift in side.shift
    ]
    moved = 1.0 if by_ratio else 0.0
    ys, lows, highs = (
        tuple(None if row[place] is None else float(row[place] or 0.0) - moved for row in rows) for place in range(3)
    )
    return Series(
        name, tuple(shift.percentile for shift in side.shift), tuple(y or 0.0 for y in ys), Mark.DOTS, colour,
        lows, highs,
    )  # fmt: skip


def _unshifted(one: Distribution) -> str:
    reasons = dict.fromkeys(side.reason for side in one.sides if side.reason)
    if reasons:
        return f"Nothing is held against the baseline: {'; '.join(reasons)}."
    return "One run alone has nothing to be held against." if len(one.sides) < 2 else "Too few values for a decile."


def histogram_chart(one: Distribution) -> Chart:
    """Return the share of values in each bin, the sides over each other; the bins are the same for all."""
    series = _each(one, _bars)
    return Chart(
        f"Histogram of {_VALUES[one.source]}: {one.title}",
        Axis("", one.metric, logarithmic=_wide(one)), Axis("", share=True, from_zero=True), series,
        "Mean of the trials, each trial weighing alike; the same bins for all.",
    )  # fmt: skip


def _bars(side: SideDistribution, name: str, colour: int | None) -> Series:
    bins = side.histogram
    if not bins:
        return Series(name, (), ())
    edges = (*(each.start for each in bins), bins[-1].end)
    heights = (*(each.share for each in bins), 0.0)
    return Series(name, edges, heights, Mark.BARS, colour)


def _each(one: Distribution, draw: Callable[[SideDistribution, str, int | None], Series]) -> tuple[Series, ...]:
    """Return the series of each side that has some: the baseline grey, as everywhere."""
    several = len(one.sides) > 1
    drawn = (
        draw(side, run_name(number) if several else "", number - 1 if number else (None if several else 0))
        for number, side in enumerate(one.sides)
    )
    return tuple(series for series in drawn if series.xs)


def _wide(one: Distribution) -> bool:
    steps = [step.value for side in one.sides for step in side.ecdf]
    return bool(steps) and min(steps) > 0 and max(steps) / min(steps) > _DECADE


def distribution_charts(found: Sequence[Distribution]) -> list[Chart]:
    """Return the charts that a picture shows of distributions: ECDF, and where sides are compared the shift."""
    charts = []
    for one in found:
        charts.append(ecdf_chart(one))
        if any(side.shift for side in one.sides):
            charts.append(shift_chart(one))
    return charts
