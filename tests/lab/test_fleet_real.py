"""Fleet studies on real hosts: every host-run is done once, a host that fails ends no other, studies continue."""

from pathlib import Path

import pytest

from app.fleet_study import FleetHost, FleetLimits, FleetPlan, HostRunState
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from tests.lab.machines import StartMachine
from tests.lab_sshd import AnsweringAsker

CPU = make_step("sysbench-cpu", {"time": 1, "threads": 1})


def fleet_plan(*hosts: str, sessions: int = 1, trials: int = 1, at_once: int = 4) -> FleetPlan:
    """Return the plan of a short study; a host's group is the first letter of its name."""
    repetition = Repetition(trials=trials, sessions=sessions, every=1.0)
    plan = Plan("short", (), (CPU,), repetition=repetition)
    return FleetPlan(plan, tuple(FleetHost(host, host[0]) for host in hosts), limits=FleetLimits(at_once))


@pytest.fixture
def workstation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workstation:
    monkeypatch.setattr("app.plans.validation.LEAST_EVERY", 0.5)
    return Workstation(tmp_path / "library.db", tmp_path / "hosts.toml")


def test_every_host_run_is_done_once(workstation: Workstation, start_machine: StartMachine) -> None:
    hosts = ["a1", "a2", "b1"]
    for host in hosts:
        start_machine(host)
    study = workstation.begin_fleet_study(fleet_plan(*hosts, sessions=2), AnsweringAsker())
    ended = workstation.fleet_runner(study.id, AnsweringAsker()).run()
    assert ended.ended is not None
    assert ended.counts == {HostRunState.DONE: 6}
    found = workstation.host_runs(study.id)
    assert sorted((one.host, one.session) for one in found) == [(host, n) for host in hosts for n in (1, 2)]
    records = [workstation.load(one.run) for one in found]
    assert len(records) == len(workstation.runs()) == 6
    assert all(record.plan.hosts == (one.host,) for record, one in zip(records, found, strict=True))
    sessions = [record.summary.session for record in records]
    assert [one and (one.series, one.number) for one in sessions] == [(study.id, one.session) for one in found]
    board = workstation.fleet_board(study.id)
    assert [len(row.values) for row in board.rows] == [2] * 3
