"""Text from a host can neither move the cursor, turn the line around, nor fill the screen."""

from hypothesis import given
from hypothesis import strategies as st

from remote.questions import plain
from tests.messages import messages

MESSAGES = messages("remote", "test_plain_text")


def test_what_is_visible_stays() -> None:
    assert plain("Permission denied: “näh” 漢字") == MESSAGES["permission_denied_n_h"]


def test_control_and_bidi_characters_become_blanks() -> None:
    assert plain("a\x1b[31mred\x07\r\nb") == "a [31mred b"
    assert plain("abc\u202e\u2066cba\u200b\ufeffx") == "abc cba x"


def test_bytes_that_are_no_utf_8_are_shown_as_such() -> None:
    assert plain(b"caf\xe9 \xff") == "caf� �"


@given(st.one_of(st.text(max_size=3000), st.binary(max_size=3000)), st.integers(2, 50))
def test_it_is_always_one_short_line(text: str | bytes, longest: int) -> None:
    line = plain(text, longest)
    assert len(line) <= longest
    assert all(character.isprintable() for character in line)


def test_a_long_text_is_cut_and_says_so() -> None:
    assert plain("x" * 10**6, 10) == "xxxxxxxxx…"
