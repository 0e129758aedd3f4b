"""What goes wrong on one host of a run ends what is done there, and nothing else; what is lost is told at once."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.events import Activity, Event, LinkChanged, SampleRead, State, TrialEnded, TrialStarted, WorkspaceRemoved
from app.plans.plan import LOCAL, Order, Plan, Repetition, make_step
from app.runs import run_hosts
from app.runs.control import Control, StoppedError
from app.runs.mailbox import IDLE
from app.runs.place import Place
from app.runs.resume import find_trial
from app.runs.root_work import RootWork
from app.runs.run import Engine
from app.runs.run_hosts import RunHosts
from app.runs.trial import TrialRun
from app.services import Workstation
from app.store import recorder
from app.store.errors import TakenOverError
from remote.errors import ConnectionLostError, JobError, RemoteError
from remote.jobs.job import Job, remove_workspace
from remote.link import LinkState
from remote.privilege import PrivilegeError
from suites.errors import BenchwrightError
from tests.lab.counting import CountingParser, counting_plan
from tests.lab.survival import (
    assert_nothing_left,
    at_count,
    attach,
    end,
    jobs_on,
    kill_jobs,
    run,
    trial_ends,
    workstation,
)
from tests.lab.test_hosts_independent import add_dead, live, lose_at, plan_on, states_by_host
from tests.lab_sshd import LabHost, free_port
from tests.processes import processes_with

__all__ = ["workstation"]

Start = Callable[..., LabHost]

DONE = [State.DONE]


def assert_all_ended(workstation: Workstation) -> None:
    record = workstation.load("last")
    assert record.summary.state is not State.RUNNING
    assert State.RUNNING not in [trial.state for trial in record.trials]


# What one task raises


class Broken:
    """Puts something in place of a method that goes wrong where its words say so: the host, or the trial's host."""

    def __init__(self, error: Exception, host: str = "web-1", after: int = 0) -> None:
        self.error, self.host, self.left = error, host, after

    def __call__(self, host: str) -> None:
        if host == self.host:
            self.left -= 1
            if self.left < 0:
                raise self.error


def claim(broken: Broken, patch: pytest.MonkeyPatch) -> None:
    real = RunHosts.claim

    def claimed(self: RunHosts, host: str) -> Generator[Event, None, str]:
        broken(host)
        return (yield from real(self, host))

    patch.setattr(RunHosts, "claim", claimed)


def start(broken: Broken, patch: pytest.MonkeyPatch) -> None:
    real = Place.start

    def started(self: Place, *words: Any) -> Generator[Event, None, Job]:
        broken(self.host)
        return (yield from real(self, *words))

    patch.setattr(Place, "start", started)


def finish(broken: Broken, patch: pytest.MonkeyPatch) -> None:
    real = TrialRun._outcome

    def outcome(self: TrialRun, *words: Any) -> TrialEnded:
        broken(self.turn.host)
        return real(self, *words)

    patch.setattr(TrialRun, "_outcome", outcome)


LOST = ConnectionLostError("The connection to web-1 was lost for good.", host="web-1")
SILENT = RemoteError("web-1 gave no answer.", host="web-1")
REFUSED = JobError("The job was refused.", host="web-1")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((claim, LOST, (State.FAILED, State.PARTIAL)), id="lost in the claim"),
        pytest.param(
            (claim, SILENT, (State.FAILED, State.FAILED)), id="no answer in the claim", marks=pytest.mark.slow
        ),
        pytest.param((start, LOST, (State.FAILED, State.PARTIAL)), id="lost in the start", marks=pytest.mark.slow),
        pytest.param((start, REFUSED, (State.FAILED, State.FAILED)), id="refused start", marks=pytest.mark.slow),
        pytest.param((finish, ZeroDivisionError("defect"), (State.PARTIAL, State.PARTIAL)), id="a defect"),
    ],
)
def test_what_goes_wrong_in_a_trial_ends_that_host_alone(
    workstation: Workstation,
    start_lab_host: Start,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[Callable[[Broken, pytest.MonkeyPatch], None], Exception, tuple[State, State]],
) -> None:
    where, error, (trial_state, run_state) = case
    hosts = live(start_lab_host, 2)
    # A host is claimed as it joins, too, and before its first trial.
    where(Broken(error, after=2 if where is claim else 1), monkeypatch)
    events = run(workstation, plan_on(tuple(hosts), count=5, trials=3, order=Order.INTERLEAVED))
    assert states_by_host(events) == {"web-1": [State.DONE, trial_state], "web-2": DONE * 3}
    assert end(events).state is run_state
    said = str(error) if isinstance(error, BenchwrightError) else "Benchwright failed (ZeroDivisionError). See the log."
    assert end(events).reason.count(said) == 1
    assert_all_ended(workstation)
    for host in hosts.values():
        assert_nothing_left(host.home)


def test_a_trial_beside_one_that_fails_is_measured_to_its_end(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two trials under way at once, one ends by a defect; the other is away meanwhile."""
    monkeypatch.setattr(run_hosts, "AWAY_AFTER", 0.2)
    hosts = live(start_lab_host, 3)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)
    real = CountingParser.finish

    def hand(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, SampleRead) and event.trial == 2 and event.sample.value == 10:
            monkeypatch.setattr(CountingParser, "finish", lambda *_: 1 / 0)
        if isinstance(event, TrialEnded) and event.trial == 2:
            monkeypatch.setattr(CountingParser, "finish", real)
            hosts["web-1"].start()

    events = run(workstation, plan_on(tuple(hosts), count=60), hand)
    assert states_by_host(events) == {"web-1": DONE, "web-2": [State.PARTIAL], "web-3": DONE}
    assert_all_ended(workstation)


def test_one_of_two_trials_that_cannot_be_found_again_ends_alone(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = two_left(workstation, start_lab_host, monkeypatch)

    def find(left: Any, trial: Any, *words: Any) -> Any:
        if trial.host == "web-1":
            raise REFUSED
        return find_trial(left, trial, *words)

    monkeypatch.setattr("app.runs.run.find_trial", find)
    events = attach(workstation)
    ends = {event.trial: event for event in trial_ends(events)}
    assert (ends[1].state, ends[1].reason) == (State.PARTIAL, "The job was refused.")
    assert ends[2].state is State.DONE
    assert end(events).state is State.PARTIAL
    assert_all_ended(workstation)
    for host in hosts.values():
        assert_nothing_left(host.home)


def two_left(workstation: Workstation, start: Start, patch: pytest.MonkeyPatch) -> dict[str, LabHost]:
    """Leave a run of which trials are under way on two hosts."""
    patch.setattr(run_hosts, "AWAY_AFTER", 0.2)
    hosts = live(start, 2)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)

    def leave(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, SampleRead) and event.trial == 2 and event.sample.value >= 10:
            control.leave()

    run(workstation, plan_on(tuple(hosts), count=100), leave)
    hosts["web-1"].start()
    return hosts


# A host that is lost for a moment, and for longer


def overlaps(workstation: Workstation) -> dict[str, tuple[str, ...]]:
    return {
        trial.trial.host: tuple(note for note in trial.notes if "Overlapped" in note)
        for trial in workstation.load("last").trials
    }


def note(hosts: str) -> tuple[str]:
    cause = "while a connection was lost: shared hardware, storage or network may change the result."
    return (f"Overlapped with trials on {hosts} {cause}",)


def test_a_hiccup_does_not_let_two_trials_run_at_once(workstation: Workstation, start_lab_host: Start) -> None:
    hosts = live(start_lab_host, 2)
    first = hosts["web-1"]
    under_way: set[int] = set()
    most = 0

    def lose() -> None:
        first.stop()
        threading.Timer(1.0, first.start).start()

    losing = lose_at("web-1", 10, lose)

    def hand(event: Event, control: Control) -> None:
        nonlocal most
        losing(event, control)
        if isinstance(event, TrialStarted):
            under_way.add(event.trial.id)
        if isinstance(event, TrialEnded):
            under_way.discard(event.trial)
        most = max(most, len(under_way))

    events = run(workstation, plan_on(tuple(hosts), count=100), hand)
    assert LinkState.LOST in [event.state for event in events if isinstance(event, LinkChanged)]
    assert states_by_host(events) == {"web-1": DONE, "web-2": DONE}
    assert most == 1
    assert overlaps(workstation) == {"web-1": (), "web-2": ()}


def test_trials_that_ran_at_once_say_so(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_hosts, "AWAY_AFTER", 0.2)
    hosts = live(start_lab_host, 3)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)

    def hand(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, TrialEnded) and event.trial == 2:
            hosts["web-1"].start()

    events = run(workstation, plan_on(tuple(hosts), count=60), hand)
    assert states_by_host(events) == dict.fromkeys(hosts, DONE)
    found = overlaps(workstation)
    assert found["web-1"] in {note("web-2"), note("web-2, web-3")}  # it may be back before the third begins
    assert found["web-2"] == note("web-1")
    assert found["web-3"] == (note("web-1") if "web-3" in found["web-1"][0] else ())


def test_trials_that_were_left_running_at_once_say_so(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_left(workstation, start_lab_host, monkeypatch)
    assert end(attach(workstation)).state is State.DONE
    assert overlaps(workstation) == {"web-1": note("web-2"), "web-2": note("web-1")}


# A start that waits for a lost host


def test_a_start_that_waits_is_told_at_once_and_not_made_after_stop(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 1)
    host, control = hosts["web-1"], Control()
    told: list[LinkState] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, TrialEnded):
            host.cut(signal.SIGSTOP)
            pids.extend(host.connections())
        if isinstance(event, LinkChanged):
            told.append(event.state)
            if event.state in {LinkState.LOST, LinkState.RECONNECTING}:
                control.stop()

    pids: list[int] = []
    began = time.monotonic()
    try:
        events = run(workstation, plan_on(("web-1",), count=5, trials=2), hand, control)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    assert LinkState.LOST in told  # else nobody stopped it
    assert time.monotonic() - began < 30.0
    assert [event.trial.id for event in events if isinstance(event, TrialStarted)] == [1]
    assert (end(events).state, end(events).reason.startswith("Stopped by you")) == (State.PARTIAL, True)
    assert not any(isinstance(event, Activity) and "ending" in event.text for event in events)
    assert jobs_on(host.home) == []


def test_a_trial_that_is_not_begun_since_the_run_is_stopped_lets_the_other_end(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host is away while a trial is to start there; the other measures."""
    hosts = live(start_lab_host, 2)
    real = Place.start

    def started(self: Place, *words: Any) -> Generator[Event, None, Job]:
        if self.host == "web-2":
            return (yield from real(self, *words))
        away.append(self.host)
        while not self.hosts.control.over:
            yield IDLE
        raise StoppedError

    monkeypatch.setattr(Place, "start", started)
    away: list[str] = []
    monkeypatch.setattr(RunHosts, "is_away", lambda _self, host: host in away)
    control = Control()
    events = run(workstation, plan_on(tuple(hosts), count=500), at_count(10, control.stop), control)
    assert states_by_host(events) == {"web-2": [State.PARTIAL]}
    assert end(events).reason.count("Stopped by you") == 1
    assert end(events).state is State.PARTIAL
    assert_all_ended(workstation)
    for host in hosts.values():
        assert_nothing_left(host.home)


# A host that fails on its way in


def processes_of(host: LabHost) -> list[int]:
    return sorted({*processes_with(f"HOME={host.home}\0"), *host.connections()})


@pytest.mark.parametrize(
    "error", [PrivilegeError("sudo is not installed."), KeyError("defect")], ids=["refused", "defect"]
)
def test_a_host_that_fails_after_it_was_claimed_is_let_go_of(
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
    said = str(error) if isinstance(error, PrivilegeError) else "Benchwright failed (KeyError). See the log."
    assert end(events).reason == said
    assert end(events).state is State.PARTIAL


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


@pytest.mark.parametrize("lost", [False, True])
def test_a_run_that_was_taken_over_puts_nothing_back_whatever_goes_wrong(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch, *, lost: bool
) -> None:
    live(start_lab_host, 1)
    control = Control()
    put_back: list[bool] = []

    def fails(_self: Engine) -> Iterator[Event]:
        if lost:
            control.lose()
        raise ZeroDivisionError
        yield

    def put(_self: RootWork) -> Generator[Event, None, list[str]]:
        put_back.append(True)
        return []
        yield

    monkeypatch.setattr(Engine, "_facts_after", fails)
    monkeypatch.setattr(RootWork, "put_back", put)
    with pytest.raises(ZeroDivisionError):
        run(workstation, plan_on(("web-1",), count=5), control=control)
    assert put_back == ([] if lost else [True])


def test_a_run_with_nothing_to_record_lets_go_once_it_is_taken_over(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    monkeypatch.setattr(recorder, "BEAT", 0.2)
    monkeypatch.setattr(RunHosts, "watch", lambda _self, _host: iter(()))  # its samples would be refused
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


def test_what_is_left_of_a_step_with_a_peer_waits_for_the_trial_under_way_on_its_host(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(start_lab_host, 1)
    step = make_step("iperf3", {"time": 1, "port": 5396}, peer=LOCAL)
    plan = Plan("both", ("web-1",), (step, *counting_plan(100).steps), repetition=Repetition(trials=1))

    def refuse(*_words: Any) -> None:
        raise JobError("It is busy.")

    monkeypatch.setattr("app.runs.place.remove_workspace", refuse)
    run(workstation, plan, lambda event, control: at_count(20, control.leave)(event, control)
        if isinstance(event, SampleRead) and event.sample.metric.name == "count" else None)  # fmt: skip
    monkeypatch.setattr("app.runs.place.remove_workspace", remove_workspace)
    assert len(workstation.left_runs()[0].workspaces) == 3
    events = attach(workstation)
    removed = [number for number, event in enumerate(events) if isinstance(event, WorkspaceRemoved)]
    measured = max(number for number, event in enumerate(events) if isinstance(event, TrialEnded))
    assert len(removed) == 3
    assert min(removed) > measured
    assert trial_ends(events)[-1].state is State.DONE
