"""benchwright fleet run and resume: what they print while a study runs, and their exit status."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import fleet
from app.cli.fleet_board import MOST_ROWS, remark_of
from app.cli.fleet_progress import StudyNotes
from app.cli.main import benchwright
from app.events import LibraryChanged
from app.fleet.board import board_of, study_state
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.services import Workstation
from app.store.errors import StoreError
from tests.app.fleet.studies import ended_process, fleet_plan, numbered, short_plan
from tests.lab_sshd import AnsweringAsker
from tests.widgets.fleet_studies import begin

LIBRARY = Path("runs.sqlite3")
RUN = "20260101-000000-0001"
LATER = (datetime.now(UTC) + timedelta(hours=2)).isoformat(timespec="milliseconds")


class Notes:
    """Notes on a study whose host-runs the test settles, as its runner does."""

    def __init__(self, sessions: int = 1, hosts: int = 2) -> None:
        plan = fleet_plan(numbered(hosts), short_plan(sessions=sessions))
        self.runs = [replace(one, due=LATER if one.session > 1 else "") for one in plan.host_runs()]
        counts = Counter({HostRunState.WAITING: len(self.runs)})
        self.study = FleetStudy("f1", "short", plan, "", counts=counts)
        self.notes = StudyNotes(lambda: self.study, self.runs, LIBRARY, quiet=False)

    def settle(self, one: HostRun, state: HostRunState, reason: str = "", attempts: int = 1) -> None:
        counts = Counter(self.study.counts)
        counts[HostRunState.WAITING] -= 1
        counts[state] += 1
        self.study = replace(self.study, counts=counts)
        self.notes.settled(self.study, replace(one, attempts=attempts), state, reason)


def test_a_host_run_that_is_tried_again_is_not_over(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes()
    first, second = notes.runs
    for attempt in (1, 2):
        notes.settle(first, HostRunState.WAITING, "refused.", attempt)
    notes.settle(first, HostRunState.FAILED, "refused.", 3)
    notes.settle(second, HostRunState.DONE)
    assert capsys.readouterr().err.splitlines() == [
        "0/2  a1: waiting, attempt 1 of 3 failed. refused",
        "0/2  a1: waiting, attempt 2 of 3 failed. refused",
        "1/2  a1: failed. refused",
        "2/2  a2: done",
    ]


def test_hosts_added_meanwhile_are_in_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes(hosts=1)
    notes.study = replace(notes.study, counts=Counter({HostRunState.WAITING: 3}))
    notes.settle(notes.runs[0], HostRunState.DONE)
    assert capsys.readouterr().err == "1/3  a1: done\n"


def test_a_library_that_cannot_be_read_is_no_error_of_a_host_run(capsys: pytest.CaptureFixture[str]) -> None:
    def read() -> FleetStudy:
        if reads:
            raise StoreError("The library is locked.", "Wait.")
        reads.append(1)
        return every.study

    reads, every = list[int](), Notes()
    StudyNotes(read, every.runs, LIBRARY, quiet=False).settled(every.study, every.runs[0], HostRunState.DONE, "")
    assert capsys.readouterr().err == "0/2  a1: done\n"


def test_the_start_of_the_next_session_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes(sessions=2)
    for state in (HostRunState.WAITING, HostRunState.DONE):  # tried again
        notes.settle(notes.runs[0], state)
    assert "Session" not in capsys.readouterr().err
    notes.settle(notes.runs[1], HostRunState.DONE)
    assert "Session 2 of 2" in capsys.readouterr().err


def test_a_problem_of_the_library_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    every = Notes()
    notes, runs = every.notes, every.runs
    for number in (0, 1, 0, 1):
        notes.note(runs[number], LibraryChanged(LIBRARY, f"disk full, run {number}", "free space"))
    for one in runs:
        notes.note(one, LibraryChanged(LIBRARY))
    full, writable = capsys.readouterr().err.splitlines()
    assert full.split()[-4:] == ["run", "0", "free", "space"]
    assert "library" in writable


def test_a_run_that_is_stored_elsewhere_is_named_with_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    every = Notes()
    notes, runs = every.notes, every.runs
    notes.note(runs[0], LibraryChanged(LIBRARY, "disk full", "free space"))
    notes.note(runs[0], LibraryChanged(Path("saved.sqlite3")))
    assert "saved.sqlite3" in capsys.readouterr().err


def test_the_board_shows_the_odd_hosts_first_and_counts_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = tmp_path / "runs.sqlite3"
    with closing(Workstation(library, tmp_path / "hosts.toml")) as workstation:
        begin(workstation, fleet_plan(numbered(MOST_ROWS + 5)))
    call = partial(CliRunner().invoke, benchwright)
    few = call(["--store", str(library), "fleet", "show"])
    assert few.stdout.count("a") >= MOST_ROWS
    assert f"a{MOST_ROWS + 5}" not in few.stdout
    assert "5 more" in few.stderr
    every = call(["--store", str(library), "fleet", "show", "--top", "100"])
    assert f"a{MOST_ROWS + 5}" in every.stdout
    assert "more" not in every.stderr


def test_the_reason_of_an_earlier_failed_session_is_shown() -> None:
    plan = fleet_plan(numbered(1), short_plan(sessions=2))
    first, second = plan.host_runs()
    runs = replace(first, state=HostRunState.FAILED, reason="refused"), replace(second, state=HostRunState.RUNNING)
    study = FleetStudy("f1", "short", plan, "", counts={HostRunState.FAILED: 1, HostRunState.RUNNING: 1})
    (row,) = board_of(study, runs, {}).rows
    assert remark_of(row) == "session 1: refused"


def test_a_study_that_no_process_runs_is_named_as_such_and_deleted_once_it_was_ended(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    with closing(Workstation(library, tmp_path / "hosts.toml")) as workstation:
        store, study = workstation._store, begin(workstation, fleet_plan(numbered(3)))
        (one,) = store.start_host_runs(study, lambda waiting, _under_way, _plan: [next(waiting)], ended_process())
        store.settle_host_run(study.id, one, HostRunState.DONE, reason="")

    def call(*words: str) -> Result:
        return CliRunner().invoke(benchwright, ["--store", str(library), "fleet", *words])

    assert "not running, 2 left" in call().stdout
    shown = call("show")
    assert "not running, 2 left" in shown.stdout
    assert f"fleet resume {study.id}" in shown.stderr
    (listed,), board = json.loads(call("--json").stdout), json.loads(call("show", "--json").stdout)
    assert listed["idle_since"] == board["study"]["idle_since"] != ""
    refused = call("delete", study.id)
    assert refused.exit_code == 2
    assert f"fleet end {study.id}" in refused.stderr
    call("end")
    assert json.loads(call("show", "--json").stdout)["study"]["idle_since"] is None
    assert call("delete", study.id).exit_code == 0
    assert json.loads(call("--json").stdout) == []


@pytest.mark.parametrize("words", [(), ("--stop",)])
def test_the_end_of_a_study_that_no_process_runs_names_what_settles_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    library = tmp_path / "runs.sqlite3"
    with closing(Workstation(library, tmp_path / "hosts.toml")) as workstation:
        study = begin(workstation, fleet_plan(numbered(2)))
        workstation._store.start_host_runs(study, lambda waiting, _under_way, _plan: [next(waiting)], ended_process())
    ended = CliRunner().invoke(benchwright, ["--store", str(library), "fleet", "end", study.id, *words])
    assert "not running, 1 left" in ended.stderr
    assert f"fleet resume {study.id}" in ended.stderr
    assert ("Stop what is under way" in ended.stderr) is bool(words)


def test_the_state_of_a_study_that_is_over_counts_what_is_done() -> None:
    study = FleetStudy("f1", "short", fleet_plan(numbered(4)), "2026")
    done, skipped = HostRunState.DONE, HostRunState.SKIPPED
    states = [{done: 2, skipped: 2}, {done: 4}, {done: 3, HostRunState.WAITING: 1}]
    assert [study_state(replace(study, counts=counts)) for counts in states] == [
        "2 done, 2 skipped",
        "done",
        "1 waiting",
    ]


def test_what_was_skipped_is_not_offered_to_run(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    with closing(Workstation(library, tmp_path / "hosts.toml")) as workstation:
        begin(workstation, fleet_plan(numbered(2)))
    call = partial(CliRunner().invoke, benchwright)
    skipped = call(["--store", str(library), "fleet", "skip", "last", "a1"])
    assert "1 host-run" in skipped.stderr
    assert "fleet resume" not in skipped.stderr
    assert "fleet resume" in call(["--store", str(library), "fleet", "retry", "last", "a1"]).stderr


@pytest.fixture
def resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[HostRunState], Result]:
    """Resume a study whose only host-run is then in a state."""
    library = tmp_path / "runs.sqlite3"

    def resume(state: HostRunState) -> Result:
        with closing(Workstation(library, tmp_path / "hosts.toml")) as workstation:
            study = workstation.begin_fleet_study(fleet_plan(numbered(1)), AnsweringAsker())
            if state is HostRunState.SKIPPED:
                workstation.end_fleet_study(study.id)
            if state is HostRunState.RUNNING:  # of a process on another computer
                store, every = workstation._store, lambda waiting, _under_way, _plan: list(waiting)
                (one,) = store.start_host_runs(study, every, "elsewhere (process 7)")
                store.set_run_of_host_run(study.id, one, RUN)
        monkeypatch.setattr(fleet, "carry_on", lambda *_words, **_named: None)
        monkeypatch.setattr(fleet, "trusting_asker", lambda *_words, **_named: AnsweringAsker())
        return CliRunner().invoke(benchwright, ["--store", str(library), "fleet", "resume"])

    return resume


def test_a_study_that_is_not_over_exits_with_1_and_shows_how_to_continue(
    resumed: Callable[[HostRunState], Result],
) -> None:
    found = resumed(HostRunState.WAITING)
    assert found.exit_code == 1
    assert "fleet resume f" in found.stderr


def test_a_study_that_another_process_runs_is_not_offered_to_resume(resumed: Callable[[HostRunState], Result]) -> None:
    found = resumed(HostRunState.RUNNING)
    assert found.exit_code == 1
    assert "fleet resume" not in found.stderr
    assert "fleet show f" in found.stderr


def test_a_study_that_is_over_exits_with_0(resumed: Callable[[HostRunState], Result]) -> None:
    found = resumed(HostRunState.SKIPPED)
    assert found.exit_code == 0
    assert "fleet resume" not in found.stderr
