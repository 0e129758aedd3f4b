"""A tool's own words, made safe to show: one line, plain text, not too long."""

MAXIMUM_WORDS = 200
"""Characters of a tool's message that a note repeats; the raw output keeps the rest."""


def tool_words(line: str) -> str:
    """Return `line` without control, direction and other invisible characters, cut to `MAXIMUM_WORDS`."""
    visible = "".join(character if character.isprintable() else " " for character in line[: 4 * MAXIMUM_WORDS])
    words = " ".join(visible.split())
    return words if len(words) <= MAXIMUM_WORDS else words[: MAXIMUM_WORDS - 1] + "…"
