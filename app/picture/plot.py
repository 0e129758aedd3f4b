"""One plot of the picture: thin curves, a grey baseline, warm-ups shaded, names at the curves."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from app.picture.curves import Panel
from app.picture.look import BASELINE, FAINT, INK, LINE, MUTED, SMALL, Style
from app.picture.sheet import Sheet
from app.picture.words import DPI, font, width, wrap
from app.wording import direction_text, scale
from suites.vocab import Kind

HEIGHT = 200
LOW = 120
LEFT = 52
PLAIN_RIGHT = 12
NAMES = 4
"""Up to so many curves are named at their ends, more in a legend above."""

WIDEST_NAME = 240
"""Longer names stand in the legend too."""

NAME = Style(11.5, 16, INK)

_DECADES = 1000.0
"""Times that span more than this factor stand on a logarithmic axis."""

_STEPS = [1, 2, 2.5, 5, 10]
"""Between two ticks, times a power of ten."""

_HAIR = 72 / DPI
"""A line one pixel wide, in points."""


@dataclass(frozen=True, slots=True)
class _Range:
    """The values an axis spans."""

    low: float
    high: float
    logarithmic: bool

    def height(self, value: float) -> float:
        """Return where `value` stands, from 0 at the foot to 1 at the top."""
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True, slots=True)
class _Name:
    """A curve's name, its colour, and the value beside which it stands."""

    text: str
    colour: str
    value: float
    dashed: bool = False


def draw_panel(sheet: Sheet, panel: Panel, x: float, room: float, *, small: bool = False) -> tuple[float, float]:
    """Draw a plot with its heading at `x`, `room` pixels wide, from the sheet's `y` on.

    Return where it ends, and the room it would have taken without names beside its curves.

    A small one names no curves: it stands below one that does, in the same colours.
    """
    height = LOW if small else HEIGHT
    span = _range(panel)
    shown = scale(panel.metric, span.high)
    unit = f" ({shown.suffix})" if shown.suffix not in {"", "/s"} else ""
    direction = f", {direction_text(panel.metric.better)}" if panel.judged else ""
    sheet.words(x, sheet.y, f"{panel.metric.title}{unit}{direction}", SMALL)
    top = sheet.y + SMALL.leading + 6
    names = [] if small else list(_names(panel))
    widest = max((width(name.text, NAME) + 26 for name in names), default=0.0)
    at_curves = len(names) <= NAMES and widest <= WIDEST_NAME
    if not at_curves:
        top = _legend(sheet, names, x, top, room)
    frame = room - LEFT - max(PLAIN_RIGHT, widest if at_curves else 0.0)
    sheet.plot(x + LEFT, top, frame, height, lambda axes: _draw(axes, panel, span, shown.divisor, frame))
    if at_curves:
        _name_curves(sheet, names, span, (x + LEFT + frame, top), height)
    sheet.words(x + LEFT + frame, top + height + 18, panel.over, SMALL, "right")
    return top + height + 18 + SMALL.leading, LEFT + frame + PLAIN_RIGHT


def _range(panel: Panel) -> _Range:
    values = [value for curve in panel.curves for value in curve.values if math.isfinite(value)]
    values += [value for band in panel.bands for value in (band.low, band.high)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if panel.metric.kind is Kind.TIME and low > 0 and high / low > _DECADES:
        return _Range(low / 1.5, high * 1.5, logarithmic=True)
    top = panel.top or (1.1 * high if high > 0 else 1.0)
    return _Range(min(0.0, 1.05 * low), top, logarithmic=False)


def _names(panel: Panel) -> Iterator[_Name]:
    """Yield every name once, beside the last value of the last curve that has it."""
    named = {}
    for curve in panel.curves:
        finite = [value for value in curve.values if math.isfinite(value)]
        named[curve.name] = _Name(curve.name, curve.colour, finite[-1] if finite else 0.0, dashed=curve.dashed)
    for band in panel.bands:
        if not any(f"{name},".startswith(f"{band.name},") for name in named):  # else its run is named by its curves
            named[band.name] = _Name(
                f"{'reference' if band.reference else 'baseline'} “{band.name}”{f', {band.note}' if band.note else ''}",
                BASELINE,
                band.median,
                dashed=True,
            )
    yield from (name for name in named.values() if name.text)


def _legend(sheet: Sheet, names: Sequence[_Name], x: float, y: float, room: float) -> float:
    """Write the names in rows; return where they end."""
    left = x
    for name in names:
        lines = wrap(name.text, NAME, room - 26)
        wide = 26 + max(width(line, NAME) for line in lines) + 18
        if left > x and left + wide > x + room:
            left, y = x, y + NAME.leading
        _key(sheet, name, left, y + NAME.leading / 2)
        y = sheet.lines(left + 26, y, lines, NAME) - NAME.leading
        left += wide
    return y + NAME.leading + 6


def _key(sheet: Sheet, name: _Name, x: float, y: float) -> None:
    if name.dashed:
        sheet.rule((x, y), (x + 18, y), colour=name.colour, dashed=True)
    else:
        sheet.box(x, y - 1.5, 18, 3, name.colour)


def _name_curves(
    sheet: Sheet, names: Sequence[_Name], span: _Range, corner: tuple[float, float], height: float
) -> None:
    """Write the names beside the ends of their curves, pushed apart where they would cover each other."""
    x, top = corner
    ordered = sorted(names, key=lambda name: -name.value)
    placed: list[float] = []
    for number, name in enumerate(ordered):
        wanted = top + height * (1 - span.height(name.value)) - NAME.leading / 2
        lowest = top + height - NAME.leading * (len(ordered) - number)
        above = placed[-1] + NAME.leading if placed else top - NAME.leading / 2
        placed.append(max(above, min(wanted, lowest)))
    for name, y in zip(ordered, placed, strict=True):
        if name.dashed:
            sheet.rule((x + 6, y + NAME.leading / 2), (x + 18, y + NAME.leading / 2), colour=name.colour, dashed=True)
        else:
            sheet.box(x + 6, y + NAME.leading / 2 - 1.5, 12, 3, name.colour)
        sheet.words(x + 22, y, name.text, NAME)


def _draw(axes: Axes, panel: Panel, span: _Range, divisor: float, frame: float) -> None:
    end = panel.end or max((time for curve in panel.curves for time in curve.times), default=1.0) or 1.0
    warm_up = max((curve.warm_up for curve in panel.curves if not curve.faint), default=0.0)
    if warm_up > 0:
        axes.axvspan(0, warm_up, color=FAINT, linewidth=0, zorder=0)
        if frame * warm_up / end > width("warm-up", SMALL) + 8:
            axes.text(
                warm_up / 2, 0.96, "warm-up", transform=axes.get_xaxis_transform(), ha="center", va="top",
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
    if panel.ticks:
        _foot_of_sweep(axes, panel, frame)
    else:
        axes.set_xlim(0, end + 0.5 if panel.over == "trial" else end)


def _mark_knees(axes: Axes, panel: Panel, divisor: float) -> None:
    """Put a ring around every knee, and name it."""
    for place, value in panel.knees:
        axes.plot(
            [place], [value / divisor], marker="o", markersize=10, markerfacecolor="none", markeredgecolor=INK,
            markeredgewidth=_HAIR, linestyle="none", zorder=5, clip_on=False,
        )  # fmt: skip
        axes.annotate(
            "knee", (place, value / divisor), xytext=(0, 6), textcoords="offset points", ha="center", va="bottom",
            color=MUTED, fontproperties=font(SMALL),
        )  # fmt: skip


def _foot_of_sweep(axes: Axes, panel: Panel, frame: float) -> None:
    """Name the values that were measured, as many as there is room for, with a margin beyond the outermost."""
    places = [place for place, _ in panel.ticks]
    low, high = min(places), max(places)
    margin = 0.03 * (high - low) or 1.0
    axes.set_xlim(low - margin, high + margin)
    shown: list[tuple[float, str]] = []
    taken = -math.inf
    for place, text in panel.ticks:
        centre = frame * (place - low + margin) / (high - low + 2 * margin)
        half = width(text, SMALL) / 2 + 4
        if centre - half >= taken:
            shown.append((place, text))
            taken = centre + half
    axes.set_xticks([place for place, _ in shown], [text for _, text in shown], fontproperties=font(SMALL))


def _frame(axes: Axes, span: _Range, divisor: float) -> None:
    if span.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.set_ylim(span.low / divisor, span.high / divisor)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
    axes.xaxis.set_major_locator(MaxNLocator(10, steps=_STEPS, integer=True))
    axes.grid(visible=True, axis="y", color=FAINT, linewidth=_HAIR)
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
