"""One clock runs from Stop: whatever is under way then, the run has ended some 15 s later, and says what it could not
do."""

import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from app.events import (
    Activity,
    Event,
    JobBegan,
    LinkChanged,
    Progress,
    RunDetached,
    SampleRead,
    State,
    TrialEnded,
    TrialStarted,
    WorkspaceRemoved,
    WorkspaceUsed,
)
from app.plans.plan import Order, Plan, Repetition, make_step
from app.runs.control import Control, EndingTimeError
from app.runs.root_actions import RootWork
from app.services import Workstation
from remote.connection_state import LinkState
from remote.errors import ConnectError
from tests.lab.counting import counting_plan
from tests.lab.survival import (
    assert_no_leftovers,
    attach,
    end,
    jobs_on,
    kill_jobs,
    run,
    trial_ends,
    workspaces_on,
    workstation,
)
from tests.lab.test_hosts_independent import live
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages

MESSAGES = messages("lab", "test_stop_clean_up")

__all__ = ["workstation"]

Start = Callable[..., LabHost]

HANGS = "sh -c 'trap : INT TERM HUP; sleep 73; sleep 73'"
SOON = 25.0
"""Seconds after which a run has ended whose times after Stop are 7 s; what hangs would take 73 s."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the times of runs in this process; the command line, in one of its own, has its real ones."""
    set_clock(monkeypatch, 2.0, 3.0, 5.0, 7.0)


def set_clock(monkeypatch: pytest.MonkeyPatch, output: float, clean_up: float, ending: float, last: float) -> None:
    for module in ("control", "event_queue", "host_step", "run_hosts", "trial"):
        for name, value in (
            ("LAST_OUTPUT_TIME", output),
            ("CLEAN_UP_TIME", clean_up),
            ("ENDING_TIME", ending),
            ("DISCONNECT_TIME", last),
        ):
            monkeypatch.setattr(f"app.runs.{module}.{name}", value, raising=False)


def plan(hosts: tuple[str, ...] = ("web-1",), **values: str) -> Plan:
    step = make_step("command", {"command": "sleep 30", **values})
    return Plan("own", hosts, (step,), repetition=Repetition(trials=2), order=Order.INTERLEAVED)


class Pressed:
    """Presses Stop at the first event that `when` accepts; tells how long the run went on."""

    def __init__(self, when: Callable[[Event], bool], act: Callable[[Control], None] = Control.stop) -> None:
        self.when, self.act = when, act
        self.at = 0.0

    def __call__(self, event: Event, control: Control) -> None:
        if not self.at and self.when(event):
            self.at = time.monotonic()
            self.act(control)

    @property
    def seconds(self) -> float:
        assert self.at
        return time.monotonic() - self.at


def begins(words: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Activity) and event.text.startswith(words)


def is_trial(event: Event) -> bool:
    return isinstance(event, TrialStarted)


def activities(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Activity)]


def freeze(host: LabHost) -> None:
    """Let the host answer nothing any more, over old connections and new ones."""
    os.kill(host.pid, signal.SIGSTOP)
    host.cut(signal.SIGSTOP)


def thaw(host: LabHost) -> None:
    os.kill(host.pid, signal.SIGCONT)
    host.cut(signal.SIGCONT)


# A clean-up command that hangs


@pytest.mark.parametrize("pressed_while", [pytest.param("trial", marks=pytest.mark.slow), "clean-up"])
def test_stop_ends_a_clean_up_command_that_hangs(
    workstation: Workstation, start_lab_host: Start, pressed_while: str
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    hand = Pressed(is_trial if pressed_while == "trial" else begins("cleaning up"))
    own = plan(clean_up=HANGS) if pressed_while == "trial" else plan(clean_up=HANGS, command="false")
    events = run(workstation, own, hand)
    assert hand.seconds < SOON
    assert end(events).state is (State.PARTIAL if pressed_while == "trial" else State.FAILED)
    shown_text = r" on web-1 failed: sh was ended after [123] s, the time remaining after the stop. Its"
    assert re.search(shown_text, end(events).reason)
    assert any(re.fullmatch(r"waiting for the clean-up on web-1, at most [123] s", text) for text in activities(events))
    assert_no_leftovers(host.home)


@pytest.mark.slow
def test_several_hosts_and_steps_share_the_time_to_clean_up(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, 4.0, 9.0, 12.0, 13.0)
    hosts = live(start_lab_host, 2)
    steps = tuple(
        make_step("command", {"command": command, "clean_up": clean_up}, name=name)
        for name, command, clean_up in (("a", "true", HANGS), ("b", "true", "touch cleaned"), ("c", "sleep 30", HANGS))
    )
    own = Plan("own", tuple(hosts), steps, repetition=Repetition(trials=2), order=Order.INTERLEAVED)
    hand = Pressed(lambda event: isinstance(event, TrialStarted) and event.trial.step == "c")
    events = run(workstation, own, hand)
    assert hand.seconds < 15.0
    reason = end(events).reason
    for host in hosts:
        assert (f"Clean-up of a on {host} failed: " in reason, f"Clean-up of b on {host} failed: " in reason) == (
            True, False)  # fmt: skip
        assert_no_leftovers(hosts[host].home)
    assert reason.count("Clean-up of c on") == 1  # it did not begin on the other


@pytest.mark.slow
def test_a_host_that_hangs_does_not_shorten_the_clean_up_of_another(
    workstation: Workstation, start_lab_host: Start, tmp_path: Path
) -> None:
    hosts = live(start_lab_host, 2)
    done = tmp_path / "cleaned"
    own = plan(tuple(hosts), command="sleep 2", clean_up=f"sh -c 'sleep 1; touch {done}.$HOSTNAME$$'")
    begun: list[str] = []

    def hang(event: Event, control: Control) -> None:
        if isinstance(event, TrialStarted):
            begun.append(event.trial.host)
            if len(begun) == 2:
                freeze(hosts[begun[1]])
                hand.at = time.monotonic()
                control.stop()

    hand = Pressed(lambda _event: False)
    try:
        events = run(workstation, own, hang)
        assert hand.seconds < SOON
        assert len(list(tmp_path.glob("cleaned*"))) == 1
        reason = end(events).reason
        assert f"on {begun[1]} failed:" in reason
        assert f"on {begun[0]} failed:" not in reason
        assert f"Lease on {begun[1]} not removed: it blocks other runs until 15 s after" in reason
        assert f"Lease on {begun[0]}" not in reason
        assert f"may remain on {begun[1]}" in reason
    finally:
        thaw(hosts[begun[1]])
        for host in hosts.values():
            kill_jobs(host.home)


@pytest.mark.slow
def test_who_lets_go_while_a_clean_up_hangs_does_not_wait(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    hand = Pressed(begins("cleaning up"), Control.detach)
    events = run(workstation, plan(clean_up=HANGS, command="true"), hand)
    assert hand.seconds < SOON
    assert isinstance(events[-1], RunDetached)
    assert jobs_on(host.home)
    control = Control()
    control.stop()
    began = time.monotonic()
    assert end(attach(workstation, control=control)).state is State.DONE
    assert time.monotonic() - began < 2 * SOON
    assert_no_leftovers(host.home)


# Stop before anything is measured


SLOW_START = {
    "connecting": begins("connecting"),
    "facts": begins("reading the facts"),
    "directory": lambda event: isinstance(event, WorkspaceUsed),
    "preparing": begins("preparing"),
    "prepare command": lambda event: isinstance(event, JobBegan),
}


@pytest.mark.parametrize(
    "pressed_while",
    [
        pytest.param(each, marks=pytest.mark.slow if each in {"directory", "prepare command"} else ())
        for each in SLOW_START
    ],
)
def test_a_run_that_is_stopped_before_its_first_trial_is_partial(
    workstation: Workstation, start_lab_host: Start, pressed_while: str
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    hand = Pressed(SLOW_START[pressed_while])
    if pressed_while == "prepare command":
        hand.act = lambda control: threading.Timer(1.0, control.stop).start()
    events = run(workstation, counting_plan(50, host="web-1", trials=2, prepare=60), hand)
    assert hand.seconds < SOON
    assert (end(events).state, end(events).reason) == (State.PARTIAL, "Stopped by you.")
    assert trial_ends(events) == []
    assert [(event.done, event.total) for event in events if isinstance(event, Progress)][-1:] in ([], [(0, 2)])
    assert workstation.load("last").reason == "Stopped by you."
    assert_no_leftovers(host.home)


def test_a_trial_that_is_stopped_is_not_counted_as_done(workstation: Workstation, start_lab_host: Start) -> None:
    live(start_lab_host, 1)
    events = run(workstation, plan(), Pressed(is_trial))
    assert (end(events).state, end(events).reason) == (State.PARTIAL, "command: Stopped by you.")
    assert [(event.done, event.total) for event in events if isinstance(event, Progress)][-1] == (0, 2)


@pytest.mark.slow
def test_stop_between_two_trials_is_partial(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    step = make_step("counting", {"count": 5})
    own = Plan("pause", ("web-1",), (step,), repetition=Repetition(trials=2, pause=60.0))
    hand = Pressed(lambda event: isinstance(event, TrialEnded))
    events = run(workstation, own, hand)
    assert hand.seconds < SOON
    assert (end(events).state, end(events).reason) == (State.PARTIAL, "Stopped by you.")
    assert [(event.done, event.total) for event in events if isinstance(event, Progress)][-1] == (1, 2)
    assert_no_leftovers(host.home)


def test_stop_while_a_program_is_built_does_not_wait_for_it(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    released = threading.Event()
    monkeypatch.setattr("app.runs.host_step.content_of", lambda *_words: bytes(released.wait(30)))
    hand = Pressed(begins("copying"))
    events = run(workstation, plan(), hand)
    released.set()
    assert hand.seconds < 15.0  # it would be 30
    assert (end(events).state, end(events).reason) == (State.PARTIAL, "Stopped by you.")
    assert_no_leftovers(host.home)


@pytest.mark.slow
def test_stop_ends_a_run_whose_host_accepts_a_connection_and_says_nothing(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 2)
    freeze(hosts["web-2"])
    try:
        hand = Pressed(is_trial)
        events = run(workstation, plan(("web-1", "web-2")), hand)
        assert hand.seconds < SOON
        assert end(events).state is State.PARTIAL
        hand = Pressed(begins("connecting"))
        events = run(workstation, plan(("web-2",)), hand)
        assert hand.seconds < SOON
        assert (end(events).state, end(events).reason) == (State.PARTIAL, "Stopped by you.")
    finally:
        thaw(hosts["web-2"])
    assert_no_leftovers(hosts["web-1"].home)


# What else is done at the end


@pytest.mark.slow
def test_settings_that_are_not_put_back_in_time_are_named(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(start_lab_host, 1)
    released = threading.Event()

    def hangs(self: RootWork, hosts: list[str]) -> Generator[Event, None, list[str]]:
        assert hosts == ["web-1"]
        try:
            yield from self.hosts.queue.during(lambda: released.wait(30))
        except EndingTimeError as error:
            return [f"Settings of web-1 were not restored: {error.message}"]
        return []

    monkeypatch.setattr(RootWork, "restore", hangs)
    hand = Pressed(is_trial)
    events = run(workstation, plan(), hand)
    released.set()
    assert hand.seconds < SOON
    assert MESSAGES["the_settings_of_web_1_were"] in end(events).reason


@pytest.mark.slow
def test_a_directory_whose_removal_hangs_is_named(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(start_lab_host, 1)
    released = threading.Event()
    monkeypatch.setattr("app.runs.host_step.remove_workspace", lambda *_words: released.wait(30))
    hand = Pressed(is_trial)
    events = run(workstation, plan(), hand)
    released.set()
    assert hand.seconds < SOON
    assert MESSAGES["on_web_1_may_be_left_behind"] in end(events).reason


# What is left on a host is found once the run has ended


@pytest.mark.slow
def test_what_a_host_that_hangs_keeps_is_named_and_found_afterwards(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 2)

    def hang(event: Event, control: Control) -> None:
        if is_trial(event) and not control.over:
            for host in hosts.values():
                freeze(host)
            hand.at = time.monotonic()
            control.stop()

    hand = Pressed(lambda _event: False)
    try:
        events = run(workstation, plan(tuple(hosts)), hang)
    finally:
        for host in hosts.values():
            thaw(host)
    assert hand.seconds < SOON
    for name in hosts:
        assert f"Lease on {name} not removed" in end(events).reason
        assert f"Run: benchwright hosts leftovers {name} --remove" in end(events).reason
    found = [left for left in workstation.leftovers("web-1", AnsweringAsker()) if left.run_id == end(events).run_id]
    assert any(not left.is_lease for left in found)  # the leases are removed where a host still read that it is to
    rest = workstation.remove_leftovers("web-1", AnsweringAsker(), [left.nonce for left in found])
    assert not [left for left in rest if left.run_id == end(events).run_id]
    assert_no_leftovers(hosts["web-1"].home)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3")
def test_a_peer_that_hangs_does_not_keep_the_host_from_being_tidied(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 2)
    step = make_step("iperf3", {"time": "30"}, peer="web-2")
    own = Plan("own", ("web-1",), (step,), repetition=Repetition(trials=1))

    def hang(event: Event, control: Control) -> None:
        if is_trial(event) and not control.over:
            freeze(hosts["web-2"])
            hand.at = time.monotonic()
            control.stop()

    hand = Pressed(lambda _event: False)
    try:
        events = run(workstation, own, hang)
        assert hand.seconds < SOON
        assert (jobs_on(hosts["web-1"].home), workspaces_on(hosts["web-1"].home)) == ([], [])
    finally:
        thaw(hosts["web-2"])
    removed = {event.nonce for event in events if isinstance(event, WorkspaceRemoved)}
    used = {event.on_peer: event.workspace for event in events if isinstance(event, WorkspaceUsed)}
    assert removed == {used[False].nonce}
    assert used[True].path in end(events).reason
    assert used[False].path not in end(events).reason
    kill_jobs(hosts["web-2"].home)


@pytest.mark.slow
def test_a_run_that_is_given_up_names_its_directories(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    run(workstation, counting_plan(400, host="web-1"), at_count_leave)
    (used,) = workstation.detached_runs()[0].workspaces
    forgotten = workstation.forget("last")
    assert f"{used.workspace.path} may remain on web-1." in workstation.load(forgotten).reason
    found = workstation.leftovers("web-1", AnsweringAsker())
    assert {left.is_lease for left in found if left.run_id == forgotten} == {True, False}
    ours = [left.nonce for left in found if left.run_id == forgotten]
    remaining = workstation.remove_leftovers("web-1", AnsweringAsker(), ours)
    assert not {left.nonce for left in remaining} & set(ours)
    assert_no_leftovers(host.home)


def at_count_leave(event: Event, control: Control) -> None:
    if isinstance(event, SampleRead) and event.sample.value >= 5:
        control.detach()


# Stop at other moments


@pytest.mark.slow
def test_attach_stopped_while_its_host_says_nothing_leaves_the_run(
    workstation: Workstation, start_lab_host: Start
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    run(workstation, counting_plan(400, host="web-1"), at_count_leave)
    before = workstation.detached_runs()
    freeze(host)
    hand = Pressed(begins("connecting"))
    try:
        with pytest.raises(ConnectError, match="web-1 is not connected: it did not end within"):
            attach(workstation, hand)
    finally:
        thaw(host)
    assert hand.seconds < SOON
    assert workstation.detached_runs() == before
    control = Control()
    control.stop()
    assert end(attach(workstation, control=control)).state is State.PARTIAL
    assert_no_leftovers(host.home)


@pytest.mark.slow
def test_attach_stopped_in_the_middle_ends_the_run(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    run(workstation, counting_plan(2000, host="web-1", trials=2), at_count_leave)
    hand = Pressed(begins("connecting"))
    events = attach(workstation, hand)
    assert hand.seconds < SOON
    assert end(events).state is State.PARTIAL
    assert end(events).reason == "counting: Stopped by you."
    assert_no_leftovers(host.home)


@pytest.mark.slow
def test_stop_while_another_host_reconnects(workstation: Workstation, start_lab_host: Start) -> None:
    hosts = live(start_lab_host, 2)
    own = plan(tuple(hosts), command="sleep 60", clean_up=HANGS)
    lost: list[str] = []

    def lose_one(event: Event, control: Control) -> None:
        if isinstance(event, TrialStarted) and not lost:
            lost.append(event.trial.host)
            hosts[lost[0]].stop()
        elif isinstance(event, LinkChanged) and event.state is LinkState.RECONNECTING and not control.over:
            hand.at = time.monotonic()
            control.stop()

    hand = Pressed(lambda _event: False)
    events = run(workstation, own, lose_one)
    assert hand.seconds < SOON
    assert end(events).state is State.PARTIAL
    assert f"Lease on {lost[0]} not removed" in end(events).reason
    for host in hosts.values():
        kill_jobs(host.home)
