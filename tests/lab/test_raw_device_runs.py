"""Whole runs on raw devices: nothing is written before its loss is confirmed, nor to anything but that very device."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import Activity, Event, FindingRaised, RunEnded, State, TrialStarted
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.plans.plan_file import write_plan
from app.plans.tuning import Tuning
from app.runs.control import Control
from app.services import Workstation
from remote.session import Session
from remote.telemetry.telemetry import Telemetry
from suites.vocab import Finding, Severity
from tests.lab.survival import own_leftovers
from tests.lab_sshd import AnsweringAsker
from tests.loop_devices import MIB, MakeLoop, backing_file, make_loop, partition_of, run
from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.sudo_host import PASSWORD, USER, WITHOUT_PASSWORD, StartSudoHost, start_sudo_host

MESSAGES = messages("lab", "test_raw_device_runs")

__all__ = ["make_loop", "start_sudo_host"]

SHORT = {"size": "4 MiB", "runtime": 1.0, "block_size": "64 KiB"}


@pytest.fixture
def workstation(tmp_path: Path, few_programs: None) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    yield made
    made.close()


def plan(device: str, rw: str = "write", host: str = LOCAL, trials: int = 1, **more: object) -> Plan:
    step = make_step("fio", {**SHORT, "device": device, "rw": rw, **more})
    return Plan("raw", (host,), (step,), repetition=Repetition(trials=trials))


def execute(
    workstation: Workstation, wanted: Plan, asker: AnsweringAsker, seen: Callable[[Event], None] = lambda _event: None
) -> tuple[list[Event], RunEnded]:
    events = []
    for event in workstation.run(wanted, asker, Control()):
        seen(event)
        events.append(event)
    assert isinstance(events[-1], RunEnded)
    return events, events[-1]


def digest(device: str) -> str:
    """Return a hash of everything on a loop device."""
    return hashlib.sha256(backing_file(device).read_bytes()).hexdigest()


def found(events: list[Event], check: str) -> Finding:
    return next(event.finding for event in events if isinstance(event, FindingRaised) and event.finding.id == check)


def test_a_confirmed_device_is_written_to_and_the_confirmation_is_kept(
    workstation: Workstation, make_loop: MakeLoop
) -> None:
    device = make_loop("scratch.img")
    asker = AnsweringAsker(losses=["scratch.img"])
    events, ended = execute(workstation, plan(device, "randrw", trials=2), asker)
    assert ended.state is State.DONE, ended.reason
    assert any(backing_file(device).read_bytes())
    (question,) = asker.loss_questions  # once for both trials
    assert (question.confirmation, question.confirmed_by, question.device) == ("scratch.img", "file’s name", device)
    assert dict(question.facts)["Overwritten by"] == "fio (randrw)"
    finding = found(events, "destroys-data")
    assert finding.severity is Severity.WARNING
    assert MESSAGES["confirmed_by_typing_scratch"] in finding.measured
    assert "Confirmed by typing" in workstation.load("last").findings[0].measured
    (command,) = workstation.load("last").trials[0].trial.commands
    assert command.argv[0] == "fio"  # what an expert would type: the guard around it measures nothing
    assert f"--filename={device}" in command.argv


@pytest.mark.parametrize(
    "typed",
    ["SCRATCH.IMG", *(pytest.param(one, marks=pytest.mark.slow) for one in (None, "", "scratch", "yes", "/dev/loop0"))],
)
def test_anything_else_than_the_confirmation_writes_nothing(
    workstation: Workstation, make_loop: MakeLoop, typed: str | None
) -> None:
    device = make_loop("scratch.img")
    before = digest(device)
    events, ended = execute(workstation, plan(device), AnsweringAsker(losses=[typed]))
    assert ended.state is State.FAILED
    assert f"Data loss on {device} of local was not confirmed." in ended.reason
    assert not any(isinstance(event, TrialStarted) for event in events)
    assert found(events, "destroys-data").severity is Severity.ERROR
    assert digest(device) == before


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["randwrite", "write", "rw", "randrw"])
def test_every_pattern_that_writes_is_asked_about(workstation: Workstation, make_loop: MakeLoop, pattern: str) -> None:
    device = make_loop()
    before = digest(device)
    asker = AnsweringAsker()
    execute(workstation, plan(device, pattern), asker)
    assert len(asker.loss_questions) == 1
    assert digest(device) == before


@pytest.mark.slow
def test_the_loop_device_that_is_measured_is_watched_and_no_other(
    workstation: Workstation, make_loop: MakeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: list[tuple[str, ...]] = []
    start = Telemetry.start

    def noted(session: Session, interval: float, lease: str, loops: tuple[str, ...], **others: str) -> Telemetry:
        watched.append(loops)
        return start(session, interval, lease, loops, architecture=others["architecture"])

    monkeypatch.setattr(Telemetry, "start", noted)
    make_loop("other.img")
    device = make_loop()
    _events, ended = execute(workstation, plan(device, "randread"), AnsweringAsker())
    assert ended.state is State.DONE, ended.reason
    assert watched == [(), (Path(device).name,)]


@pytest.mark.slow
def test_reading_is_not_asked_about_and_writes_nothing(workstation: Workstation, make_loop: MakeLoop) -> None:
    device = make_loop()
    before = digest(device)
    asker = AnsweringAsker()
    events, ended = execute(workstation, plan(device, "randread"), asker)
    assert ended.state is State.DONE, ended.reason
    assert asker.loss_questions == []
    assert digest(device) == before
    assert "zeros" in found(events, "device-never-written").measured


@pytest.fixture
def mounted_partition(make_loop: MakeLoop, tmp_path: Path) -> Iterator[str]:
    """Return a disk of which only a partition is mounted: what fio itself does not notice."""
    if shutil.which("mkfs.ext4", path="/usr/sbin:/sbin") is None:
        pytest.skip("needs mkfs.ext4")
    device = make_loop("disk.img", 64 * MIB, "--partscan")
    partition = partition_of(device)
    run("mkfs.ext4", "-q", partition)
    (tmp_path / "place").mkdir()
    run("mount", partition, tmp_path / "place")
    yield device
    # Lazily: whoever still looks at the partition (udev does) must not keep the mount alive after the test.
    run("umount", "--lazy", tmp_path / "place")


def test_what_is_in_use_is_refused_without_a_question(workstation: Workstation, mounted_partition: str) -> None:
    before = digest(mounted_partition)
    asker = AnsweringAsker(losses=["disk.img"] * 3)
    events, ended = execute(workstation, plan(mounted_partition), asker)
    assert ended.state is State.FAILED
    assert "is mounted on" in ended.reason
    assert found(events, "device-in-use").severity is Severity.ERROR
    assert asker.loss_questions == []
    assert digest(mounted_partition) == before


@pytest.mark.slow
def test_reading_what_is_in_use_is_allowed(workstation: Workstation, mounted_partition: str) -> None:
    events, ended = execute(workstation, plan(mounted_partition, "read"), AnsweringAsker())
    assert ended.state is State.DONE, ended.reason
    assert found(events, "device-in-use").severity is Severity.INFO


def test_another_disk_that_took_the_name_after_the_confirmation_is_refused(
    workstation: Workstation, make_loop: MakeLoop, tmp_path: Path
) -> None:
    device = make_loop("scratch.img")
    other = tmp_path / "precious.img"
    other.write_bytes(b"precious" * (2 * MIB))
    swapped = False

    def swap(event: Event) -> None:
        """Put another file behind the device between the confirmation and the first command."""
        nonlocal swapped
        if isinstance(event, Activity) and event.text.startswith("measuring") and not swapped:
            swapped = True
            run("losetup", "--detach", device)
            run("losetup", device, other)

    ended = execute(workstation, plan(device), AnsweringAsker(losses=["scratch.img"]), swap)[1]
    assert swapped
    assert ended.state is State.FAILED
    assert other.read_bytes() == b"precious" * (2 * MIB)
    assert "exit status 77" in ended.reason
    output = workstation.output(workstation.load("last").summary.id, 1)["stderr"].decode()
    assert f"benchwright: {device} was not written to" in output
    assert f"benchwright: now: backing {other}" in output


def test_a_device_that_is_none_fails_by_name(workstation: Workstation) -> None:
    ended = execute(workstation, plan("/dev/no-such-device"), AnsweringAsker())[1]
    assert ended.state is State.FAILED
    assert "there is no such device" in ended.reason
    assert not Path("/dev/no-such-device").exists()  # fio alone would have made a file of this name


# Several devices in one step


@pytest.mark.slow
def test_both_devices_are_written_to_once_both_losses_are_confirmed(
    workstation: Workstation, make_loop: MakeLoop
) -> None:
    devices = [make_loop(f"{name}.img") for name in ("one", "two")]
    asker = AnsweringAsker(losses=["one.img", "two.img"])
    events, ended = execute(workstation, plan(":".join(devices) + ":", "randwrite", direct=True), asker)
    assert ended.state is State.DONE, ended.reason
    assert [question.device for question in asker.loss_questions] == devices
    assert all(any(backing_file(device).read_bytes()) for device in devices)
    measured = found(events, "destroys-data").measured
    assert all(f"Confirmed by typing “{name}.img”" in measured for name in ("one", "two"))


@pytest.mark.slow
@pytest.mark.parametrize("typed", [["one.img"], ["one.img", "one.img"], [None, "two.img"]])
def test_one_loss_that_is_not_confirmed_spares_both(
    workstation: Workstation, make_loop: MakeLoop, typed: list[str | None]
) -> None:
    devices = [make_loop(f"{name}.img") for name in ("one", "two")]
    before = list(map(digest, devices))
    ended = execute(workstation, plan(":".join(devices)), AnsweringAsker(losses=typed))[1]
    assert ended.state is State.FAILED
    assert "was not confirmed" in ended.reason
    assert list(map(digest, devices)) == before


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False])
def test_one_device_in_use_spares_the_other_and_nothing_is_asked(
    workstation: Workstation, make_loop: MakeLoop, mounted_partition: str, *, first: bool
) -> None:
    devices = [make_loop("scratch.img"), mounted_partition]
    before = list(map(digest, devices))
    asker = AnsweringAsker(losses=["scratch.img", "disk.img"])
    ended = execute(workstation, plan(":".join(devices[::-1] if first else devices)), asker)[1]
    assert ended.state is State.FAILED
    assert f"{mounted_partition} on local cannot be overwritten" in ended.reason
    assert asker.loss_questions == []
    assert list(map(digest, devices)) == before


@pytest.mark.slow
@pytest.mark.parametrize("rw", ["write", "read"])
def test_one_device_under_two_names_is_refused(workstation: Workstation, make_loop: MakeLoop, rw: str) -> None:
    device = make_loop("scratch.img")
    before = digest(device)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        Path(folder, "link").symlink_to(device)
        for other in (device, f"{folder}/link", f"/dev/./{device[5:]}", f"/dev//{device[5:]}"):
            ended = execute(workstation, plan(f"{device}:{other}", rw), AnsweringAsker(losses=["scratch.img"] * 2))[1]
            assert ended.state is State.FAILED, other
    assert digest(device) == before


@pytest.mark.slow
def test_a_file_beside_a_device_is_refused_and_stays(workstation: Workstation, make_loop: MakeLoop) -> None:
    device = make_loop("scratch.img")
    before = digest(device)
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(b"precious")
        file.flush()
        ended = execute(workstation, plan(f"{device}:{file.name}"), AnsweringAsker(losses=["scratch.img"] * 2))[1]
        assert "it is no block device" in ended.reason.lower()
        assert Path(file.name).read_bytes() == b"precious"
    assert digest(device) == before


@pytest.mark.slow
def test_another_disk_behind_the_second_name_spares_both(
    workstation: Workstation, make_loop: MakeLoop, tmp_path: Path
) -> None:
    devices = [make_loop(f"{name}.img") for name in ("one", "two")]
    before, other = digest(devices[0]), tmp_path / "precious.img"
    other.write_bytes(b"precious" * (2 * MIB))

    def swap(event: Event) -> None:
        if isinstance(event, Activity) and event.text.startswith("measuring") and backing_file(devices[1]) != other:
            run("losetup", "--detach", devices[1])
            run("losetup", devices[1], other)

    ended = execute(workstation, plan(":".join(devices)), AnsweringAsker(losses=["one.img", "two.img"]), swap)[1]
    assert "exit status 77" in ended.reason
    output = workstation.output(workstation.load("last").summary.id, 1)["stderr"].decode()
    assert f"benchwright: {devices[1]} was not written to" in output
    assert other.read_bytes() == b"precious" * (2 * MIB)
    assert digest(devices[0]) == before


# Through sudo, for a user who is not root


@pytest.mark.slow
def test_a_user_who_is_not_root_reads_and_writes_through_sudo(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop
) -> None:
    start_sudo_host().add_to_home("web-1")
    device = make_loop("scratch.img")
    asker = AnsweringAsker(secrets=[PASSWORD, PASSWORD], losses=["scratch.img"])
    reading = execute(workstation, plan(device, "randread", "web-1"), asker)[1]
    assert reading.state is State.DONE, reading.reason
    writing = execute(workstation, plan(device, "randwrite", "web-1"), asker)[1]
    assert writing.state is State.DONE, writing.reason
    assert [question.purpose for question in asker.secret_questions] == ["run fio", "run fio"]
    assert all(question.user == USER for question in asker.secret_questions)
    (command,) = workstation.load("last").trials[0].trial.commands
    assert command.line.startswith("sudo fio ")
    assert any(backing_file(device).read_bytes())
    facts = workstation.load("last").facts_before["web-1"].device(device)
    assert facts is not None
    assert (facts.readable, facts.signatures, facts.free) == (False, (), True)  # the user's rights, root's sight


def test_nothing_of_a_run_of_root_is_left_on_the_host(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop
) -> None:
    host = start_sudo_host(WITHOUT_PASSWORD)
    host.add_to_home("web-1")
    device = make_loop("scratch.img")
    control = Control()
    for event in workstation.run(
        plan(device, "randwrite", "web-1", runtime=60.0), AnsweringAsker(losses=["scratch.img"]), control
    ):
        if isinstance(event, TrialStarted):
            control.stop()
    assert own_leftovers(workstation.leftovers("web-1", AnsweringAsker())) == []
    running = subprocess.run(["pgrep", "-f", f"filename={device}"], capture_output=True, text=True, check=False).stdout
    assert running == ""


def test_without_root_a_device_is_not_touched(
    start_sudo_host: StartSudoHost, workstation: Workstation, make_loop: MakeLoop
) -> None:
    start_sudo_host().add_to_home("web-1")
    device = make_loop("scratch.img")
    before = digest(device)
    ended = execute(workstation, plan(device, "write", "web-1"), AnsweringAsker(losses=["scratch.img"]))[1]
    assert ended.state is State.FAILED
    assert MESSAGES["no_password_for_sudo_was"] in ended.reason
    optional = replace(plan(device, "write", "web-1"), tuning=Tuning(optional=True))
    ended = execute(workstation, optional, AnsweringAsker(losses=["scratch.img"]))[1]
    assert ended.state is State.FAILED
    assert "only root may read it" in ended.reason
    assert digest(device) == before


# From the command line
@pytest.mark.slow
def test_the_command_line_wants_the_confirmation_in_full(make_loop: MakeLoop, tmp_path: Path) -> None:
    device = make_loop("scratch.img")
    before = digest(device)
    path = tmp_path / "plan.toml"
    write_plan(plan(device), path)
    for words in ([], ["--destroy", "yes"], ["--destroy", device]):
        ran = benchwright("run", path, *words)
        assert ran.status == FAILED
        assert f"Everything on {device} of local will be lost:" in ran.err
        assert "pass --destroy with its file’s name" in ran.err
        assert digest(device) == before
    assert benchwright("run", path, "--destroy", "scratch.img").status == DONE
    assert digest(device) != before


def test_the_plan_and_its_findings_tell_before_anything_runs(make_loop: MakeLoop, tmp_path: Path) -> None:
    device = make_loop("scratch.img")
    path = tmp_path / "plan.toml"
    write_plan(plan(device), path)
    findings = benchwright("check", path, "--json").json["findings"]
    (finding,) = [each for each in findings if each["id"] == "destroys-data"]
    assert finding["level"] == "error"
    assert "backed by" in finding["measured"]
    assert "“scratch.img”" in finding["remedy"]
    shown = benchwright("plan", "show", path).out
    assert "# As root:" in shown
    assert f"--filename={device}" in shown


def test_a_bad_path_of_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'hosts = ["local"]\n[[step]]\nsuite = "fio"\n[step.parameters]\ndevice = "/dev/../etc/passwd"\n'
    )
    assert benchwright("run", tmp_path / "plan.toml").status == BAD_INPUT
