"""Texts that a user writes: bounded, and without the control characters of binary data."""

import re

from suites.errors import BenchwrightError

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""A control character but tab and newline."""


class UserTextError(BenchwrightError):
    """A text that is not stored."""


def checked_text(
    what: str, text: str, longest: int, error: type[BenchwrightError] = UserTextError, *, lines: bool = False
) -> str:
    """Return a text without space around it, on one line unless `lines`; lone surrogates are replaced.

    Raises `error` for a text that is longer, or has control characters.
    """
    text = text.encode("utf-8", "replace").decode()
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip() if lines else " ".join(text.split())
    if len(text) > longest:
        raise error(f"{what} has {len(text):,} characters: nothing was stored.", f"The limit is {longest:,}.")
    if found := CONTROL.search(text):
        raise error(
            f"{what} has the control character U+{ord(found[0]):04X}: nothing was stored.",
            "Remove it, or save the text as plain UTF-8.",
        )
    return text
