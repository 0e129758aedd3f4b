"""Findings answered on the command line: their changes made, their reasons kept, and both in what is written."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.messages import messages
from tests.program import BAD_INPUT, DONE, benchwright

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_cli_findings")

COPY = """\
hosts = ["local"]
question = "How fast does this disk write what a backup writes?"
[repetition]
trials = 2
[[step]]
suite = "dd"
name = "copy"
[step.parameters]
directory = "{folder}"
block_size = "64 KiB"
count = 16
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.toml"
    path.write_text(COPY.format(folder=tmp_path), encoding="utf-8")
    return path


def found(answer: Any) -> dict[str, dict[str, Any]]:
    return {finding["id"]: finding for finding in answer["findings"]}


@pytest.mark.slow
def test_a_remedy_is_applied_to_a_file_and_the_plan_shows_what_changed(plan: Path) -> None:
    before = benchwright("check", plan, "--host", "local", "--json").json
    assert "unflushed-write" in found(before)
    assert (before["acknowledged"], before["changed"]) == ([], [])
    remedied = benchwright("check", plan, "--apply", "unflushed-write", "--output", "mended.toml", "--json")
    assert remedied.status == DONE
    assert "unflushed-write" not in found(remedied.json)
    (change,) = remedied.json["changed"]
    assert (change["finding"], change["step"], change["parameter"]) == ("unflushed-write", "copy", "flush")
    shown = benchwright("plan", "show", "mended.toml")
    assert MESSAGES["changed_by_a_finding_copy"] in shown.out
    assert "conv=fdatasync" in shown.out


def test_every_remedy_is_applied_until_no_warning_is_left_that_has_one(plan: Path) -> None:
    remedied = benchwright("check", plan, "--apply", "all", "--output", "all.toml", "--json")
    grave = [each for each in remedied.json["findings"] if each["level"] != "info" and each["step"] == "copy"]
    assert [each["id"] for each in grave if each["id"] in {"unflushed-write", "short-runtime", "page-cache"}] == []
    assert "flush" in {change["parameter"] for change in remedied.json["changed"]}


def test_facts_in_a_file_are_checked_without_asking_the_host(plan: Path, tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(benchwright("facts", "local", "--json").out, encoding="utf-8")
    plan.write_text(plan.read_text(encoding="utf-8").replace('"local"', '"no-such-host"'), encoding="utf-8")
    answer = benchwright("check", plan, "--facts", facts, "--json")
    assert answer.status == DONE
    assert "unflushed-write" in found(answer.json)
    assert benchwright("check", plan, "--json").status != DONE


@pytest.mark.slow
def test_what_is_acknowledged_stands_in_the_run_and_in_every_report(plan: Path, tmp_path: Path) -> None:
    ran = benchwright(
        "run", plan, "--apply", "unflushed-write", "--acknowledge", "few-trials=a first look", "--anyway", "--json"
    )
    assert ran.status == DONE, ran.err
    record = ran.json
    assert record["acknowledged"] == [{"id": "few-trials", "step": None, "host": None, "reason": "a first look"}]
    assert [change["parameter"] for change in record["changed"]] == ["flush"]
    assert set(found(record)["few-trials"]) == {
        "id", "level", "title", "measured", "why", "remedy", "source", "step",
    }  # fmt: skip
    assert "conv=fdatasync" in record["trials"][0]["commands"][-1]["line"]
    assert record["plan"]["format"] == "benchwright-plan/3"
    assert "Acknowledged: a first look" in benchwright("show", record["id"]).out.replace("\n", " ")
    assert benchwright("export", record["id"], "--csv", "run.csv", "--png", "run.png").status == DONE
    rows = list(csv.DictReader((tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["acknowledged"] for row in rows} == {"few-trials: a first look"}
    assert (tmp_path / "run.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "shown_text"),
    [
        (("--apply", "nothing"), "The plan has no finding “nothing”"),
        (("--apply", "few-trials"), "cannot be applied automatically"),
        (("--acknowledge", "few-trials"), "is not ID=REASON"),
        (("--acknowledge", "few-trials= "), "is not ID=REASON"),
        (("--acknowledge", "nothing=why"), "This plan has no finding “nothing”"),
    ],
)
def test_what_cannot_be_answered_is_refused(plan: Path, words: tuple[str, ...], shown_text: str) -> None:
    ran = benchwright("check", plan, *words, "--output", "none.toml")
    assert ran.status == BAD_INPUT
    assert shown_text in ran.err
    assert ran.out == ""
    assert not Path("none.toml").exists()


def test_an_error_cannot_be_acknowledged_away(plan: Path) -> None:
    plan.write_text(plan.read_text(encoding="utf-8").replace("count = 16", "count = 999999999"), encoding="utf-8")
    ran = benchwright("check", plan, "--acknowledge", "no-space=it will fit")
    assert ran.status == BAD_INPUT
    assert MESSAGES["cannot_be_acknowledged_away"] in ran.err


def test_every_check_is_listed_and_has_a_page() -> None:
    listed = benchwright("checks", "--json").json
    ids = [each["id"] for each in listed]
    assert len(ids) == len(set(ids)) > 100
    assert {each["when"] for each in listed} == {"before", "during", "after"}
    page = benchwright("checks", "page-cache")
    assert MESSAGES["memory_will_answer_for_the"] in page.out
    assert "Needs:" in page.out
    assert json.loads(benchwright("checks", "page-cache", "--json").out)[0]["id"] == "page-cache"
    assert benchwright("checks").out.count("\n") > 100
    assert benchwright("checks", "nothing").status == BAD_INPUT
