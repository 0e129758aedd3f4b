"""Formatting and parsing of quantities: bytes, rates, times, shares and ratios, with significant digits.

Used by app, widgets, remote and suites. Exact round-trip forms of parameters are in suites.parameters; prefixes and
conversion in suites.units.
"""

import math
import re
from collections.abc import Sequence

from suites.errors import BenchwrightError
from suites.units import Display, Unit, display, typed_unit, ungrouped
from suites.units import unit as unit_of
from suites.vocab import Better, Labels, Metric, MetricKind

SIGNIFICANT = 3
"""Significant digits of a value without an interval."""

INTERVAL_SIGNIFICANT = 2
"""Significant digits of an interval; they determine those of its value."""

NOT_KNOWN = "not known"

MOST_TIMES = 1e6
"""Ratio, or change as a share, beyond which the exact size is meaningless and shown as “over”."""

_MOST_PLACES = 6
"""Decimals at which two shares are treated as equal."""

_THOUSANDS_FROM = 10_000.0
"""Event rates and counts are written out below this, as their tools print them, and with k or M from here on."""

_NAMED_RATES = {
    "iops": "IOPS",
    "iops_by_point": "IOPS",
    "steady_iops": "IOPS",
    "total_iops": "IOPS",
    "window_iops": "IOPS",
    "floating_point_rate": "FLOPS",
    "floating_point_rate_by_threads": "FLOPS",
    "integer_rate": "OPS",
    "integer_rate_by_threads": "OPS",
    "rating": "IPS",
    "rating_compressing": "IPS",
    "rating_decompressing": "IPS",
    "linpack": "FLOPS",
    "linpack_by_size": "FLOPS",
}
"""Metrics in 1/s with a unit name of their own."""

_ABBREVIATED = frozenset({"FLOPS", "IPS", "OPS"})
"""Unit names that take an SI prefix: GFLOPS."""


_QUANTITY = re.compile(r"\s*([+-]?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(\S*)\s*", re.IGNORECASE)

_AGES = ((120.0, 1.0, "s"), (7200.0, 60.0, "min"), (48 * 3600.0, 3600.0, "h"))

_YEARS_FROM = 730
"""Days from which an age is shown in years."""


_MOST_DECIMALS = 9
"""Decimals of a number at most; a smaller one has an exponent: 1.2e-12."""


def decimals(value: float, interval: float | None = None) -> int:
    """Return the decimals of `value`; `interval` is half the width of its interval.

    Two significant digits of the interval decide. A value has three significant digits without an interval, and at
    least three beside a wide one: with fewer, the ratio of two printed values would not be the printed ratio.
    """
    return max(_decimals(value, SIGNIFICANT), interval_decimals(interval) if interval else 0)


def interval_decimals(interval: float) -> int:
    """Return the decimals of two significant digits of half the width of an interval, or of a share."""
    return _decimals(interval, INTERVAL_SIGNIFICANT)


def _decimals(value: float, significant: int) -> int:
    if not value or not math.isfinite(value):
        return 0
    return min(_MOST_DECIMALS, max(0, significant - 1 - math.floor(math.log10(abs(value)))))


def count_text(count: float, one: str, more: str = "") -> str:
    """Return “1 trial”, “3 trials” or “1.5 CPUs”; `more` is the plural if it is not `one` with an s."""
    shown = f"{count:.0f}" if count >= 100 or count == int(count) else f"{count:.{SIGNIFICANT}g}"
    return f"{shown} {one if shown == '1' else more or f'{one}s'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return the first `most` names, and how many more there are: ``a and b``, ``a, b and 3 more``."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *first, last = [*names[:most], *more] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def quantity(value: float, unit: Unit = Unit.BYTE, *, measured: bool = False) -> str:
    """Return `value` with its unit, prefixed, with three digits: ``412 MB/s``, ``1.21 ms``, ``8 GiB``, ``512 B``.

    A `measured` value keeps its trailing zeros, which are significant: ``41.0k/s``, ``8.00 GiB``.
    """
    divisor, suffix = _scale(value, unit, "")
    number = _written(value, None, divisor, "")
    if number == NOT_KNOWN:
        return number
    return (number if measured else _trimmed(number)) + suffix


def first_upper(text: str) -> str:
    """Return `text` with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def parse_quantity(text: str) -> tuple[float, Unit | None]:
    """Return the number in ``20,000 MB/s`` and its unit, None where it has none."""
    found = _QUANTITY.fullmatch(ungrouped(text)) if len(text) < 60 else None
    if found is None:
        raise BenchwrightError(f"“{text[:60]}” is not a quantity.", "Write 20000, or 20000 MB/s.")
    factor, unit = (1.0, None) if not found[2] else typed_unit(found[2]) or (1.0, unit_of(found[2]))
    number = float(found[1].replace("_", "")) * factor
    if not math.isfinite(number):
        raise BenchwrightError(f"“{text[:60]}” is too large.", "Write a smaller number.")
    return number, unit


def offset_text(offset: float, uncertainty: float | None) -> str:
    """Return a clock offset in seconds with the range in which it lies: ``+0.20 (−0.22 to +0.62) ms``."""
    if not uncertainty:
        return f"{_sign(offset)}{quantity(abs(offset), Unit.SECOND)}"
    divisor, suffix = _scale(max(abs(offset), uncertainty), Unit.SECOND, "")
    places = interval_decimals(uncertainty / divisor)
    middle, low, high = (
        f"{_sign(value)}{_number(abs(value) / divisor, places)}"
        for value in (offset, offset - uncertainty, offset + uncertainty)
    )
    return f"{middle} ({low} to {high}){suffix}"


def _sign(value: float) -> str:
    return "+" if value >= 0 else "−"


def frequency_text(hertz: float) -> str:
    """Return a clock rate: ``2.9 GHz``, ``800 MHz``."""
    return f"{hertz / 1e9:.3g} GHz" if hertz >= 1e9 else f"{hertz / 1e6:.3g} MHz"


def figure_text(metric: Metric, value: float, interval: float | None = None) -> str:
    """Return `value` of `metric` with its unit; named rates get their name: ``412k IOPS``. A whole count is exact."""
    divisor, suffix = _scale_of(metric, value)
    if interval is None and divisor == 1 and _is_count(metric) and float(value).is_integer():
        return f"{value:.0f}{suffix}"
    return _written(value, interval, divisor, suffix)


def _half(metric: Metric, value: float, interval: float) -> str:
    """Return half the width of the interval of `value` without its unit: ``± 3.2k``."""
    divisor, suffix = _scale_of(metric, value)
    return f"± {_number(interval / divisor, decimals(value / divisor, interval / divisor))}{_glued(suffix)}"


def estimate_text(metric: Metric, value: float, upper: float | None) -> str:
    """Return `value` with its unit and interval, None for no interval: ``41.2k IOPS ± 0.9k``."""
    figure = figure_text(metric, value, upper)
    return f"{figure} {uncertainty_text(metric, value, upper)}" if upper else figure


WIDE = 0.2
"""Share of the value from which an interval on logarithms is written as a factor: with ±, its lower distance would be a
sixth too large, h - (1 - 1 / (1 + h)) over h."""


UNKNOWN_FROM = 1000
"""Factor of an interval from which nothing is known: that of two trials of which one is three times the other."""


def uncertainty_text(metric: Metric, value: float, upper: float) -> str:
    """Return the interval of a geometric mean by the distance of its upper end: ``± 3.2k``, wide ones ``×/÷ 2.4``."""
    if upper < WIDE * value or value <= 0:
        return _half(metric, value, upper)
    factor = 1 + upper / value
    if factor > UNKNOWN_FROM:
        return f"×/÷ over {UNKNOWN_FROM:,}"
    return f"×/÷ {factor:.{2 if factor < 2 else 1 if factor < 10 else 0}f}"


def range_text(
    metric: Metric, low: float, high: float, interval: float | None = None, *, value: float | None = None
) -> str:
    """Return a range of `metric` with its unit once, both ends with the prefix of `value`, else of the upper one.

    The `interval` decides the decimals, with at least two digits of an end: ``76 to 82 IOPS``, ``4.0 to 994 ms``; a
    prefix of the number is repeated: ``97k to 412k IOPS``.
    """
    divisor, suffix = _scale_of(metric, high if value is None else value)
    places = interval_decimals(interval / divisor) if interval else None

    def written(end: float) -> str:
        if not math.isfinite(end):
            return NOT_KNOWN
        scaled = end / divisor
        digits = decimals(scaled) if places is None else max(places, interval_decimals(scaled))
        return _number(scaled, digits) + _glued(suffix)

    return ends_text(written(low), written(high), suffix.removeprefix(_glued(suffix)) if math.isfinite(high) else "")


def ends_text(low: str, high: str, unit: str = "", link: str = " to ") -> str:
    """Return a range of printed figures, ``0.38 to 0.41 %``; one figure if both are printed alike."""
    return f"{low}{unit}" if low == high else f"{low}{link}{high}{unit}"


def times_text(ratio: float) -> str:
    """Return `ratio` as a number: ``1.04x``."""
    if not math.isfinite(ratio):
        return NOT_KNOWN
    if ratio > MOST_TIMES:
        return f"over {MOST_TIMES:,.0f}x"
    return f"{ratio:.{2 if 0.1 <= ratio < 10 else decimals(ratio)}f}x"


def ratio_text(ratio: float, better: Better) -> str:
    """Return `ratio` to a baseline as number and direction: ``1.04x, better``."""
    if not math.isfinite(ratio) or round(ratio, 2) == 1:
        return times_text(ratio)
    return f"{times_text(ratio)}, {'better' if (ratio > 1) == (better == Better.HIGHER) else 'worse'}"


def share_text(share: float) -> str:
    """Return `share` (0.05 is a twentieth) in percent: ``5 %``, ``0.83 %``."""
    percent = 100 * share
    if not math.isfinite(percent):
        return NOT_KNOWN
    if abs(share) > MOST_TIMES:
        return f"over {100 * MOST_TIMES:,.0f} %"
    return _trimmed(f"{percent:.{interval_decimals(percent)}f}") + " %"


def exact_share_text(share: float) -> str:
    """Return a configured share in percent, not rounded: ``10.2 %``."""
    return f"{100 * share:.6g} %"


def exact_text(metric: Metric, value: float) -> str:
    """Return a configured value of `metric` with its unit, not rounded: ``119.9/s``."""
    divisor, suffix = _scale(value, metric.unit, metric.name)
    return f"{value / divisor:.10g}{suffix}"


def edges_text(low: float, high: float, least: int = 2) -> tuple[str, str]:
    """Return the ends of an interval of ratios with as many decimals as distinguish them, at least `least`.

    With few trials the upper end may be extremely large.
    """
    places = next((places for places in range(least, _MOST_PLACES) if high - low >= 2 * 10.0**-places), _MOST_PLACES)
    ends = (f"{edge:.{places}f}" if edge <= MOST_TIMES else f"over {MOST_TIMES:,.0f}" for edge in (low, high))
    return next(ends), next(ends)


def shares_text(*shares: float) -> tuple[str, ...]:
    """Return shares in percent without the sign, with as many decimals as distinguish different ones."""
    plain = tuple(share_text(share).removesuffix(" %") for share in shares)
    distinct = len({round(share, _MOST_PLACES + 2) for share in shares})
    for places in range(_MOST_PLACES + 1):
        if len(set(plain)) >= distinct or max(shares) > MOST_TIMES:
            break
        plain = tuple(_trimmed(f"{100 * share:.{places}f}") for share in shares)
    return plain


def duration_text(seconds: float) -> str:
    """Return `seconds` as text: ``0.4 s``, ``45 s``, ``2 min 10 s``, ``1 h 5 min``, ``3 d 4 h``."""
    if not math.isfinite(seconds):
        return NOT_KNOWN
    if seconds < 10 and round(seconds, 1) % 1:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = round(whole / 60)
    if minutes >= 48 * 60:
        hours = round(minutes / 60)
        return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def age_text(seconds: float) -> str:
    """Return a rounded age: ``45 s``, ``12 min``, ``5 h``, ``3 d``, ``11 years``. A time in the future is 0 s."""
    for limit, unit, name in _AGES:
        if seconds < limit:
            return f"{max(0.0, seconds) / unit:.0f} {name}"
    days = seconds / 86400
    return f"{days:.0f} d" if days < _YEARS_FROM else f"{days / 365.25:.0f} years"


def clock_text(seconds: float) -> str:
    """Return a duration as a stopwatch shows it: ``00:41``, ``1:02:03``."""
    minutes, second = divmod(int(max(seconds, 0.0)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute:02d}:{second:02d}"


def direction_text(better: Better) -> str:
    """Return which direction is better, with an arrow."""
    return "↑ higher is better" if better is Better.HIGHER else "↓ lower is better"


def better_text(better: Better) -> str:
    """Return which direction is better, for a column *Better*."""
    return direction_text(better).removesuffix(" is better")


def label_text(labels: Labels) -> str:
    """Return `labels` as text: ``read, jobs 4``. A label's name is included only where the value is not
    self-explanatory."""
    return ", ".join(value if value[:1].isalpha() else f"{name.replace('_', ' ')} {value}" for name, value in labels)


def label_pairs(labels: Labels) -> str:
    """Return `labels` as one cell of a table: ``operation=read;threads=4``."""
    return ";".join(f"{name}={value}" for name, value in labels)


def metric_text(metric: Metric, labels: Labels = ()) -> str:
    """Return the title of `metric` with the labels of this figure: ``IOPS, read``."""
    return f"{metric.title}, {label_text(labels)}" if labels else metric.title


def scale(metric: Metric, largest: float) -> Display:
    """Return the unit of a column or axis of `metric` whose largest figure is `largest`: ``k IOPS``."""
    divisor, suffix = _scale_of(metric, largest)
    return Display(divisor, suffix.strip())


def _is_count(metric: Metric) -> bool:
    return metric.kind is MetricKind.COUNT and metric.unit is Unit.ONE


def _scale_of(metric: Metric, value: float) -> tuple[float, str]:
    return _prefixed(value, "") if _is_count(metric) else _scale(value, metric.unit, metric.name)


def _scale(value: float, unit: Unit, name: str) -> tuple[float, str]:
    if unit is not Unit.PER_SECOND:
        divisor, suffix = display(value, unit) if math.isfinite(value) else (1.0, unit.value)
        return divisor, f" {suffix}" if suffix else ""
    return _prefixed(value, f" {_NAMED_RATES[name]}" if name in _NAMED_RATES else "/s")


def _prefixed(value: float, noun: str) -> tuple[float, str]:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(factor, _THOUSANDS_FROM):
            return factor, f" {prefix}{noun.strip()}" if noun.strip() in _ABBREVIATED else prefix + noun
    return 1.0, noun


def _glued(suffix: str) -> str:
    """Return the prefix in `suffix` that belongs to the number, as in 412k IOPS; empty if part of the unit: ms."""
    return suffix[:1] if suffix[:1] in {"k", "M", "G"} else ""


def _written(value: float, interval: float | None, divisor: float, suffix: str) -> str:
    if not math.isfinite(value):
        return NOT_KNOWN
    scaled = value / divisor
    return _number(scaled, decimals(scaled, None if interval is None else interval / divisor)) + suffix


def _number(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    if places >= _MOST_DECIMALS and abs(value) < 10.0**-_MOST_DECIMALS and value:
        return f"{value:.{SIGNIFICANT}g}"
    return text.removeprefix("-") if float(text) == 0 else text


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number and "e" not in number else number
