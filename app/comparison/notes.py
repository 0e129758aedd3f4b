"""Notes on a comparison: the caveats of its verdicts and the effects of halves, with the letters of their runs."""

from collections.abc import Iterable, Iterator

from app.comparison.caveats import THE_BASELINE, THIS_RUN
from app.comparison.comparison import ComparisonRow, run_letters
from app.plans.plan import host_label
from suites.quantities import metric_text
from suites.verdict import Trust

_OF_CELL = frozenset({"censored", "drift", "same-order", "other-instance", "overlap", "reference", *Trust})
"""Ids of caveats that apply to every metric of a cell."""


def lettered(found: Iterable[tuple[int, str]], sides: int) -> Iterator[str]:
    """Yield each text once; of more than two sides, with the letters of those it is about: ``B and C: …``."""
    numbers: dict[str, list[int]] = {}
    for number, text in found:
        numbers.setdefault(text, []).append(number)
    for text, own in numbers.items():
        yield f"{run_letters(own)}: {text}" if sides > 2 else text


def caveats_of(rows: Iterable[ComparisonRow]) -> Iterator[tuple[int, str]]:
    """Yield the caveats of all verdicts with the number of their side; those not of a whole cell name the metric.

    A metric that is not tested has only those of its cell.
    """
    for row in rows:
        for number, against in enumerate(row.against, 1):
            for caveat in against.caveats if row.tested else (each for each in against.caveats if each.id in _OF_CELL):
                metric = "" if caveat.id in _OF_CELL else f", {metric_text(row.metric, row.labels)}"
                text = f"{row.step} on {host_label(row.host)}{metric}: {caveat.text}"
                yield 0 if caveat.side == THE_BASELINE else number, text


def arithmetic_means(rows: Iterable[ComparisonRow]) -> Iterator[tuple[int, str]]:
    """Yield the tested values that are no geometric means, with the reason and the number of the side."""
    for row in rows:
        for number, side in enumerate(row.sides):
            if side is not None and side.no_logarithm and row.tested:
                of = f"{row.step} on {host_label(row.host)}, {metric_text(row.metric, row.labels)}"
                name = THIS_RUN if number else THE_BASELINE
                yield number, f"{of}: arithmetic mean without interval of {name}: {side.no_logarithm}"


def half_effects(rows: Iterable[ComparisonRow]) -> Iterator[tuple[int, str]]:
    """Yield the effect of the halves of the CPUs in the tested metrics of duets, with the number of the side."""
    for row in rows:
        for number, against in enumerate(row.against, 1):
            if against.half is not None and row.tested:
                of = f"{row.step} on {host_label(row.host)}, {metric_text(row.metric, row.labels)}"
                yield number, f"{of}: {against.half.text}"
