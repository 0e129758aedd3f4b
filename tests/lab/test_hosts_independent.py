"""Hosts are independent: one that is down, silent, or lost in mid-run keeps no other waiting, and the run names it."""

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import (
    Activity,
    Event,
    JobBegan,
    LinkChanged,
    Progress,
    RunDetached,
    RunEnded,
    SampleRead,
    State,
    StepEnded,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.plans.plan import Order, Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from remote.connection_state import LinkState, ReconnectPolicy
from suites.errors import BenchwrightError
from tests.lab.counting import counting_plan
from tests.lab.survival import ALIVE, assert_no_leftovers, attach, end, run, trial_ends
from tests.lab_sshd import LabHost, free_port
from tests.messages import messages
from tests.program import DONE, FAILED, benchwright

MESSAGES = messages("lab", "test_hosts_independent")

Start = Callable[..., LabHost]

TIMEOUT = 4
"""Seconds after which a dead host has failed; a run that waited for that would begin so much later."""

SLOW = 15
"""The same where a test has to do something meanwhile, on a busy computer."""


@pytest.fixture
def dead_port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Return a port of this computer that accepts and says nothing, drops every packet, or refuses."""
    kind = getattr(request, "param", "silent")
    if kind == "refuses":
        yield free_port()
        return
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64 if kind == "silent" else 0)
    port: int = listener.getsockname()[1]
    filling = []
    for _ in range(0 if kind == "silent" else 3):  # with a full queue the kernel drops what asks for a connection
        filling.append(socket.socket())
        filling[-1].setblocking(False)
        filling[-1].connect_ex(("127.0.0.1", port))
    yield port
    for each in (*filling, listener):
        each.close()


def add_dead(port: int, alias: str = "dead", timeout: int = TIMEOUT) -> None:
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "config").open("a") as config:
        config.write(f"Host {alias}\n  HostName 127.0.0.1\n  Port {port}\n  ConnectTimeout {timeout}\n")


@pytest.fixture(autouse=True)
def away_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the other hosts wait for a lost one for a moment only."""
    monkeypatch.setattr("app.runs.run_hosts.AWAY_AFTER", 0.2)


def live(start: Start, count: int) -> dict[str, LabHost]:
    hosts = {f"web-{number}": start() for number in range(1, count + 1)}
    for alias, host in hosts.items():
        host.add_to_home(alias, more=ALIVE)
    return hosts


def plan_on(hosts: tuple[str, ...], count: int = 3, trials: int = 1, order: Order = Order.BLOCK) -> Plan:
    plan = counting_plan(count, trials=trials)
    return Plan("many", hosts, plan.steps, repetition=Repetition(trials=trials), order=order)


def timed(workstation: Workstation, plan: Plan) -> tuple[float, list[Event]]:
    """Run `plan`; return the seconds until the first measuring command began, and all events."""
    began, first = time.monotonic(), []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, JobBegan):
            first.append(time.monotonic() - began)

    events = run(workstation, plan, hand)
    return first[0], events


def states_by_host(events: list[Event]) -> dict[str, list[State]]:
    where = {event.trial.id: event.trial.host for event in events if isinstance(event, TrialStarted | TrialAttached)}
    found: dict[str, list[State]] = {}
    for ended in trial_ends(events):
        found.setdefault(where[ended.trial], []).append(ended.state)
    return found


def leave_at_ten(event: Event, control: Control) -> None:
    """Detach from the run once its trial has counted to ten."""
    if isinstance(event, SampleRead) and event.sample.value >= 10:
        control.detach()


# A host that is down from the start


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 8])
def test_live_hosts_do_not_wait_for_a_dead_one(
    workstation: Workstation, start_lab_host: Start, monkeypatch: pytest.MonkeyPatch, dead_port: int, count: int
) -> None:
    names = tuple(live(start_lab_host, count))
    alone, _ = timed(workstation, plan_on(names))
    given_up = round(2 * alone) + 8
    add_dead(dead_port, timeout=given_up)
    monkeypatch.setattr("app.runs.host_setup.GRACE", 1.0)
    first, events = timed(workstation, plan_on(("dead", *names)))
    assert first < given_up
    by_host = states_by_host(events)
    assert by_host.pop("dead") == [State.FAILED]
    assert by_host == {name: [State.DONE] for name in names}
    assert end(events).state is State.PARTIAL
    assert "dead" in end(events).reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dead_port", "order"),
    [
        ("silent", Order.RANDOMISED),
        pytest.param("refuses", Order.BLOCK, marks=pytest.mark.slow),
        pytest.param("drops", Order.BLOCK, marks=pytest.mark.slow),
        pytest.param("silent", Order.BLOCK, marks=pytest.mark.slow),
        pytest.param("refuses", Order.RANDOMISED, marks=pytest.mark.slow),
    ],
    indirect=["dead_port"],
)
def test_the_run_names_the_host_that_is_down(
    workstation: Workstation, start_lab_host: Start, dead_port: int, order: Order
) -> None:
    hosts = live(start_lab_host, 2)
    add_dead(dead_port)
    events = run(workstation, plan_on(("web-1", "dead", "web-2"), trials=2, order=order))
    assert states_by_host(events) == {
        "web-1": [State.DONE, State.DONE], "web-2": [State.DONE, State.DONE], "dead": [State.FAILED],
    }  # fmt: skip
    assert (end(events).state, end(events).reason.count("dead (127.0.0.1 port")) == (State.PARTIAL, 1)
    record = workstation.load("last")
    (missing,) = [trial for trial in record.trials if trial.trial.host == "dead"]
    assert missing.reason.startswith("Not measured: dead (127.0.0.1 port")
    assert {verdict.host for verdict in record.verdicts} == {"web-1", "dead", "web-2", None}
    assert record.summary.state is State.PARTIAL
    (shown,) = [event for event in events if isinstance(event, LinkChanged)]
    assert (shown.host, shown.state) == ("dead", LinkState.NOT_REACHED)
    left = [event.remaining for event in events[events.index(shown) :] if isinstance(event, Progress)]
    assert None not in left
    for host in hosts.values():
        assert_no_leftovers(host.home)


@pytest.mark.slow
def test_no_host_at_all_fails_the_run_and_names_each(workstation: Workstation) -> None:
    for alias in ("dead-1", "dead-2"):
        add_dead(free_port(), alias)
    events = run(workstation, plan_on(("dead-1", "dead-2")))
    assert end(events).state is State.FAILED
    assert "dead-1 (127" in end(events).reason
    assert "dead-2 (127" in end(events).reason


@pytest.mark.slow
def test_a_step_whose_peer_is_down_is_not_measured_and_the_others_are(
    workstation: Workstation, lab: LabHost, dead_port: int
) -> None:
    add_dead(dead_port)
    steps = (make_step("iperf3", {"time": 1}, peer="dead"), *counting_plan(5).steps)
    events = run(workstation, Plan("peers", ("lab",), steps, repetition=Repetition(trials=1)))
    between, alone = trial_ends(events)
    assert (between.state, alone.state) == (State.FAILED, State.DONE) or (
        (alone.state, between.state) == (State.FAILED, State.DONE)
    )
    assert end(events).state is State.PARTIAL
    assert "dead (127" in end(events).reason


@pytest.mark.slow
def test_stopping_does_not_wait_for_a_host_that_does_not_answer(workstation: Workstation, dead_port: int) -> None:
    add_dead(dead_port, timeout=SLOW)
    control = Control()
    stopper = threading.Timer(0.5, control.stop)
    stopper.start()
    began = time.monotonic()
    events = run(workstation, plan_on(("dead",)), control=control)
    assert time.monotonic() - began < SLOW - 0.5
    assert end(events).state is State.PARTIAL
    assert end(events).reason.startswith("Stopped by you")
    stopper.join()
    time.sleep(max(0.0, began + SLOW - time.monotonic()))  # the attempt itself ends with its timeout


# A host that is lost in mid-run


def lose_at(name: str, number: int, act: Callable[[], None]) -> Callable[[Event, Control], None]:
    """Return a hand that acts once, when the trial on the host `name` has counted to `number`."""
    where: dict[int, str] = {}
    done: list[bool] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, TrialStarted):
            where[event.trial.id] = event.trial.host
        counted = isinstance(event, SampleRead) and where.get(event.trial) == name and event.sample.value >= number
        if counted and not done:
            done.append(True)
            act()

    return hand


def whole(workstation: Workstation, count: int) -> bool:
    stored = workstation.samples("last").values()
    return all([sample.value for sample in samples] == [*map(float, range(1, count + 1))] for samples in stored)


@pytest.mark.parametrize("how", ["gone", pytest.param("silent", marks=pytest.mark.slow)])
def test_the_others_continue_while_a_host_is_away_and_its_trial_is_complete(
    workstation: Workstation, start_lab_host: Start, how: str
) -> None:
    hosts = live(start_lab_host, 3)
    first = hosts["web-1"]

    def lose() -> None:
        if how == "gone":
            first.stop()
        else:
            first.cut(signal.SIGSTOP)

    losing = lose_at("web-1", 10, lose)
    ended: list[str] = []

    def hand(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, StepEnded):
            ended.append(event.host)
            if ended == ["web-2", "web-3"] and how == "gone":
                first.start()

    events = run(workstation, plan_on(tuple(hosts), count=100 if how == "gone" else 400), hand)
    if how == "gone":
        assert ended == ["web-2", "web-3", "web-1"]
    assert (end(events).state, end(events).reason) == (State.DONE, "")
    assert whole(workstation, 100 if how == "gone" else 400)
    for host in hosts.values():
        assert_no_leftovers(host.home)


@pytest.mark.slow
def test_the_next_trial_of_a_host_that_is_back_follows_in_order(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 2)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)
    ends = 0

    def hand(event: Event, control: Control) -> None:
        nonlocal ends
        losing(event, control)
        if isinstance(event, TrialEnded):
            ends += 1
            if ends == 2:
                hosts["web-1"].start()

    events = run(workstation, plan_on(tuple(hosts), count=30, trials=3, order=Order.INTERLEAVED), hand)
    assert states_by_host(events) == {name: [State.DONE] * 3 for name in hosts}
    assert end(events).state is State.DONE
    assert whole(workstation, 30)


@pytest.mark.slow
def test_a_host_that_never_returns_loses_only_its_own_trials(workstation: Workstation, start_lab_host: Start) -> None:
    workstation._patience = ReconnectPolicy(first=0.1, longest=0.2, total=0.5)
    hosts = live(start_lab_host, 2)
    events = run(workstation, plan_on(tuple(hosts), count=100), lose_at("web-1", 10, hosts["web-1"].stop))
    assert states_by_host(events) == {"web-1": [State.PARTIAL], "web-2": [State.DONE]}
    assert end(events).state is State.PARTIAL
    assert MESSAGES["the_connection_to_web_1_was"] in end(events).reason


@pytest.mark.slow
def test_patience_does_not_run_out_while_others_are_measured(workstation: Workstation, start_lab_host: Start) -> None:
    workstation._patience = ReconnectPolicy(first=0.1, longest=0.2, total=1.0)
    hosts = live(start_lab_host, 2)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)

    def hand(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, StepEnded) and event.host == "web-2":
            hosts["web-1"].start()

    events = run(workstation, plan_on(tuple(hosts), count=150), hand)  # three seconds: patience would be over
    assert end(events).state is State.DONE, end(events).reason
    assert whole(workstation, 150)


@pytest.mark.slow
def test_stop_ends_all_at_once_while_a_host_is_away(workstation: Workstation, start_lab_host: Start) -> None:
    hosts = live(start_lab_host, 2)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)
    stopped: list[float] = []

    def hand(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, SampleRead) and event.trial == 2 and not stopped:
            stopped.append(time.monotonic())
            control.stop()

    events = run(workstation, plan_on(tuple(hosts), count=3000), hand)
    assert time.monotonic() - stopped[0] < 15.0
    assert states_by_host(events) == {"web-1": [State.PARTIAL], "web-2": [State.PARTIAL]}
    assert end(events).state is State.PARTIAL
    hosts["web-1"].start()


@pytest.mark.slow
def test_two_detached_trials_are_both_continued(workstation: Workstation, start_lab_host: Start) -> None:
    hosts = live(start_lab_host, 3)
    losing = lose_at("web-1", 10, hosts["web-1"].stop)

    def leave(event: Event, control: Control) -> None:
        losing(event, control)
        if isinstance(event, SampleRead) and event.trial == 2 and event.sample.value >= 10:
            control.detach()

    events = run(workstation, plan_on(tuple(hosts), count=120), leave)
    assert isinstance(events[-1], RunDetached)
    with pytest.raises(BenchwrightError, match="web-1"):  # something of the run is there: it stays as it is
        attach(workstation)
    hosts["web-1"].start()
    events = attach(workstation)
    assert len([event for event in events if isinstance(event, TrialAttached)]) == 2
    assert (end(events).state, end(events).reason) == (State.DONE, "")
    assert whole(workstation, 120)
    for host in hosts.values():
        assert_no_leftovers(host.home)


@pytest.mark.slow
def test_a_run_is_gone_on_with_while_a_host_that_holds_nothing_of_it_is_down(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 2)

    run(workstation, plan_on(tuple(hosts), count=300), leave_at_ten)
    hosts["web-2"].stop()
    events = attach(workstation)
    assert states_by_host(events) == {"web-1": [State.DONE], "web-2": [State.FAILED]}
    assert end(events).state is State.PARTIAL
    assert "web-2" in end(events).reason


@pytest.mark.parametrize("dead_port", ["silent", "refuses"], indirect=True)
def test_a_run_of_which_nothing_is_on_a_host_is_ended_without_it(workstation: Workstation, dead_port: int) -> None:
    add_dead(dead_port, timeout=SLOW)

    def leave(event: Event, control: Control) -> None:
        if isinstance(event, Activity) and event.text.startswith("connecting to"):
            control.detach()

    assert isinstance(run(workstation, plan_on(("dead",), count=60), leave)[-1], RunDetached)
    assert len(workstation.detached_runs()) == 1
    stopped = Control()
    stopped.stop()
    began = time.monotonic()
    events = attach(workstation, control=stopped)
    assert time.monotonic() - began < SLOW - 0.5
    assert end(events).state is State.PARTIAL
    assert end(events).reason.startswith("Stopped by you")
    assert workstation.detached_runs() == []


@pytest.mark.parametrize("dead_port", ["refuses"], indirect=True)
@pytest.mark.parametrize("act", [Control.detach, Control.stop])
def test_a_refusal_in_the_moment_of_stop_or_detach_does_not_replace_it(
    workstation: Workstation, dead_port: int, monkeypatch: pytest.MonkeyPatch, act: Callable[[Control], None]
) -> None:
    start = threading.Thread.start

    def start_and_end(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "work":  # the host refuses before the run looks at its control
            thread.join()

    monkeypatch.setattr(threading.Thread, "start", start_and_end)
    add_dead(dead_port)

    def over(event: Event, control: Control) -> None:
        if isinstance(event, Activity) and event.text.startswith("connecting to"):
            act(control)

    last = run(workstation, plan_on(("dead",), count=60), over)[-1]
    if act is Control.detach:
        assert isinstance(last, RunDetached)
    else:
        assert isinstance(last, RunEnded)
        assert last.state is State.PARTIAL
        assert last.reason.startswith("Stopped by you")


@pytest.mark.slow
def test_a_run_is_ended_on_the_host_that_holds_something_while_another_is_down(
    workstation: Workstation, start_lab_host: Start
) -> None:
    hosts = live(start_lab_host, 2)

    run(workstation, plan_on(tuple(hosts), count=3000), leave_at_ten)
    hosts["web-2"].stop()
    stopped = Control()
    stopped.stop()
    events = attach(workstation, control=stopped)
    assert states_by_host(events) == {"web-1": [State.PARTIAL]}
    assert end(events).state is State.PARTIAL
    assert "web-2" not in end(events).reason
    assert_no_leftovers(hosts["web-1"].home)


# What the command line says


@pytest.mark.slow
def test_the_command_line_names_the_host_that_is_down_and_fails(lab: LabHost, tmp_path: Path) -> None:
    add_dead(free_port())
    path = tmp_path / "two.toml"
    words = ("--suite", "sysbench-cpu", "--set", "time=1", "--trials", "1", "--host", "dead", "--host", "lab")
    made = benchwright("plan", "new", "--defaults", "-o", path, *words)
    assert made.status == DONE, made.err
    ran = benchwright("run", path)
    assert ran.status == FAILED
    assert "dead: not measured (dead (127.0.0.1 port" in ran.err
    assert "ended early" in ran.err
    ran = benchwright("run", path, "--json")
    assert ran.status == FAILED
    assert ran.json["state"] == "partial"
    assert "dead (127.0.0.1 port" in ran.json["reason"]
    states = {trial["host"]: (trial["state"], trial["reason"]) for trial in ran.json["trials"]}
    assert states["lab"] == ("done", "")
    assert states["dead"][0] == "failed"
    assert states["dead"][1].startswith("Not measured: dead (127.0.0.1 port")
