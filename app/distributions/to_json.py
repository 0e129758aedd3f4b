"""A distribution as the public JSON of “compare --distribution” and “show --distribution”."""

from dataclasses import asdict
from typing import Any

from app.distributions.distribution import Distribution, SideDistribution

FORMAT = "benchwright-distribution/1"

Json = dict[str, Any]


def distributions_to_json(found: list[Distribution]) -> Json:
    """Return the document."""
    return {"format": FORMAT, "distributions": [_distribution(one) for one in found]}


def _distribution(one: Distribution) -> Json:
    return {
        "step": one.step,
        "host": one.host,
        "metric": one.metric.name,
        "unit": one.metric.unit.value,
        "better": one.metric.better.value,
        "labels": dict(one.labels),
        "source": one.source.value,
        "method": one.method,
        "sides": [_side(side) for side in one.sides],
    }


def _side(side: SideDistribution) -> Json:
    return {
        "run": side.run,
        "n": side.n,
        "count": side.count,
        "percentiles": [asdict(each) for each in side.percentiles],
        "shift": [asdict(each) for each in side.shift],
        "worst": [asdict(each) for each in side.worst],
        "ecdf": [asdict(each) for each in side.ecdf],
        "histogram": [asdict(each) for each in side.histogram],
        "reason": side.reason,
    }
