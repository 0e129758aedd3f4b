"""The plots of a report: panels of a step, and the charts that the window shows too."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries
from app.output import write_whole
from app.report_image.panels import Panel
from app.report_image.sheet import (
    BASELINE,
    CONTENT,
    DPI,
    FAINT,
    GUTTER,
    INK,
    LINE,
    MARGIN,
    MUTED,
    QUIET,
    SMALL,
    Sheet,
    Style,
    font,
    printable,
    series_colour,
    width,
    wrap,
)
from app.version import VERSION
from suites.quantities import direction_text, scale
from suites.vocab import MetricKind

HEIGHT = 140
LOW = 100
LEFT = 52
PLAIN_RIGHT = 12
NAMES = 4
"""Most curves that are labelled at their ends; more are in a legend above."""

WIDEST_NAME = 240
"""Longer names are in the legend too."""

NAME = Style(11.5, 16, INK)

_DECADES = 1000.0
"""Times that span more than this factor have a logarithmic axis."""

_STEPS = [1, 2, 2.5, 5, 10]
"""Tick distances, times a power of ten."""

_HAIR = 72 / DPI
"""A line one pixel wide, in points."""


@dataclass(frozen=True, slots=True)
class _Range:
    """The bounds of an axis."""

    low: float
    high: float
    logarithmic: bool

    def height(self, value: float) -> float:
        """Return the position of `value`, from 0 at the bottom to 1 at the top."""
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True, slots=True)
class _Name:
    """A curve's label, its colour, and the value beside it."""

    text: str
    colour: str
    value: float
    dashed: bool = False


def draw_panel(sheet: Sheet, panel: Panel, x: float, available: float, *, small: bool = False) -> tuple[float, float]:
    """Draw a plot with its heading at `x`, `available` pixels wide, from the sheet's `y` on.

    Return its lower edge, and the width without labels beside its curves.

    A small plot has no labels: it is below one with labels in the same colours.
    """
    height = LOW if small else HEIGHT
    span = _range(panel)
    shown = scale(panel.metric, span.high)
    unit = f" ({shown.suffix})" if shown.suffix not in {"", "/s"} else ""
    direction = f", {direction_text(panel.metric.better)}" if panel.directed else ""
    title = f"{panel.metric.title}{unit}{direction}"
    top = sheet.lines(x, sheet.y, wrap(title, SMALL, available), SMALL) + 6
    names = [] if small else list(_names(panel))
    widest = max((width(name.text, NAME) + 26 for name in names), default=0.0)
    at_curves = len(names) <= NAMES and widest <= WIDEST_NAME
    if not at_curves:
        top = _legend(sheet, names, x, top, available)
    frame = available - LEFT - max(PLAIN_RIGHT, widest if at_curves else 0.0)
    sheet.plot(x + LEFT, top, frame, height, lambda axes: _draw(axes, panel, span, shown.divisor, frame))
    if at_curves:
        _name_curves(sheet, names, span, (x + LEFT + frame, top), height)
    sheet.text(x + LEFT + frame, top + height + 18, panel.over, SMALL, "right")
    return top + height + 18 + SMALL.leading, LEFT + frame + PLAIN_RIGHT


def _range(panel: Panel) -> _Range:
    values = [value for curve in panel.curves for value in curve.values if math.isfinite(value)]
    values += [value for band in panel.bands for value in (band.low, band.high)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if panel.metric.kind is MetricKind.TIME and low > 0 and high / low > _DECADES:
        return _Range(low / 1.5, high * 1.5, logarithmic=True)
    top = panel.top or (1.1 * high if high > 0 else 1.0)
    return _Range(min(0.0, 1.05 * low), top, logarithmic=False)


def _names(panel: Panel) -> Iterator[_Name]:
    """Yield every distinct label with the last value of its last curve."""
    named = {}
    for curve in panel.curves:
        finite = [value for value in curve.values if math.isfinite(value)]
        named[curve.name] = _Name(curve.name, curve.colour, finite[-1] if finite else 0.0, dashed=curve.dashed)
    for band in panel.bands:
        if not any(
            f"{name},".startswith(f"{band.name},") for name in named
        ):  # else the curves of its run have the label
            named[band.name] = _Name(
                f"{'reference' if band.reference else 'baseline'} “{band.name}”",
                BASELINE,
                band.median,
                dashed=True,
            )
    yield from (name for name in named.values() if name.text)


def _legend(sheet: Sheet, names: Sequence[_Name], x: float, y: float, available: float) -> float:
    """Write the labels in rows; return their lower edge."""
    left = x
    for name in names:
        lines = wrap(name.text, NAME, available - 26)
        wide = 26 + max(width(line, NAME) for line in lines) + 18
        if left > x and left + wide > x + available:
            left, y = x, y + NAME.leading
        _key(sheet, name, left, y + NAME.leading / 2, 18)
        y = sheet.lines(left + 26, y, lines, NAME) - NAME.leading
        left += wide
    return y + NAME.leading + 6


def _key(sheet: Sheet, name: _Name, x: float, y: float, wide: float) -> None:
    if name.dashed:
        sheet.rule((x, y), (x + wide, y), colour=name.colour, dashed=True)
    else:
        sheet.box(x, y - 1.5, wide, 3, name.colour)


def _name_curves(
    sheet: Sheet, names: Sequence[_Name], span: _Range, corner: tuple[float, float], height: float
) -> None:
    """Write the labels beside the ends of their curves, shifted if they overlap."""
    x, top = corner
    ordered = sorted(names, key=lambda name: -name.value)
    placed: list[float] = []
    for number, name in enumerate(ordered):
        wanted = top + height * (1 - span.height(name.value)) - NAME.leading / 2
        lowest = top + height - NAME.leading * (len(ordered) - number)
        above = placed[-1] + NAME.leading if placed else top - NAME.leading / 2
        placed.append(max(above, min(wanted, lowest)))
    for name, y in zip(ordered, placed, strict=True):
        _key(sheet, name, x + 6, y + NAME.leading / 2, 12)
        sheet.text(x + 22, y, name.text, NAME)


def _draw(axes: Axes, panel: Panel, span: _Range, divisor: float, frame: float) -> None:
    end = panel.end or max((time for curve in panel.curves for time in curve.times), default=1.0) or 1.0
    warm_up = max((curve.warm_up for curve in panel.curves if not curve.faint), default=0.0)
    if warm_up > 0:
        axes.axvspan(0, warm_up, color=FAINT, linewidth=0, zorder=0)
        if frame * warm_up / end > width("warm-up", SMALL) + 8:
            axes.text(
                warm_up / 2, 0.04, "warm-up", transform=axes.get_xaxis_transform(), ha="center", va="bottom",
                color=MUTED, fontproperties=font(SMALL),
            )  # fmt: skip
    for band in panel.bands:
        axes.axhspan(band.low / divisor, band.high / divisor, color=BASELINE, alpha=0.22, linewidth=0, zorder=1)
        axes.axhline(band.median / divisor, color=BASELINE, linewidth=1.2 * _HAIR, linestyle=(0, (5, 3)), zorder=2)
    for curve in panel.curves:
        axes.plot(
            curve.times, [value / divisor for value in curve.values], color=curve.colour,
            linewidth=0 if curve.dots else _HAIR, alpha=0.45 if curve.faint else 1.0, zorder=3 if curve.faint else 4,
            solid_joinstyle="round", markersize=4, linestyle=(0, (5, 3)) if curve.dashed else "solid",
            marker="o" if curve.dots or panel.ticks or len(curve.times) == 1 else "",
        )  # fmt: skip
    _mark_knees(axes, panel, divisor)
    _frame(axes, span, divisor)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
    if panel.ticks:
        _sweep_axis(axes, panel, frame)
    else:
        end += 0.5 if panel.over == "trial" else 0
        axes.set_xlim(0, end)
        axes.xaxis.set_major_locator(_across(0, end, frame, 10, integer=True))


def _mark_knees(axes: Axes, panel: Panel, divisor: float) -> None:
    """Draw a labelled ring around every knee."""
    for x, value in panel.knees:
        axes.plot(
            [x], [value / divisor], marker="o", markersize=10, markerfacecolor="none", markeredgecolor=INK,
            markeredgewidth=_HAIR, linestyle="none", zorder=5, clip_on=False,
        )  # fmt: skip
        axes.annotate(
            "knee", (x, value / divisor), xytext=(0, 6), textcoords="offset points", ha="center", va="bottom",
            color=MUTED, fontproperties=font(SMALL),
        )  # fmt: skip


def _sweep_axis(axes: Axes, panel: Panel, frame: float) -> None:
    """Label the measured values, as many as fit, with a margin beyond the outermost."""
    positions = [position for position, _ in panel.ticks]
    low, high = min(positions), max(positions)
    margin = 0.03 * (high - low) or 1.0
    axes.set_xlim(low - margin, high + margin)
    shown: list[tuple[float, str]] = []
    taken = -math.inf
    for position, text in panel.ticks:
        centre = frame * (position - low + margin) / (high - low + 2 * margin)
        half = width(text, SMALL) / 2 + 4
        if centre - half >= taken:
            shown.append((position, text))
            taken = centre + half
    axes.set_xticks([position for position, _ in shown], [text for _, text in shown], fontproperties=font(SMALL))


def _frame(axes: Axes, span: _Range, divisor: float) -> None:
    if span.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.set_ylim(span.low / divisor, span.high / divisor)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
    _style_axes(axes, "y")


def _across(low: float, high: float, frame: float, most: int, *, integer: bool = False) -> MaxNLocator:
    """Return the locator of at most `most` ticks whose labels do not overlap on an axis `frame` pixels wide."""
    for number in range(most, 1, -1):
        found = MaxNLocator(number, steps=_STEPS, integer=integer)
        ticks = [tick for tick in found.tick_values(low, high) if low <= tick <= high]
        if sum(width(f"{tick:g}", SMALL) + TICK_GAP for tick in ticks) <= frame:
            return found
    return MaxNLocator(1, steps=_STEPS, integer=integer)


def _style_axes(axes: Axes, grid: Literal["both", "y"] = "both", names: str = "") -> None:
    """Style axes whose labels have the characters of `names`."""
    axes.grid(visible=True, axis=grid, color=FAINT, linewidth=_HAIR)
    axes.set_axisbelow(True)
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(LINE)
        spine.set_linewidth(_HAIR)
    axes.tick_params(colors=LINE, labelcolor=MUTED, length=3, width=_HAIR, pad=4)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_fontproperties(font(SMALL, names))
        label.set_parse_math(False)


TICK_GAP = 8
"""Pixels between the labels of ticks."""

CHART_HEIGHT = 240
HEIGHT_BESIDE = 160
ROW = 26
"""Height of a labelled row in pixels."""

CHART_LEFT = 60
CHART_RIGHT = 12
WIDEST = 420
"""Largest width of row labels in pixels."""

HEAT_FROM = 0.06
"""Opacity of the lightest cell of a heat map: a single I/O must be visible."""


def write_charts(charts: Sequence[Chart], path: Path) -> Path:
    """Write `charts` in one column to `path` as PNG, 1200 pixels wide; return `path`. Raises WriteError."""
    sheet = Sheet()
    for chart in charts:
        draw_chart(sheet, chart, MARGIN, CONTENT)
    sheet.paragraph(f"Benchwright {VERSION}", QUIET)
    return write_whole(path, sheet.png())


def chart_picture(chart: Chart) -> bytes:
    """Return a chart as PNG, 1200 pixels wide."""
    sheet = Sheet()
    draw_chart(sheet, chart, MARGIN, CONTENT)
    return sheet.png()


ACROSS = 4
"""Small plots in a row."""


def draw_side_by_side(sheet: Sheet, charts: Sequence[Chart], noted: set[str]) -> None:
    """Draw charts in rows of two, or of ACROSS, from the sheet's `y` on, and below them their notes not in `noted`."""
    across = ACROSS if len(charts) > 2 else 2
    available = (CONTENT - GUTTER * (across - 1)) / across
    for first in range(0, len(charts), across):
        top, ends, row = sheet.y, [], charts[first : first + across]
        for column, chart in enumerate(row):
            sheet.y = top
            left = MARGIN + column * (available + GUTTER)
            draw_chart(sheet, replace(chart, note=""), left, available, HEIGHT_BESIDE)
            ends.append(sheet.y)
        sheet.y = max(ends) - 10
        for note in dict.fromkeys(chart.note for chart in row if chart.note not in {"", *noted}):
            sheet.paragraph(note, SMALL)
            noted.add(note)
        sheet.y += 10


def draw_chart(sheet: Sheet, chart: Chart, x: float, available: float, tall: float = CHART_HEIGHT) -> None:
    """Draw a chart with its title, legend and note at `x`, `available` pixels wide, from the sheet's `y` on."""
    sheet.y = sheet.lines(x, sheet.y, wrap(_titled(chart), SMALL, available), SMALL)
    top = _chart_legend(sheet, chart, x, sheet.y + 4, available)
    names = max((width(name, SMALL) for name in chart.y.names), default=0.0)
    left = max(CHART_LEFT, min(WIDEST, names + 12))
    height = max(90.0, ROW * len(chart.y.names)) if chart.y.names else tall
    frame = available - left - CHART_RIGHT
    sheet.plot(x + left, top, frame, height, lambda axes: _draw_marks(axes, chart, frame))
    sheet.text(x + available - CHART_RIGHT, top + height + 20, _axis_title(chart, chart.x), SMALL, "right")
    sheet.y = top + height + 20 + SMALL.leading + 4
    if chart.note:
        sheet.paragraph(chart.note, QUIET, x, available)
    sheet.y += 14


def _titled(chart: Chart) -> str:
    return f"{chart.title}{': ' if chart.y.title else ''}{_axis_title(chart, chart.y)}"


def _axis_title(chart: Chart, axis: ChartAxis) -> str:
    _, suffix = axis.scale(chart.span(axis)[1])
    unit = f" ({suffix})" if suffix not in {"", "/s"} else ""
    return f"{axis.title}{unit}"


def _chart_legend(sheet: Sheet, chart: Chart, x: float, y: float, available: float) -> float:
    """Write the legend in rows; return its lower edge."""
    left, named = x, [series for series in chart.series if series.name]
    for series in named:
        wide = width(series.name, SMALL) + 44
        if left > x and left + wide > x + available:
            left, y = x, y + SMALL.leading
        colour, middle = _colour(series), y + SMALL.leading / 2
        sheet.rule((left, middle), (left + 18, middle), colour=colour, dashed=series.dashed)
        sheet.text(left + 24, y, series.name, SMALL)
        left += wide
    return y + SMALL.leading + 6 if named else y + 4


def _colour(series: ChartSeries) -> str:
    return BASELINE if series.colour is None else series_colour(series.colour)


def _draw_marks(axes: Axes, chart: Chart, frame: float) -> None:
    across, upward = chart.x.scale(chart.span(chart.x)[1])[0], chart.y.scale(chart.span(chart.y)[1])[0]
    for series in chart.series:
        _draw_series(axes, series, across, upward)
    _frame_chart(axes, chart, across, upward, frame)


def _draw_series(axes: Axes, series: ChartSeries, across: float, upward: float) -> None:
    colour = _colour(series)
    for cell in series.cells:
        corner = (cell.left / across, cell.low / upward)
        size = ((cell.right - cell.left) / across, (cell.high - cell.low) / upward)
        axes.add_patch(Rectangle(corner, *size, facecolor=colour, alpha=HEAT_FROM + (1 - HEAT_FROM) * cell.weight,
                                 linewidth=0, zorder=3))  # fmt: skip
    if series.mark is ChartMark.HEAT:
        return
    xs, ys = [x / across for x in series.xs], [y / upward for y in series.ys]
    steps = series.mark is not ChartMark.LINE
    if series.mark is ChartMark.POINTS:
        axes.plot(xs, ys, "o", color=colour, markersize=2.2, alpha=0.7, zorder=3)
        return
    if series.mark is ChartMark.DOTS:
        axes.plot(xs, ys, "o", color=colour, markersize=4.5, zorder=5)
        for x, y, low, high in series.whiskers():
            ends = ([low / across, high / across], [y / upward] * 2) if series.across else (
                [x / across] * 2, [low / upward, high / upward])  # fmt: skip
            axes.plot(*ends, color=colour, linewidth=1.5 * _HAIR, zorder=4)
        return
    style = (0, (5, 3)) if series.dashed else "solid"
    axes.plot(xs, ys, color=colour, linewidth=1.2 * _HAIR, linestyle=style, zorder=4,
              drawstyle="steps-post" if steps else "default")  # fmt: skip
    if series.mark is ChartMark.BARS:
        axes.fill_between(xs, ys, 0, step="post", color=colour, alpha=0.2, linewidth=0, zorder=2)
    known = series.whiskers()
    if known:
        xs = [point[0] / across for point in known]
        edges = [[point[side] / upward for point in known] for side in (2, 3)]
        axes.fill_between(xs, edges[0], edges[1], step="post" if steps else None, color=colour, alpha=0.15,
                          linewidth=0, zorder=1)  # fmt: skip


def _frame_chart(axes: Axes, chart: Chart, across: float, upward: float, frame: float) -> None:
    for axis, drawn, limit, rescale, divisor in (
        (chart.x, axes.xaxis, axes.set_xlim, axes.set_xscale, across),
        (chart.y, axes.yaxis, axes.set_ylim, axes.set_yscale, upward),
    ):
        low, high = chart.span(axis)
        if axis.logarithmic:
            rescale("log")
            drawn.set_major_locator(LogLocator(numticks=8))
            drawn.set_minor_locator(NullLocator())
        elif axis.names:
            drawn.set_major_locator(FixedLocator(range(len(axis.names))))
        else:
            level = drawn is axes.xaxis
            ends = low / divisor, high / divisor
            drawn.set_major_locator(_across(*ends, frame, 8) if level else MaxNLocator(8, steps=_STEPS))
        names = axis.names
        drawn.set_major_formatter(FuncFormatter(lambda value, _position, names=names: _tick(value, names)))
        ends = (low / divisor, high / divisor)
        limit(*(reversed(ends) if names else ends))
    _style_axes(axes, names="".join((*chart.x.names, *chart.y.names)))


def _tick(value: float, names: Sequence[str]) -> str:
    if not names:
        return f"{value:g}"
    index = round(value)
    return printable(names[index]) if 0 <= index < len(names) else ""
