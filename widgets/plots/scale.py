"""Ranges and ticks of axes: round numbers that change seldom."""

import math
from dataclasses import dataclass

LOGARITHMIC_FROM = 100.0
"""Ratio of the largest to the smallest latency above which the axis is logarithmic."""

_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_SHRINK_BELOW = 0.4
_ENDS = (10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 2700, 3600)
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


@dataclass(frozen=True, slots=True)
class Range:
    """Ends of an axis in the unit of the data. Both ends of a logarithmic one are above zero."""

    low: float
    high: float
    logarithmic: bool = False

    @property
    def span(self) -> float:
        """The distance between the ends."""
        return self.high - self.low


def round_up(value: float) -> float:
    """Return the next round number at or above `value` (> 0)."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step for step in _ROUND if step * power >= value * (1 - 1e-9)) * power


def from_zero(greatest: float, before: Range | None = None) -> Range:
    """Return a range from zero to at least `greatest`; `before` while at least 40 % of it is used."""
    if greatest <= 0:
        return Range(0.0, before.high if before is not None else 1.0)
    linear = before is not None and not before.logarithmic and before.low == 0
    if before is not None and linear and before.high * _SHRINK_BELOW <= greatest <= before.high:
        return before
    return Range(0.0, round_up(greatest * 1.04))


def fitted(least: float, greatest: float) -> Range:
    """Return a round range around `least` and `greatest`, not from zero."""
    size = max(abs(least), abs(greatest))
    span = greatest - least
    if span <= max(size * 1e-6, 1e-12):  # practically one value: show 10 % around it
        span = size * 0.1 or 1.0
    step = tick_step(span, 4) / 2
    return Range(math.floor((least - span * 0.04) / step) * step, math.ceil((greatest + span * 0.04) / step) * step)


def logarithmic(least: float, greatest: float) -> Range:
    """Return the range of a logarithmic axis for values above zero."""
    bottom, top = _floor_125(least), _ceil_125(greatest)
    return Range(bottom, top if top > bottom else bottom * 10, logarithmic=True)


def tick_step(span: float, wanted: int) -> float:
    """Return the distance of about `wanted` round ticks over `span`."""
    raw = span / max(wanted, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step for step in (1.0, 2.0, 5.0, 10.0) if step * power >= raw * (1 - 1e-9)) * power


def ticks(low: float, high: float, wanted: int) -> list[float]:
    """Return about `wanted` round numbers from `low` to `high`."""
    if not high > low:
        return []
    return multiples(low, high, tick_step(high - low, wanted))


def logarithmic_ticks(low: float, high: float, wanted: int) -> list[float]:
    """Return at most `wanted` powers of ten from `low` to `high`, with 2 and 5 between them if they fit."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        found = [step * 10.0**power for power in powers for step in steps]
        inside = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(inside) <= wanted:
            return inside
    return inside[:: math.ceil(len(inside) / wanted)]


def clock_step(span: float, wanted: int) -> float:
    """Return the distance of about `wanted` round times over `span` seconds: seconds, minutes, hours or fractions."""
    raw = span / max(wanted, 1)
    if raw < 1:
        return tick_step(span, wanted)
    return float(next((step for step in _CLOCK_STEPS if step >= raw), math.ceil(raw / 86400) * 86400))


def multiples(start: float, end: float, step: float) -> list[float]:
    """Return the multiples of `step` from `start` to `end`."""
    return [index * step for index in range(math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9) + 1)]


def later(time: float) -> float:
    """Return a round end of a time axis at least 10 % beyond `time`, so that it changes seldom."""
    return next((float(end) for end in _ENDS if end >= time * 1.1), math.ceil(time * 1.3 / 3600) * 3600.0)


def clock(seconds: float, step: float = 1.0) -> str:
    """Return a time as ``0:41`` or ``1:02:03``, or ``0:41.25`` if `step` is below a second."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if 0 < step < 1 else 0
    sign = "−" if seconds < 0 else ""
    whole, _, part = f"{abs(seconds):.{decimals}f}".partition(".")
    minutes, second = divmod(int(whole), 60)
    hours, minute = divmod(minutes, 60)
    text = f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
    return f"{sign}{text}{'.' if part else ''}{part}"


def plain(value: float, step: float) -> str:
    """Return a tick label with the decimals that `step` needs."""
    decimals = min(max(0, -math.floor(math.log10(step) + 1e-9)), 9) if step > 0 else 0
    return f"{value:.{decimals}f}" if abs(value) < 1e7 else f"{value:.3g}"


def _floor_125(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(step for step in (1, 2, 5) if step * power <= value * (1 + 1e-9)) * power


def _ceil_125(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return min(step for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)) * power
