"""Strict parser for JSON of broken or hostile tools: bounded, finite, without duplicate keys."""

import json
import math
from collections.abc import Mapping
from typing import Any

MAXIMUM_DIGITS = 30
"""Digits of the longest whole number a tool prints; a longer one is refused, because parsing it is slow."""


def read_json(text: str) -> Any:
    """Return the one JSON value of `text`.

    Raises ValueError if it is not JSON, is nested too deeply, has NaN, an infinity or an absurd number, or one key with
    two values. Accepts duplicate keys of objects of strings only (fio lists its options as given), and the same value
    repeated (fio 2.21 repeats an empty percentile).
    """
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite, parse_int=_short
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def documents_in(text: str) -> list[str]:
    """Return the text of each JSON document of `text`, which follow one another. Raises ValueError if one is none."""
    found, at, decoder = [], 0, json.JSONDecoder()
    while rest := text[at:].lstrip():
        at = len(text) - len(rest)
        try:
            end = decoder.raw_decode(text, at)[1]
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        found.append(text[at:end])
        at = end
    return found


def object_in(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object at `key`, an empty one if there is none."""
    found = content.get(key)
    return found if isinstance(found, dict) else {}


def objects_in(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the objects in the list at `key`, none if there is no list."""
    found = content.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs) or all(isinstance(value, str) for _name, value in pairs):
        return found
    for name, value in pairs:
        if found[name] != value:
            raise ValueError(f"it has “{name[:40]}” twice")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a number")
    return number


def _short(text: str) -> int:
    if len(text) > MAXIMUM_DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)
