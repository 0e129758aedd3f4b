"""A host that fails in its own ways: full, read-only, out of memory, out of sessions; root that is lost on the way."""

import contextlib
import os
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import (
    Activity,
    Event,
    LinkChanged,
    RunDetached,
    SampleRead,
    State,
    TelemetryRead,
    TrialEnded,
    WorkspaceUsed,
)
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.plans.tuning import Tuning
from app.runs.control import Control
from app.services import Workstation
from remote.errors import RemoteError
from remote.jobs.files import put_file
from remote.jobs.job import make_workspace, remove_workspace
from suites import registry
from suites.base import Estimate
from tests.lab.counting import Counting, counting_plan
from tests.lab.survival import (
    QUICK,
    assert_no_leftovers,
    assert_whole,
    at_count,
    end,
    lab,
    run,
    trial_ends,
    workspaces_on,
    workstation,
)
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages
from tests.sudo_host import NOBODY, WITHOUT_PASSWORD, StartSudoHost, start_sudo_host

MESSAGES = messages("lab", "test_faults_hosts")

__all__ = ["lab", "start_sudo_host", "workstation"]

Start = Callable[..., LabHost]


# Files on the way to the host


def test_a_file_that_is_cut_off_on_its_way_leaves_nothing(lab: LabHost) -> None:
    session = lab.connect()
    workspace = make_workspace(session, str(lab.home))
    failed: list[RemoteError] = []

    def put() -> None:
        try:
            put_file(session, workspace, "large", bytes(48 * 2**20))
        except RemoteError as error:
            failed.append(error)

    sending = threading.Thread(target=put)
    sending.start()
    begun = Path(workspace.path, "large.new")
    while sending.is_alive() and not (begun.exists() and begun.stat().st_size > 2**20):
        sending.join(0.001)
    lab.cut()
    sending.join()
    assert failed
    other = lab.connect()
    for _ in range(200):  # the host's own cat ends once its input has
        if not begun.exists():
            break
        other.run(["sleep", "0.02"])
    names = [path.name for path in Path(workspace.path).iterdir()]
    assert names == [".benchwright"]
    remove_workspace(other, workspace)
    session.close()
    other.close()


# A host without room, or with a directory that takes nothing


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with as much room as the private directory should have."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
def test_a_full_host_is_reported_and_cleaned_up(workstation: Workstation, start_lab_host: Start, small: Path) -> None:
    host = start_lab_host()
    host.home.rmdir()
    host.home.symlink_to(small)  # where the private directory is made
    host.add_to_home()

    def fill(event: Event, _control: Control) -> None:
        if isinstance(event, TrialEnded) and event.trial == 1:
            with (small / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(4096))

    events = run(workstation, counting_plan(20, trials=3), fill)
    first, second = trial_ends(events)
    assert (first.state, second.state) == (State.DONE, State.FAILED)
    assert "the file system is full" in second.reason
    assert_whole(workstation, 1, 20)
    assert [path.name for path in small.iterdir()] == ["ballast"]


@pytest.mark.slow
def test_where_a_directory_is_read_only_the_next_is_used(workstation: Workstation, start_lab_host: Start) -> None:
    prefix = ["unshare", "-m", "sh", "-c", 'mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && exec "$@"', "sh"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a read-only /tmp of its own needs root and mount namespaces")
    host = start_lab_host()
    if host.home.parts[1] != "tmp":
        pytest.skip("the files of this test do not lie in /tmp")
    host.stop()
    host.prefix = prefix
    host.start()
    host.add_to_home()
    events = run(workstation, counting_plan(20))
    assert end(events).state is State.DONE
    used = [event.workspace.path for event in events if isinstance(event, WorkspaceUsed)]
    assert {str(Path(path).parent) for path in used} == {"/var/tmp"}
    assert not any(Path(path).exists() for path in used)
    assert_whole(workstation, 1, 20)


# A host without memory

HUNGRY = "b''.join(bytes([1]) * 2**20 for _ in range(400))"


@pytest.fixture
def group() -> Iterator[Path]:
    """Return a control group of 64 MiB of memory."""
    root = Path("/sys/fs/cgroup/memory")
    old = (root / "memory.limit_in_bytes").exists()
    made = (root if old else root.parent) / f"benchwright-test-{os.getpid()}"
    try:
        made.mkdir()
        (made / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(64 * 2**20))
    except OSError as error:
        if made.is_dir():
            made.rmdir()
        pytest.skip(f"control groups of memory cannot be made here: {error}")
    yield made
    made.rmdir()


@pytest.mark.slow
def test_a_tool_killed_by_the_kernel_for_lack_of_memory_is_reported(
    workstation: Workstation, lab: LabHost, group: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "sysbench"
    tool.parent.mkdir()
    real = shutil.which("sysbench")
    line = f"echo $$ >{shlex.quote(str(group / 'cgroup.procs'))}; exec python3 -S -c {shlex.quote(HUNGRY)}"
    tool.write_text(f"#!/bin/sh\ncase $* in *version*) exec {real} --version;; esac\n{line}\n")
    tool.chmod(0o755)
    lab.restart(SetEnv=f"PATH={tool.parent}:{os.environ['PATH']}")
    killed = make_step("command", {"command": "kill -9 $$", "shell": True})
    steps = (make_step("sysbench-cpu", {"time": 5, "threads": 1}), make_step("counting", {"count": 5}), killed)
    events = run(workstation, Plan("hungry", ("lab",), steps, repetition=Repetition(trials=1)))
    hungry, counted, command = trial_ends(events)
    assert command.reason.count("SIGKILL") == 1
    assert hungry.state is State.FAILED
    assert "ended by SIGKILL" in hungry.reason
    assert MESSAGES["the_host_ran_out_of_memory"] in hungry.reason
    assert counted.state is State.DONE
    assert_no_leftovers(lab.home)


# A host that opens few sessions


@pytest.mark.slow
@pytest.mark.parametrize("sessions", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_host_with_few_sessions_is_measured_all_the_same(
    workstation: Workstation, start_lab_host: Start, sessions: str
) -> None:
    host = start_lab_host(MaxSessions=sessions)  # the job's output and telemetry would take two
    host.add_to_home()
    events = run(workstation, counting_plan(60))
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, 60)
    assert {event.host for event in events if isinstance(event, TelemetryRead)} == {"lab"}
    assert not [event for event in events if isinstance(event, LinkChanged)]
    assert_no_leftovers(host.home)


@pytest.mark.parametrize("sessions", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_a_run_on_a_host_with_few_sessions_is_stopped_as_fast_as_any(
    workstation: Workstation, start_lab_host: Start, sessions: str
) -> None:
    host = start_lab_host(MaxSessions=sessions)
    host.add_to_home()
    began: list[float] = []

    def stop(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value >= 20 and not began:
            began.append(time.monotonic())
            control.stop()

    events = run(workstation, counting_plan(5000), stop)
    assert time.monotonic() - began[0] < 15.0
    assert "Stopped by you" in end(events).reason
    assert "may remain" not in end(events).reason
    assert_no_leftovers(host.home)


# A tool that does not end


@pytest.mark.slow
def test_a_tool_that_takes_far_too_long_is_ended_and_told_so(
    workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runs.trial.LATE_BY", 0.3)
    monkeypatch.setattr(Counting, "estimate", lambda _self, _values, _context: Estimate(0.1))
    (ended,) = trial_ends(run(workstation, counting_plan(5000, host=LOCAL)))
    assert ended.state is State.FAILED
    assert MESSAGES["far_longer_than_the_0_1_s"] in ended.reason
    assert workstation.samples(workstation.runs()[0].id)[1]  # what it printed is kept


# Stopped before anything is measured


@pytest.mark.parametrize("state", ["stopped", "left"])
def test_a_run_that_is_over_before_its_hosts_are_there_measures_nothing(workstation: Workstation, state: str) -> None:
    def end_it(event: Event, control: Control) -> None:
        if isinstance(event, Activity) and event.text.startswith("reading the facts"):
            control.stop() if state == "stopped" else control.detach()

    plan = counting_plan(5, host=LOCAL)
    events = run(workstation, Plan(plan.name, (LOCAL, "nowhere.invalid"), plan.steps), end_it)
    assert not [event for event in events if isinstance(event, TrialEnded | WorkspaceUsed)]
    if state == "stopped":
        assert end(events).state is State.PARTIAL
        assert end(events).reason.startswith("Stopped by you")
    else:
        assert isinstance(events[-1], RunDetached)


# Root that is lost


@pytest.mark.slow
def test_without_sudo_from_the_second_trial_on_the_first_is_kept(
    start_sudo_host: StartSudoHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))
    host = start_sudo_host(WITHOUT_PASSWORD)
    host.add_to_home("web-1")
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml", patience=QUICK)

    def expire(event: Event, _control: Control) -> None:
        if isinstance(event, TrialEnded) and event.trial == 1:
            (host.directory.parent / "sudoers").write_text(NOBODY)

    plan = counting_plan(20, host="web-1", trials=3)
    tuned = Plan(plan.name, plan.hosts, plan.steps, repetition=plan.repetition, tuning=Tuning(drop_caches=True))
    events = run(made, tuned, expire)
    first, second, *others = trial_ends(events)
    assert (first.state, second.state, others) == (State.DONE, State.FAILED, [])
    assert "sudo" in second.reason
    assert end(events).state is not State.DONE
    assert_whole(made, 1, 20)
    assert workspaces_on(host.home) == []
    made.close()


# The agent that dies


@pytest.mark.slow
def test_an_agent_that_dies_during_a_run_is_replaced_by_a_question(
    workstation: Workstation, lab_host: LabHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700)
    (folder / "config").write_text(lab_host.config(key=lab_host.keys.encrypted))
    (folder / "known_hosts").write_text(lab_host.known_hosts_line)
    path = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.PIPE)
    assert agent.stdout is not None
    agent.stdout.readline()  # it prints once it listens
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    asking = tmp_path / "passphrase"
    asking.write_text("#!/bin/sh\necho correct horse\n")
    asking.chmod(0o700)
    environment = os.environ | {"SSH_ASKPASS": str(asking), "SSH_ASKPASS_REQUIRE": "force"}
    subprocess.run(
        ["ssh-add", str(lab_host.keys.encrypted)],
        check=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )

    def die() -> None:
        agent.kill()
        agent.wait()
        lab_host.cut()

    asker = AnsweringAsker(secrets=["correct horse"])
    control = Control()
    hand = at_count(10, die)
    seen: list[Event] = []
    for event in workstation.run(counting_plan(60), asker, control):
        seen.append(event)
        hand(event, control)
    agent.stdout.close()
    assert end(seen).state is State.DONE
    assert [question.key_path for question in asker.secret_questions] == [str(lab_host.keys.encrypted)]
    assert_whole(workstation, 1, 60)
    assert_no_leftovers(lab_host.home)
