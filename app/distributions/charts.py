"""Charts of distributions: ECDF, shift against the baseline, histogram, and latency heat maps."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries, HeatCell
from app.comparison.comparison import run_letter, run_name
from app.distributions.distribution import DECADE, Distribution, SideDistribution
from app.distributions.percentiles import ValueLevel
from app.plans.plan import host_label
from app.records import RunRecord
from suites.quantities import figure_text, label_text
from suites.registry import histograms_of
from suites.units import Unit
from suites.vocab import Better, Labels, LatencySlice, Metric, MetricKind


def worst_text(one: Distribution) -> str:
    """Return the worst sample of each side with its time; empty without samples."""
    found = []
    for number, side in enumerate(one.sides):
        for worst in side.worst[:1]:
            letter = f"{run_letter(number)} " if len(one.sides) > 1 else ""
            value = figure_text(one.metric, worst.value)
            found.append(f"{letter}{value} in trial {worst.number} at {worst.time:.0f} s")
    return f"Worst sample: {'; '.join(found)}." if found else ""


def pooled_text(one: Distribution) -> str:
    """Return the percentile of the metric over the counted requests of all trials of each side; empty without them."""
    found = [
        f"{run_letter(number)} {figure_text(one.metric, each.pooled)}"
        for number, side in enumerate(one.sides)
        for each in side.percentiles
        if each.percentile == one.metric.percentile and each.pooled is not None
    ]
    return f"p{one.metric.percentile:g} of the requests of all trials: {', '.join(found)}." if found else ""


def ecdf_chart(one: Distribution) -> Chart:
    """Return the ECDF chart; the shaded band spans the trials."""
    series = _each(one, lambda side, name, colour: ChartSeries(
        name, tuple(step.value for step in side.ecdf), tuple(step.share for step in side.ecdf), ChartMark.STEPS, colour,
        tuple(step.low for step in side.ecdf), tuple(step.high for step in side.ecdf),
    ))  # fmt: skip
    shade = (
        "the band spans the lowest to the highest trial"
        if one.source is not ValueLevel.TRIALS
        else "one step per trial"
    )
    return Chart(
        f"ECDF of {one.source}: {one.title}",
        ChartAxis("", one.metric, logarithmic=_wide(one)), ChartAxis("", share=True, from_zero=True), series,
        f"{worst_text(one)} Mean ECDF of the trials, equally weighted; {shade}.".strip(),
    )  # fmt: skip


def shift_chart(one: Distribution) -> Chart:
    """Return the shift of each side against the baseline at each percentile."""
    shifts = [shift for side in one.sides for shift in side.shift]
    by_ratio = bool(shifts) and all(shift.ratio is not None for shift in shifts)
    zero = ChartSeries("", (0.0, 100.0), (0.0, 0.0), colour=None, dashed=True)
    series = _each(one, lambda side, name, colour: _shift(side, name, colour, by_ratio=by_ratio))
    upward = ChartAxis("", share=True) if by_ratio else ChartAxis("", one.metric)
    return Chart(
        f"Shift against the baseline: {one.title}",
        ChartAxis("percentile"), upward, (zero, *(each for each in series if each.xs)),
        f"Pointwise 95 % intervals: {one.method}." if shifts else _unshifted(one),
    )  # fmt: skip


def _shift(side: SideDistribution, name: str, colour: int | None, *, by_ratio: bool) -> ChartSeries:
    rows = [
        (shift.ratio, shift.ratio_low, shift.ratio_high) if by_ratio else (shift.difference, shift.low, shift.high)
        for shift in side.shift
    ]
    moved = 1.0 if by_ratio else 0.0
    ys, lows, highs = (
        tuple(None if row[column] is None else float(row[column] or 0.0) - moved for row in rows) for column in range(3)
    )
    return ChartSeries(
        name, tuple(shift.percentile for shift in side.shift), tuple(y or 0.0 for y in ys), ChartMark.DOTS, colour,
        lows, highs,
    )  # fmt: skip


def _unshifted(one: Distribution) -> str:
    reasons = dict.fromkeys(side.reason for side in one.sides if side.reason)
    if reasons:
        return f"No shift: {'; '.join(reasons)}."
    return "No shift of a single run." if len(one.sides) < 2 else "Too few values for a decile."


def histogram_chart(one: Distribution) -> Chart:
    """Return the histograms of all sides, overlaid, with common bins."""
    series = _each(one, _bars)
    return Chart(
        f"Histogram of {one.source}: {one.title}",
        ChartAxis("", one.metric, logarithmic=_wide(one)), ChartAxis("", share=True, from_zero=True), series,
        "Mean of the trials, equally weighted; common bins.",
    )  # fmt: skip


def _bars(side: SideDistribution, name: str, colour: int | None) -> ChartSeries:
    bins = side.histogram
    if not bins:
        return ChartSeries(name, (), ())
    edges = (*(each.start for each in bins), bins[-1].end)
    heights = (*(each.share for each in bins), 0.0)
    return ChartSeries(name, edges, heights, ChartMark.BARS, colour)


def _each(
    one: Distribution, draw: Callable[[SideDistribution, str, int | None], ChartSeries]
) -> tuple[ChartSeries, ...]:
    """Return the series of each side that has values, the baseline in grey."""
    several = len(one.sides) > 1
    drawn = (
        draw(side, run_name(number) if several else "", number - 1 if number else (None if several else 0))
        for number, side in enumerate(one.sides)
    )
    return tuple(series for series in drawn if series.xs)


def _wide(one: Distribution) -> bool:
    steps = [step.value for side in one.sides for step in side.ecdf]
    return bool(steps) and min(steps) > 0 and max(steps) / min(steps) > DECADE


def distribution_charts(found: Sequence[Distribution]) -> list[Chart]:
    """Return the charts for the report image: the ECDF, and the shift of compared sides."""
    charts = []
    for one in found:
        charts.append(ecdf_chart(one))
        if any(side.shift for side in one.sides):
            charts.append(shift_chart(one))
    return charts


LATENCY = Metric("latency", "Latency", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME)

ROWS_A_DECADE = 8
"""Bins of latency per decade: narrow enough to separate two modes, wide enough to see."""

MOST_COLUMNS = 160
"""Most intervals on the time axis; more are merged."""

MOST_OF_A_STEP = 4
"""Most heat maps of one step in a report, which is one page."""

NOTE = "Columns are intervals, rows are ranges of latency; a stronger colour means more I/Os."


def heat_charts(output: bytes, suite_id: str, title: str) -> list[Chart]:
    """Return a heat map for each operation and job of a trial's raw `output`; empty without histograms."""
    found = histograms_of(suite_id)
    by_labels: dict[Labels, list[LatencySlice]] = {}
    for one in () if found is None else found.slices(output):
        by_labels.setdefault(one.labels, []).append(one)
    return [heat_chart(slices, f"Latency, {label_text(marks)}: {title}") for marks, slices in by_labels.items()]


def last_heats(record: RunRecord, output: Callable[[int], Mapping[str, bytes]]) -> dict[str, list[Chart]]:
    """Return by step the heat maps of its last counted trial on each host; `output` reads a trial's raw output."""
    found: dict[str, list[Chart]] = {}
    for step in record.plan.steps:
        if histograms_of(step.suite_id) is None:
            continue
        last = {trial.trial.host: trial.trial for trial in record.trials_of(step.name)}
        charts = [
            chart
            for host, trial in last.items()
            for chart in heat_charts(
                output(trial.id).get("stdout", b""), step.suite_id, f"{host_label(host)}, trial {trial.number}"
            )
        ]
        found[step.name] = charts[:MOST_OF_A_STEP]
    return found


def heat_chart(slices: Sequence[LatencySlice], title: str) -> Chart:
    """Return a heat map of `slices` with equal labels."""
    cells = _cells(_columns(slices))
    most = max((count for *_, count in cells), default=1)
    total = sum(count for *_, count in cells)
    drawn = tuple(
        HeatCell(left, right, low, high, math.log1p(count) / math.log1p(most), count)
        for left, right, low, high, count in cells
    )
    series = ChartSeries("", (), (), ChartMark.HEAT, cells=drawn)
    note = f"{total:,} I/Os, at most {most:,} in one cell. {NOTE}"
    return Chart(title, ChartAxis("seconds"), ChartAxis("latency", LATENCY, logarithmic=True), (series,), note)


def _columns(slices: Sequence[LatencySlice]) -> list[tuple[float, float, dict[int, int]]]:
    """Return intervals with the I/Os by row, neighbours merged beyond MOST_COLUMNS."""
    merged = -(-len(slices) // MOST_COLUMNS)
    found = []
    for first in range(0, len(slices), merged or 1):
        group = slices[first : first + merged]
        found.append((group[0].start, group[-1].end, _rows(one.bins for one in group)))
    return found


def _rows(several: Iterable[Mapping[int, int]]) -> dict[int, int]:
    rows: dict[int, int] = {}
    for bins in several:
        for latency, count in bins.items():
            row = math.floor(ROWS_A_DECADE * math.log10(max(1, latency)))
            rows[row] = rows.get(row, 0) + count
    return rows


def _cells(columns: Sequence[tuple[float, float, Mapping[int, int]]]) -> list[tuple[float, float, float, float, int]]:
    return [
        (left, right, 10 ** (row / ROWS_A_DECADE), 10 ** ((row + 1) / ROWS_A_DECADE), count)
        for left, right, rows in columns
        for row, count in rows.items()
    ]
