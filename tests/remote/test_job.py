"""A job keeps its output and exit status, is ended as a whole, and leaves nothing on the host, under every shell."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from remote.errors import JobError, OutputLimitError
from remote.jobs.job import BESIDE, RemoteJob, Workspace, make_workspace, remove_workspace
from remote.local import LocalSession
from remote.session import Channel, Chunk, Session
from tests.messages import messages
from tests.processes import ends, processes_with

MESSAGES = messages("remote", "test_job")


@pytest.fixture
def session(shell_session: Session) -> Session:
    return shell_session


@pytest.fixture
def workspace(session: Session, tmp_path: Path) -> Iterator[Workspace]:
    directory = tmp_path / "bench"
    directory.mkdir()
    made = make_workspace(session, str(directory))
    yield made
    remove_workspace(session, made)
    assert list(directory.iterdir()) == []
    assert processes_with(made.nonce) == []


def script(text: str) -> list[str]:
    return ["sh", "-c", text]


def gather(job: RemoteJob) -> dict[str, bytes]:
    output = {"stdout": b"", "stderr": b""}
    for chunk in job.follow():
        if chunk is not None:
            output[chunk.stream] += chunk.data
    return output


def until(job: RemoteJob, text: bytes) -> Iterator[Chunk | None]:
    """Follow `job` until `text` was read, and return the follower, still under way."""
    follower = job.follow()
    for chunk in follower:
        if chunk is not None and text in chunk.data:
            return follower
    pytest.fail(f"the job ended without printing {text!r}")


def uptime() -> float:
    return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])


# The workspace


OWN_ROOT = """
set -e
mount --make-rprivate /
mount -t tmpfs root "$1"
for name in /*; do
    [ ! -L "$name" ] || { cp -P "$name" "$1$name"; continue; }
    [ -d "$name" ] || continue
    mkdir "$1$name"
    mount --rbind "$name" "$1$name"
done
echo ready
read -r _
"""


@pytest.fixture
def own_root(behind: Callable[..., Session], tmp_path: Path) -> Iterator[Session]:
    """A host whose root directory is its own, so that one may write in it: a namespace that lasts, and a chroot."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("needs root, unshare and nsenter")
    (tmp_path / "root").mkdir()
    root = str(tmp_path / "root")
    with subprocess.Popen(
        ["unshare", "-m", "sh", "-c", OWN_ROOT, "sh", root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as namespace:
        assert namespace.stdout is not None
        assert namespace.stdin is not None
        if namespace.stdout.readline() != b"ready\n":
            pytest.skip("needs mount namespaces")
        yield behind("nsenter", "-m", "-t", str(namespace.pid), "chroot", root)
        namespace.stdin.write(b"\n")
        namespace.stdin.close()
        namespace.wait(10.0)


def test_a_step_may_work_in_the_root_directory(own_root: Session) -> None:
    made = make_workspace(own_root, "/")
    assert made.path == f"/benchwright-{made.nonce}"
    job = RemoteJob.start(own_root, made, script("pwd -P; echo oh >&2"))
    assert gather(job) == {"stdout": f"{made.path}\n".encode(), "stderr": b"oh\n"}
    assert (job.exit_status, job.truncated) == (0, "")
    job.stop()
    assert RemoteJob.under_way(own_root, made) == frozenset()
    remove_workspace(own_root, made)
    assert own_root.run(["ls", "-d", made.path]).exit_status != 0
    assert not Path(made.path).exists()


def test_the_workspace_is_private_and_named_by_its_nonce(session: Session, workspace: Workspace) -> None:
    path = Path(workspace.path)
    assert path.name == f"benchwright-{workspace.nonce}"
    assert path.stat().st_mode & 0o777 == 0o700
    assert session.run(["cat", f"{workspace.path}/.benchwright"]).stdout == f"{workspace.nonce}\n".encode()


@pytest.mark.parametrize(
    ("directory", "words"), [("/nowhere/at/all", "directory does not exist"), ("/etc/passwd", "not a directory")]
)
def test_a_directory_that_is_none_is_refused(session: Session, directory: str, words: str) -> None:
    with pytest.raises(JobError, match=words):
        make_workspace(session, directory)


def test_a_directory_that_takes_no_files_is_refused(session: Session) -> None:
    with pytest.raises(JobError, match="/proc on testhost is not writable"):
        make_workspace(session, "/proc")


def test_an_awkward_directory_name_is_taken_literally(session: Session, tmp_path: Path) -> None:
    directory = tmp_path / "a b$(touch x)'\"*"
    directory.mkdir()
    made = make_workspace(session, str(directory))
    assert Path(made.path).parent == directory
    job = RemoteJob.start(session, made, ["printf", "%s", "a  b'$HOME"])
    assert gather(job)["stdout"] == b"a  b'$HOME"
    remove_workspace(session, made)
    assert list(directory.iterdir()) == []


def test_only_the_workspace_is_removed(session: Session, tmp_path: Path) -> None:
    made = make_workspace(session, str(tmp_path))
    forged = Workspace(str(tmp_path), made.nonce)
    with pytest.raises(JobError, match="not the workspace that was created"):
        remove_workspace(session, forged)
    (Path(made.path) / ".benchwright").write_text("another\n", encoding="ascii")
    with pytest.raises(JobError, match="not the workspace that was created"):
        remove_workspace(session, made)
    assert Path(made.path).is_dir()


def test_removing_follows_no_link_and_spares_no_hidden_file(session: Session, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    made = make_workspace(session, str(tmp_path))
    Path(made.path, "link").symlink_to(outside)
    for name in ("..odd", ".hidden", "-rf", "a b", "x\ny"):
        Path(made.path, name).touch()
    remove_workspace(session, made)
    assert not Path(made.path).exists()
    assert (outside / "kept").exists()
    remove_workspace(session, made)


# Output and exit status


def test_output_status_and_times_come_back(session: Session, workspace: Workspace) -> None:
    before, wall = uptime(), time.time()
    job = RemoteJob.start(session, workspace, script("pwd; echo bad >&2; exit 7"))
    assert gather(job) == {"stdout": f"{workspace.path}\n".encode(), "stderr": b"bad\n"}
    assert (job.exit_status, job.reason) == (7, "")
    assert job.ended_clock is not None
    assert before - 0.011 <= job.clock <= job.ended_clock <= uptime()
    assert abs(job.epoch - wall) < 2.0
    assert not job.running()


def test_the_pid_is_the_commands_own(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("echo $$"))
    assert int(gather(job)["stdout"]) == job.pid


def test_the_command_is_in_a_group_of_its_own_without_input(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script('cat; cut -d" " -f5 /proc/$$/stat; echo "$LC_ALL"'))
    assert gather(job)["stdout"].split() == [str(job.began.group).encode(), b"C"]
    assert job.began.group != os.getpgrp()


def test_interrupts_are_not_ignored_where_setsid_can_fork(session: Session, workspace: Workspace) -> None:
    if session.run(["setsid", "-f", "true"]).exit_status != 0:
        pytest.skip("this setsid cannot fork")
    job = RemoteJob.start(session, workspace, ["grep", "SigIgn", "/proc/self/status"])
    ignored = int(gather(job)["stdout"].split()[1], 16)
    assert not ignored & 0b110  # SIGINT and SIGQUIT


def test_every_byte_is_read(session: Session, workspace: Workspace) -> None:
    text = "i=0; while [ $i -lt 3000 ]; do echo line $i; echo error $i >&2; i=$((i + 1)); done; printf end"
    output = gather(RemoteJob.start(session, workspace, script(text)))
    assert output["stdout"] == b"".join(b"line %d\n" % i for i in range(3000)) + b"end"
    assert output["stderr"] == b"".join(b"error %d\n" % i for i in range(3000))


def test_bytes_are_not_touched(session: Session, workspace: Workspace) -> None:
    data = bytes(range(256)) * 64
    source = Path(workspace.path) / "data"
    source.write_bytes(data)
    assert gather(RemoteJob.start(session, workspace, ["cat", "data"]))["stdout"] == data


def test_what_tail_itself_has_to_say_is_not_the_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that tells of no more files (fs.inotify.max_user_instances) makes every tail complain."""
    folder = tmp_path / "bin"
    folder.mkdir()
    real = shutil.which("tail")
    complaint = "tail: inotify cannot be used, reverting to polling: Too many open files"
    (folder / "tail").write_text(f'#!/bin/sh\necho "{complaint}" >&2\nexec {real} "$@"\n')
    (folder / "tail").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    session = LocalSession()
    made = make_workspace(session, str(tmp_path))
    shown = script("echo one; echo bad >&2; while [ ! -e go ]; do sleep 0.02; done; echo two; echo worse >&2")
    job = RemoteJob.start(session, made, shown)
    output = {"stdout": b"", "stderr": b""}
    for chunk in job.follow():
        if chunk is not None:
            output[chunk.stream] += chunk.data
            Path(made.path, "go").touch()
    assert output == {"stdout": b"one\ntwo\n", "stderr": b"bad\nworse\n"}
    assert job.exit_status == 0
    assert gather(RemoteJob(session, made, job.directory, job.began)) == {
        "stdout": b"one\ntwo\n",
        "stderr": b"bad\nworse\n",
    }
    remove_workspace(session, made)
    session.close()


def test_bytes_missed_by_a_follower_that_ended_early_are_fetched(session: Session, workspace: Workspace) -> None:
    class Deaf(LocalSession):
        """A host whose first follower ends at once, before the job's output is read."""

        followers = 0

        def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
            self.followers += "follow" in argv
            words = ["true"] if "follow" in argv and self.followers == 1 else argv
            return session.open(words, stdin=stdin, keep_input=keep_input)

    began = RemoteJob.start(session, workspace, ["echo", "kept"])
    gather(began)
    deaf = Deaf()
    assert gather(RemoteJob(deaf, workspace, began.directory, began.began))["stdout"] == b"kept\n"
    assert deaf.followers == 2
    deaf.close()


def test_a_missing_program_ends_with_127(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, ["no-such-tool"])
    assert b"no-such-tool" in gather(job)["stderr"]
    assert job.exit_status == 127


def test_a_line_arrives_while_the_command_runs(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("echo ready; exec sleep 60"))
    follower = until(job, b"ready\n")
    assert next(follower) is None
    assert job.running()
    assert job.exit_status is None
    job.stop()
    assert [chunk for chunk in follower if chunk is not None] == []
    assert not job.running()


def test_several_jobs_share_a_workspace(session: Session, workspace: Workspace) -> None:
    first = RemoteJob.start(session, workspace, ["echo", "1"], name="measure")
    second = RemoteJob.start(session, workspace, ["echo", "2"], name="measure")
    assert (gather(first)["stdout"], gather(second)["stdout"]) == (b"1\n", b"2\n")


def test_following_again_goes_on_where_it_left_off(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("echo one; while [ ! -e go ]; do sleep 0.05; done; echo two"))
    until(job, b"one\n").close()  # type: ignore[attr-defined]  # a generator, closed as a lost connection would
    Path(workspace.path, "go").touch()
    assert gather(job)["stdout"] == b"two\n"
    assert job.exit_status == 0


# Ending


def test_stop_ends_the_group_and_keeps_the_status(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("trap 'echo last words; exit 3' TERM; echo up; sleep 60 & wait"))
    follower = until(job, b"up\n")
    job.stop()
    assert b"".join(chunk.data for chunk in follower if chunk is not None) == b"last words\n"
    assert (job.exit_status, job.reason) == (3, "stopped")
    assert ends(job.pid)
    job.stop()


def test_stop_kills_what_will_not_end(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("trap '' TERM; echo up; while :; do sleep 60; done"))
    until(job, b"up\n")
    started = time.monotonic()
    job.stop(grace=0.2)
    assert time.monotonic() - started < 30.0
    assert ends(job.pid)
    assert job.exit_status is None
    assert "was killed" in job.reason
    assert processes_with(workspace.nonce) == []


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        ("exit 3", 3, ""),
        ("kill -9 $$", 137, "ended by SIGKILL"),
        ("kill -9 $PPID", None, "killed on the host: no exit status"),
    ],
    ids=["failed", "killed", "killed with its leader"],
)
def test_what_a_command_leaves_running_is_ended_and_says_nothing_of_its_own_end(
    session: Session, workspace: Workspace, ending: str, status: int | None, reason: str
) -> None:
    job = RemoteJob.start(session, workspace, script(f"sleep 100 & {ending}"))
    gather(job)
    assert job.exit_status == status
    assert job.reason.startswith(reason)
    assert "stopped" not in job.reason
    assert processes_with(workspace.nonce) == []


def test_stop_finds_what_left_the_group(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("setsid sleep 60 & setsid sleep 61 & echo up; wait"))
    until(job, b"up\n")
    job.stop()
    assert processes_with(workspace.nonce) == []


def test_stop_may_come_from_another_thread(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("echo up; exec sleep 60"))
    stopper = threading.Thread(target=job.stop)
    for chunk in job.follow():
        if chunk is not None:
            stopper.start()
    stopper.join()
    assert job.exit_status == 143


def test_what_a_command_leaves_behind_is_ended(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("setsid sleep 60 >/dev/null 2>&1 & echo $!; exit 0"))
    pid = int(gather(job)["stdout"])
    assert ends(pid)
    assert job.exit_status == 0


def test_a_killed_leader_is_no_success(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("echo up; exec sleep 60"))
    follower = until(job, b"up\n")
    os.kill(job.began.group, 9)
    assert all(chunk is None for chunk in follower)
    assert job.exit_status is None
    assert job.reason
    assert ends(job.pid)


def test_a_killed_command_names_the_signal(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("kill -s KILL $$"))
    gather(job)
    assert (job.exit_status, job.reason) == (137, "ended by SIGKILL")


def test_removing_the_workspace_ends_its_jobs(session: Session, tmp_path: Path) -> None:
    made = make_workspace(session, str(tmp_path))
    job = RemoteJob.start(session, made, ["sleep", "60"])
    remove_workspace(session, made)
    assert ends(job.pid)
    assert processes_with(made.nonce) == []
    gather(job)
    assert (job.exit_status, job.reason) == (None, MESSAGES["its_directory_on_the_host"])


def test_a_job_survives_its_session(workspace: Workspace) -> None:
    session = LocalSession()
    job = RemoteJob.start(session, workspace, script("echo up; while [ ! -e go ]; do sleep 0.05; done; echo done"))
    until(job, b"up\n")
    session.close()
    other = LocalSession()
    again = RemoteJob(other, workspace, job.directory, job.began)
    assert again.running()
    Path(workspace.path, "go").touch()
    assert gather(again)["stdout"] == b"up\ndone\n"
    other.close()


def test_endless_output_stops_the_job(session: Session, workspace: Workspace) -> None:
    job = RemoteJob.start(session, workspace, script("while :; do echo 0123456789; done"), limit=100_000)
    received: list[Chunk | None] = []
    with pytest.raises(OutputLimitError, match="more than 100000 bytes on stdout"):
        received.extend(job.follow())
    assert sum(len(chunk.data) for chunk in received if chunk is not None) == 100_000
    assert not job.running()


def test_a_job_without_its_workspace_is_not_started(session: Session, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="is gone"):
        RemoteJob.start(session, Workspace(str(tmp_path / "benchwright-00"), "00"), ["true"])


def test_a_job_beside_another_leaves_the_lease_to_it_and_is_of_its_run(
    session: Session, workspace: Workspace, tmp_path: Path
) -> None:
    lease = tmp_path / "lease"
    lease.mkdir()
    (lease / "run=mine").touch()
    first = RemoteJob.start(session, workspace, script("sleep 1"), "first", lease=str(lease))
    named = [path.name for path in lease.glob("job=*")]
    assert [name.split("-")[0] for name in named] == [f"job={first.began.group}"]
    other = RemoteJob.start(session, workspace, script("echo $BENCHWRIGHT_RUN"), "other", lease=f"{BESIDE}{lease}")
    assert gather(other)["stdout"] == b"mine\n"
    assert [path.name for path in lease.glob("job=*")] == named
    gather(first)
