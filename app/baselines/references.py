"""The published tables that come with the program, as baselines that nobody has to pin."""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import resources
from app.baselines.baselines import Baseline
from app.baselines.reference import Reference
from app.baselines.reference_file import parse_toml, reference_from, reference_to_json

LIMIT = 365 * 86400.0
"""Seconds after which a published table is called old: machines of its kind are then mostly others."""


@lru_cache(maxsize=1)
def built_in() -> tuple[Baseline, ...]:
    """Return the tables in resources/references, by name."""
    folder = files(resources).joinpath("references")
    texts = sorted((file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir())
    tables = [parse_toml(text, name.removesuffix(".toml")) for name, text in texts if name.endswith(".toml")]
    return tuple(
        Baseline(table.name, 1, None, reference=table, measured=table.measured, oldest=LIMIT, built_in=True)
        for table in tables
    )


def to_text(reference: Reference) -> str:
    """Return a table as JSON, as the store keeps it."""
    return json.dumps(reference_to_json(reference), allow_nan=False)


def from_text(text: str) -> Reference:
    """Return the table that to_text() wrote."""
    content: Mapping[str, Any] = json.loads(text)
    return reference_from(content, "reference")
