"""A run that is recorded where its process cannot be seen, as in a container, is not taken over while it lives."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.events import Event, SampleRead, State, TrialAttached
from app.runs.control import BusyPolicy, Control, HostInUseError
from app.services import Workstation
from app.store import ownership
from app.store.errors import StoreError
from app.store.ownership import HEARTBEAT
from remote.errors import ConnectError
from tests.lab.counting import counting_plan
from tests.lab.survival import assert_no_leftovers, assert_whole, attach, end, run
from tests.lab_sshd import LabHost
from tests.messages import messages

MESSAGES = messages("lab", "test_survival_container")

UNSHARED = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


class Contained:
    """Another Benchwright on the same library, in a PID namespace of its own."""

    def __init__(self, store: Path, *numbers: int) -> None:
        words = [*UNSHARED, sys.executable, "-m", "tests.lab.counting", str(store), "lab", *map(str, numbers)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for(self, number: int) -> None:
        """Wait until it has counted to `number`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if float(line) >= number:
                return
        pytest.fail("it ended before")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the Benchwright inside."""
        pid = self.process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(child), number)

    def finish(self) -> str:
        """Wait for its end; return what it complained of."""
        return self.process.communicate(timeout=60.0)[1]


@pytest.fixture
def contained(tmp_path: Path, workstation: Workstation, lab: LabHost) -> Iterator[Contained]:
    """Return a Benchwright in a container, which counts to 600 twice."""
    if subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode:
        pytest.skip("another PID namespace needs root")
    started = Contained(tmp_path / "runs.sqlite3", 600, 2, 0)
    started.wait_for(10)
    yield started
    started.process.kill()
    started.process.communicate()


@pytest.mark.slow
def test_a_live_run_in_another_pid_namespace_is_not_taken_over(workstation: Workstation, contained: Contained) -> None:
    assert workstation.detached_runs() == []
    assert not workstation.runs()[0].detached
    shown = r"is in progress: Benchwright on .*@.* \(process 1\) recorded it \d+ s ago\. Stop it there\."
    with pytest.raises(StoreError, match=shown):
        attach(workstation)
    with pytest.raises(StoreError, match="is in progress"):
        workstation.forget("last")
    with pytest.raises(StoreError, match="is in progress"):
        workstation.delete("last")


@pytest.mark.slow
def test_a_process_that_resumes_after_the_run_was_taken_over_writes_nothing(
    workstation: Workstation, lab: LabHost, contained: Contained, monkeypatch: pytest.MonkeyPatch
) -> None:
    contained.send(signal.SIGSTOP)
    monkeypatch.setattr(ownership, "HEARTBEAT_TIMEOUT", 3.0)
    time.sleep(4.0)
    (left,) = workstation.detached_runs()
    with pytest.raises(HostInUseError, match=r"is in progress: .* measures on lab .*--anyway"):
        attach(workstation)  # its telemetry still touches the lease on the host
    seen: list[Event] = []

    def wake(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and not seen:
            seen.append(event)
            contained.send(signal.SIGCONT)
            assert MESSAGES["was_taken_over_by"] in contained.finish()

    events = attach(workstation, wake, Control(BusyPolicy.ANYWAY), left.id)
    assert contained.process.returncode != 0
    assert [event.trial.id for event in events if isinstance(event, TrialAttached)] == [1]
    assert (end(events).state, end(events).reason) == (State.DONE, "")
    for trial in (1, 2):
        assert_whole(workstation, trial, 600)
    assert len(workstation.load("last").trials) == 2
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_an_attach_that_is_refused_leaves_the_run_to_its_owner(
    workstation: Workstation, lab: LabHost, contained: Contained, monkeypatch: pytest.MonkeyPatch
) -> None:
    contained.send(signal.SIGSTOP)
    monkeypatch.setattr(ownership, "HEARTBEAT_TIMEOUT", 2.0)
    time.sleep(3.0)
    for _ in range(2):
        with pytest.raises(
            HostInUseError, match=r"is in progress: .* measures on lab .* resume its process if that is suspended"
        ):
            attach(workstation, run_id="last")
    control = Control(BusyPolicy.WAIT)
    control.stop()
    with pytest.raises(HostInUseError):
        attach(workstation, control=control)
    contained.send(signal.SIGCONT)
    assert contained.finish() == ""
    assert contained.process.returncode == 0
    assert workstation.load("last").summary.state is State.DONE
    for trial in (1, 2):
        assert_whole(workstation, trial, 600)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_an_attach_whose_host_is_not_reached_changes_nothing(
    workstation: Workstation, lab: LabHost, tmp_path: Path
) -> None:
    run(workstation, counting_plan(400), _leave)

    def stored() -> object:
        with closing(sqlite3.connect(tmp_path / "runs.sqlite3")) as connection:
            return connection.execute("SELECT epoch, touched, left_at, owner_pid, owner_started FROM runs").fetchall()

    before = stored()
    lab.stop()
    with pytest.raises(ConnectError):
        attach(workstation)
    assert stored() == before
    lab.start()
    assert end(attach(workstation)).state is State.DONE
    assert_whole(workstation, 1, 400)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_one_that_was_killed_is_taken_over_once_its_signs_of_life_are_old(
    workstation: Workstation, lab: LabHost, contained: Contained, monkeypatch: pytest.MonkeyPatch
) -> None:
    contained.send(signal.SIGKILL)
    contained.finish()
    with pytest.raises(StoreError, match="try again 30 s after that"):
        attach(workstation)
    monkeypatch.setattr(ownership, "HEARTBEAT_TIMEOUT", 1.0)
    time.sleep(2.0)
    ended = end(attach(workstation))
    assert (ended.state, ended.reason) == (State.DONE, "")
    for trial in (1, 2):
        assert_whole(workstation, trial, 600)


@pytest.mark.slow
def test_a_copy_of_the_library_does_not_make_a_second_run(
    workstation: Workstation, lab: LabHost, tmp_path: Path
) -> None:
    """The original goes on after it was let go of: only the lease on the host tells who has the copy."""
    run(workstation, counting_plan(400), _leave)
    copy = tmp_path / "copy.sqlite3"
    copy.write_bytes((tmp_path / "runs.sqlite3").read_bytes())
    refused: list[str] = []

    def attach_the_copy(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value > 100 and not refused:
            second = Workstation(copy, tmp_path / "hosts.toml")
            with pytest.raises(HostInUseError, match="is in progress") as caught:
                attach(second)
            refused.append(str(caught.value))
            second.close()

    assert end(attach(workstation, attach_the_copy)).state is State.DONE
    assert refused
    assert_whole(workstation, 1, 400)
    assert_no_leftovers(lab.home)


def _leave(event: Event, control: Control) -> None:
    if isinstance(event, SampleRead) and event.sample.value == 10:
        control.detach()


def test_signs_of_life_come_often_enough() -> None:
    assert 3 * HEARTBEAT < ownership.HEARTBEAT_TIMEOUT
