"""Scaling as the public JSON of “scaling”."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from app.scaling.fits import Fit
from app.scaling.scaling import Scaling

FORMAT = "benchwright-scaling/1"

Json = dict[str, Any]


def scaling_to_json(found: Sequence[Scaling]) -> Json:
    """Return the document."""
    return {"format": FORMAT, "curves": [_curve(one) for one in found]}


def _curve(one: Scaling) -> Json:
    curve = one.curve
    return {
        "run": one.run,
        "step": one.step,
        "host": one.host,
        "metric": curve.metric.name,
        "unit": curve.metric.unit.value,
        "better": curve.metric.better.value,
        "labels": dict(curve.rest),
        "over": curve.label,
        "base": None if one.base is None else one.base.x,
        "knee": None if one.knee is None else one.knee.x,
        "growing": curve.growing,
        "points": [
            {"x": point.x, "text": point.text, "n": len(point.values), "value": point.median, "minimum": point.low,
             "maximum": point.high}
            for point in curve.points
        ],
        "efficiency": [asdict(each) for each in one.efficiencies],
        "fit": None if one.fit is None else _fit(one.fit),
        "reasons": list(one.reasons),
    }  # fmt: skip


def _fit(fit: Fit) -> Json:
    return {
        "model": fit.model,
        "source": fit.source,
        "parameters": [asdict(each) for each in fit.parameters],
        "residual": fit.residual,
        "p": fit.p,
        "peak": None if fit.peak is None else asdict(fit.peak),
    }
