"""A tool's words are shown as one plain, short line, and its end in words."""

import pytest

from suites.tool_messages import LONGEST_MESSAGE, exit_text, printable_message


def test_control_and_direction_characters_are_gone() -> None:
    assert printable_message("\x1b]52;c;aGk=\x07FATAL:\t\u202eevil\u200b") == "]52;c;aGk= FATAL: evil"


def test_long_words_are_cut() -> None:
    assert len(printable_message("x" * 10**6)) == LONGEST_MESSAGE
    assert printable_message("x" * 10**6).endswith("…")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (1, "ended with exit status 1"),
        (-15, "was ended by SIGTERM"),
        (143, "was ended by SIGTERM"),
        (137, "was ended by SIGKILL"),
        (255, "ended with exit status 255"),
    ],
)
def test_an_end_by_signal_is_named(status: int, words: str) -> None:
    assert exit_text(status) == words
