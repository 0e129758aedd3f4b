"""JSON from a tool that may be broken or hostile: bounded, finite, without contradictions."""

import json
import math
from typing import Any

MAXIMUM_DIGITS = 30
"""Digits of the longest whole number a tool prints; a longer one is refused before it costs time."""


def read_json(text: str) -> Any:
    """Return the one JSON value that `text` holds.

    Raises ValueError where it is not JSON, is nested too deep, holds NaN, an infinity or an absurd number, or
    gives one name two values. Two options of the same name are left alone (fio lists its options as given:
    objects of words only), and so is the same value said twice (fio 2.21 repeats an empty percentile).
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=_short,
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs) or all(isinstance(value, str) for _name, value in pairs):
        return found
    for name, value in pairs:
        if found[name] != value:
            raise ValueError(f"it gives “{name[:40]}” two values")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no figure")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is no figure")
    return number


def _short(text: str) -> int:
    if len(text) > MAXIMUM_DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)
