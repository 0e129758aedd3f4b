"""Whatever a verb prints with --json is what its published schema describes: checked wherever a test prints it."""

import json
from functools import cache
from typing import Any

import click
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from app.cli import common
from app.cli.common import schemas_of
from app.output import json_text

LONGEST = 20
"""Items of a list that are checked: libraries of thousands of runs are listed against the clock."""


@cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of the strict schema `name`, which refuses keys that it does not have."""
    from app.published_schemas import schema  # takes a second, which most tests need not wait for

    return Draft202012Validator(schema(name, strict=True))


def errors(name: str, content: object) -> list[str]:
    """Return what the strict schema refuses in what was printed."""
    found = validator(name).iter_errors(json.loads(json.dumps(content)))
    return [f"{'/'.join(map(str, one.path))}: {one.message[:200]}" for one in found]


def checked_json_text(content: object) -> str:
    """Return the text of JSON that the command under way prints; fail if none of its schemas describes it."""
    text = json_text(content)
    names = schemas_of(click.get_current_context().command)
    printed = json.loads(text)
    shown = printed[:LONGEST] if isinstance(printed, list) else printed
    if names and not any(validator(name).is_valid(shown) for name in names):
        raise AssertionError("\n".join(f"{name}: {_problem(name, shown)}" for name in names))
    return text


def _problem(name: str, shown: Any) -> str:
    error = best_match(validator(name).iter_errors(shown))
    return "" if error is None else f"{error.json_path}: {error.message[:400]}"


def check_printed_json() -> None:
    """Check what every verb of this process prints."""
    setattr(common, "json_text", checked_json_text)  # noqa: B010 (not exported)
