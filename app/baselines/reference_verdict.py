"""What may be said against a published figure: a ratio, and never that anything is faster."""

from collections.abc import Iterator, Sequence
from statistics import geometric_mean, median

from app.calibration.false_alarms import DEFAULT_MARGIN
from app.comparing.assumptions import Caveat, of_centres
from app.comparing.comparison import Against
from app.comparing.gate import Difference
from app.comparing.intervals import ratio_of
from app.comparing.verdicts import Verdict
from app.records import Published
from app.wording import decimals
from suites.vocab import Labels, Metric

NO_SPREAD = "reference, no spread known"


def against_published(
    published: Published,
    metric: Metric,
    labels: Labels,
    sides: tuple[Sequence[float], Sequence[float]],
    differences: tuple[Difference, ...],
) -> Against:
    """Return the ratio of two sides of which one is a published figure: without an interval there is no verdict.

    `sides` are the values of this side and of the baseline, one of them a single published value.
    """
    caveats = tuple(_caveats(published, metric, labels))
    ratio = ratio_of(*sides)
    if isinstance(ratio, str):
        return Against(Verdict.UNDECIDED, ratio, text=f"{NO_SPREAD}: {ratio}", caveats=caveats, differences=differences)
    places = 2 if 0.1 <= ratio.value < 10 else decimals(ratio.value)
    centres, medians = (geometric_mean(sides[0]), geometric_mean(sides[1])), (median(sides[0]), median(sides[1]))
    caveats = (*caveats, *of_centres(metric, ratio, medians, centres, DEFAULT_MARGIN))
    text = f"{NO_SPREAD}: the ratio alone, {ratio.value:.{places}f}x"
    reason = "; ".join(
        ["a published figure has no spread, so no interval can be had", *(caveat.text for caveat in caveats)]
    )
    return Against(
        Verdict.UNDECIDED, reason, ratio.value, text=text, caveats=caveats, differences=differences, centres=centres
    )


def _caveats(published: Published, metric: Metric, labels: Labels) -> Iterator[Caveat]:
    if doubt := published.of.get((metric.name, labels)):
        yield Caveat("doubtful-figure", doubt)
    yield Caveat("reference", f"source: {published.source}")
    for doubt in published.doubts:
        yield Caveat("reference", doubt)
