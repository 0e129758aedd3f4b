"""Patterns match as OpenSSH's do, and never take long to say so."""

import fnmatch
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.ssh.ssh_config import matches, matches_list


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("*", "", True),
        ("*", "anything", True),
        ("?", "a", True),
        ("?", "", False),
        ("web*", "web01.example.org", True),
        ("web*", "db01", False),
        ("*.example.org", "web.example.org", True),
        ("*.example.org", "example.org", False),
        ("a*b*c", "axxbyyc", True),
        ("a*b*c", "axxbyy", False),
        ("[127.0.0.1]:2222", "[127.0.0.1]:2222", True),
        ("[127.0.0.1]:2222", "1:2222", False),  # brackets are no character class
        ("[*]:2222", "[host]:2222", True),
        ("10.0.0.?", "10.0.0.12", False),
    ],
)
def test_a_pattern_matches(pattern: str, text: str, *, expected: bool) -> None:
    assert matches(pattern, text) is expected


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_it_agrees_with_the_shell_where_there_are_no_brackets(pattern: str, text: str) -> None:
    assert matches(pattern, text) is fnmatch.fnmatchcase(text, pattern)


def test_a_spiteful_pattern_takes_no_time() -> None:
    began = time.process_time()
    assert not matches("*a" * 200 + "b", "a" * 2000)
    assert time.process_time() - began < 1.0


def test_a_negated_pattern_outweighs_all_others() -> None:
    assert matches_list(["*", "!gate"], "web")
    assert not matches_list(["*", "!gate"], "gate")
    assert not matches_list(["!gate"], "web")  # negation alone matches nothing
