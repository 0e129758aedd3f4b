"""The family of tests: which metrics of a cell get a verdict, and which only repeat another."""

from collections.abc import Collection, Mapping, Sequence

from app.numeric import Numbers, np
from app.plans.plan import Step
from app.summary import MetricSummary, headline_metrics
from suites.quantities import metric_text
from suites.vocab import Labels

ALL_METRICS = "all"
"""Name that selects every metric for a verdict."""

DESCRIPTIVE = "neither a headline metric nor selected"

SAME_NUMBER = 0.99
"""Correlation from which two metrics are the same number: what is left of one after the other has a tenth of its
standard deviation."""

FEWEST_CORRELATED = 6
"""Fewest trials of all sides: with 6 of two sides, unrelated metrics reach SAME_NUMBER in 1 of 1,000 cases (t
distribution with 3 degrees of freedom)."""

Key = tuple[str, Labels]
"""Name and labels of a metric."""


def descriptive(step: Step, sides: Sequence[Mapping[Key, MetricSummary]], selected: Collection[str]) -> dict[Key, str]:
    """Return the metrics of a cell outside the family of tests, each with the reason.

    `sides` are the metrics of each side, `selected` the names of those tested besides headline and tail metrics. A
    metric that varies from trial to trial as a tested one, or as its inverse, is not tested even if selected: events/s,
    total events and mean latency are one test.
    """
    found = {key: side[key] for side in reversed(sides) for key in side}
    keys = dict.fromkeys(key for side in sides for key in side)
    first = headline_metrics(step, [found[key].metric for key in keys])
    first_keys = [key for key in keys if key[0] in first]
    tested = list(first_keys)
    vectors = {key: _deviations([side[key] for side in sides if key in side]) for key in keys}
    reasons = {}
    for key in sorted(keys, key=lambda key: key[0] not in selected):
        if key in first_keys:
            continue
        same = next((other for other in tested if _same_number(vectors[key], vectors[other])), None)
        if same is not None:
            reasons[key] = f"varies as {metric_text(found[same].metric, same[1])}"
        elif ALL_METRICS in selected or key[0] in selected:
            tested.append(key)
        else:
            reasons[key] = DESCRIPTIVE
    return reasons


_Deviations = tuple[list[tuple[str, int]], Numbers]
"""Trials, and the deviations of their logarithms from the mean of their side."""


def _deviations(sides: Sequence[MetricSummary]) -> _Deviations | None:
    """Return the deviations of a metric's trials; None for too few trials, or one that is not above zero.

    Deviations within each side: between sides, all that a change affects is correlated.
    """
    if sum(side.n for side in sides) < FEWEST_CORRELATED or min(side.minimum for side in sides) <= 0:
        return None
    logs = [np.log(side.values) for side in sides]
    return [trial for side in sides for trial in side.trials], np.concatenate([side - side.mean() for side in logs])


def _same_number(one: _Deviations | None, other: _Deviations | None) -> bool:
    """Return whether two metrics of the same trials are correlated from SAME_NUMBER, in either direction."""
    if one is None or other is None or one[0] != other[0]:
        return False
    scale = float(np.sqrt((one[1] @ one[1]) * (other[1] @ other[1])))
    return scale > 0 and abs(float(one[1] @ other[1])) >= SAME_NUMBER * scale
