"""Sanitised tool messages: one line, plain text, bounded; and how a tool ended."""

import signal

LONGEST_MESSAGE = 200
"""Maximum characters of a tool's message in a note; the raw output keeps the rest."""


def printable_message(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """Return `text` as one line without control, direction and other invisible characters, cut to `longest`."""
    visible = "".join(character if character.isprintable() else " " for character in text[: 4 * longest])
    words = " ".join(visible.split())
    return words if len(words) <= longest else words[: longest - 1] + "…"


def exit_text(exit_status: int) -> str:
    """Return how a tool ended whose exit status is not 0.

    A shell reports the end by signal N as 128 + N (POSIX, 2.8.2), Python's subprocess as -N.
    """
    number = exit_status - 128 if exit_status > 128 else -exit_status
    try:
        return f"was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended with exit status {exit_status}"


def exit_notes(program: str, exit_status: int | None) -> list[str]:
    """Return how `program` ended as a note; none if it ended with 0, or if that is not known."""
    return [f"{program} {exit_text(exit_status)}."] if exit_status else []
