"""A noise study as the public JSON of “noise”, and as CSV."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.noise.noise import Noise, NoiseEntry, Pooled, Spread

FORMAT = "benchwright-noise/1"

Json = dict[str, Any]

_COLUMNS = ("level", "rank", "run", "step", "suite", "host", "metric", "labels", "n", "cov", "low", "high", "range")


def noise_to_json(found: Noise) -> Json:
    """Return the document. Shares are shares: 0.05 is 5 %."""
    return {
        "format": FORMAT,
        "method": found.method,
        "entries": [_entry(entry) for entry in found.entries],
        "tests": [_pooled(one) for one in found.tests],
        "hosts": [_pooled(one) for one in found.hosts],
        "runs": [_pooled(one) for one in found.runs],
    }


def _entry(entry: NoiseEntry) -> Json:
    return {
        "level": entry.level.value,
        "rank": entry.rank,
        "run": entry.run,
        "step": entry.step,
        "suite": entry.suite,
        "host": entry.host,
        "metric": entry.metric.name,
        "labels": dict(entry.labels),
        **_spread(entry.spread),
    }


def _pooled(one: Pooled) -> Json:
    return {"name": one.name, "rank": one.rank, "entries": one.n, **_spread(one.spread)}


def _spread(spread: Spread) -> Json:
    return asdict(spread)


def write_noise(found: Noise, path: Path) -> Path:
    """Write the entries as CSV, one row each; return `path`."""
    from app.export import label_pairs, write_csv

    rows = (_entry(entry) | {"labels": label_pairs(entry.labels)} for entry in found.entries)
    return write_csv(list(rows), _COLUMNS, path)
