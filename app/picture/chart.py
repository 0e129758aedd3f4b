"""Charts on the sheet of the picture, and pictures that hold nothing else."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from app.chart import Axis, Chart, Mark, Series
from app.picture.look import BASELINE, CONTENT, FAINT, LINE, MARGIN, MUTED, QUIET, SMALL, series_colour
from app.picture.sheet import Sheet
from app.picture.words import DPI, font, width
from app.version import VERSION
from app.writing import write_whole

HEIGHT = 240
ROW = 26
"""Pixels of a named row: a word and its whiskers."""

LEFT = 60
RIGHT = 12
GUTTER = 24
WIDEST = 420
"""Pixels that the names of rows may take."""

HEAT_FROM = 0.06
"""How dark the lightest field of a heat map is: a single I/O has to be seen."""

_HAIR = 72 / DPI


def write_charts(charts: Sequence[Chart], path: Path) -> Path:
    """Write `charts` below each other to `path` as PNG, 1200 pixels wide; return `path`. Raises WriteError."""
    sheet = Sheet()
    for chart in charts:
        draw_chart(sheet, chart, MARGIN, CONTENT)
    sheet.paragraph(f"Benchwright {VERSION}", QUIET)
    return write_whole(path, sheet.png())


def draw_beside(sheet: Sheet, charts: Sequence[Chart]) -> None:
    """Draw charts in rows of two, from the sheet's `y` on."""
    room = (CONTENT - GUTTER) / 2
    for first in range(0, len(charts), 2):
        top, ends = sheet.y, []
        for place, chart in enumerate(charts[first : first + 2]):
            sheet.y = top
            draw_chart(sheet, chart, MARGIN + place * (room + GUTTER), room)
            ends.append(sheet.y)
        sheet.y = max(ends)


def draw_chart(sheet: Sheet, chart: Chart, x: float, room: float) -> None:
    """Draw a chart with its title, legend and note at `x`, `room` pixels wide, from the sheet's `y` on."""
    sheet.words(x, sheet.y, _titled(chart), SMALL)
    top = _legend(sheet, chart, x, sheet.y + SMALL.leading + 4, room)
    names = max((width(name, SMALL) for name in chart.y.names), default=0.0)
    left = max(LEFT, min(WIDEST, names + 12))
    height = max(90.0, ROW * len(chart.y.names)) if chart.y.names else HEIGHT
    sheet.plot(x + left, top, room - left - RIGHT, height, lambda axes: _draw(axes, chart))
    sheet.words(x + room - RIGHT, top + height + 20, _axis_title(chart, chart.x), SMALL, "right")
    sheet.y = top + height + 20 + SMALL.leading + 4
    if chart.note:
        sheet.paragraph(chart.note, QUIET, x, room)
    sheet.y += 14


def _titled(chart: Chart) -> str:
    above = _axis_title(chart, chart.y)
    if not chart.y.title:
        return f"{chart.title}{above}"
    return f"{chart.title}: {above}"


def _axis_title(chart: Chart, axis: Axis) -> str:
    _, suffix = axis.scale(chart.span(axis)[1])
    unit = f" ({suffix})" if suffix not in {"", "/s"} else ""
    return f"{axis.title}{unit}"


def _legend(sheet: Sheet, chart: Chart, x: float, y: float, room: float) -> float:
    """Write the names of the series in rows; return where they end."""
    left, named = x, [series for series in chart.series if series.name]
    for series in named:
        wide = width(series.name, SMALL) + 44
        if left > x and left + wide > x + room:
            left, y = x, y + SMALL.leading
        colour, middle = _colour(series), y + SMALL.leading / 2
        sheet.rule((left, middle), (left + 18, middle), colour=colour, dashed=series.dashed)
        sheet.words(left + 24, y, series.name, SMALL)
        left += wide
    return y + SMALL.leading + 6 if named else y + 4


def _colour(series: Series) -> str:
    return BASELINE if series.colour is None else series_colour(series.colour)


def _draw(axes: Axes, chart: Chart) -> None:
    across, upward = chart.x.scale(chart.span(chart.x)[1])[0], chart.y.scale(chart.span(chart.y)[1])[0]
    for series in chart.series:
        _draw_series(axes, series, across, upward)
    _frame(axes, chart, across, upward)


def _draw_series(axes: Axes, series: Series, across: float, upward: float) -> None:
    colour = _colour(series)
    for cell in series.cells:
        corner = (cell.left / across, cell.low / upward)
        size = ((cell.right - cell.left) / across, (cell.high - cell.low) / upward)
        axes.add_patch(Rectangle(corner, *size, facecolor=colour, alpha=HEAT_FROM + (1 - HEAT_FROM) * cell.weight,
                                 linewidth=0, zorder=3))  # fmt: skip
    if series.mark is Mark.HEAT:
        return
    xs, ys = [x / across for x in series.xs], [y / upward for y in series.ys]
    steps = series.mark is not Mark.LINE
    if series.mark is Mark.DOTS:
        axes.plot(xs, ys, "o", color=colour, markersize=4.5, zorder=5)
        for x, y, low, high in series.whiskers():
            ends = ([low / across, high / across], [y / upward] * 2) if series.across else (
                [x / across] * 2, [low / upward, high / upward])  # fmt: skip
            axes.plot(*ends, color=colour, linewidth=1.5 * _HAIR, zorder=4)
        return
    style = (0, (5, 3)) if series.dashed else "solid"
    axes.plot(xs, ys, color=colour, linewidth=1.2 * _HAIR, linestyle=style, zorder=4,
              drawstyle="steps-post" if steps else "default")  # fmt: skip
    if series.mark is Mark.BARS:
        axes.fill_between(xs, ys, 0, step="post", color=colour, alpha=0.2, linewidth=0, zorder=2)
    known = series.whiskers()
    if known:
        places = [place[0] / across for place in known]
        edges = [[place[side] / upward for place in known] for side in (2, 3)]
        axes.fill_between(places, edges[0], edges[1], step="post" if steps else None, color=colour, alpha=0.15,
                          linewidth=0, zorder=1)  # fmt: skip


def _frame(axes: Axes, chart: Chart, across: float, upward: float) -> None:
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
            drawn.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
        names = axis.names
        drawn.set_major_formatter(FuncFormatter(lambda value, _place, names=names: _tick(value, names)))
        ends = (low / divisor, high / divisor)
        limit(*(reversed(ends) if names else ends))
    axes.grid(visible=True, color=FAINT, linewidth=_HAIR)
    axes.set_axisbelow(True)
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(LINE)
        spine.set_linewidth(_HAIR)
    axes.tick_params(colors=LINE, labelcolor=MUTED, length=3, width=_HAIR, pad=4)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_fontproperties(font(SMALL))
        label.set_parse_math(False)


def _tick(value: float, names: Sequence[str]) -> str:
    if not names:
        return f"{value:g}"
    place = round(value)
    return names[place] if 0 <= place < len(names) else ""
