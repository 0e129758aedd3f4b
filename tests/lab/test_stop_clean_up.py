"""One clock runs from Stop: whatever is under way then, the run has ended some 15 s later, and says what it could not
do."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.events import (
    Activity,
    Event,
    JobBegan,
    LinkChanged,
    Progress,
    RunLeft,
    SampleRead,
    State,
    TrialEnded,
    TrialStarted,
    WorkspaceUsed,
)
from app.plans.plan import Order, Plan, Repetition, make_step
from app.runs.control import Control, EndingTimeError
from app.runs.root_work import RootWork
from app.services import Workstation
from remote.errors import ConnectError
from remote.link import LinkState
from tests.lab.counting import counting_plan
from tests.lab.survival import (
    assert_nothing_left,
    attach,
    end,
    jobs_on,
    kill_jobs,
    run,
    trial_ends,
    workstation,
)
from tests.lab.test_hosts_independent import live
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.program import BENCHWRIGHT, FAILED, benchwright, environment

__all__ = ["workstation"]

Start = Callable[..., LabHost]

HANGS = "sh -c 'trap : INT TERM HUP; sleep 73; sleep 73'"
SOON = 9.0
"""Seconds after which a run has ended whose times after Stop are a third of what they are."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "slow" not in request.keywords:
        set_clock(monkeypatch, 2.0, 3.0, 5.0, 7.0)


def set_clock(monkeypatch: pytest.MonkeyPatch, output: float, clean_up: float, ending: float, last: float) -> None:
    for module in ("control", "mailbox", "place", "run_hosts", "trial"):
        for name, value in (
            ("LAST_OUTPUT_TIME", output),
            ("CLEAN_UP_TIME", clean_up),
            ("ENDING_TIME", ending),
            ("LETTING_GO_TIME", last),
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


@pytest.mark.parametrize("pressed_while", ["trial", "clean-up"])
def test_stop_ends_a_clean_up_command_that_hangs(
    workstation: Workstation, start_lab_host: Start, pressed_while: str
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    hand = Pressed(is_trial if pressed_while == "trial" else begins("cleaning up"))
    own = plan(clean_up=HANGS) if pressed_while == "trial" else plan(clean_up=HANGS, command="false")
    events = run(workstation, own, hand)
    assert hand.seconds < SOON
    assert end(events).state is (State.PARTIAL if pressed_while == "trial" else State.FAILED)
    said = (
        r"could not clean up on web-1: sh did not end in the [123] s that were left after the stop and was ended; what"
    )
    assert re.search(said, end(events).reason)
    assert any(re.fullmatch(r"waiting for the clean-up on web-1, at most [123] s", text) for text in activities(events))
    assert_nothing_left(host.home)


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
        assert (f"a could not clean up on {host}: " in reason, f"b could not clean up on {host}: " in reason) == (
            True, False)  # fmt: skip
        assert_nothing_left(hosts[host].home)
    assert reason.count("c could not clean up on") == 1  # it did not begin on the other


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
        assert f"could not clean up on {begun[1]}" in reason
        assert f"could not clean up on {begun[0]}" not in reason
        assert f"The lease on {begun[1]} was not removed: other runs are refused there until 15 s after" in reason
        assert f"The lease on {begun[0]}" not in reason
        assert f"on {begun[1]} may be left behind" in reason
    finally:
        thaw(hosts[begun[1]])
        for host in hosts.values():
            kill_jobs(host.home)


def test_who_lets_go_while_a_clean_up_hangs_does_not_wait(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    hand = Pressed(begins("cleaning up"), Control.leave)
    events = run(workstation, plan(clean_up=HANGS, command="true"), hand)
    assert hand.seconds < SOON
    assert isinstance(events[-1], RunLeft)
    assert jobs_on(host.home)
    control = Control()
    control.stop()
    began = time.monotonic()
    assert end(attach(workstation, control=control)).state is State.DONE
    assert time.monotonic() - began < 2 * SOON
    assert_nothing_left(host.home)


# Stop before anything is measured


SLOW_START = {
    "connecting": begins("connecting"),
    "facts": begins("reading the facts"),
    "directory": lambda event: isinstance(event, WorkspaceUsed),
    "preparing": begins("preparing"),
    "prepare command": lambda event: isinstance(event, JobBegan),
}


@pytest.mark.parametrize("pressed_while", SLOW_START)
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
    assert_nothing_left(host.home)


def test_a_trial_that_is_stopped_is_not_counted_as_done(workstation: Workstation, start_lab_host: Start) -> None:
    live(start_lab_host, 1)
    events = run(workstation, plan(), Pressed(is_trial))
    assert (end(events).state, end(events).reason) == (State.PARTIAL, "command: Stopped by you.")
    assert [(event.done, event.total) for event in events if isinstance(event, Progress)][-1] == (0, 2)


def test_stop_between_two_trials_is_partial(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    step = make_step("counting", {"count": 5})
    own = Plan("pause", ("web-1",), (step,), repetition=Repetition(trials=2, pause=60.0))
    hand = Pressed(lambda event: isinstance(event, TrialEnded))
    events = run(workstation, own, hand)
    assert hand.seconds < SOON
    assert (end(events).state, end(events).reason) == (State.PARTIAL, "Stopped by you.")
    assert [(event.done, event.total) for event in events if isinstance(event, Progress)][-1] == (1, 2)
    assert_nothing_left(host.home)


def test_stop_while_a_program_is_built_does_not_wait_for_it(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    released = threading.Event()
    monkeypatch.setattr("app.runs.place.content_of", lambda *_words: bytes(released.wait(30)))
    hand = Pressed(begins("copying"))
    events = run(workstation, plan(), hand)
    released.set()
    assert hand.seconds < 3.0
    assert (end(events).state, end(events).reason) == (State.PARTIAL, "Stopped by you.")
    assert_nothing_left(host.home)


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
    assert_nothing_left(hosts["web-1"].home)


# What else is done at the end


def test_settings_that_are_not_put_back_in_time_are_named(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(start_lab_host, 1)
    released = threading.Event()

    def hangs(self: RootWork, hosts: list[str]) -> Generator[Event, None, list[str]]:
        assert hosts == ["web-1"]
        try:
            yield from self.hosts.mailbox.during(lambda: released.wait(30))
        except EndingTimeError as error:
            return [f"The settings of web-1 were not put back: {error.message}"]
        return []

    monkeypatch.setattr(RootWork, "put_back", hangs)
    hand = Pressed(is_trial)
    events = run(workstation, plan(), hand)
    released.set()
    assert hand.seconds < SOON
    assert "The settings of web-1 were not put back: it did not end within" in end(events).reason


def test_a_directory_whose_removal_hangs_is_named(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(start_lab_host, 1)
    released = threading.Event()
    monkeypatch.setattr("app.runs.place.remove_workspace", lambda *_words: released.wait(30))
    hand = Pressed(is_trial)
    events = run(workstation, plan(), hand)
    released.set()
    assert hand.seconds < SOON
    assert "on web-1 may be left behind: it did not end within" in end(events).reason


def plan_file(folder: Path) -> Path:
    path = folder / "plan.toml"
    benchwright("plan", "new", "--defaults", "-o", path, "--suite", "command", "--set", "command=sleep 60", "--set",
                f"clean_up={HANGS}", "--trials", "1", "--host", "web-1")  # fmt: skip
    return path


@contextmanager
def started(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run the program until its first trial has begun."""
    with subprocess.Popen(
        [str(BENCHWRIGHT), "run", "--yes", str(path)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("command on"):
                break
        yield process


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_program_though_a_clean_up_hangs(
    start_lab_host: Start, tmp_path: Path, number: signal.Signals
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    with started(plan_file(tmp_path)) as process:
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 20.0
    assert process.returncode == FAILED
    assert re.search(r"waiting for the clean-up on web-1, at most \d+ s", err)
    assert "could not clean up on web-1: sh did not end in the" in out + err
    assert "Traceback" not in err
    assert_nothing_left(host.home)


# What is left on a host is found once the run has ended


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
        assert f"The lease on {name} was not removed" in end(events).reason
        assert f"Remove it with: benchwright hosts leftovers {name} --remove" in end(events).reason
    found = [left for left in workstation.leftovers("web-1", AnsweringAsker()) if left.run_id == end(events).run_id]
    assert any(not left.is_lease for left in found)  # the leases are removed where a host still read that it is to
    rest = workstation.remove_leftovers("web-1", AnsweringAsker(), [left.nonce for left in found])
    assert not [left for left in rest if left.run_id == end(events).run_id]
    assert_nothing_left(hosts["web-1"].home)


def test_a_run_that_is_given_up_names_its_directories(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    run(workstation, counting_plan(400, host="web-1"), at_count_leave)
    (used,) = workstation.left_runs()[0].workspaces
    forgotten = workstation.forget("last")
    assert f"{used.workspace.path} on web-1 may be left behind." in workstation.load(forgotten).reason
    found = workstation.leftovers("web-1", AnsweringAsker())
    assert {left.is_lease for left in found if left.run_id == forgotten} == {True, False}
    ours = [left.nonce for left in found if left.run_id == forgotten]
    assert workstation.remove_leftovers("web-1", AnsweringAsker(), ours) == []
    assert_nothing_left(host.home)


def at_count_leave(event: Event, control: Control) -> None:
    if isinstance(event, SampleRead) and event.sample.value >= 5:
        control.leave()


# Stop at other moments


@pytest.mark.slow
def test_stop_twice_is_stopped_by_the_user(start_lab_host: Start, tmp_path: Path) -> None:
    live(start_lab_host, 1)
    path = plan_file(tmp_path)
    with started(path) as process:
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 20.0
    assert "Traceback" not in err
    shown = benchwright("show", "last", "--json")
    assert json.loads(shown.out)["reason"].startswith("command: Stopped by you.")
    assert json.loads(shown.out)["state"] == "partial"


def test_attach_stopped_while_its_host_says_nothing_leaves_the_run(
    workstation: Workstation, start_lab_host: Start
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    run(workstation, counting_plan(400, host="web-1"), at_count_leave)
    before = workstation.left_runs()
    freeze(host)
    hand = Pressed(begins("connecting"))
    try:
        with pytest.raises(ConnectError, match="web-1 is not connected: it did not end within"):
            attach(workstation, hand)
    finally:
        thaw(host)
    assert hand.seconds < SOON
    assert workstation.left_runs() == before
    control = Control()
    control.stop()
    assert end(attach(workstation, control=control)).state is State.PARTIAL
    assert_nothing_left(host.home)


def test_attach_stopped_in_the_middle_ends_the_run(workstation: Workstation, start_lab_host: Start) -> None:
    host = live(start_lab_host, 1)["web-1"]
    run(workstation, counting_plan(2000, host="web-1", trials=2), at_count_leave)
    hand = Pressed(begins("connecting"))
    events = attach(workstation, hand)
    assert hand.seconds < SOON
    assert end(events).state is State.PARTIAL
    assert end(events).reason == "counting: Stopped by you."
    assert_nothing_left(host.home)


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
    assert f"The lease on {lost[0]} was not removed" in end(events).reason
    for host in hosts.values():
        kill_jobs(host.home)
