"""Studies that no process runs: told from those that wait for their next session, and from those of other processes."""

import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from app.fleet.idle import idle_since
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.services import Workstation
from app.store.ownership import this_computer
from tests.app.fleet.studies import ended_process, fleet_plan, numbered

BEGAN = "2026-11-20T10:00:00.000+00:00"
STUDY = FleetStudy("f1", "short", fleet_plan(numbered(3)), BEGAN)
ELSEWHERE = "ann@another-computer (process 1)"


def later(seconds: float) -> str:
    """Return the moment so many seconds after the study began."""
    return (datetime.fromisoformat(BEGAN) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def host_runs(worker: str, *, due: str = BEGAN) -> list[HostRun]:
    """Return a host-run that is done, and two that wait."""
    done = HostRun(1, 1, "a1", "a", due=BEGAN, state=HostRunState.DONE, run="r1", worker=worker, changed=later(10))
    waiting = [HostRun(number, 1, f"a{number}", "a", due=due, changed=BEGAN) for number in (2, 3)]
    return [done, *waiting]


def test_a_study_whose_process_has_ended_is_idle_at_once() -> None:
    assert idle_since(STUDY, host_runs(ended_process(), due=later(3600)), (), later(11)) == later(10)


def test_a_study_between_sessions_is_not_idle_while_its_process_lives() -> None:
    alive = f"{this_computer()} (process {os.getppid()})"
    for worker in (alive, ELSEWHERE):
        found = host_runs(worker, due=later(3600))
        assert idle_since(STUDY, found, (), later(1800)) is None
        assert idle_since(STUDY, found, (), later(3650)) is None
        assert idle_since(STUDY, found, (), later(3700)) == later(10)  # its next host-run is due, and nothing began it


def test_a_study_with_a_run_that_is_recorded_is_not_idle() -> None:
    done, first, second = host_runs(ended_process())
    found = [done, replace(first, state=HostRunState.RUNNING, run="r2", worker=ELSEWHERE), second]
    assert idle_since(STUDY, found, {"r2"}, later(9000)) is None
    assert idle_since(STUDY, found, {"r9"}, later(9000)) == later(10)


@pytest.mark.parametrize(
    "study", [replace(STUDY, ended=BEGAN), replace(STUDY, paused=BEGAN), replace(STUDY, by_workers=True)]
)
def test_what_is_over_or_paused_or_of_workers_is_not_idle(study: FleetStudy) -> None:
    assert idle_since(study, host_runs(ended_process()), (), later(9000)) is None


def test_a_study_that_was_ended_is_idle_while_a_host_run_is_left() -> None:
    done, first, second = host_runs(ended_process())
    left = [done, replace(first, state=HostRunState.RUNNING, run="r2", worker=ended_process()), second]
    assert idle_since(replace(STUDY, ended=BEGAN, stopped=BEGAN), left, (), later(20)) == later(10)
    assert idle_since(replace(STUDY, ended=BEGAN), left, {"r2"}, later(20)) is None


def test_the_library_lists_its_idle_studies(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "library.db", tmp_path / "hosts.toml")
    store = workstation._store
    left = store.begin_fleet_study(fleet_plan(numbered(2)), by_workers=False)
    store.start_host_runs(left, lambda waiting, _under_way, _plan: [next(waiting)], ended_process())
    paused = store.begin_fleet_study(fleet_plan(numbered(2)), by_workers=False)
    store.pause_fleet_study(paused.id, paused=True)
    store.begin_fleet_study(fleet_plan(numbered(2)), by_workers=False)  # a moment ago: its process is about to start it
    (found,) = workstation.idle_fleet_studies()
    assert (found.study.id, found.study.left) == (left.id, 2)
