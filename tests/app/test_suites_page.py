"""The page about what was tried has a table for each resource, in which its suites are."""

import pytest

from resources import read_text
from suites.registry import SUITES, help_table, suite
from suites.vocab import Resource

PAGE = read_text("help/suites.md")


@pytest.mark.parametrize("resource", Resource)
def test_every_suite_is_in_its_table(resource: Resource) -> None:
    assert f"\n<!-- suites: {resource} -->\n" in PAGE
    rows = [line.split(" | ")[0] for line in help_table(resource).splitlines()[2:]]
    assert rows == [f"| {each.id}" for each in SUITES if each.resource is resource]


def test_every_suite_says_what_was_tried() -> None:
    assert [each.id for each in SUITES if each.tried.versions == "not tried" or "|" in str(each.tried)] == []


def test_what_was_never_run_says_so() -> None:
    for name in ("geekbench", "speccpu"):
        assert "not tried for real" in suite(name).tried.versions
