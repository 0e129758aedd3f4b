"""The page about formats names what the code prints, and nothing else."""

import re
from dataclasses import fields
from pathlib import Path

import resources
from app.hosts import ConnectReport, HostEntry
from app.records import RunSummary
from remote.errors import Outcome
from suites.units import Unit

PAGE = (Path(resources.__file__).parent / "help" / "formats.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return PAGE.partition(f"## {title}")[2].partition("\n## ")[0]


def _words(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def test_the_units_are_all_there_and_no_others() -> None:
    assert _words(_section("Units").partition("MB/s is")[0]) - {"unit"} == set(Unit)


def test_the_fields_of_the_lists_are_named() -> None:
    listed = _words(_section("benchwright list --json"))
    assert {field.name for field in fields(RunSummary)} | {field.name for field in fields(HostEntry)} == listed


def test_every_outcome_of_a_connection_is_named() -> None:
    section = _section("benchwright hosts test HOST --json").replace("\n", " ")
    assert {field.name for field in fields(ConnectReport)} <= set(re.findall(r"[a-z]+", section))
    assert set(Outcome) <= _words(section)
