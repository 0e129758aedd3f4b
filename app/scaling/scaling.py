"""What more of something gives: each curve of a sweep with its knee, its efficiency, and the model it carries."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.comparing.intervals import ratio_of
from app.scaling.fits import Fit, fit_models
from app.scaling.sweeps import Curve, Point
from suites.vocab import Better, Kind

CONCURRENCY = frozenset(
    {"threads", "depth", "iodepth", "jobs", "numjobs", "streams", "parallel", "copies", "processes", "clients"}
)
"""Labels of which twice as many could give twice as much; of sizes and shares that means nothing."""


OPEN_FROM = 10.0
"""An efficiency beyond which an interval says nothing, since none can lie there: two trials a point give such."""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """A point against the straight line through the first: value / (n x value at 1), with its 95 % interval.

    The edges are None where a side has one trial only, or so few that the interval reaches beyond OPEN_FROM.
    """

    x: float
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Scaling:
    """One curve of one step on one host: `base` is the point that the straight line goes through.

    `base` is None, and `reasons` says why, where the curve cannot be held against a line at all.
    """

    run: str
    step: str
    host: str
    curve: Curve
    base: Point | None = None
    efficiencies: tuple[Efficiency, ...] = ()
    fit: Fit | None = None
    reasons: tuple[str, ...] = ()

    @property
    def knee(self) -> Point | None:
        """The point from which more gives hardly more; None where the curve still grows, or is none."""
        return None if self.curve.growing else self.curve.knee

    def linear(self, x: float) -> float | None:
        """Return what the straight line through the base gives at `x`."""
        return None if self.base is None else self.base.median * x / self.base.x


def scaling_of(run: str, step: str, host: str, curve: Curve) -> Scaling:
    """Return what a curve says of scaling, and why it says no more."""
    found = Scaling(run, step, host, curve)
    refused = _refused(curve)
    if refused:
        return replace(found, reasons=(refused,))
    base = curve.points[0]
    fit, reasons = fit_models([(point.x, point.median) for point in curve.points])
    efficiencies = tuple(_efficiency(point, base) for point in curve.points)
    return replace(found, base=base, efficiencies=efficiencies, fit=fit, reasons=reasons)


def _refused(curve: Curve) -> str:
    if curve.metric.better is not Better.HIGHER or curve.metric.kind is not Kind.RATE:
        return "only a rate scales; a time or a share is drawn as it is"
    if curve.sizes or curve.label not in CONCURRENCY:
        return f"twice the {curve.label.replace('_', ' ')} need not give twice the rate, so there is no straight line"
    if curve.points[0].x <= 0 or curve.points[0].median <= 0:
        return "the first point is not above zero"
    return ""


def _efficiency(point: Point, base: Point) -> Efficiency:
    steps = point.x / base.x
    if point is base:
        return Efficiency(point.x, 1.0)
    ratio = ratio_of(point.values, base.values)
    if isinstance(ratio, str):
        return Efficiency(point.x, point.median / base.median / steps)
    if ratio.low is None or ratio.high is None or ratio.high / steps > OPEN_FROM:
        return Efficiency(point.x, ratio.value / steps)
    return Efficiency(point.x, ratio.value / steps, ratio.low / steps, ratio.high / steps)


def leading(found: Iterable[Scaling]) -> list[Scaling]:
    """Return the curves of the first metric of each step over each label: what a reader looks at first."""
    first: dict[tuple[str, str, str, str], str] = {}
    kept = []
    for one in sorted(found, key=lambda one: one.base is None):
        place = (one.run, one.step, one.host, one.curve.label)
        if first.setdefault(place, one.curve.metric.name) == one.curve.metric.name:
            kept.append(one)
    return kept
