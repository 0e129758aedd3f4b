"""Which metrics of a step lead: the suite's first and the tail of its latency."""

from collections.abc import Iterable

from app.plans.plan import Step
from suites.errors import UnknownSuiteError
from suites.vocab import Metric

_TAIL = 99.0


def leading(step: Step, metrics: Iterable[Metric]) -> frozenset[str]:
    """Return the names of those of `metrics` that are shown first; the first of all where the suite is not known."""
    found = list(dict.fromkeys(metrics))
    try:
        head = step.headline.name
    except UnknownSuiteError:
        head = ""
    names = {metric.name for metric in found}
    first = head if head in names else next((metric.name for metric in found), "")
    tail = tail_of(found)
    return frozenset({first} | ({tail.name} if tail is not None else set()))


def tail_of(metrics: Iterable[Metric]) -> Metric | None:
    """Return the percentile nearest to p99, between 90 and 100: what the slowest requests are quoted by; or None."""
    tails = [metric for metric in metrics if 90 < (metric.percentile or 0) < 100]
    return min(tails, key=lambda metric: abs((metric.percentile or 0) - _TAIL), default=None)
