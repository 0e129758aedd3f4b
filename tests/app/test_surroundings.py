"""Prefixes, endings and panes around the lines of a tool, whatever their form."""

import re

import pytest

from app.outputs.pasted_text import lines_of
from app.outputs.surroundings import without_panes, without_surroundings

_OWN = re.compile(r"rate: \d+")


def own_text(line: str) -> int | None:
    found = _OWN.search(line)
    return found.start() if found else None


def has_own(line: str) -> bool:
    return _OWN.match(line.strip()) is not None


def unwrapped(text: str) -> list[str]:
    return [line.text for line in without_surroundings(lines_of(text), own_text, has_own)]


BARE = ["rate: 1", "  more", "", "rate: 12"]


@pytest.mark.parametrize(
    "wrap",
    [
        "| {line} |",
        "{number:>6}\t{line}",
        "{number}: {line}",
        "2026-11-28T12:00:{number:02d}.5Z stdout F {line}",
        "host ~ {line}",
        "a/b.log:{number}:{line}",
        '        "{line}",',
        '{{"n": {number}, "msg": "{line}"}}',
        "{line} \\",
    ],
)
def test_what_every_line_of_a_text_has_before_and_after_is_left_out(wrap: str) -> None:
    wrapped = (wrap.format(number=number, line=line) for number, line in enumerate(BARE, 8))
    assert unwrapped("\n".join(wrapped)) == BARE


def test_the_lines_of_two_sources_do_not_mix() -> None:
    mixed = "\n".join(f"{name} | {line}" for line in BARE for name in ("bench-1", "bench-2"))
    assert unwrapped(mixed) == [*BARE, *BARE]
    ranks = "\n".join(f"[{rank},0]<stdout>: {line}" for line in BARE for rank in (1, 2))
    assert unwrapped(ranks) == [*BARE, *BARE]


def test_a_time_is_not_the_name_of_a_source() -> None:
    stamped = (f"12:{number // 60:02d}:{number % 60:02d} {BARE[number % 4]}" for number in range(200))
    assert unwrapped("\n".join(stamped)) == BARE * 50


def test_a_number_that_a_line_of_a_tool_begins_with_stays() -> None:
    lines = "\n".join(f"{number}  rate: 5" for number in (1, 2)) + "\n512+0 records"
    assert unwrapped(lines)[-1] == "512+0 records"


def test_text_beside_that_of_a_tool_is_below_it() -> None:
    beside = lines_of("rate: 1   | top - 12:00\nrate: 12  | receiver\n")
    assert [line.text for line in without_panes(beside, has_own)][:2] == ["rate: 1", "rate: 12"]
    left = lines_of("top - 12:00 | rate: 1\nreceiver    | rate: 12\n")
    assert [line.text.strip() for line in without_panes(left, has_own)][:2] == ["rate: 1", "rate: 12"]


def test_a_sign_within_lines_of_a_tool_is_no_border() -> None:
    lines = lines_of("| rate: 1 |\n| rate: 2 |\nx | y\nx | z")
    assert without_panes(lines, has_own)[:4] == lines
