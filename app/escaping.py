"""Words of a host, a plan or a library for files and terminals: what controls or turns text is written out."""

import json
import unicodedata
from functools import lru_cache

UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of Unicode that control a terminal, turn the reading direction, or show nothing."""


def escaped(text: str, but: str = "") -> str:
    """Return `text` with every character of UNSEEN as its escape, those in `but` aside."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character in but else _escaped(character) for character in text)


@lru_cache(maxsize=4096)
def _escaped(character: str) -> str:
    return repr(character)[1:-1] if unicodedata.category(character) in UNSEEN else character


def json_text(content: object) -> str:
    """Return `content` as JSON that drives no terminal: what is unseen stands as JSON's own escape, and means the same.

    A character beyond ASCII can only be within a string, where it may be escaped.
    """
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(_for_json(character) for character in text)


@lru_cache(maxsize=4096)
def _for_json(character: str) -> str:
    seen = character == "\n" or unicodedata.category(character) not in UNSEEN
    return character if seen else json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"
