"""A comparison as the public JSON of “compare”."""

from typing import Any

from app.comparing.comparison import Against, Comparison, Row
from app.comparing.levels import Levels

Json = dict[str, Any]


def comparison_to_json(comparison: Comparison) -> list[Json]:
    """Return an entry for every metric of every side but the baseline."""
    return [
        _entry(comparison, row, against, number)
        for row in comparison.rows
        for number, against in enumerate(row.against, 1)
    ]


def _entry(comparison: Comparison, row: Row, against: Against, number: int) -> Json:
    baseline, side = row.sides[0], row.sides[number]
    return {
        "metric": row.metric.name,
        "unit": row.metric.unit.value,
        "better": row.metric.better.value,
        "ratio": against.ratio,
        "low": against.low,
        "high": against.high,
        "n": 0 if side is None else side.n,
        "margin": comparison.margin_of(against),
        "margin_of": against.origin or None,
        "verdict": against.text,
        "reason": against.reason,
        "outcome": against.verdict.value,
        "more": against.more,
        "p": against.p,
        "caveats": [{"id": caveat.id, "text": caveat.text} for caveat in against.caveats],
        "differences": [
            {"what": each.what, "run": each.ours, "baseline": each.baseline, "weight": each.weight.value}
            for each in against.differences
        ],
        "overruled": comparison.overruled or None,
        "step": row.step,
        "host": row.host if side is None else side.host,
        "labels": dict(row.labels),
        "run": comparison.runs[number].id,
        "value": None if side is None else side.median,
        "geometric_mean": None if against.centres is None else against.centres[0],
        "levels": levels_to_json(row.levels[number]),
        "baseline": {
            "run": comparison.runs[0].id,
            "host": None if baseline is None else baseline.host,
            "n": 0 if baseline is None else baseline.n,
            "value": None if baseline is None else baseline.median,
            "geometric_mean": None if against.centres is None else against.centres[1],
            "levels": levels_to_json(row.levels[0]),
        },
    }


def levels_to_json(levels: Levels | None) -> Json | None:
    """Return the levels of a spread, or None where there are none."""
    if levels is None:
        return None
    found = [{"level": level.name, "n": level.n, "cov": level.cov, "share": level.share} for level in levels.levels]
    return {"levels": found, "icc": levels.icc}
