"""What goes wrong on one host of a run ends what is done there, and nothing else; what is lost is told at once."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from app.events import Activity, Event, LinkChanged, SampleRead, State, TrialEnded, TrialStarted
from app.plans.plan import Order
from app.runs import run_hosts
from app.runs.attach import find_trial
from app.runs.control import Control, StoppedError
from app.runs.event_queue import IDLE
from app.runs.host_step import HostStep
from app.runs.run_hosts import Leases, RunHosts
from app.runs.trial import TrialRun
from app.services import Workstation
from remote.connection_state import LinkState
from remote.errors import ConnectionLostError, JobError, RemoteError
from remote.jobs.job import RemoteJob
from suites.errors import BenchwrightError
from tests.lab.counting import CountingParser
from tests.lab.survival import assert_no_leftovers, at_count, attach, end, jobs_on, run, trial_ends, workstation
from tests.lab.test_hosts_independent import live, lose_at, plan_on, states_by_host
from tests.lab_sshd import LabHost

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
    real = Leases.claim

    def claimed(self: Leases, host: str) -> Generator[Event, None, str]:
        broken(host)
        return (yield from real(self, host))

    patch.setattr(Leases, "claim", claimed)


def start(broken: Broken, patch: pytest.MonkeyPatch) -> None:
    real = HostStep.start

    def started(self: HostStep, *words: Any) -> Generator[Event, None, RemoteJob]:
        broken(self.host)
        return (yield from real(self, *words))

    patch.setattr(HostStep, "start", started)


def finish(broken: Broken, patch: pytest.MonkeyPatch) -> None:
    real = TrialRun._outcome

    def outcome(self: TrialRun, *words: Any) -> TrialEnded:
        broken(self.slot.host)
        return real(self, *words)

    patch.setattr(TrialRun, "_outcome", outcome)


LOST = ConnectionLostError("The connection to web-1 was lost for good.", host="web-1")
SILENT = RemoteError("web-1 gave no answer.", host="web-1")
REFUSED = JobError("The job was refused.", host="web-1")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((claim, LOST, (State.FAILED, State.PARTIAL)), id="lost in the claim", marks=pytest.mark.slow),
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
    shown = str(error) if isinstance(error, BenchwrightError) else "Internal error (ZeroDivisionError). See the log."
    assert end(events).reason.count(shown) == 1
    assert_all_ended(workstation)
    for host in hosts.values():
        assert_no_leftovers(host.home)


@pytest.mark.slow
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


@pytest.mark.slow
def test_one_of_two_trials_that_cannot_be_found_again_ends_alone(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = two_detached(workstation, start_lab_host, monkeypatch)

    def find(left: Any, trial: Any, *words: Any) -> Any:
        if trial.host == "web-1":
            raise REFUSED
        return find_trial(left, trial, *words)

    monkeypatch.setattr("app.runs.attach.find_trial", find)
    events = attach(workstation)
    ends = {event.trial: event for event in trial_ends(events)}
    assert (ends[1].state, ends[1].reason) == (State.PARTIAL, "The job was refused.")
    assert ends[2].state is State.DONE
    assert overlaps(workstation) == {"web-1": note("web-2"), "web-2": note("web-1")}
    assert end(events).state is State.PARTIAL
    assert_all_ended(workstation)
    for host in hosts.values():
        assert_no_leftovers(host.home)


def two_detached(workstation: Workstation, start: Start, patch: pytest.MonkeyPatch) -> dict[str, LabHost]:
    """Leave a run of which trials are under way on two hosts."""
    patch.setattr(run_hosts, "AWAY_AFTER", 0.2)
    hosts = live(start, 2)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)

    def leave(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, SampleRead) and event.trial == 2 and event.sample.value >= 10:
            control.detach()

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


@pytest.mark.slow
def test_a_short_connection_failure_does_not_let_two_trials_run_at_once(
    workstation: Workstation, start_lab_host: Start
) -> None:
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_trials_that_were_left_running_at_once_say_so(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_detached(workstation, start_lab_host, monkeypatch)
    assert end(attach(workstation)).state is State.DONE
    assert overlaps(workstation) == {"web-1": note("web-2"), "web-2": note("web-1")}


# A start that waits for a lost host


@pytest.mark.slow
def test_a_waiting_start_is_reported_at_once_and_not_made_after_stop(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 1)
    host, control = hosts["web-1"], Control()
    reported: list[LinkState] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, TrialEnded):
            host.cut(signal.SIGSTOP)
            pids.extend(host.connections())
        if isinstance(event, LinkChanged):
            reported.append(event.state)
            if event.state in {LinkState.LOST, LinkState.RECONNECTING}:
                control.stop()

    pids: list[int] = []
    began = time.monotonic()
    try:
        events = run(workstation, plan_on(("web-1",), count=5, trials=2), hand, control)
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(pid, signal.SIGCONT)
    assert LinkState.LOST in reported  # else nobody stopped it
    assert time.monotonic() - began < 30.0
    assert [event.trial.id for event in events if isinstance(event, TrialStarted)] == [1]
    assert (end(events).state, end(events).reason.startswith("Stopped by you")) == (State.PARTIAL, True)
    assert not any(isinstance(event, Activity) and "ending" in event.text for event in events)
    assert jobs_on(host.home) == []


@pytest.mark.slow
def test_a_trial_that_is_not_begun_since_the_run_is_stopped_lets_the_other_end(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host is away while a trial is to start there; the other measures."""
    hosts = live(start_lab_host, 2)
    real = HostStep.start

    def started(self: HostStep, *words: Any) -> Generator[Event, None, RemoteJob]:
        if self.host == "web-2":
            return (yield from real(self, *words))
        away.append(self.host)
        while not self.hosts.control.over:
            yield IDLE
        raise StoppedError

    monkeypatch.setattr(HostStep, "start", started)
    away: list[str] = []
    monkeypatch.setattr(RunHosts, "is_away", lambda _self, host: host in away)
    control = Control()
    events = run(workstation, plan_on(tuple(hosts), count=500), at_count(10, control.stop), control)
    assert states_by_host(events) == {"web-2": [State.PARTIAL]}
    assert end(events).reason.count("Stopped by you") == 1
    assert end(events).state is State.PARTIAL
    assert_all_ended(workstation)
    for host in hosts.values():
        assert_no_leftovers(host.home)
