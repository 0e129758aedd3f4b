"""Text from a host as a person may safely see it: one line, bounded, nothing but visible characters."""

import unicodedata

LONGEST = 200


def plain(text: str | bytes, longest: int = LONGEST) -> str:
    """Return `text` in one line of at most `longest` characters; control, format and bidi characters become blanks."""
    if isinstance(text, bytes):
        text = text[: 4 * longest].decode("utf-8", "replace")
    visible = (character if _is_visible(character) else " " for character in text[: 4 * longest])
    line = " ".join("".join(visible).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _is_visible(character: str) -> bool:
    """Return whether a character shows itself. Categories C (control, format, unassigned) and Z (separators) do not."""
    return unicodedata.category(character)[0] not in {"C", "Z"}
