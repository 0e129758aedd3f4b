"""A host has one measuring run at a time: the second is told, waits, or goes on and says so."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import app.runs.run_hosts
from app.checks import run_findings
from app.events import Activity, Event, FindingRaised, RunDetached, SampleRead, State
from app.plans.plan import LOCAL
from app.runs.control import BusyPolicy, Control, HostInUseError
from app.runs.findings import HOST_IN_USE
from app.services import Workstation
from tests.lab.counting import counting_plan
from tests.lab.survival import assert_no_leftovers, assert_whole, attach, end, run, trial_ends
from tests.lab_sshd import LabHost
from tests.remote.test_telemetry import telemetry_processes


class Other:
    """Somebody else's Benchwright, with a library of its own, that measures until told to stop."""

    def __init__(self, path: Path, host: str, busy: BusyPolicy = BusyPolicy.REFUSE) -> None:
        self.workstation = Workstation(path / "other.sqlite3", path / "other-hosts.toml")
        self.control = Control(busy)
        self.measuring = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(host,))
        self._thread.start()
        assert self.measuring.wait(60.0)

    def _run(self, host: str) -> None:
        run(self.workstation, counting_plan(3000, host=host), self._look, self.control)

    def _look(self, event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead):
            self.measuring.set()

    def stop(self) -> None:
        self.control.stop()
        self._thread.join()

    def close(self) -> None:
        self.stop()
        self.workstation.close()


@pytest.fixture
def other(workstation: Workstation, lab: LabHost, tmp_path: Path) -> Iterator[Other]:
    """Somebody who measures on the same machine, which they know by another name."""
    with closing(Other(tmp_path, LOCAL)) as measuring:
        yield measuring


def test_a_second_run_is_refused_and_nothing_of_it_is_kept(workstation: Workstation, other: Other) -> None:
    with pytest.raises(HostInUseError, match=r"measures on lab \(account .*, run .*, test running\)") as caught:
        run(workstation, counting_plan(10))
    assert caught.value.remedy == "Wait until it is free (--wait), or run anyway (--anyway)."
    assert workstation.runs() == []


@pytest.mark.slow
def test_a_second_run_can_wait(workstation: Workstation, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.runs.run_hosts, "RETRY_INTERVAL", 0.1)
    shown: list[str] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, Activity) and event.text.startswith("waiting: ") and not shown:
            shown.append(event.text)
            threading.Thread(target=other.stop, name="stopper").start()

    events = run(workstation, counting_plan(10), hand, Control(BusyPolicy.WAIT))
    assert "measures on lab" in shown[0]
    assert end(events).state is State.DONE
    assert HOST_IN_USE not in [event.finding.id for event in events if isinstance(event, FindingRaised)]


@pytest.mark.slow
def test_a_run_that_waits_can_be_stopped(workstation: Workstation, other: Other) -> None:
    def hand(event: Event, control: Control) -> None:
        if isinstance(event, Activity) and event.text.startswith("waiting: "):
            control.stop()

    events = run(workstation, counting_plan(10), hand, Control(BusyPolicy.WAIT))
    assert end(events).state is State.PARTIAL
    assert trial_ends(events) == []


@pytest.mark.slow
def test_a_second_run_may_go_on_and_says_so(workstation: Workstation, other: Other) -> None:
    events = run(workstation, counting_plan(10), control=Control(BusyPolicy.ANYWAY))
    assert end(events).state is State.DONE
    (finding,) = [found for found in workstation.load("last").findings if found.id == HOST_IN_USE]
    assert (finding.host, "measures on lab" in finding.measured) == ("lab", True)


@pytest.mark.slow
def test_a_run_says_that_another_began_during_it(workstation: Workstation, lab: LabHost, tmp_path: Path) -> None:
    started: list[Other] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and not started:
            started.append(Other(tmp_path, LOCAL, BusyPolicy.ANYWAY))

    try:
        run(workstation, counting_plan(10), hand)
        found = [one for one in workstation.load("last").findings if one.id == HOST_IN_USE]
        assert [one.host for one in found] == ["lab"]
    finally:
        for one in started:
            one.close()


@pytest.mark.slow
def test_a_run_that_was_let_go_of_keeps_its_host_while_it_measures(
    workstation: Workstation, lab: LabHost, tmp_path: Path
) -> None:
    def leave(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value == 5:
            control.detach()

    assert isinstance(run(workstation, counting_plan(300), leave)[-1], RunDetached)
    with closing(Workstation(tmp_path / "second.sqlite3", tmp_path / "hosts.toml")) as second:
        with pytest.raises(HostInUseError, match="test running"):
            run(second, counting_plan(10, host=LOCAL))
        assert end(attach(workstation)).state is State.DONE  # its own lease is not in its way
        assert end(run(second, counting_plan(10, host=LOCAL))).state is State.DONE
    assert_whole(workstation, 1, 300)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_run_says_that_its_telemetry_program_was_killed(
    workstation: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = tmp_path / "leases"
    leases.mkdir()
    leases.chmod(0o1777)
    monkeypatch.setenv("BENCHWRIGHT_LEASES", str(leases))
    killed: list[int] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and not killed:
            killed.extend(telemetry_processes(leases))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    run(workstation, counting_plan(30, host=LOCAL), hand)
    assert len(killed) == 1
    (found,) = [one for one in workstation.load("last").findings if one.id == run_findings.TELEMETRY_REPLACED.id]
    assert "the script continues" in found.measured
