"""The page about what was tried names every suite once, under its resource."""

import re
from pathlib import Path

import pytest

import resources
from suites.registry import SUITES
from suites.vocab import Resource

PAGE = (Path(resources.__file__).parent / "help" / "suites.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("title", "resource"),
    [
        ("CPU", Resource.CPU),
        ("Memory", Resource.MEMORY),
        ("Disk", Resource.DISK),
        ("Network", Resource.NETWORK),
        ("Database and application", Resource.APPLICATION),
    ],
)
def test_every_suite_is_in_its_table(title: str, resource: Resource) -> None:
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z0-9-]+) \|", section, re.MULTILINE)
    assert sorted(set(rows) - {"suite"}) == sorted(suite.id for suite in SUITES if suite.resource is resource)


def test_what_was_never_run_says_so() -> None:
    for suite in ("geekbench", "speccpu"):
        assert re.search(rf"^\| {suite} \|.*not tried for real", PAGE, re.MULTILINE)
