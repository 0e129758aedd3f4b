"""Patterns of the user's own: what they find, what is refused, and that no line makes them run away."""

import random
import re

import pytest

from suites.command.pattern import MAXIMUM_LINE, Pattern, PatternError


def matched(pattern: Pattern, line: str) -> str | None:
    """Return the text of the group."""
    span = pattern.span(line)
    return None if span is None else line[slice(*span)]


@pytest.mark.parametrize(
    ("pattern", "line", "found"),
    [
        (r"tps = ([0-9.]+)", "tps = 123.45 (without initial connection time)", "123.45"),
        (r"^\s*Total:\s+([\d.]+)\s*$", "   Total:   12.5 ", "12.5"),
        (r"(?P<rate>\d+)(?:\.\d+)? (?:MB|MiB)/s", "read 17 times at 250.9 MiB/s", "250"),
        (r"\b(\d{2,3})\b", "1 1234 56", "56"),
        (r"(\d+?)0", "1000", "1"),
        (r"cost: \$(\d+)", "cost: $12", "12"),
        (r"[\[\]]+([^]]*)", "[[4.5]", "4.5"),
        (r"x(\d*)", "x", ""),
        (r"(\d+)", "none", None),
    ],
)
def test_it_finds_what_a_person_expects(pattern: str, line: str, found: str | None) -> None:
    assert matched(Pattern.read(pattern), line) == found
    match = re.search(pattern, line)
    assert (None if match is None else match[1]) == found


def _drawn(lots: random.Random, depth: int) -> str:
    if depth == 0 or lots.random() < 0.4:
        return lots.choice(["a", "b", ".", "[ab]", "[^a]", r"\d", "^", "$", r"\b"])
    one, other = _drawn(lots, depth - 1), _drawn(lots, depth - 1)
    return lots.choice(
        [one + other, f"(?:{one}|{other})", f"(?:.{one})+", f"(?:{one}b)*?", f"{one}(?:[ab]{other}){{1,2}}"]
    )


def test_it_finds_what_re_finds() -> None:
    """Nothing is repeated here that may be nothing; there the two differ."""
    lots = random.Random(20261120)
    compared = 0
    for _ in range(1500):
        text = f"{_drawn(lots, 2)}({_drawn(lots, 2)}){_drawn(lots, 2)}"
        line = "".join(lots.choice("ab1 ") for _ in range(lots.randint(0, 8)))
        match = re.search(text, line)
        assert matched(Pattern.read(text), line) == (None if match is None else match[1]), (text, line)
        compared += match is not None
    assert compared > 200


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("tps", "0 groups"),
        ("(a)(b)", "2 groups"),
        ("(a", "not closed"),
        ("(a))", "unmatched closing"),
        ("(?=a)(b)", "lookaround"),
        ("(?i)(b)", "lookaround"),
        (r"(a)\1", "not allowed"),
        ("*(a)", "not allowed"),
        ("(a)**", "repeats a repetition"),
        ("(a)++", "repeats a repetition"),
        ("([z-a])", "is invalid"),
        ("([[a])", "is ambiguous"),
        ("(a{999}{999})", "repeats a repetition"),
        ("((?:a{900}){900})", "too long"),
        ("(a{9,2})", "too long"),
        ("(\\", "is invalid"),
    ],
)
def test_what_cannot_be_used_is_refused(pattern: str, shown: str) -> None:
    with pytest.raises(PatternError, match=shown):
        Pattern.read(pattern)


@pytest.mark.parametrize("text", ["((?:a|aa)+)$", "((?:a+)+)$", ".*.*.*.*(x)", "((?:a?){30}a{30}b)"])
def test_no_line_makes_it_run_away(text: str) -> None:
    """With re, each of these would take longer than anybody waits; here it takes steps that can be counted."""
    pattern = Pattern.read(text)
    before = pattern.left
    assert matched(pattern, "a" * MAXIMUM_LINE + "b") in {None, "a" * MAXIMUM_LINE}
    assert before - pattern.left < MAXIMUM_LINE * len(pattern.program) * 3


def test_the_steps_of_all_lines_are_counted() -> None:
    pattern = Pattern.read("(a)")
    pattern.left = 100
    assert [pattern.span("ba") for _ in range(40)][-1] is None
    assert pattern.left <= 0
