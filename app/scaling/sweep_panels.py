"""What a picture of a sweep shows: a rate over the label that was swept, and a latency beneath on the same foot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.scaling.sweeps import Curve, chosen
from app.wording import figure_text, label_text
from suites.vocab import Better, Kind, Metric

MOST_CURVES = 12
"""Curves of one plot: six colours, and the same ones dashed. The table has the others."""

_LOGARITHMIC_FROM = 8.0
"""Times that the highest value of a label is the lowest: from here on, each doubling takes the same room."""

_TAIL = 99.0


@dataclass(frozen=True, slots=True)
class SweepPanel:
    """One plot: curves of one metric over one label. `others` counts the curves that found no room."""

    metric: Metric
    label: str
    curves: tuple[Curve, ...]
    logarithmic: bool
    others: int = 0

    @property
    def foot(self) -> str:
        """The label in words: what stands along the foot."""
        return self.label.replace("_", " ")

    def place(self, x: float) -> float:
        """Return where the value `x` of the label stands: each doubling takes the same room on a logarithmic foot."""
        return math.log2(x) if self.logarithmic else x

    def value(self, place: float) -> float:
        """Return the value of the label that stands at `place`."""
        return float(2.0**place) if self.logarithmic else place

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Return where each value that was measured stands, and its text, from left to right."""
        found = {point.x: point.text for curve in self.curves for point in curve.points}
        return tuple((self.place(x), found[x]) for x in sorted(found))

    def name(self, curve: Curve) -> str:
        """Return what tells `curve` from the others of the plot; empty where there are no others."""
        varying = {pair for other in self.curves for pair in other.rest if pair not in curve.rest}
        names = {name for name, _ in varying}
        return label_text(tuple(pair for pair in curve.rest if pair[0] in names)) if len(self.curves) > 1 else ""

    def knees(self) -> tuple[tuple[float, float, str], ...]:
        """Return place, value and words of every knee that was reached; a curve that still grows has none."""
        found = []
        for curve in self.curves:
            knee = curve.knee
            if knee is not None and not curve.growing:
                named = f" of {name}" if (name := self.name(curve)) else ""
                words = f"knee{named} at {self.foot} {knee.text}: {figure_text(self.metric, knee.median)}"
                found.append((self.place(knee.x), knee.median, words))
        return tuple(found)


def panels_of(curves: Sequence[Curve]) -> tuple[SweepPanel, ...]:
    """Return the plots of a sweep: the first rate, then the latency that is nearest to p99, over the same label.

    Where nothing is a rate, the first metric alone. Shares and counts are drawn of nothing else only.
    """
    metrics = list(dict.fromkeys(curve.metric for curve in curves))
    rates = [metric for metric in metrics if metric.kind is Kind.RATE and metric.better is Better.HIGHER]
    leading = next(iter([*rates, *metrics]), None)
    if leading is None:
        return ()
    label = chosen([curve for curve in curves if curve.metric == leading]) or ""
    times = [metric for metric in metrics if metric.kind is Kind.TIME and metric != leading]
    beneath = sorted(times, key=lambda metric: abs((metric.percentile or 0.0) - _TAIL))[:1]
    panels = [_panel(curves, leading, label)]
    for metric in beneath:
        own = [curve for curve in curves if curve.metric == metric]
        shared = label if any(curve.label == label for curve in own) else chosen(own)
        panels.append(_panel(curves, metric, shared or ""))
    return tuple(panels)


def _panel(curves: Sequence[Curve], metric: Metric, label: str) -> SweepPanel:
    found = [curve for curve in curves if curve.metric == metric and curve.label == label]
    drawn = tuple(found[:MOST_CURVES])
    values = [point.x for curve in drawn for point in curve.points]
    logarithmic = min(values) > 0 and max(values) / min(values) >= _LOGARITHMIC_FROM
    return SweepPanel(metric, label, drawn, logarithmic, len(found) - len(drawn))
