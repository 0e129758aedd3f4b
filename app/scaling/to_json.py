"""Scaling as the public JSON of “scaling”."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.scaling.fits import Fit
from app.scaling.scaling import Scaling

FORMAT = "benchwright-scaling/1"

Json = dict[str, Any]


def scaling_to_json(found: Sequence[Scaling]) -> Json:
    """Return the document."""
    return {"format": FORMAT, "curves": [_curve(one) for one in found]}


_COLUMNS = (
    "run", "step", "host", "metric", "unit", "labels", "over", "x", "text", "n", "value", "minimum", "maximum",
    "efficiency", "low", "high",
)  # fmt: skip


def write_scaling(found: Sequence[Scaling], path: Path) -> Path:
    """Write the points of all curves as CSV, one row each; return `path`."""
    from app.export import write_csv

    return write_csv([row for one in found for row in _rows(one)], _COLUMNS, path)


def _rows(one: Scaling) -> Iterator[Json]:
    curve = _curve(one)
    efficient = {each.x: each for each in one.efficiencies}
    for point in curve["points"]:
        at = efficient.get(point["x"])
        sure = {} if at is None else {"efficiency": at.value, "low": at.low, "high": at.high}
        labels = ";".join(f"{name}={value}" for name, value in one.curve.rest)
        yield {name: curve[name] for name in _COLUMNS[:5]} | {"over": curve["over"], "labels": labels} | point | sure


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
