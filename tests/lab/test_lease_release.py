"""What a run holds on a host is given up when that host fails, and left alone when the run is another's."""

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.events import Event, SampleRead, State, TrialEnded, TrialStarted, WorkspaceRemoved
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.runs.control import Control
from app.runs.root_actions import RootWork
from app.runs.run import Engine
from app.runs.run_hosts import HostTelemetry
from app.services import Workstation
from app.store import recorder
from app.store.errors import TakenOverError
from remote.errors import JobError
from remote.jobs.job import remove_workspace
from remote.privilege import PrivilegeError
from tests.lab.counting import counting_plan
from tests.lab.survival import at_count, attach, end, jobs_on, kill_jobs, run, trial_ends, workstation
from tests.lab.test_hosts_independent import add_dead, live, plan_on, states_by_host
from tests.lab_sshd import LabHost, free_port
from tests.processes import processes_with

__all__ = ["workstation"]

Start = Callable[..., LabHost]

DONE = [State.DONE]


# A host that fails on its way in


def processes_of(host: LabHost) -> list[int]:
    return sorted({*processes_with(f"HOME={host.home}\0"), *host.connections()})


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(PrivilegeError("sudo is not installed."), id="refused", marks=pytest.mark.slow),
        pytest.param(KeyError("defect"), id="defect"),
    ],
)
def test_a_host_that_fails_after_it_was_claimed_is_released(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    hosts = live(start_lab_host, 2)
    real, held = RootWork.open, []

    def become(self: RootWork, host: str, purposes: list[str]) -> Iterator[Event]:
        if host == "web-2":
            held.append((len(leases()), bool(processes_of(hosts[host]))))
            raise error
        yield from real(self, host, purposes)

    def leases() -> list[Path]:
        return list(Path(os.environ["BENCHWRIGHT_LEASES"]).iterdir())

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value == 50:
            still.append((len(leases()), processes_of(hosts["web-2"])))

    still: list[tuple[int, list[int]]] = []
    monkeypatch.setattr(RootWork, "open", become)
    events = run(workstation, plan_on(tuple(hosts), count=50), hand)
    assert states_by_host(events) == {"web-1": DONE, "web-2": [State.FAILED]}
    assert held[0][0] >= 1
    assert held[0][1]
    assert still == [(1, [])]
    shown = str(error) if isinstance(error, PrivilegeError) else "Internal error (KeyError). See the log."
    assert end(events).reason == shown
    assert end(events).state is State.PARTIAL


@pytest.mark.slow
def test_a_run_that_is_killed_after_its_last_trial_ends_as_it_would_have(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host was down: what is left of the run is recorded as if nobody had killed it."""
    live(start_lab_host, 1)
    add_dead(free_port())
    events = run(workstation, plan_on(("web-1", "dead"), count=5))
    run_id, lived = end(events).run_id, end(events)
    assert lived.state is State.PARTIAL
    monkeypatch.setattr(workstation._store.__class__, "mark_interrupted", lambda _self: [])
    connection = sqlite3.connect(workstation._store.path)
    connection.execute("UPDATE runs SET state='running', ended=NULL, owner_pid=999999")
    connection.commit()
    connection.close()
    with closing(Workstation(workstation._store.path, workstation._store.path.with_name("hosts.toml"))) as made:
        record = made.load(run_id)
    assert (record.summary.state, record.reason) == (lived.state, lived.reason)


# A run that is taken over, or that was


@pytest.mark.parametrize("lost", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_run_that_was_taken_over_puts_nothing_back_whatever_goes_wrong(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch, *, lost: bool
) -> None:
    live(start_lab_host, 1)
    control = Control()
    put_back: list[bool] = []

    def fails(_self: Engine) -> Iterator[Event]:
        if lost:
            control.note_taken_over()
        raise ZeroDivisionError
        yield

    def put(_self: RootWork, _hosts: list[str]) -> Generator[Event, None, list[str]]:
        put_back.append(True)
        return []
        yield

    monkeypatch.setattr(Engine, "_facts_after", fails)
    monkeypatch.setattr(RootWork, "restore", put)
    with pytest.raises(ZeroDivisionError):
        run(workstation, plan_on(("web-1",), count=5), control=control)
    assert put_back == ([] if lost else [True])


def test_a_run_with_nothing_to_record_lets_go_once_it_is_taken_over(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    monkeypatch.setattr(recorder, "HEARTBEAT", 0.2)
    monkeypatch.setattr(HostTelemetry, "start", lambda _self, _host: iter(()))  # its samples would be refused
    step = make_step("command", {"command": "sleep 40"})
    plan = Plan("quiet", ("web-1",), (step,), repetition=Repetition(trials=1))
    began: list[float] = []

    def take_over(event: Event, _control: Control) -> None:
        if isinstance(event, TrialStarted):
            connection = sqlite3.connect(workstation._store.path)
            connection.execute("UPDATE runs SET epoch = epoch + 1")
            connection.commit()
            connection.close()
            began.append(time.monotonic())

    with pytest.raises(TakenOverError):
        run(workstation, plan, take_over)
    assert time.monotonic() - began[0] < 20.0
    assert jobs_on(host.home)
    kill_jobs(host.home)


@pytest.mark.slow
def test_what_is_left_of_a_step_with_a_peer_waits_for_the_trial_under_way_on_its_host(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(start_lab_host, 1)
    step = make_step("iperf3", {"time": 1, "port": 5396}, peer=LOCAL)
    plan = Plan("both", ("web-1",), (step, *counting_plan(100).steps), repetition=Repetition(trials=1))

    def refuse(*_words: Any) -> None:
        raise JobError("It is busy.")

    monkeypatch.setattr("app.runs.host_step.remove_workspace", refuse)
    run(workstation, plan, lambda event, control: at_count(20, control.detach)(event, control)
        if isinstance(event, SampleRead) and event.sample.metric.name == "count" else None)  # fmt: skip
    monkeypatch.setattr("app.runs.host_step.remove_workspace", remove_workspace)
    assert len(workstation.detached_runs()[0].workspaces) == 3
    events = attach(workstation)
    removed = [number for number, event in enumerate(events) if isinstance(event, WorkspaceRemoved)]
    measured = max(number for number, event in enumerate(events) if isinstance(event, TrialEnded))
    assert len(removed) == 3
    assert min(removed) > measured
    assert trial_ends(events)[-1].state is State.DONE
