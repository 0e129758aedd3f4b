"""The sweep of a step as plots of the picture: a metric over the label that was swept, with its knees."""

from collections.abc import Iterator
from dataclasses import replace

from app.picture.curves import Curve, Panel, Shown
from app.picture.look import BASELINE, SERIES, series_colour
from app.plans.plan import host_words
from app.scaling.sweep_panels import SweepPanel, panels_of
from app.scaling.sweeps import Curve as SweepCurve
from app.scaling.sweeps import curves
from app.wording import run_name


def sweep_plots(shown: Shown) -> list[Panel]:
    """Return the plots of the sweeps of a step, the rate first; none where nothing was swept.

    Of several runs each has curves of its own, the baseline's in grey.
    """
    found: dict[tuple[str, str], list[tuple[int, str, SweepPanel]]] = {}
    for number, host, panel in _panels(shown):
        found.setdefault((panel.metric.name, panel.label), []).append((number, host, panel))
    return [_plot(shown, panels) for panels in found.values()]


def _panels(shown: Shown) -> Iterator[tuple[int, str, SweepPanel]]:
    for number, (record, step) in enumerate(zip(shown.records, shown.steps, strict=True)):
        for host in record.summary.hosts if step is not None else ():
            for panel in panels_of(curves(record, step.name, host)) if step is not None else ():
                yield number, host, panel


def _plot(shown: Shown, panels: list[tuple[int, str, SweepPanel]]) -> Panel:
    first = panels[0][2]
    logarithmic = any(panel.logarithmic for _, _, panel in panels)
    several_hosts = len({host for _, host, _ in panels}) > 1
    drawn: list[Curve] = []
    for number, host, panel in panels:
        grey = len(shown.records) > 1 and number == 0
        for curve in panel.curves:
            parts = [run_name(number) if len(shown.records) > 1 else "", host_words(host) if several_hosts else ""]
            name = ", ".join(part for part in (*parts, panel.name(curve)) if part)
            place = sum(other.colour != BASELINE for other in drawn)
            colour = BASELINE if grey else series_colour(place)
            one = _curve(first, curve, name, colour, grey=grey)
            drawn.append(replace(one, dashed=not grey and place >= len(SERIES)))
    ticks = {tick for _, _, panel in panels for tick in panel.ticks()}
    knees = tuple((place, value) for _, _, panel in panels for place, value, _ in panel.knees())
    left = sum(panel.others for _, _, panel in panels)
    more = f"; {left} more curves are in the table" if left else ""
    over = f"{first.foot}{', each doubling as wide' if logarithmic else ''}{more}"
    return Panel(first.metric, tuple(drawn), over=over, ticks=tuple(sorted(ticks)), knees=knees)


def _curve(panel: SweepPanel, curve: SweepCurve, name: str, colour: str, *, grey: bool) -> Curve:
    places = tuple(panel.place(point.x) for point in curve.points)
    return Curve(name, colour, places, tuple(point.median for point in curve.points), faint=grey)
