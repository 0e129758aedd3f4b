"""Baselines as the public JSON of “baseline”."""

from typing import Any

from app.baselines.baselines import Baseline, remarks
from app.baselines.reference_file import reference_to_json

Json = dict[str, Any]


def baseline_to_json(baseline: Baseline, *, whole: bool = False) -> Json:
    """Return one version of a baseline; `whole` with the figures of a published table."""
    found: Json = {
        "name": baseline.name,
        "version": baseline.version,
        "kind": baseline.kind,
        "newest": baseline.newest,
        "built_in": baseline.built_in,
        "pinned": baseline.pinned,
        "measured": baseline.measured or None,
        "max_age": baseline.oldest,
        "too_old": baseline.too_old(),
        "runs": list(baseline.parts),
        "size": baseline.size,
        "remarks": list(remarks(baseline)),
    }
    if whole:
        found["reference"] = None if baseline.reference is None else reference_to_json(baseline.reference)
    return found
