"""A host that lets everybody wait, a byte at a time, does not keep a run from being stopped."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import Activity, RunEnded, SampleRead, State, TrialStarted
from app.runs import trial
from app.runs.control import Control
from app.services import Workstation
from remote import answer_deadline
from tests.lab.counting import counting_plan
from tests.lab.slow_server import DrippingWire, dripping_command
from tests.lab.survival import assert_no_leftovers, kill_jobs, workstation
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages
from tests.program import BENCHWRIGHT, DONE, FAILED, benchwright, environment

MESSAGES = messages("lab", "test_stop_slow_host")

__all__ = ["workstation"]

Drip = Callable[[], object]
DripAt = tuple[LabHost, Drip]


@pytest.fixture(params=["commands", "wire"])
def lab(request: pytest.FixtureRequest, start_lab_host: Callable[..., LabHost], tmp_path: Path) -> Iterator[DripAt]:
    """A sound host, and what makes it drip."""
    if request.param == "commands":
        command, sign = dripping_command(tmp_path)
        host = start_lab_host(ForceCommand=command)
        host.add_to_home()
        yield host, sign.touch
        sign.unlink(missing_ok=True)
    else:
        host = start_lab_host()
        wire = DrippingWire(host.port)
        folder = Path.home() / ".ssh"
        folder.mkdir(mode=0o700)
        (folder / "config").write_text(host.config().replace(f"Port {host.port}", f"Port {wire.port}"))
        (folder / "known_hosts").write_text(host.known_hosts_line.replace(f":{host.port} ", f":{wire.port} "))
        yield host, wire.drip
        wire.close()
    kill_jobs(host.home)


@pytest.mark.slow
def test_ctrl_c_ends_a_run_on_a_host_that_answers_slowly(lab: DripAt, tmp_path: Path) -> None:
    _host, drip = lab
    path = tmp_path / "plan.toml"
    made = benchwright("plan", "new", "--defaults", "-o", path, "--suite", "sysbench-cpu", "--set", "time=120",
                       "--trials", "1", "--host", "lab")  # fmt: skip
    assert made.status == DONE
    with subprocess.Popen(
        [*BENCHWRIGHT, "run", str(path)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("sysbench-cpu on"):
                break
        drip()
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 25.0
    assert process.returncode == FAILED
    assert MESSAGES["did_not_respond_within_12_s"] in out + err or "lab is not connected" in out + err
    assert "“sysbench” (process" in out + err
    assert "benchwright hosts leftovers lab" in out + err
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_run_is_stopped_although_its_host_answers_slowly(
    lab: DripAt, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    _host, drip = lab
    monkeypatch.setattr(answer_deadline, "ANSWER_TIME", 2.0)
    control = Control()
    began = 0.0
    for event in workstation.run(counting_plan(2000), AnsweringAsker(), control):
        if isinstance(event, SampleRead) and not began:
            drip()
            control.stop()
            began = time.monotonic()
    assert time.monotonic() - began < 15.0
    assert isinstance(event, RunEnded)
    assert event.state is State.PARTIAL
    assert "may still run" in event.reason
    assert "may remain on" in event.reason


@pytest.mark.quick(1)
def test_a_run_that_only_begins_is_stopped_though_its_host_drips(
    lab: DripAt, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    _host, drip = lab
    monkeypatch.setattr(answer_deadline, "ANSWER_TIME", 2.0)
    control = Control()
    began = 0.0
    for event in workstation.run(counting_plan(2000), AnsweringAsker(), control):
        if isinstance(event, Activity) and "facts" in event.text and not began:
            drip()
            control.stop()
            began = time.monotonic()
    assert began
    assert time.monotonic() - began < 15.0


@pytest.mark.slow
def test_output_that_never_ends_is_not_waited_for(
    start_lab_host: Callable[..., LabHost], tmp_path: Path, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host answers every request, and says that the command was ended: only its output goes on."""
    monkeypatch.setattr(trial, "LAST_OUTPUT", 1.0)
    command, sign = dripping_command(tmp_path)
    host = start_lab_host(ForceCommand=command)
    host.add_to_home()
    sign.write_text(" follow ")
    control = Control()
    began = 0.0
    for event in workstation.run(counting_plan(2000), AnsweringAsker(), control):
        if isinstance(event, TrialStarted):
            control.stop()
            began = time.monotonic()
    assert time.monotonic() - began < 15.0
    assert isinstance(event, RunEnded)
    assert event.reason.endswith("Stopped by you.")
    assert_no_leftovers(host.home)
