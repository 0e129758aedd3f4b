"""Numbers in words for people: as many digits as the measurement supports, one unit, and the direction always said."""

import math

from suites.units import Display, Unit, display
from suites.vocab import Better, Labels, Metric

SIGNIFICANT = 3
"""Digits of a value whose interval is not known."""

INTERVAL_SIGNIFICANT = 2
"""Digits of an interval; they decide how many its value shows."""

NOT_KNOWN = "not known"

MOST_TIMES = 1e6
"""A ratio, or a change as a share of itself, beyond which its size says nothing: it is “over” that."""

_MOST_PLACES = 6
"""Digits after the point beyond which two shares are alike to whoever reads them."""

_THOUSANDS_FROM = 10_000.0
"""Rates of events are written out below this, as their tools print them, and with k or M from here on."""

_NAMED_RATES = {
    "iops": "IOPS",
    "iops_by_point": "IOPS",
    "steady_iops": "IOPS",
    "window_iops": "IOPS",
    "floating_point_rate": "FLOPS",
    "floating_point_rate_by_threads": "FLOPS",
    "integer_rate": "OPS",
    "integer_rate_by_threads": "OPS",
    "linpack": "FLOPS",
    "linpack_by_size": "FLOPS",
}
"""Metrics in 1/s whose unit has a name of its own."""

_ABBREVIATED = frozenset({"FLOPS", "OPS"})
"""Names that take a prefix as units do: GFLOPS."""


def decimals(value: float, interval: float | None = None) -> int:
    """Return how many digits after the point `value` supports; `interval` is half the width of its interval.

    Two significant digits of the interval decide; without one, a value has three significant digits.
    """
    counts, significant = (interval, INTERVAL_SIGNIFICANT) if interval else (value, SIGNIFICANT)
    if not counts or not math.isfinite(counts):
        return 0
    return min(9, max(0, significant - 1 - math.floor(math.log10(abs(counts)))))


def quantity(value: float, unit: Unit) -> str:
    """Return `value` with its unit, prefixed to be read at a glance: ``412.3 MB/s``, ``1.21 ms``, ``15.4 GiB``."""
    return _written(value, None, *_scale(value, unit, ""))


def figure_text(metric: Metric, value: float, interval: float | None = None) -> str:
    """Return `value` of `metric` with its unit; rates that have a name get it: ``412k IOPS``."""
    return _written(value, interval, *_scale(value, metric.unit, metric.name))


def spread_text(metric: Metric, value: float, interval: float) -> str:
    """Return `value` of `metric` and half the width of its interval: ``412.3k IOPS ± 3.2k``."""
    divisor, suffix = _scale(value, metric.unit, metric.name)
    half = _number(interval / divisor, decimals(interval / divisor, interval / divisor))
    return f"{_written(value, interval, divisor, suffix)} ± {half}{_glued(suffix)}"


def range_text(metric: Metric, low: float, high: float, interval: float | None = None) -> str:
    """Return a range of `metric` with its unit once, both ends in the prefix of the upper one.

    ``76 to 82 IOPS``, ``0.21 to 1.21 ms``; a prefix that belongs to the number stands at each: ``97k to 412k IOPS``.
    """
    divisor, suffix = _scale(high, metric.unit, metric.name)
    first = _written(low, interval, divisor, _glued(suffix))
    return f"{first} to {_written(high, interval, divisor, suffix)}"


def ratio_text(ratio: float, better: Better) -> str:
    """Return `ratio` to a baseline in figures and words: ``1.04x, better``."""
    if not math.isfinite(ratio):
        return NOT_KNOWN
    if ratio > MOST_TIMES:
        figures = f"over {MOST_TIMES:,.0f}"
    else:
        figures = f"{ratio:.{2 if 0.1 <= ratio < 10 else decimals(ratio)}f}"
        if float(figures) == 1:
            return f"{figures}x"
    return f"{figures}x, {'better' if (ratio > 1) == (better == Better.HIGHER) else 'worse'}"


def share_text(share: float) -> str:
    """Return `share` (0.05 is a twentieth) in percent: ``5 %``, ``0.83 %``."""
    percent = 100 * share
    if not math.isfinite(percent):
        return NOT_KNOWN
    if abs(share) > MOST_TIMES:
        return f"over {100 * MOST_TIMES:,.0f} %"
    return _trimmed(f"{percent:.{decimals(percent, percent)}f}") + " %"


def edges_text(low: float, high: float, least: int = 2) -> tuple[str, str]:
    """Return the edges of an interval of ratios with as many digits after the point as tell them apart, or `least`.

    Of few trials it may reach beyond all sense.
    """
    places = next((places for places in range(least, _MOST_PLACES) if high - low >= 2 * 10.0**-places), _MOST_PLACES)
    ends = (f"{edge:.{places}f}" if edge <= MOST_TIMES else f"over {MOST_TIMES:,.0f}" for edge in (low, high))
    return next(ends), next(ends)


def shares_text(*shares: float) -> tuple[str, ...]:
    """Return some shares in percent without the sign, with as many digits as tell those apart that differ."""
    plain = tuple(share_text(share).removesuffix(" %") for share in shares)
    places = max((len(text.partition(".")[2]) for text in plain), default=0)
    while len(set(plain)) < len(set(shares)) and places < _MOST_PLACES and max(shares) <= MOST_TIMES:
        places += 1
        plain = tuple(f"{100 * share:.{places}f}" for share in shares)
    return plain


def duration_text(seconds: float) -> str:
    """Return `seconds` as a person says them: ``0.4 s``, ``45 s``, ``2 min 10 s``, ``1 h 5 min``."""
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
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def visible(text: str) -> str:
    """Return `text` with every character that shows nothing, or drives a terminal, as an escape; lines stay lines."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1] for character in text
    )


def bytes_text(size: float) -> str:
    """Return `size` bytes in binary units: ``512 B``, ``8 GiB``, ``15.4 GiB``."""
    text = quantity(size, Unit.BYTE)
    number, space, suffix = text.partition(" ")
    return f"{_trimmed(number)}{space}{suffix}"


def direction_text(better: Better) -> str:
    """Return which way is better, with an arrow."""
    return "↑ higher is better" if better is Better.HIGHER else "↓ lower is better"


def label_text(labels: Labels) -> str:
    """Return `labels` in words: ``read, jobs 4``. A name is said where the value alone would say nothing."""
    return ", ".join(value if value[:1].isalpha() else f"{name.replace('_', ' ')} {value}" for name, value in labels)


def metric_text(metric: Metric, labels: Labels = ()) -> str:
    """Return the title of `metric` and what tells this figure apart: ``IOPS, read``."""
    return f"{metric.title}, {label_text(labels)}" if labels else metric.title


def run_letter(number: int) -> str:
    """Return how the run `number` of several is called for short: A, B, .. Z, then by number."""
    return chr(ord("A") + number) if number < 26 else f"run {number + 1}"


def run_name(number: int) -> str:
    """Return how the run `number` of several is called where it has to say that it is the baseline."""
    return f"{run_letter(number)}, baseline" if number == 0 else run_letter(number)


def scale(metric: Metric, largest: float) -> Display:
    """Return how a column or an axis of `metric` whose largest figure is `largest` is written: ``k IOPS``."""
    divisor, suffix = _scale(largest, metric.unit, metric.name)
    return Display(divisor, suffix.strip())


def _scale(value: float, unit: Unit, name: str) -> tuple[float, str]:
    if unit is not Unit.PER_SECOND:
        divisor, suffix = display(value, unit) if math.isfinite(value) else (1.0, unit.value)
        return divisor, f" {suffix}" if suffix else ""
    noun = f" {_NAMED_RATES[name]}" if name in _NAMED_RATES else "/s"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(factor, _THOUSANDS_FROM):
            return factor, f" {prefix}{noun.strip()}" if noun.strip() in _ABBREVIATED else prefix + noun
    return 1.0, noun


def _glued(suffix: str) -> str:
    """Return the prefix in `suffix` that belongs to the number, as in 412k IOPS; empty where the unit has it: ms."""
    return suffix[:1] if suffix[:1] in {"k", "M", "G"} else ""


def _written(value: float, interval: float | None, divisor: float, suffix: str) -> str:
    if not math.isfinite(value):
        return NOT_KNOWN
    scaled = value / divisor
    return _number(scaled, decimals(scaled, None if interval is None else interval / divisor)) + suffix


def _number(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number
