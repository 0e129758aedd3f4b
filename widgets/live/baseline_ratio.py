"""Ratio of a step's figure to the baseline, as texts. No Qt."""

from collections.abc import Iterable, Sequence

from app.baselines.baselines import counts_text
from app.comparison.estimates import ratio_of
from app.records import Band
from suites.quantities import ends_text, ratio_text, times_text
from suites.units import convert, unit
from suites.vocab import Labels, Metric


def band_for(bands: Iterable[Band], metric: Metric, labelled: Labels) -> Band | None:
    """Return the newest band of this series, or None."""
    return next((band for band in bands if band.metric == metric.name and band.labels == labelled), None)


def ratio_so_far(metric: Metric, value: float, band: Band | None) -> tuple[str, str, str]:
    """Return title, ratio and note of the median of running samples to the baseline's."""
    if band is None or not band.median:
        return "", "", ""
    return _ratio(metric, value, band, band.median, "no verdict yet", over=False)


def ratio_of_trials(
    metric: Metric, value: float, values: Sequence[float], band: Band | None, *, over: bool
) -> tuple[str, str, str]:
    """Return title, ratio and note of finished trials to the baseline's figure, with the interval of the ratio."""
    if band is None or not band.figure:
        return "", "", ""
    found = ratio_of(values, band.values) if band.values else ""
    if not isinstance(found, str) and found.low is not None and found.high is not None and not band.reference:
        ratio = value / convert(band.figure, unit(band.unit), metric.unit)
        low, high = (times_text(ratio * edge / found.value) for edge in (found.low, found.high))
        note = f"{ends_text(low, high, link='–')}, 95 % CI · {band.label}"
        clear = found.low > 1 or found.high < 1
        return _kind(band, over=over), ratio_text(ratio, metric.better) if clear else times_text(ratio), note
    note = counts_text(len(values), band) if over else "no verdict yet"
    return _ratio(metric, value, band, band.figure, note, over=over)


def _ratio(
    metric: Metric, value: float, band: Band, reference: float, note: str, *, over: bool
) -> tuple[str, str, str]:
    """Return a ratio without an interval; within the baseline's quartiles, or to a published figure, it is alone."""
    low, high, base = (convert(edge, unit(band.unit), metric.unit) for edge in (band.low, band.high, reference))
    title, ratio = _kind(band, over=over), value / base
    if band.reference:  # its spread is unknown: no “better” or “worse”
        return title, times_text(ratio), band.label
    if low <= value <= high:
        return title, times_text(ratio), f"within its quartiles · {band.label}"
    return title, ratio_text(ratio, metric.better), f"{note} · {band.label}"


def _kind(band: Band, *, over: bool) -> str:
    kind = "reference" if band.reference else "baseline"
    return kind if over else f"{kind}, so far"
