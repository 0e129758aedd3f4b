"""The public JSON of runs that were judged again."""

from collections.abc import Mapping
from typing import TypedDict

from app.library_rows import LibraryRow


class RecalledRun(TypedDict):
    """A run whose trust changed, and the finding that is the reason."""

    run: str
    name: str
    started: str
    imported: str | None
    baselines: list[str]
    was: str | None
    now: str | None
    because: str | None


class RejudgedJson(TypedDict):
    """Runs that were judged again by this version of the checks; `failed` and `kept` are reasons by run."""

    checks: int
    stored: bool
    judged: int
    reworded: int
    changed: list[RecalledRun]
    failed: Mapping[str, str]
    kept: Mapping[str, str]


def recalled_to_json(row: LibraryRow) -> RecalledRun:
    """Return the public JSON of a run with what changed."""
    recall = row.recall
    return {
        "run": row.id,
        "name": row.summary.name,
        "started": row.summary.started,
        "imported": row.summary.imported,
        "baselines": list(row.baselines),
        "was": None if recall is None else recall.was,
        "now": None if recall is None else recall.now,
        "because": None if recall is None else recall.reason,
    }
