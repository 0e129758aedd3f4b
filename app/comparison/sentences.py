"""Sentences on a change: its amount and interval, as shares or as factors, with the digits that distinguish them."""

import math
from collections.abc import Sequence

from app.comparison.estimates import Ratio
from suites.quantities import MOST_TIMES, ends_text, interval_decimals, share_text, shares_text
from suites.vocab import Better, Metric, MetricKind

FACTORS_FROM = 2.0
"""Ratio from which a change is written as a factor: 2.4x higher, not 140 % higher; so is one below its inverse that is
not a claim: 0.40x."""

_FAR = 0.1
"""Ratio below which a difference is written as a factor: its share, ``99.99 % less``, hides the size of the change."""

_NEAR, _PLACES = (0.1, 10.0), (2, 1)
"""Factors with decimals, and how many: below FACTORS_FROM, and from there."""

_MOST_PLACES = 4
"""Most decimals of a factor beyond its usual ones."""


def claim_text(ratio: Ratio, metric: Metric, margin: float | None = None) -> str:
    """Return a difference with its interval: ``20 % faster (95 % CI 19–21 %)``.

    Rates are faster or slower, times take more or less time, and all others, percentiles included, are higher or lower,
    with the better direction. The digits distinguish value, interval and `margin`. A factor is that of the ratio:
    ``0.050x as fast``.
    """
    up, factor = ratio.value > 1, _by_factor(ratio.value)
    amount, interval = _amounts(ratio, margin, factor=factor)
    behind = f" (95 % CI {interval})" if interval else ""
    if (metric.kind, metric.better, metric.percentile) == (MetricKind.TIME, Better.LOWER, None):
        return f"takes {amount} {'as long' if factor else 'more time' if up else 'less time'}{behind}"
    if (metric.kind, metric.better) == (MetricKind.RATE, Better.HIGHER):
        return f"{amount} {'faster' if up else 'as fast' if factor else 'slower'}{behind}"
    good = "better" if up == (metric.better is Better.HIGHER) else "worse"
    return f"{amount} {'higher' if up else 'as high' if factor else 'lower'}{behind}, which is {good}"


def _amounts(ratio: Ratio, margin: float | None, *, factor: bool) -> tuple[str, str]:
    """Return a change and its interval without sign, as shares or as factors; the interval is empty without one."""
    edges = [] if ratio.low is None or ratio.high is None else [ratio.low, ratio.high]
    if factor:
        amount, *interval = _factors(ratio.value, *edges)
        return amount, "–".join(interval) if len(set(interval)) > 1 else ""
    shares = [abs(ratio.value - 1), *sorted(abs(edge - 1) for edge in edges)]
    amount, *interval = _beside(margin, shares)
    return f"{amount} %", f"{'–'.join(interval)} %" if edges else ""


def amount_text(ratio: Ratio, margin: float | None = None, *, claimed: bool) -> str:
    """Return a change alone with its sign, or a factor, with the digits of claim_text(), or of change_text()."""
    beside = None if ratio.low is None else margin
    if not claimed:
        return change_text(ratio, beside).partition(" (")[0]
    factor = _by_factor(ratio.value)
    amount, _ = _amounts(ratio, beside, factor=factor)
    return amount if factor else _signed(amount, ratio.value)


def _by_factor(ratio: float) -> bool:
    """Return whether a difference is written as the ratio itself: a share would hide its size."""
    return ratio >= FACTORS_FROM or ratio < _FAR


def _beside(margin: float | None, shares: Sequence[float]) -> list[str]:
    """Return shares in percent; one that is not the margin does not look like it."""
    texts = list(shares_text(*shares))
    for place, share in enumerate(shares):
        if margin is not None and texts[place] == shares_text(margin)[0]:
            texts[place] = shares_text(share, margin)[0]
    return texts


def _factors(*values: float) -> tuple[str, ...]:
    """Return factors with as many decimals as distinguish different ones; of similar factors all have equally many."""
    alike = _NEAR[0] <= min(values) and max(values) < min(_NEAR[1], FACTORS_FROM * min(values))
    for more in range(_MOST_PLACES + 1):
        places = _PLACES[min(values) >= FACTORS_FROM] + more
        texts = tuple(f"{value:.{places}f}x" if alike else _factor(value, more) for value in values)
        if len(set(texts)) >= len({round(value, 9) for value in values}):
            break
    return texts


def _factor(value: float, more: int = 0) -> str:
    """Return a factor with two digits, and `more` decimals: ``2.4x``, ``13x``, ``0.36x``."""
    if value > MOST_TIMES:
        return f"over {MOST_TIMES:,.0f}x"
    if value < 1 / MOST_TIMES:
        return f"under {1 / MOST_TIMES:f}x"
    if value < 0.1:
        return f"{value:.{1 + more - math.floor(math.log10(value))}f}x"
    return f"{value:,.{more + (_PLACES[value >= FACTORS_FROM] if value < _NEAR[1] else 0)}f}x"


def change_text(ratio: Ratio, margin: float | None = None) -> str:
    """Return a change with its sign and its interval: ``+1.4 % (95 % CI +0.9 to +1.9 %)``.

    The digits distinguish value, interval and `margin`; the value has no more than its interval supports.
    """
    if ratio.low is None or ratio.high is None:
        return signed_share(ratio.value)
    value, low, high, unit = _changes(ratio, ratio.low, ratio.high, margin)
    return f"{value}{unit} (95 % CI {ends_text(low, high, unit)})"


def signed_share(ratio: float) -> str:
    """Return a ratio as a change: ``+1.4 %``, ``−8 %``; as a factor from FACTORS_FROM: ``2.4x``."""
    if not 1 / FACTORS_FROM < ratio < FACTORS_FROM:
        return _factor(ratio)
    return f"{_signed(share_text(abs(ratio - 1)).removesuffix(' %'), ratio)} %"


def interval_text(ratio: Ratio, margin: float | None = None) -> str:
    """Return the interval as changes, ``−1.2 to +3.4 %``, or as factors, ``0.40x to 3.1x``."""
    _, low, high, unit = _changes(ratio, ratio.low or 1.0, ratio.high or 1.0, margin)
    return ends_text(low, high, unit)


def _changes(ratio: Ratio, low: float, high: float, margin: float | None) -> tuple[str, str, str, str]:
    """Return a ratio and the ends of its interval as changes, and their unit, which is empty for factors."""
    if _in_factors(ratio):
        value, least, most = _factors(ratio.value, low, high)
        return value, least, most, ""
    half = 50 * (high - low)
    supported = round(ratio.value, 2 + interval_decimals(half))
    value, least, most = _signed_shares((supported, low, high), margin)
    return value, least, most, " %"


def _signed_shares(ratios: tuple[float, ...], margin: float | None) -> list[str]:
    """Return ratios as changes in percent with their signs."""
    texts: dict[float, str] = {}
    for lower in (True, False):  # the sign distinguishes these
        alike = [ratio for ratio in ratios if (ratio < 1) is lower]
        shares = _beside(margin, [abs(ratio - 1) for ratio in alike])
        texts |= {ratio: _signed(text, ratio) for ratio, text in zip(alike, shares, strict=True)}
    return [texts[ratio] for ratio in ratios]


def _in_factors(ratio: Ratio) -> bool:
    """Return whether a ratio and its interval are written as factors, because one end is far from 1."""
    ends = (ratio.low or ratio.value, ratio.high or ratio.value)
    return ends[0] <= 1 / FACTORS_FROM or ends[1] >= FACTORS_FROM


def _signed(text: str, ratio: float) -> str:
    """Return a change with its sign; without one if it rounds to 0."""
    return text if text == "0" else f"{'−' if ratio < 1 else '+'}{text}"
