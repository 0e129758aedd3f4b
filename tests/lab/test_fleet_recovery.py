"""Fleet studies whose process is killed, that two processes run, and whose hosts fail in every way."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import State
from app.fleet_study import FleetHost, FleetLimits, FleetPlan, FleetStudy, HostRunState
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from app.store.ownership import HEARTBEAT, HEARTBEAT_TIMEOUT
from remote.connection_state import PATIENCE
from tests.lab.machines import StartMachine
from tests.lab_sshd import AnsweringAsker, LabHost, LabKeys, free_port
from tests.processes import until

ROOT = Path(__file__).parents[2]
D, F, W = HostRunState.DONE, HostRunState.FAILED, HostRunState.WAITING
TRIALS = 2

COUNTING = """#!/bin/sh
case " $* " in *" run "*)
    echo start >> {folder}/starts
    exec 9> {folder}/lock
    flock --nonblock 9 || echo beside >> {folder}/starts
esac
exec /usr/bin/sysbench "$@"
"""


@pytest.fixture
def workstation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workstation]:
    monkeypatch.setattr("app.fleet.host_run.CONNECT_RETRY", 1.0)
    monkeypatch.setattr("app.fleet.host_run.IN_USE_RETRY", 1.0)
    monkeypatch.setattr("app.store.host_runs.START_TIMEOUT", 20.0)
    made = Workstation(tmp_path / "library.db", tmp_path / "hosts.toml", patience=replace(PATIENCE, total=15.0))
    yield made
    made.close()


def fleet_plan(*hosts: str, seconds: int = 2, retries: int = 0, at_once: int = 16) -> FleetPlan:
    """Return the plan of a study of one session."""
    step = make_step("sysbench-cpu", {"time": seconds, "threads": 1})
    plan = Plan("short", (), (step,), repetition=Repetition(trials=TRIALS, pause=0.0))
    chosen = tuple(FleetHost(host, host[0]) for host in hosts)
    return FleetPlan(plan, chosen, limits=FleetLimits(at_once), retries=retries)


def counted(host: LabHost, folder: Path) -> Path:
    """Let a host count the starts of the tool; return the file."""
    tool = folder / "sysbench"
    tool.write_text(COUNTING.format(folder=folder))
    tool.chmod(0o755)
    host.restart(SetEnv=f"PATH={folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    return folder / "starts"


def starts(files: Sequence[Path]) -> list[int]:
    return [len(file.read_text().split()) if file.exists() else 0 for file in files]


@contextmanager
def process_of(study: FleetStudy, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that runs a study; it is killed at the end."""
    words = [sys.executable, "-m", "tests.lab.fleet_process", folder / "library.db", folder / "hosts.toml", study.id]
    with (folder / "process.log").open("ab") as log:
        process = subprocess.Popen(list(map(str, words)), cwd=ROOT, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def check_once(workstation: Workstation, study: FleetStudy, files: Sequence[Path]) -> None:
    """Check that each host-run is done, with one run, and that each trial ran once, none beside another."""
    found = workstation.host_runs(study.id)
    assert [(one.state, one.reason) for one in found] == [(D, "")] * len(found)
    records = [workstation.load(one.run) for one in found]
    assert [len(record.trials) for record in records] == [TRIALS] * len(found)
    assert {record.summary.state for record in records} == {State.DONE}
    assert sorted(run.id for run in workstation.runs()) == sorted(one.run for one in found)
    assert not any("beside" in file.read_text() for file in files)
    assert starts(files) == [TRIALS] * len(files)


@pytest.mark.slow
@pytest.mark.parametrize("hosts_measured", [0, 1, 3])
def test_a_study_whose_process_is_killed_is_continued(
    workstation: Workstation, start_machine: StartMachine, tmp_path: Path, hosts_measured: int
) -> None:
    hosts = ["a1", "a2", "a3", "b1"]
    files = [counted(start_machine(host), tmp_path / host) for host in hosts]
    study = workstation.begin_fleet_study(fleet_plan(*hosts, seconds=4), AnsweringAsker())
    with process_of(study, tmp_path) as process:
        until(lambda: any(one.run for one in workstation.host_runs(study.id)), 120)
        until(lambda: sum(map(bool, starts(files))) >= hosts_measured, 120)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    ended = workstation.fleet_runner(study.id, AnsweringAsker()).run()
    assert ended.ended is not None
    check_once(workstation, study, files)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [False, True])
def test_a_study_that_was_ended_after_its_process_was_killed_is_settled_by_resuming_it(
    workstation: Workstation, start_machine: StartMachine, tmp_path: Path, *, stop: bool
) -> None:
    host = start_machine("alpha")
    files = [counted(host, tmp_path)]
    study = workstation.begin_fleet_study(fleet_plan("alpha", seconds=4), AnsweringAsker())
    with process_of(study, tmp_path):
        until(lambda: starts(files) == [1], 60)
    ended = workstation.end_fleet_study(study.id, stop=stop)
    assert (ended.over, ended.left) == (False, 1)
    until(lambda: [one.study.id for one in workstation.idle_fleet_studies()] == [study.id], HEARTBEAT_TIMEOUT + 30)
    found = workstation.fleet_runner(study.id, AnsweringAsker()).run()
    (one,) = workstation.host_runs(study.id)
    assert (found.over, one.state.over) == (True, True), one
    assert one.state is (HostRunState.SKIPPED if stop else D)
    assert workstation.idle_fleet_studies() == []
    workstation.delete_fleet_study(study.id)


@pytest.mark.slow
def test_a_study_continues_after_the_computer_slept(
    workstation: Workstation, start_machine: StartMachine, tmp_path: Path
) -> None:
    """The process is suspended for longer than a heartbeat counts, and every connection is lost meanwhile."""
    hosts = ["a1", "a2", "a3", "b1"]
    machines = [start_machine(host) for host in hosts]
    files = [counted(machine, tmp_path / host) for machine, host in zip(machines, hosts, strict=True)]
    study = workstation.begin_fleet_study(fleet_plan(*hosts, seconds=4, at_once=3), AnsweringAsker())
    with process_of(study, tmp_path) as process:
        until(lambda: sum(map(bool, starts(files))) >= 3, 120)
        os.kill(process.pid, signal.SIGSTOP)
        for machine in machines:
            machine.cut()
        time.sleep(HEARTBEAT_TIMEOUT + HEARTBEAT)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(180) == 0
    check_once(workstation, study, files)
    assert starts(files) == [TRIALS] * len(files)


@pytest.mark.slow
def test_two_processes_run_a_study(workstation: Workstation, start_machine: StartMachine, tmp_path: Path) -> None:
    hosts = ["a1", "a2", "a3", "b1", "b2"]
    files = [counted(start_machine(host), tmp_path / host) for host in hosts]
    study = workstation.begin_fleet_study(fleet_plan(*hosts, at_once=3), AnsweringAsker())
    with process_of(study, tmp_path) as process:
        until(lambda: any(one.run for one in workstation.host_runs(study.id)), 120)
        workstation.fleet_runner(study.id, AnsweringAsker()).run()
        process.wait(60)
    check_once(workstation, study, files)
    assert starts(files) == [TRIALS] * len(files)


Listen = Callable[[Callable[[socket.socket], None]], int]


@pytest.mark.slow
def test_hosts_that_fail_end_no_other_and_have_a_reason(
    workstation: Workstation, start_machine: StartMachine, lab_keys: LabKeys, listen: Listen, tmp_path: Path
) -> None:
    file = counted(start_machine("a1"), tmp_path / "a1")
    start_machine("key-changed").restart(host_key=lab_keys.other_host)
    dying = start_machine("dies")
    counted(dying, tmp_path / "dies")
    hanging = listen(lambda _connection: time.sleep(30))
    with (Path.home() / ".ssh" / "config").open("a") as config:
        for name, address, port in (
            ("refuses", "127.0.0.1", free_port()), ("unknown", "no-such-host.invalid", 22),
            ("hangs", "127.0.0.1", hanging),
        ):  # fmt: skip
            config.write(f"Host {name}\n  HostName {address}\n  Port {port}\n")
    hosts = ["refuses", "unknown", "hangs", "key-changed", "dies", "a1"]
    study = workstation.begin_fleet_study(fleet_plan(*hosts), AnsweringAsker())
    runner = workstation.fleet_runner(study.id, AnsweringAsker())
    with process_guard(dying, tmp_path / "dies" / "starts"):
        ended = runner.run()
    found = {one.host: one for one in workstation.host_runs(study.id)}
    assert {host for host, one in found.items() if one.state is D} == {"a1"}
    assert ended.counts == {D: 1, F: 5}
    assert starts([file]) == [TRIALS]
    for host, word in (
        ("refuses", "refused"), ("unknown", "name"), ("hangs", "not"), ("key-changed", "key"), ("dies", "dies"),
    ):  # fmt: skip
        assert word in found[host].reason, found[host]
        assert len(found[host].reason) > 20


@contextmanager
def process_guard(host: LabHost, file: Path) -> Iterator[None]:
    """Stop a host once it measures."""

    def stop() -> None:
        until(file.exists, 120)
        host.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.mark.slow
def test_a_host_in_use_by_another_run_is_measured_after_it(
    workstation: Workstation, start_machine: StartMachine, tmp_path: Path
) -> None:
    files = [counted(start_machine(host), tmp_path / host) for host in ("a1", "a2")]
    first = workstation.begin_fleet_study(fleet_plan("a1", seconds=5), AnsweringAsker())
    with process_of(first, tmp_path) as process:
        until(lambda: any(starts(files)), 120)
        second = workstation.begin_fleet_study(fleet_plan("a1", "a2"), AnsweringAsker())
        ended = workstation.fleet_runner(second.id, AnsweringAsker()).run()
        process.wait(60)
    assert ended.counts == {D: 2}
    assert starts(files) == [2 * TRIALS, TRIALS]
    assert workstation.fleet_study(first.id).counts == {D: 1}


@pytest.mark.slow
def test_a_study_stopped_with_a_locked_library_stays_in_it(
    workstation: Workstation, start_machine: StartMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs are saved to files of their own; the study is not lost, and complete once these are run again."""
    monkeypatch.setattr("app.runs.recording.STOPPING", 1.0)
    hosts = ["a1", "a2"]
    files = [counted(start_machine(host), tmp_path / host) for host in hosts]
    study = workstation.begin_fleet_study(fleet_plan(*hosts, seconds=3), AnsweringAsker())
    library = workstation.library_location
    runner = workstation.fleet_runner(study.id, AnsweringAsker())
    running = threading.Thread(target=runner.run)
    running.start()
    until(lambda: all(starts(files)), 120)
    with closing(sqlite3.connect(tmp_path / "library.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        runner.stop()
        until(lambda: len(list(tmp_path.glob("library-*.db"))) == len(hosts), 60)
        until(lambda: not runner.hosts_under_way(), 60)
        other.execute("ROLLBACK")
    running.join(60)
    assert workstation.library_location == library
    assert workstation.fleet_runner(study.id, AnsweringAsker()).run().counts == {F: 2}
    workstation.retry_host_runs(study.id)
    assert workstation.fleet_runner(study.id, AnsweringAsker()).run().counts == {D: 2}
    assert [len(workstation.load(one.run).trials) for one in workstation.host_runs(study.id)] == [TRIALS] * 2
