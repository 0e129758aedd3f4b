"""The lines of a plot and what of them is drawn: points by pixel, the range they need, what the crosshair reads."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtGui import QColor

from app.records import Band
from suites.units import Unit, convert
from suites.units import unit as unit_of
from widgets.plots import scale
from widgets.plots.curve import Curve
from widgets.plots.decimate import decimate
from widgets.plots.layers import Stripe
from widgets.plots.scale import Range
from widgets.plots.series import Numbers, SeriesBuffer

_NO_NUMBERS: Numbers = np.empty(0)
_LEAVE_LOGARITHMIC = 0.3
"""Part of the factor that makes an axis logarithmic, below which it is linear again: it does not flap."""


@dataclass(slots=True)
class Line:
    """One series in a plot. `offset` is the buffer's time at the plot's zero; `factor` turns its values into the
    plot's unit; a `faint` line stands back."""

    key: Hashable
    title: str
    colour: QColor
    buffer: SeriesBuffer
    curve: Curve
    faint: bool = False
    offset: float = 0.0
    factor: float = 1.0
    dashed: bool = False
    shown: tuple[Numbers, Numbers] = (_NO_NUMBERS, _NO_NUMBERS)

    def decimated(self, start: float, end: float, columns: int) -> None:
        """Choose the points between `start` and `end` that `columns` of pixels can show."""
        times, values = decimate(
            self.buffer.times(), self.buffer.values(), start + self.offset, end + self.offset, columns
        )
        self.shown = (
            times - self.offset if self.offset else times,
            values * self.factor if self.factor != 1 else values,
        )

    def draw(self, *, logarithmic: bool, smooth: bool) -> None:
        """Hand the chosen points to the curve; a logarithm of zero or less is a gap."""
        times, values = self.shown
        if logarithmic:
            values = np.log10(np.where(values > 0, values, np.nan))
        self.curve.set_points(times, values, smooth=smooth)

    def at(self, time: float) -> float | None:
        """Return the value at `time`, or None where no sample is near enough to speak for it."""
        found = self.buffer.nearest(time + self.offset)
        if found is None or not np.isfinite(found[1]):
            return None
        times = self.buffer.times()
        usual = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 1.0
        return found[1] * self.factor if abs(found[0] - self.offset - time) <= 1.5 * usual + 1e-9 else None

    def end(self) -> float | None:
        """Return the last value that is not missing, or None."""
        last = self.buffer.last()
        return None if last is None else last[1] * self.factor

    def latest(self) -> float | None:
        """Return the time of the last point, or None."""
        return float(self.buffer.times()[-1]) - self.offset if len(self.buffer) else None


@dataclass(slots=True)
class Scaling:
    """How the upright axis follows the values. The axis starts at zero unless `from_zero` is switched off."""

    from_zero: bool = True
    may_be_logarithmic: bool = False
    forced_logarithmic: bool | None = None
    bounds: Range = field(default_factory=lambda: Range(0.0, 1.0))

    def follow(self, least: float, greatest: float, positive: float | None, *, percent: bool) -> Range:
        """Choose the range for values from `least` to `greatest`; `positive` is the least above zero."""
        if positive is not None and greatest > 0 and self._is_logarithmic(positive, greatest):
            self.bounds = scale.logarithmic(positive, greatest)
        elif not self.from_zero or least < 0:
            self.bounds = scale.fitted(least, greatest)
        elif percent and greatest <= 100:
            self.bounds = Range(0.0, 100.0)
        else:
            self.bounds = scale.from_zero(greatest, self.bounds)
        return self.bounds

    def _is_logarithmic(self, positive: float, greatest: float) -> bool:
        if self.forced_logarithmic is not None:
            return self.forced_logarithmic
        factor = scale.LOGARITHMIC_FROM * (_LEAVE_LOGARITHMIC if self.bounds.logarithmic else 1.0)
        return self.may_be_logarithmic and greatest / positive > factor


def extent(lines: Iterable[Line], stripes: Iterable[Stripe]) -> tuple[float, float, float | None] | None:
    """Return the least and greatest value shown and the least above zero (None: there is none), or None."""
    shown = [line.shown[1] for line in lines if len(line.shown[1])]
    edges = [edge for stripe in stripes for edge in (stripe.low, stripe.median, stripe.high)]
    values = np.concatenate([*shown, np.array(edges)])
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    above = values[values > 0]
    return float(values.min()), float(values.max()), float(above.min()) if len(above) else None


def stripe_of(band: Band, unit: Unit) -> Stripe:
    """Return what `band` draws in a plot of `unit`."""
    low, high, median = (convert(value, unit_of(band.unit), unit) for value in (band.low, band.high, band.median))
    return Stripe(low, high, median)
