"""A tool's own words, made safe to show: one line, plain text, not too long; and how it ended."""

import signal

MAXIMUM_WORDS = 200
"""Characters of a tool's message that a note repeats; the raw output keeps the rest."""


def tool_words(line: str) -> str:
    """Return `line` without control, direction and other invisible characters, cut to `MAXIMUM_WORDS`."""
    visible = "".join(character if character.isprintable() else " " for character in line[: 4 * MAXIMUM_WORDS])
    words = " ".join(visible.split())
    return words if len(words) <= MAXIMUM_WORDS else words[: MAXIMUM_WORDS - 1] + "…"


def how_it_ended(exit_status: int) -> str:
    """Return in words how a tool ended whose exit status is not 0.

    A shell reports the end by signal N as 128 + N (POSIX, 2.8.2), Python's subprocess as -N.
    """
    number = exit_status - 128 if exit_status > 128 else -exit_status
    try:
        return f"was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended with exit status {exit_status}"
