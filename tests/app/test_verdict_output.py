"""The verdict where it is read: JSON, CSV, printed, told as a run goes, and beside old runs."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import resources
from app.cli.library import print_run
from app.cli.main import benchwright
from app.events import VerdictReached
from app.services import Workstation
from app.summary import run_to_json
from suites.verdict import Limiter, Trust, Verdict
from tests.app import run_events

RUN = "20261120-141530-k3f9"
STORES = Path(__file__).parents[1] / "data" / "store"
PAGE = (Path(resources.__file__).parent / "help" / "formats.md").read_text(encoding="utf-8")

VERDICT = Verdict(
    Trust.DOUBTFUL, Limiter.TOOL, "Doubtful: 1000 IOPS.", (run_events.FINDING,), "random read", "web-1"
)  # fmt: skip
WHOLE = Verdict(Trust.DOUBTFUL, Limiter.TOOL, "Doubtful: all of it.", (run_events.FINDING,))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Return a library with one run that was judged."""
    path = tmp_path / "runs.sqlite3"
    workstation = Workstation(path, tmp_path / "hosts.toml")
    with workstation._store.recorder(RUN) as recorder:
        for event in run_events.run_events(RUN):
            recorder.record(event)
        recorder.record(VerdictReached(VERDICT))
        recorder.record(VerdictReached(WHOLE))
    workstation.close()
    return path


def library(path: Path) -> Workstation:
    return Workstation(path, path.with_name("hosts.toml"))


def test_json_carries_it_for_the_run_and_for_each_place(stored: Path) -> None:
    reported = run_to_json(library(stored).load(RUN))
    assert reported["verdict"] == {
        "level": "doubtful",
        "limited_by": "the tool itself",
        "summary": "Doubtful: all of it.",
        "checks": 0,
        "findings": [reported["findings"][0]],
    }
    assert (reported["earlier_verdicts"], reported["recall"]) == ([], None)
    assert [(one["step"], one["host"], one["level"]) for one in reported["verdicts"]] == [
        ("random read", "web-1", "doubtful")
    ]
    assert len(reported["verdict"]["findings"][0]) == 8


def test_every_word_of_the_closed_lists_is_documented() -> None:
    listed = PAGE.replace("\n", " ")
    assert all(f"`{word}`" in listed for word in (*Trust, *Limiter))


def test_csv_has_it_beside_every_figure(stored: Path, tmp_path: Path) -> None:
    summary, _samples = library(stored).export_csv([RUN], tmp_path / "out.csv")
    rows = list(csv.DictReader(summary.read_text(encoding="utf-8").splitlines()))
    assert rows
    assert {(row["trust"], row["limited_by"]) for row in rows} == {("doubtful", "the tool itself")}


def test_it_is_printed_with_the_run_and_in_the_list(stored: Path) -> None:
    shown = CliRunner().invoke(benchwright, ["--store", str(stored), "show", RUN])
    assert "Verdict: Doubtful: all of it." in shown.output
    listed = CliRunner().invoke(benchwright, ["--store", str(stored), "list"])
    assert "doubtful" in listed.output


def test_a_run_of_before_verdicts_is_judged_when_it_is_read(tmp_path: Path) -> None:
    shutil.copy(STORES / "format-4.sqlite3", tmp_path / "runs.sqlite3")
    record = library(tmp_path / "runs.sqlite3").load("20261121-141530-k3f9")
    assert record.verdict is not None
    assert record.summary.trust == record.verdict.trust.value
    assert record.verdict_on("random read", "web-1") is not None


def test_the_picture_of_a_judged_run_says_it(stored: Path, tmp_path: Path) -> None:
    judged = library(stored).export_image([RUN], tmp_path / "judged.png")
    assert judged.stat().st_size > 10_000


def test_an_arithmetic_mean_is_named_in_place_of_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(run_events.run_record("a", (0.0, 1000.0, 1010.0)), {})
    assert "mean: a trial is 0" in capsys.readouterr().out


def test_the_notes_of_trials_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    record = run_events.run_record("a", (1000.0, 1010.0))
    noted = [replace(one, notes=("TCP: bbr", f"Grade A: +{at}.2 ms")) for at, one in enumerate(record.trials, 8)]
    print_run(replace(record, trials=tuple(noted)), {})
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("random read on web-1: ")]
    assert [line.partition(": ")[2] for line in found] == ["TCP: bbr", "Grade A: +9.2 ms (trial 2)"]
