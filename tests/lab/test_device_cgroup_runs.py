"""Jobs and runs to whose commands block devices are closed: their control groups are gone with them."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import RunEnded, State, WorkspaceUsed
from app.plans.plan import LOCAL, Plan, Repetition, Step, make_step
from app.runs.control import Control
from app.services import Workstation
from remote.jobs.files import put_file
from remote.jobs.job import RemoteJob, Workspace, make_workspace, remove_workspace
from remote.jobs.leftovers import find_workspaces
from remote.local import LocalSession
from remote.target_guard import CGROUP_PROGRAM, target_guard
from tests.lab.device_cgroups import PROGRAM, Private, device_groups, disks, groups, step, version
from tests.lab.probe_runs import workstation
from tests.lab.survival import ALIVE, kill_jobs
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.processes import members, until
from tests.program import BENCHWRIGHT, DONE, benchwright, environment

__all__ = ["disks", "step", "version", "workstation"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


# Jobs


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[tuple[LocalSession, Workspace]]:
    session = LocalSession()
    made = make_workspace(session, str(tmp_path))
    put_file(session, made, CGROUP_PROGRAM, PROGRAM.read_bytes(), executable=True)
    yield session, made
    remove_workspace(session, made)
    assert groups(made.nonce) == []
    session.close()


Start = Callable[[str], RemoteJob]


@pytest.fixture
def start(workspace: tuple[LocalSession, Workspace], version: str) -> Start:
    return lambda line: RemoteJob.start(*workspace, target_guard([], ["sh", "-c", line], versions=[version]))


def followed(job: RemoteJob) -> bytes:
    return b"".join(chunk.data for chunk in job.follow() if chunk is not None)


def kill(job: RemoteJob) -> None:
    """Kill the job and what watches over it, neither of which notices the end of the other."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (job.began.group, job.pid):
            os.kill(pid, number)


def entered(job: RemoteJob) -> Path:
    """Wait until the job's command is in its group, which is there before; return the group.

    What makes the group outlives a command that is killed before, and removes it again.
    """
    until(lambda: any(job.pid in members(group) for group in device_groups(job.workspace.nonce)))
    (group,) = device_groups(job.workspace.nonce)
    return group


def test_a_job_has_its_group_while_it_runs(start: Start) -> None:
    job = start("until [ -e go ]; do sleep 0.05; done; cat /proc/self/cgroup")
    entered(job)
    Path(job.workspace.path, "go").touch()
    assert f"benchwright-{job.workspace.nonce}-{job.directory}".encode() in followed(job)
    assert (job.exit_status, job.closed) == (0, True)
    assert groups(job.workspace.nonce) == []


def test_a_stopped_job_leaves_no_group(start: Start) -> None:
    job = start("trap : TERM; sleep 60 & sleep 60")
    entered(job)
    job.stop(0.1)
    assert groups(job.workspace.nonce) == []


def test_a_job_whose_leader_was_killed_leaves_no_group_once_it_is_found_again(start: Start) -> None:
    job = start("sleep 60")
    entered(job)
    kill(job)
    assert len(device_groups(job.workspace.nonce)) == 1
    found = RemoteJob.find(LocalSession(), job.workspace, job.directory)
    assert found is not None
    followed(found)
    assert found.exit_status is None
    assert groups(job.workspace.nonce) == []


@pytest.mark.slow
def test_what_a_job_leaves_behind_ends_with_the_workspace(start: Start) -> None:
    """It has no mark in its environment, a session of its own, and a child that nobody collects."""
    job = start("env -i setsid -f sh -c 'sleep 0 & exec sleep 61'")
    followed(job)
    (group,) = device_groups(job.workspace.nonce)
    assert (group / "cgroup.procs").read_text().split()
    remove_workspace(LocalSession(), job.workspace)
    assert groups(job.workspace.nonce) == []


@pytest.mark.slow
def test_a_group_whose_note_was_removed_goes_with_the_workspace(start: Start) -> None:
    """As a cleaner of temporary files does it in the middle of a trial; a group below it is of the command's own."""
    job = start("sleep 60")
    group = entered(job)
    (group / "sub").mkdir()
    shutil.rmtree(f"{job.workspace.path}/.job-{job.directory}")
    kill(job)
    remove_workspace(LocalSession(), job.workspace)
    assert groups(job.workspace.nonce) == []


@pytest.mark.slow
def test_a_group_whose_directory_is_gone_is_found_and_removed(start: Start) -> None:
    job = start("sleep 60")
    group = entered(job)
    nonce, path = job.workspace.nonce, job.workspace.path
    parent = path.rpartition("/")[0]
    both = [each.path for each in find_workspaces(LocalSession(), [parent], [nonce]) if each.nonce == nonce]
    assert both == [path]
    shutil.rmtree(path)
    found = [each for each in find_workspaces(LocalSession(), [parent], [nonce]) if each.nonce == nonce]
    assert any(str(group).startswith(each.path) for each in found)
    assert all(each.own and each.is_cgroup and each.processes > 0 for each in found)
    remove_workspace(LocalSession(), job.workspace)
    assert [each for each in find_workspaces(LocalSession(), [parent], [nonce]) if each.nonce == nonce] == []
    assert groups(nonce) == []


# Runs


def execute(workstation: Workstation, *steps: Step) -> RunEnded:
    plan = Plan("closed", (LOCAL,), steps, repetition=Repetition(trials=1))
    events = list(workstation.run(plan, AnsweringAsker(), Control()))
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    used = {event.workspace.nonce for event in events if isinstance(event, WorkspaceUsed)}
    assert used
    assert [group for nonce in used for group in groups(nonce)] == []
    return ended


BY_SHELL = {"shell": True}
WHY = "Possible cause: this step cannot write to block devices on this computer."


@pytest.mark.slow
def test_a_run_says_why_the_kernel_did_not_let_it_write(workstation: Workstation, step: Private) -> None:
    before = step.contents()
    line = f"dd if=/dev/zero of=$(cat {step.folder}/t) count=1"
    ended = execute(workstation, make_step("command", {"command": line, **BY_SHELL}))
    assert ended.state is not State.DONE
    assert WHY in ended.reason
    ended = execute(workstation, make_step("command", {"command": "true", "prepare": line, **BY_SHELL}))
    assert WHY in ended.reason
    line = f"bash -c 'test -v \"a[$(dd if=/dev/zero of={step.device} count=1)]\"'"  # of which nothing is judged
    execute(workstation, make_step("command", {"command": line, **BY_SHELL}))
    assert step.contents() == before


@pytest.mark.slow
def test_suites_run_as_before(workstation: Workstation, tmp_path: Path) -> None:
    given: dict[str, dict[str, str]] = {
        "dd": {"count": "4"},
        "sysbench-fileio": {"total_size": "4 MiB", "time": "1", "file_num": "2"},
        "fio": {"size": "1 MiB", "runtime": "1"},
        "fio-job": {"job": "[a]\nrw=write\nsize=64k\n"},
    }
    steps = [make_step(suite, {"directory": str(tmp_path), **values}) for suite, values in given.items()]
    ended = execute(workstation, *steps)
    assert ended.state is State.DONE, ended.reason


@pytest.mark.slow
def test_a_run_that_is_attached_leaves_no_group(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home(more=ALIVE)
    path, seconds = tmp_path / "plan.toml", f"2.{secrets.randbelow(10**6)}"
    words = ("--suite", "command", "--set", f"command=sleep {seconds}", "--trials", "1", "--host", "lab")
    assert benchwright("plan", "new", "--defaults", "-o", path, *words).status == DONE
    try:
        with subprocess.Popen([*BENCHWRIGHT, "run", str(path)], env=environment()) as process:
            until(lambda: bool(groups_of(f"sleep {seconds}")))
            held = groups_of(f"sleep {seconds}")
            process.kill()
        ran = benchwright("attach")
        assert ran.status == DONE, ran.err
        assert not any(group.exists() for group in held)
    finally:
        kill_jobs(lab_host.home)


def groups_of(command: str) -> list[Path]:
    """Return the control groups of jobs in which `command` runs."""
    found = []
    for group in groups(""):
        with contextlib.suppress(OSError):
            pids = (group / "cgroup.procs").read_text().split()
            lines = [Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip() for pid in pids]
            found += [group] if command in lines else []
    return found
