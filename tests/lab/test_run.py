"""A run as a whole on a real host: what is measured, what is kept when something breaks, and that nothing is left."""

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import (
    Activity,
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    RunEnded,
    SampleRead,
    State,
    StepEnded,
    TelemetryRead,
    TrialEnded,
    TrialStarted,
)
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs import trials
from app.runs.control import BusyPolicy, Control
from app.services import Workstation
from remote.connection_state import ReconnectPolicy
from tests.lab_sshd import LabHost

CPU = {"time": 1, "threads": 1}
TOOLS = {b"fio", b"sysbench", b"iperf3"}


@pytest.fixture
def workstation(tmp_path: Path, few_programs: None) -> Iterator[Workstation]:
    opened = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    yield opened
    opened.close()


@pytest.fixture
def lab(lab_host: LabHost) -> LabHost:
    lab_host.add_to_home()
    return lab_host


def disk_values(directory: Path, **more: object) -> dict[str, object]:
    return {"directory": str(directory), "size": "16 MiB", "runtime": 1, "rw": "randread", **more}


def plan_of(*steps: object, host: str = "lab", trials: int = 1) -> Plan:
    return Plan("test", (host,), tuple(steps), repetition=Repetition(trials=trials))  # type: ignore[arg-type]  # steps, as made


def run(
    workstation: Workstation,
    plan: Plan,
    on_event: Callable[[Event, Control], None] | None = None,
    busy: BusyPolicy = BusyPolicy.REFUSE,
) -> list[Event]:
    control = Control(busy)
    seen: list[Event] = []
    workstation.consents.remember_made(plan)
    for event in workstation.run(plan, RefusingAsker(), control):
        seen.append(event)
        if on_event is not None:
            on_event(event, control)
    return seen


def ends(events: list[Event]) -> list[TrialEnded]:
    return [event for event in events if isinstance(event, TrialEnded)]


def own_tools() -> Iterator[tuple[int, str]]:
    """Yield process id and command line of this test's own jobs: their HOME is the test's, or that of its host."""
    homes = [f"HOME={path}".encode() for path in (Path.home(), *Path.home().parents[1].glob("sshd*/home"))]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            words = (process / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):  # ended, or not ours
            continue
        if TOOLS & {word.rpartition(b"/")[2] for word in words[:1]} and any(home in environment for home in homes):
            yield int(process.name), b" ".join(words).decode()


def tools_running() -> list[str]:
    return [line for _, line in own_tools()]


def kill_tools() -> None:
    for pid, _ in own_tools():
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("host", [pytest.param(LOCAL, marks=pytest.mark.slow), "lab"])
def test_a_run_measures_watches_and_leaves_nothing(
    workstation: Workstation, lab: LabHost, tmp_path: Path, host: str
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    steps = (make_step("sysbench-cpu", {**CPU, "time": 2}), make_step("fio", disk_values(disk)))
    events = run(workstation, plan_of(*steps, host=host, trials=2))

    assert isinstance(events[-1], RunEnded)
    assert (events[-1].state, events[-1].reason) == (State.DONE, "")
    assert [end.state for end in ends(events)] == [State.DONE] * 4
    assert {event.moment for event in events if isinstance(event, FactsRead)} == {Moment.BEFORE, Moment.AFTER}
    assert "short-runtime" in {event.finding.id for event in events if isinstance(event, FindingRaised)}
    watched = {sample.metric.name for event in events if isinstance(event, TelemetryRead) for sample in event.samples}
    assert {"cpu_user", "tool_cpu_user", "other_cpu", "tool_read_rate", "telemetry_cpu"} <= watched
    assert 0 < events[-1].telemetry_cost[host] < 0.05
    assert re.fullmatch("[0-9a-f]{64}", events[-1].telemetry_program[host])
    assert list(disk.iterdir()) == []
    assert tools_running() == []

    record = workstation.load("last")
    assert record.summary.state is State.DONE
    assert record.telemetry_program == events[-1].telemetry_program
    assert len(record.trials_of("fio")) == 2
    shown = b"".join(workstation.output(record.summary.id, record.trials[0].trial.id).values())
    assert b"events per second" in shown


def test_the_last_moment_of_a_trial_is_watched(workstation: Workstation) -> None:
    """A trial shorter than a tick of telemetry is covered by a tick all the same, before it is judged."""
    events = run(workstation, plan_of(make_step("command", {"command": "echo 1", "pattern": "([0-9]+)"}), host=LOCAL))
    (began,) = (event.trial for event in events if isinstance(event, TrialStarted))
    judged = next(number for number, event in enumerate(events) if isinstance(event, StepEnded))
    seen = [event.samples[-1].time for event in events[:judged] if isinstance(event, TelemetryRead)]
    assert began.clock is not None
    assert seen[-1] > began.clock


def test_samples_arrive_while_the_tool_runs(workstation: Workstation, lab: LabHost) -> None:
    running: list[list[str]] = []

    def look(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead):
            running.append(tools_running())

    run(workstation, plan_of(make_step("sysbench-cpu", {"time": 2})), look)
    assert "sysbench" in running[0][0]


def test_stopping_keeps_what_was_measured(workstation: Workstation, lab: LabHost, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()

    def stop_early(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead):
            control.stop()

    events = run(workstation, plan_of(make_step("fio", disk_values(disk, runtime=60)), trials=3), stop_early)
    assert [end.state for end in ends(events)] == [State.PARTIAL]
    assert isinstance(events[-1], RunEnded)
    assert events[-1].state is State.PARTIAL
    assert "Stopped by you" in events[-1].reason
    record = workstation.load("last")
    assert workstation.samples(record.summary.id)[1]
    assert list(disk.iterdir()) == []
    assert tools_running() == []


def test_leaving_a_run_early_stops_it_and_stores_its_end(workstation: Workstation, lab: LabHost) -> None:
    events = workstation.run(plan_of(make_step("sysbench-cpu", {"time": 60})), RefusingAsker(), Control())
    for event in events:
        if isinstance(event, SampleRead):
            break
    events.close()
    assert tools_running() == []
    record = workstation.load("last")
    assert record.summary.state is State.PARTIAL
    assert workstation.samples(record.summary.id)[1]


def test_a_killed_tool_fails_its_trial_and_keeps_its_samples(workstation: Workstation, lab: LabHost) -> None:
    killed_one = False

    def kill(event: Event, _control: Control) -> None:
        nonlocal killed_one
        if isinstance(event, SampleRead) and not killed_one:
            killed_one = True
            kill_tools()

    steps = (make_step("sysbench-cpu", {"time": 60}), make_step("sysbench-memory", {"time": 1}))
    events = run(workstation, plan_of(*steps, trials=2), kill)
    killed, *others = ends(events)
    assert killed.state is State.FAILED
    assert "sysbench on lab" in killed.reason
    assert [end.state for end in others] == [State.DONE, State.DONE]
    assert isinstance(events[-1], RunEnded)
    assert events[-1].state is State.FAILED
    record = workstation.load("last")
    assert workstation.samples(record.summary.id)[1]


@pytest.mark.slow
def test_a_directory_that_may_not_be_written_fails_only_its_step(
    start_lab_host: Callable[..., LabHost], workstation: Workstation, tmp_path: Path
) -> None:
    start_lab_host().add_to_home()
    steps = (make_step("fio", disk_values(Path("/proc"))), make_step("sysbench-cpu", {"time": 1}))
    events = run(workstation, plan_of(*steps))
    refused, measured = ends(events)
    assert refused.state is State.FAILED
    assert "/proc" in refused.reason
    assert measured.state is State.DONE


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_named_and_the_rest_is_measured(workstation: Workstation, lab: LabHost, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)], check=True)
    try:
        steps = (make_step("fio", disk_values(small, size="64 MiB")), make_step("sysbench-cpu", {"time": 1}))
        events = run(workstation, plan_of(*steps))
        full, measured = ends(events)
        assert full.state is State.FAILED
        assert "space" in full.reason
        assert measured.state is State.DONE
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_host_that_is_down_fails_the_run_by_name(workstation: Workstation, lab: LabHost) -> None:
    lab.stop()
    events = run(workstation, plan_of(make_step("sysbench-cpu", CPU)))
    assert isinstance(events[-1], RunEnded)
    assert events[-1].state is State.FAILED
    assert "lab" in events[-1].reason
    assert workstation.load("last").summary.state is State.FAILED


@pytest.mark.slow
def test_a_host_that_never_comes_back_keeps_what_was_measured(lab: LabHost, tmp_path: Path) -> None:
    workstation = Workstation(
        tmp_path / "runs.sqlite3", tmp_path / "hosts.toml", patience=ReconnectPolicy(first=0.1, longest=0.2, total=1.0)
    )

    def cut(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead):
            lab.stop()

    try:
        events = run(workstation, plan_of(make_step("sysbench-cpu", {"time": 6})), cut)
        assert isinstance(events[-1], RunEnded)
        assert events[-1].state is State.PARTIAL
        assert "lab" in events[-1].reason
        record = workstation.load("last")
        assert workstation.samples(record.summary.id)[1]
    finally:
        workstation.close()
        kill_tools()


@pytest.mark.parametrize(
    ("host", "peer"), [("lab", LOCAL), *(pytest.param(host, "lab", marks=pytest.mark.slow) for host in (LOCAL, "lab"))]
)
def test_the_server_end_is_started_used_and_ended(workstation: Workstation, lab: LabHost, host: str, peer: str) -> None:
    step = make_step("iperf3", {"time": 1, "port": 5390}, peer=peer)
    events = run(workstation, plan_of(step, host=host, trials=2))
    assert [end.state for end in ends(events)] == [State.DONE, State.DONE]
    assert ends(events)[0].parsed.figures[0].value > 1e8
    assert tools_running() == []


@pytest.mark.slow
def test_a_port_in_use_is_named(workstation: Workstation, lab: LabHost) -> None:
    other = subprocess.Popen(["iperf3", "-s", "-p", "5391"], stdout=subprocess.DEVNULL)
    try:
        step = make_step("iperf3", {"time": 1, "port": 5391}, peer=LOCAL)
        (end,) = ends(run(workstation, plan_of(step)))
        assert end.state is State.FAILED
        assert "did not start" in end.reason
        assert "in use" in end.reason
    finally:
        other.send_signal(signal.SIGTERM)
        other.wait()


@pytest.mark.slow
def test_two_workstations_run_at_once_on_one_store(workstation: Workstation, lab: LabHost, tmp_path: Path) -> None:
    second = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    step = make_step("sysbench-cpu", CPU)
    thread = threading.Thread(target=run, args=(second, plan_of(step, host=LOCAL), None, BusyPolicy.ANYWAY))
    thread.start()
    run(workstation, plan_of(step), busy=BusyPolicy.ANYWAY)
    thread.join()
    assert [summary.state for summary in workstation.runs()] == [State.DONE, State.DONE]
    second.close()


@pytest.mark.slow
def test_warm_ups_are_kept_apart(workstation: Workstation) -> None:
    repetition = Repetition(trials=1, warm_ups=1)
    plan = Plan("warm", (LOCAL,), (make_step("sysbench-cpu", {"time": 1}),), repetition=repetition)
    events = run(workstation, plan)
    assert [event.trial.warm_up for event in events if isinstance(event, TrialStarted)] == [True, False]
    assert [event.text.split()[0] for event in events if isinstance(event, Activity) and event.measures] == [
        "warming", "measuring"
    ]  # fmt: skip
    record = workstation.load("last")
    assert len(record.trials) == 2
    assert len(record.trials_of("sysbench-cpu")) == 1


@pytest.mark.slow
def test_endless_output_ends_its_trial_and_no_other(
    workstation: Workstation, lab: LabHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sysbench").write_text(
        "#!/bin/sh\ncase $* in *version*) echo sysbench 1.0.20 ;; *) exec yes endless ;; esac\n"
    )
    (folder / "sysbench").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    disk = tmp_path / "disk"
    disk.mkdir()
    steps = (make_step("sysbench-cpu", CPU), make_step("fio", disk_values(disk)))
    events = run(workstation, plan_of(*steps, host=LOCAL))
    endless, measured = ends(events)
    assert "more than" in endless.reason
    assert endless.state is not State.DONE
    assert measured.state is State.DONE


@pytest.mark.slow
def test_a_long_pause_is_the_activity_with_its_end(workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a trial the window would say "measuring" for the 20 minutes in which a burst refills."""
    monkeypatch.setattr(trials, "NAMED_PAUSE", 0.2)
    plan = Plan("rest", (LOCAL,), (make_step("command", {"command": "true"}),), repetition=Repetition(2, pause=0.2))
    found = [(event.text, event.measures) for event in run(workstation, plan) if isinstance(event, Activity)]
    pauses = [(text, measures) for text, measures in found if text.startswith("pause")]
    assert [(text[:-8], measures) for text, measures in pauses] == [("pause of 0.2 s until ", False)]
    assert re.fullmatch(r"\d\d:\d\d:\d\d", pauses[0][0][-8:])
