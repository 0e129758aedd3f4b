"""A test of a raw device that lost its Benchwright runs on as root, and is followed and ended by whoever comes back."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from app.events import RunEnded, State, TrialAttached
from app.paths import consent_path
from app.plans.plan import Plan, Repetition, make_step
from app.plans.plan_file import write_plan
from app.runs.control import Control
from app.runs.questions import NotConfirmedError
from app.services import Workstation
from remote.privilege import PrivilegeError
from tests.lab.survival import own_leftovers
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.loop_devices import MakeLoop, backing_file, make_loop
from tests.processes import processes_with
from tests.program import BENCHWRIGHT, environment
from tests.sudo_host import PASSWORD, WITH_PASSWORD, WITHOUT_PASSWORD, StartSudoHost, start_sudo_host

__all__ = ["make_loop", "start_sudo_host"]


@pytest.fixture
def workstation(few_programs: None) -> Iterator[Workstation]:
    """The user's own: the one that the program uses, too."""
    made = Workstation()
    yield made
    made.close()


def crash(host: LabHost, device: str, seconds: float) -> None:
    """Begin to write to `device` with the real program, and kill that once fio runs."""
    step = make_step("fio", {"device": device, "rw": "randwrite", "size": "8 MiB", "runtime": seconds})
    path = host.directory / "plan.toml"
    write_plan(Plan("raw", ("web-1",), (step,), repetition=Repetition(trials=1)), path)
    losses = [word for each in device.split(":") for word in ("--destroy", backing_file(each).name)]
    words = [*BENCHWRIGHT, "run", str(path), *losses]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment()) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(b"fio on web-1: trial 1"):
                break
        process.send_signal(signal.SIGKILL)
    assert fio_on(device)


def fio_on(device: str) -> list[int]:
    return processes_with(f"--filename={device}\0", "cmdline")


@pytest.mark.slow
@pytest.mark.parametrize(
    "sudoers", [pytest.param(WITHOUT_PASSWORD, marks=pytest.mark.slow), WITH_PASSWORD], ids=["no password", "password"]
)
def test_it_is_followed_to_its_end(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop, sudoers: str
) -> None:
    host = start_sudo_host(WITHOUT_PASSWORD)
    host.add_to_home("web-1")
    device = make_loop("scratch.img")
    crash(host, device, 6.0)
    (host.directory.parent / "sudoers").write_text(sudoers)
    asker = AnsweringAsker(secrets=[PASSWORD])
    (left,) = workstation.detached_runs()
    events = list(workstation.attach(left.id, asker, Control()))
    assert isinstance(events[-1], RunEnded)
    assert events[-1].state is State.DONE, events[-1].reason
    assert any(isinstance(event, TrialAttached) for event in events)
    assert len(asker.secret_questions) == (sudoers == WITH_PASSWORD)
    assert asker.loss_questions == []  # it was confirmed when the run began
    assert any(backing_file(device).read_bytes())
    assert own_leftovers(workstation.leftovers("web-1", AnsweringAsker(secrets=[PASSWORD]))) == []


@pytest.mark.slow
def test_a_test_of_two_devices_is_followed_and_each_loss_is_asked_about_elsewhere(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop
) -> None:
    host = start_sudo_host(WITHOUT_PASSWORD)
    host.add_to_home("web-1")
    devices = [make_loop("one.img"), make_loop("two.img")]
    crash(host, ":".join(devices), 8.0)
    asker, (left,) = AnsweringAsker(), workstation.detached_runs()
    events = list(workstation.attach(left.id, asker, Control()))
    assert isinstance(events[-1], RunEnded)
    assert events[-1].state is State.DONE, events[-1].reason
    assert asker.loss_questions == []
    assert all(any(backing_file(device).read_bytes()) for device in devices)
    crash(host, ":".join(devices), 120.0)
    consent_path().unlink()
    (left,) = workstation.detached_runs()
    for process in fio_on(":".join(devices)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    asker = AnsweringAsker(losses=["one.img", "one.img"])
    with pytest.raises(NotConfirmedError, match="was not confirmed"):
        list(workstation.attach(left.id, asker, Control()))
    assert [question.device for question in asker.loss_questions] == devices
    control = Control()
    control.stop()
    list(workstation.attach(left.id, AnsweringAsker(), control))


@pytest.mark.slow
def test_it_is_ended_by_whoever_comes_back(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop
) -> None:
    host = start_sudo_host(WITHOUT_PASSWORD)
    host.add_to_home("web-1")
    device = make_loop("scratch.img")
    crash(host, device, 120.0)
    control = Control()
    control.stop()
    (left,) = workstation.detached_runs()
    events = list(workstation.attach(left.id, AnsweringAsker(), control))
    assert isinstance(events[-1], RunEnded)
    assert events[-1].state is State.PARTIAL
    assert fio_on(device) == []
    assert own_leftovers(workstation.leftovers("web-1", AnsweringAsker())) == []


@pytest.mark.slow
def test_data_loss_not_confirmed_on_this_computer_needs_confirmation(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop
) -> None:
    host = start_sudo_host(WITHOUT_PASSWORD)
    host.add_to_home("web-1")
    device = make_loop("scratch.img")
    crash(host, device, 120.0)
    consent_path().unlink()  # as on a computer that the library was carried to
    (left,) = workstation.detached_runs()
    with pytest.raises(NotConfirmedError, match="cannot be overwritten"):  # while the test uses it
        list(workstation.attach(left.id, AnsweringAsker(losses=["scratch.img"]), Control()))
    for process in fio_on(device):
        with contextlib.suppress(ProcessLookupError):  # it ended with the other
            os.kill(process, signal.SIGKILL)
    asker = AnsweringAsker(losses=["another.img"])
    with pytest.raises(NotConfirmedError, match="was not confirmed"):
        list(workstation.attach(left.id, asker, Control()))
    (question,) = asker.loss_questions
    assert question.confirmation == "scratch.img"
    assert [run.id for run in workstation.detached_runs()] == [left.id]
    control = Control()
    control.stop()
    list(workstation.attach(left.id, AnsweringAsker(), control))  # ending it loses nothing more
    assert fio_on(device) == []


@pytest.mark.slow
def test_without_root_it_stays_detached(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop
) -> None:
    host = start_sudo_host(WITHOUT_PASSWORD)
    host.add_to_home("web-1")
    device = make_loop("scratch.img")
    crash(host, device, 8.0)
    (host.directory.parent / "sudoers").write_text(WITH_PASSWORD)
    (left,) = workstation.detached_runs()
    with pytest.raises(PrivilegeError, match="sudo needs a password"):
        list(workstation.attach(left.id, AnsweringAsker(), Control()))
    assert [run.id for run in workstation.detached_runs()] == [left.id]
    assert fio_on(device)  # and nothing of it was ended
    control = Control()
    control.stop()
    asker = AnsweringAsker(secrets=[PASSWORD, PASSWORD])
    list(workstation.attach(left.id, asker, control))  # who knows the password ends it, and clears it away
    assert fio_on(device) == []
    assert own_leftovers(workstation.leftovers("web-1", asker)) == []
