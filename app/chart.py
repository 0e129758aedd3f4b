"""Charts as plain data for window, report and spreadsheet, and the charts of trials with rounds."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries, TrialRecord
from suites.quantities import metric_text, scale
from suites.snia.checks import window_text
from suites.snia.output import ROUNDS
from suites.snia.steady import PTS_RANGE, WINDOW, window_of
from suites.vocab import Metric, Sample


class ChartMark(StrEnum):
    """The style of a series.

    LINE joins its points, STEPS holds each value until the next, BARS span from point to point, DOTS are points, POINTS
    small ones without whiskers, HEAT fills cells with an intensity by weight. `low` and `high` of a series are drawn as
    a shaded band of lines and steps, and as whiskers of bars and dots.
    """

    LINE = "line"
    STEPS = "steps"
    BARS = "bars"
    DOTS = "dots"
    POINTS = "points"
    HEAT = "heat"


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a heat map, from `left` to `right` and `low` to `high`; `weight` is from 0 to 1."""

    left: float
    right: float
    low: float
    high: float
    weight: float
    count: int


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """A series in one colour: `colour` is the index of its run, None the grey of guides.

    `low` and `high` bound each point, None if unknown: vertically, or horizontally with `across`. Bar n spans x[n] to
    x[n + 1], so that the last point has no bar.
    """

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    mark: ChartMark = ChartMark.LINE
    colour: int | None = 0
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    across: bool = False
    dashed: bool = False
    cells: tuple[HeatCell, ...] = ()

    def whiskers(self) -> list[tuple[float, float, float, float]]:
        """Return x, y, low and high of every point whose bounds are known."""
        return [
            (x, y, low, high)
            for x, y, low, high in zip(self.xs, self.ys, self.low, self.high, strict=False)
            if low is not None and high is not None
        ]


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """An axis: `metric` sets its unit, `share` percent; `names` replaces the ticks 0, 1, 2 .. by text."""

    title: str
    metric: Metric | None = None
    share: bool = False
    logarithmic: bool = False
    from_zero: bool = False
    names: tuple[str, ...] = ()

    def scale(self, largest: float) -> tuple[float, str]:
        """Return the divisor of its values, and the unit after division."""
        if self.share:
            return 0.01, "%"
        if self.metric is None:
            return 1.0, ""
        shown = scale(self.metric, largest)
        return shown.divisor, shown.suffix


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: title, two axes, series, and a note below."""

    title: str
    x: ChartAxis
    y: ChartAxis
    series: tuple[ChartSeries, ...]
    note: str = ""

    def span(self, axis: ChartAxis) -> tuple[float, float]:
        """Return the bounds of one of its two axes."""
        across = axis is self.x
        return bounds(_figures(self.series, across=across), axis)


def _figures(series: Iterable[ChartSeries], *, across: bool) -> list[float]:
    found: list[float] = []
    for one in series:
        found += one.xs if across else one.ys
        if one.across == across:
            found += [edge for edge in (*one.low, *one.high) if edge is not None]
        for cell in one.cells:
            found += (cell.left, cell.right) if across else (cell.low, cell.high)
    return [value for value in found if math.isfinite(value)]


def bounds(values: Sequence[float], axis: ChartAxis) -> tuple[float, float]:
    """Return the bounds of an axis around `values`, with a margin of about 5 %."""
    if axis.names:
        return -0.5, len(axis.names) - 0.5
    if axis.logarithmic:
        positive = [value for value in values if value > 0] or [1.0]
        low, high = min(positive), max(positive)
        room = max(1.05, (high / low) ** 0.04)
        return low / room, high * room
    low, high = min(values, default=0.0), max(values, default=1.0)
    if axis.from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return (low if axis.from_zero and not low else low - room), high + room


def chart_table(chart: Chart) -> list[list[str]]:
    """Return the chart as rows for a spreadsheet: one for each point, in the units of its axes."""
    rows = [["series", chart.x.title, chart.y.title, "low", "high"]]
    for one in chart.series:
        lows = one.low or (None,) * len(one.xs)
        highs = one.high or (None,) * len(one.xs)
        for x, y, low, high in zip(one.xs, one.ys, lows, highs, strict=True):
            rows.append([one.name, *(_cell(axis, value) for axis, value in ((chart.x, x), (chart.y, y))),
                         *("" if edge is None else f"{edge:.9g}" for edge in (low, high))])  # fmt: skip
        rows += [
            [f"{cell.count}", *(f"{value:.9g}" for value in (cell.left, cell.low, cell.low, cell.high))]
            for cell in one.cells
        ]
    return rows


def _cell(axis: ChartAxis, value: float) -> str:
    return axis.names[round(value)] if axis.names else f"{value:.9g}"


MOST_OF_A_STEP = 4
"""Most charts of one step in a report, which is one page."""


def rounds_charts(record: RunRecord, samples: SampleSeries) -> dict[str, list[Chart]]:
    """Return by step a chart for each trial of `record` with rounds; `samples` are those of the run."""
    several = len(record.summary.hosts) > 1
    found: dict[str, list[Chart]] = {}
    for trial in record.trials:
        tracked = _tracked(trial, samples.get(trial.trial.id, ()))
        if tracked:
            where = f"{host_label(trial.trial.host)}, " if several else ""
            chart = rounds_chart(tracked, f"{where}trial {trial.trial.number}")
            found.setdefault(trial.trial.step, []).append(chart)
    return found


def in_report(
    rounds: Mapping[str, Sequence[Chart]], others: Mapping[str, Sequence[Chart]]
) -> dict[str, tuple[Chart, ...]]:
    """Return the charts of each step for a report: its last rounds, then the others."""
    return {
        step: (*tuple(rounds.get(step, ()))[-MOST_OF_A_STEP:], *others.get(step, ()))
        for step in dict.fromkeys((*rounds, *others))
    }


def _tracked(trial: TrialRecord, samples: Sequence[Sample]) -> list[Sample]:
    """Return the headline samples, one for each round; empty for a trial without rounds."""
    if not any(figure.metric == ROUNDS for figure in trial.figures):
        return []
    leading = trial.figures[0]
    return [one for one in samples if one.metric == leading.metric and one.labels == leading.labels]


def rounds_chart(tracked: Sequence[Sample], title: str) -> Chart:
    """Return the values by round, with the permitted range and the fitted line of the last five."""
    values = [sample.value for sample in tracked]
    metric, labels = tracked[0].metric, tracked[0].labels
    whole = ChartSeries("each round", tuple(map(float, range(1, len(values) + 1))), tuple(values))
    series = (whole, *_window(values))
    window = window_of(values)
    note = "" if window is None else f"{window_text(window).capitalize()}."
    axis = ChartAxis(metric_text(metric, labels), metric, from_zero=True)
    return Chart(f"Rounds: {title}", ChartAxis("round"), axis, series, note)


def _window(values: Sequence[float]) -> Iterator[ChartSeries]:
    """Yield the last five rounds as a band and a line, and the mean of the five before."""
    window = window_of(values)
    if window is None or len(window.values) < WINDOW:
        return
    first = window.rounds - WINDOW + 1
    rounds = tuple(float(first + offset) for offset in range(WINDOW))
    half = PTS_RANGE / 2 * window.mean
    yield ChartSeries(
        "mean of the last five ±10 %", rounds, (window.mean,) * WINDOW, ChartMark.LINE, 2,
        low=(window.mean - half,) * WINDOW, high=(window.mean + half,) * WINDOW,
    )  # fmt: skip
    line = tuple(window.intercept + offset * window.step for offset in range(WINDOW))
    yield ChartSeries("their fitted line", rounds, line, ChartMark.LINE, 1, dashed=True)
    if window.before is not None:
        earlier = tuple(number - WINDOW for number in rounds)
        yield ChartSeries(
            "mean of the five before", earlier, (window.before,) * WINDOW, ChartMark.LINE, None, dashed=True
        )
