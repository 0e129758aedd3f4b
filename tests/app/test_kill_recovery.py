"""At most one job of a run measures on a host, and nothing is lost or double, wherever Benchwright is killed."""

import itertools
import tempfile
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from app.events import Event, RunEnded, State
from app.questions import RefusingAsker
from app.runs import run
from app.runs.control import Control
from app.runs.orphans import OrphanError
from app.runs.request import RunRequest
from app.store.store import Store
from tests.app.model_host import PLAN, Lab, assert_whole
from tests.messages import messages

MESSAGES = messages("app", "test_kill_recovery")

SPARSE = 97
"""Of how many places to die the short test tries one."""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


def attach_to_the_end(lab: Lab) -> None:
    """Go on with the run, as often as that takes."""
    for _ in range(3):
        lab.host.arrive()
        if lab.attach():
            return
    pytest.fail("the run did not end")


def test_a_run_that_nobody_kills_is_whole(lab: Lab) -> None:
    assert lab.run()
    assert lab.power.count > 100
    assert_whole(lab)


@pytest.mark.quick(2)
@pytest.mark.parametrize("last", ["TrialStarted", "JobBegan"])
@pytest.mark.parametrize("ended", [False, True])
def test_a_command_whose_trial_is_not_stored_is_adopted(lab: Lab, last: str, *, ended: bool) -> None:
    """Killed between "command planned" and "trial begun", then again during the adopted trial."""
    assert not lab.run("start measure" if last == "JobBegan" else last, after=last == "JobBegan")
    (name,) = lab.host.measuring()
    lab.host.pass_time(9 if ended else 0)
    assert not lab.attach("read measure")
    assert [one for one in lab.host.jobs if one.startswith("measure")] == [name]
    attach_to_the_end(lab)
    assert_whole(lab)


def test_a_command_that_may_have_begun_is_not_started_again(lab: Lab) -> None:
    """Its directory is gone: nothing shows whether it began."""
    assert not lab.run("start measure", after=True)
    (path,) = lab.host.workspaces
    lab.host.workspaces.clear()
    lab.host.jobs.clear()
    lab.attach()
    assert lab.host.measuring() == []
    with closing(lab.workstation()) as made:
        record = made.load("last")
    assert path in record.trials[0].reason
    assert (record.trials[0].trial.clock, record.trials[0].state) == (None, State.PARTIAL)


def test_a_start_that_arrives_late_starts_nothing(lab: Lab) -> None:
    lab.host.late = True
    assert not lab.run("start measure")
    assert len(lab.host.delayed) == 1
    assert not lab.attach("read measure")
    lab.host.arrive()
    attach_to_the_end(lab)
    assert_whole(lab)


def test_nothing_is_started_beside_an_orphan_that_cannot_be_ended(lab: Lab) -> None:
    assert not lab.run("start prepare", after=True)
    lab.host.stubborn = True
    with pytest.raises(OrphanError, match=r"may still run on web-1: .*left|4711.* No other command was started"):
        lab.attach()
    assert len(lab.host.jobs) == 1  # the orphan
    lab.host.stubborn = False
    attach_to_the_end(lab)
    assert_whole(lab)


def test_an_attached_run_has_the_telemetry_interval_of_its_plan(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    often = replace(PLAN, telemetry_interval=0.5)
    intervals: list[float] = []
    start = run.attached

    def noted(request: RunRequest, *rest: Any) -> Generator[Event]:
        intervals.append(request.interval)
        return start(request, *rest)

    monkeypatch.setattr(run, "attached", noted)
    assert not lab._lives(lambda made: made.run(often, RefusingAsker(), Control()), "TrialStarted", after=False)
    attach_to_the_end(lab)
    assert set(intervals) == {0.5}


def test_an_orphan_that_cannot_be_ended_does_not_keep_a_run_from_being_stopped(lab: Lab) -> None:
    assert not lab.run("start prepare", after=True)
    lab.host.stubborn = True
    control = Control()
    control.stop()
    with closing(lab.workstation()) as made:
        ended = list(made.attach("last", RefusingAsker(), control))[-1]
        record = made.load("last")
    assert isinstance(ended, RunEnded)
    assert len(ended.problems) > 1
    assert " ".join(ended.problems) == ended.reason == record.reason
    assert record.summary.state.value == "partial"
    assert "may still run on web-1" in record.reason
    assert len(lab.host.jobs) == 1


def test_the_next_step_does_not_start_beside_a_command_that_cannot_be_ended(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_path: str, _nonce: str) -> dict[str, str]:
        next(reversed(lab.host.jobs.values())).ended = False
        return {"error": "left 4711"}

    monkeypatch.setattr(lab.host, "do_remove", fails)
    assert lab.run()
    with closing(lab.workstation()) as made:
        record = made.load("last")
    assert {trial.trial.step for trial in record.trials} == {"one"}
    assert record.summary.state is State.PARTIAL
    assert MESSAGES["still_runs_on_web_1_and"] in record.reason


@pytest.mark.slow
@pytest.mark.parametrize("last", ["RunEnded", "WorkspaceRemoved", "VerdictReached", "release"])
def test_a_run_killed_after_its_last_trial_is_done(lab: Lab, last: str) -> None:
    """Fully measured is done, with its verdict; what was not read any more is absent, and the run says so."""
    assert not lab.run(last) or last == "release"
    attach_to_the_end(lab)
    assert_whole(lab)


def last_time(tmp_path: Path, patch: pytest.MonkeyPatch, word: str) -> int:
    """Return the number of the last event of a run that is called `word`."""
    folder = tmp_path / "whole"
    folder.mkdir()
    lab = Lab(folder, patch)
    assert lab.run()
    return max(number for number, words in enumerate(lab.power.log, 1) if word in words)


@pytest.mark.parametrize(
    "forgotten", [pytest.param(False, id="attached"), pytest.param(True, id="forgotten", marks=pytest.mark.slow)]
)
def test_a_complete_run_ends_without_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, forgotten: bool
) -> None:
    at = last_time(tmp_path, monkeypatch, "remove")
    lab = Lab(tmp_path, monkeypatch)
    assert not lab.run(at)
    (path,) = lab.host.workspaces
    lab.host.down = True
    with closing(lab.workstation()) as made:
        (left,) = made.detached_runs()
        if forgotten:
            assert made.forget("last") == left.id
        else:
            assert isinstance(list(made.attach("last", RefusingAsker(), Control()))[-1], RunEnded)
        record = made.load("last")
        assert made.detached_runs() == []
    assert (record.summary.state, bool(record.summary.trust)) == (State.DONE, True)
    assert (MESSAGES["web_1_refused_the_connection"] in record.reason) is not forgotten
    assert MESSAGES["no_facts_after_the_run_of"] in record.reason
    assert f"{path} may remain on web-1." in record.reason
    with closing(Store(tmp_path / "runs.sqlite3")) as store:
        assert [used.workspace.path for used in store.workspaces()] == [path]


def test_a_run_killed_between_two_steps_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(tmp_path, monkeypatch)
    assert not lab.run("WorkspaceRemoved", after=True)
    assert lab.host.workspaces == {}
    with closing(lab.workstation()) as made:
        assert [left.under_way for left in made.detached_runs()] == [()]
    attach_to_the_end(lab)
    assert_whole(lab)


@pytest.mark.parametrize("sparse", [SPARSE, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_anywhere_is_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sparse: int) -> None:
    """Each commit and each request is a place to die, before and after it takes effect."""
    lab = Lab(tmp_path, monkeypatch)
    assert lab.run()
    places = itertools.product(range(1, lab.power.count + 1), (False, True))
    for at, after in itertools.islice(places, 0, None, sparse):
        folder = tmp_path / f"{at}-{after}"
        folder.mkdir()
        lab = Lab(folder, monkeypatch)
        lab.host.late = True
        lab.run(at, after=after)
        attach_to_the_end(lab)
        assert_whole(lab)


class Kills(RuleBasedStateMachine):
    """One Benchwright after another on one run, each killed somewhere; what was on its way arrives at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._patch = pytest.MonkeyPatch()
        self._lab = Lab(Path(self._folder.name), self._patch)

    @initialize(at=st.integers(1, 118), after=st.booleans(), late=st.booleans())
    def begin(self, at: int, *, after: bool, late: bool) -> None:
        self._lab.host.late = late
        self._lab.run(at, after=after)

    @rule(at=st.integers(1, 118), after=st.booleans())
    def attach_and_die(self, at: int, *, after: bool) -> None:
        self._lab.attach(at, after=after)

    @rule()
    def requests_arrive(self) -> None:
        self._lab.host.arrive()

    @rule(times=st.integers(1, 6))
    def time_passes(self, times: int) -> None:
        self._lab.host.pass_time(times)

    @invariant()
    def one_measures(self) -> None:
        assert self._lab.host.most <= 1

    def teardown(self) -> None:
        try:
            attach_to_the_end(self._lab)
            assert_whole(self._lab)
        finally:
            self._patch.undo()
            self._folder.cleanup()


@pytest.mark.slow
def test_any_sequence_of_kills_is_survived() -> None:
    run_state_machine_as_test(Kills, settings=settings(max_examples=100, stateful_step_count=6))
