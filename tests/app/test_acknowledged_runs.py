"""A finding of a stored run is acknowledged with a reason: kept, standing in every report, and taken back."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import create_engine

import resources
from app.cli.main import benchwright
from app.events import FindingRaised, VerdictReached
from app.formats import plan_to_json
from app.plans.plan import PlanError
from app.plans.plan_remarks import Acknowledged, reason_of, with_reason
from app.report_image.report import draw_report
from app.services import Workstation
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Severity
from tests.app import run_events
from tests.messages import messages
from tests.widgets.library_runs import DISK, Made, events

MESSAGES = messages("app", "test_acknowledged_runs")

RUN = "20261120-141530-k3f9"
NOISY = replace(run_events.FINDING, id="noisy", title="The trials disagree", changes={})
LOST = replace(NOISY, id="no-figures", severity=Severity.ERROR, title="There is no figure")
WHOLE = Verdict(Trust.DOUBTFUL, Limiter.UNKNOWN, "Doubtful: all of it.", (run_events.FINDING,))
Say = Callable[..., Result]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library with a run of four findings: two of one step, one of the host, and an error."""
    path = tmp_path / "runs.sqlite3"
    workstation = Workstation(path, tmp_path / "hosts.toml")
    with workstation._store.recorder(RUN) as recorder:
        for event in run_events.run_events(RUN):
            recorder.record(event)
        for finding in (NOISY, replace(NOISY, step=None), LOST):
            recorder.record(FindingRaised(finding, 1))
        recorder.record(VerdictReached(replace(WHOLE, step="random read", host="web-1")))
        recorder.record(VerdictReached(WHOLE))
    workstation.close()
    return path


@pytest.fixture
def show_message(library: Path) -> Say:
    """Return what gives a verb to the command line, with this library."""
    return lambda *words: CliRunner().invoke(benchwright, ["--store", str(library), *words])


def shown(show_message: Say) -> Any:
    return json.loads(show_message("show", "last", "--json").output)


def test_the_reason_stands_wherever_the_run_is_told_and_changes_nothing_else(show_message: Say, tmp_path: Path) -> None:
    before = shown(show_message)
    done = show_message("acknowledge", "last", "page-cache=the cache is the question")
    assert (done.exit_code, done.output) == (0, "Acknowledged: page-cache: the cache is the question\n")
    after = shown(show_message)
    assert after["acknowledged"] == [
        {"id": "page-cache", "step": "random read", "host": "web-1", "reason": MESSAGES["the_cache_is_the_question"]}
    ]
    assert {name for name in after if after[name] != before[name]} == {"acknowledged", "plan"}
    assert after["plan_hash"] == before["plan_hash"]
    assert "Acknowledged: the cache is the question" in show_message("show", "last").output
    assert show_message("export", "last", "--csv", str(tmp_path / "out.csv")).exit_code == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert {row["acknowledged"] for row in csv.DictReader(file)} == {"page-cache: the cache is the question"}


def test_an_error_of_the_same_check_does_not_hide_the_reason(show_message: Say, library: Path, tmp_path: Path) -> None:
    workstation = Workstation(library, library.with_name("hosts.toml"))
    with workstation._store.recorder("20261120-151530-k3f9") as recorder:
        for event in run_events.run_events("20261120-151530-k3f9"):
            recorder.record(event)
        for finding in (NOISY, replace(NOISY, severity=Severity.ERROR)):
            recorder.record(FindingRaised(finding, 1))
    workstation.close()
    assert show_message("acknowledge", "20261120-15", "noisy=the nightly backup").exit_code == 0
    assert show_message("export", "20261120-15", "--csv", str(tmp_path / "out.csv")).exit_code == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert {row["acknowledged"] for row in csv.DictReader(file)} == {"noisy: the nightly backup"}


def test_the_report_picture_has_it(show_message: Say, library: Path) -> None:
    assert show_message("acknowledge", RUN, "noisy=the nightly backup").exit_code == 0
    workstation = Workstation(library, library.with_name("hosts.toml"))
    record = workstation.load(RUN)
    workstation.close()
    written = [words.text for words in draw_report([record], {}, {}, ())._texts]
    assert written.count("Acknowledged: the nightly backup") == 2


def test_an_empty_reason_takes_it_back_and_leaves_the_plan_as_it_was(show_message: Say, library: Path) -> None:
    def stored_plan() -> Any:
        with create_engine(f"sqlite:///{library}").connect() as connection:
            return json.loads(connection.exec_driver_sql("SELECT plan FROM runs").scalar_one())

    before = stored_plan()
    show_message("acknowledge", "last", "page-cache=seen", "noisy=seen, too")
    assert stored_plan()["format"] == "benchwright-plan/3"
    done = show_message("acknowledge", "last", "page-cache=", "noisy=")
    assert done.output == MESSAGES["no_longer_acknowledged_page"]
    assert stored_plan() == before == plan_to_json(run_events.plan())
    assert shown(show_message)["acknowledged"] == []


def test_a_step_alone_can_be_meant(show_message: Say) -> None:
    done = show_message("acknowledge", "last", "noisy=known", "--step", "random read", "--json")
    reported = [{"id": "noisy", "step": "random read", "host": "web-1", "reason": "known"}]
    assert json.loads(done.output) == {"run": RUN, "acknowledged": reported}
    show_message("acknowledge", "last", "noisy=known")
    assert [one["step"] for one in shown(show_message)["acknowledged"]] == ["random read", None]
    assert show_message("acknowledge", "last", "noisy=").exit_code == 0  # wherever it was said
    assert shown(show_message)["acknowledged"] == []


REFUSED = (
    (("no-figures=never mind",), "“no-figures” is an error: it cannot be acknowledged."),
    (("page-cash=why not",), "This run has no finding “page-cash”. Findings: page-cache, noisy, no-figures."),
    (("page-cache=a", "--step", "no such"), "The plan has no step “no such”."),
    (("page-cache=",), "“page-cache” is not acknowledged in this run. Acknowledged: noisy."),
    (("page-cache",), "“page-cache” is not ID=REASON."),
    (("=because",), "“=because” is not ID=REASON."),
    (("page-cache=two\nlines",), "The reason is not one line of at most 500 characters."),
    (("page-cache=" + "a" * 501,), "The reason is not one line of at most 500 characters."),
)
"""What follows “acknowledge last noisy=good”, and what is said to it."""


def test_what_cannot_be_acknowledged_is_said_and_nothing_is_kept(show_message: Say) -> None:
    for words, shown_text in REFUSED:
        refused = show_message("acknowledge", "last", "noisy=good", *words)
        assert refused.exit_code == 2, words
        assert shown_text in " ".join(refused.output.split())
    assert shown(show_message)["acknowledged"] == []


def test_a_run_is_found_as_everywhere(show_message: Say) -> None:
    assert MESSAGES["there_is_no_run_nothing"] in show_message("acknowledge", "nothing", "noisy=x").output
    assert show_message("acknowledge", RUN[:10], "noisy=x").exit_code == 0


def test_what_a_newer_program_wrote_into_the_plan_stays(show_message: Say, library: Path) -> None:
    newer = json.dumps({**plan_to_json(run_events.plan()), "colour": "blue"})
    engine = create_engine(f"sqlite:///{library}")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE runs SET plan = ?", (newer,))
    show_message("acknowledge", "last", "noisy=x")
    with engine.connect() as connection:
        assert json.loads(connection.exec_driver_sql("SELECT plan FROM runs").scalar_one())["colour"] == "blue"


def test_the_next_run_of_the_plan_has_to_raise_anew_what_only_a_run_raises(show_message: Say, library: Path) -> None:
    show_message("acknowledge", "last", "noisy=the nightly backup", "page-cache=the cache is the question")
    workstation = Workstation(library, library.with_name("hosts.toml"))
    again = workstation.plan_to_repeat(RUN)
    workstation.close()
    assert again.acknowledged == (Acknowledged("page-cache", "the cache is the question"),)


def test_what_is_taken_back_of_one_step_still_stands_of_the_others() -> None:
    everywhere, here, there = (Acknowledged("noisy", "x", step) for step in (None, "here", "there"))
    assert with_reason((everywhere, here, there), Acknowledged("noisy", "", "here")) == (there,)
    assert with_reason((here, there), Acknowledged("noisy", "")) == ()
    assert with_reason((here, there), Acknowledged("noisy", "y", "here")) == (there, replace(here, reason="y"))
    assert reason_of((everywhere,), LOST) == ""


def test_the_rule_is_told_in_the_help() -> None:
    page = (Path(resources.__file__).parent / "help" / "verdicts.md").read_text(encoding="utf-8")
    assert "benchwright acknowledge RUN ID=REASON" in page
    assert MESSAGES["error_cannot_be_acknowledged"] in page


def test_a_plan_says_of_itself_that_it_has_no_such_finding(library: Path) -> None:
    workstation = Workstation(library, library.with_name("hosts.toml"))
    with pytest.raises(PlanError, match="The step random read has no finding “x”"):
        workstation.acknowledge(RUN, [Acknowledged("x", "y", "random read")])
    workstation.close()


def test_a_row_of_several_steps_names_them_all_and_is_acknowledged_in_each(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    busy = replace(NOISY, id="other-process", host="web-1")
    made = Made(RUN, cpu=(1e3, 1.1e3))
    with workstation._store.recorder(RUN) as writing:
        for event in (*events(made), *(FindingRaised(replace(busy, step=step)) for step in (DISK, "cpu"))):
            writing.record(event)
    workstation.close()

    def reported(*words: str) -> str:
        return CliRunner().invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), *words]).output

    assert f"{DISK}, cpu" in " ".join(reported("show", "last").split())
    steps = ("--step", DISK, "--step", "cpu")
    assert [
        one["step"]
        for one in json.loads(reported("acknowledge", "last", "other-process=known", *steps, "--json"))["acknowledged"]
    ] == [DISK, "cpu"]
    assert reported("show", "last").count("Acknowledged: known") == 1
    reported("acknowledge", "last", "other-process=known")
    reported("acknowledge", "last", "other-process=", *steps)
    assert "Acknowledged: known" not in reported("show", "last")
