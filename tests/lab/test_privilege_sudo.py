"""Root on a host, through a real sudo: without a password where that works, with one only from the user."""

import os
import sys
import time
from collections.abc import Iterator

import pytest

from remote.errors import RemoteTimeoutError
from remote.jobs.job import RemoteJob
from remote.jobs.workspace import make_workspace, remove_workspace
from remote.privilege import PrivilegeError, RootSession, WrongPasswordError, as_root
from remote.session import Session
from remote.telemetry.telemetry import Telemetry
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.sudo_host import NOBODY, PASSWORD, USER, WITHOUT_PASSWORD, StartSudoHost, start_sudo_host, words_of_processes

__all__ = ["start_sudo_host"]

PURPOSE = "drop the page cache"


@pytest.fixture
def opened() -> Iterator[list[Session]]:
    sessions: list[Session] = []
    yield sessions
    for session in sessions:
        session.close()


def connected(host: LabHost, opened: list[Session]) -> Session:
    opened.append(host.connect())
    return opened[-1]


def who(session: Session) -> bytes:
    return session.run(["id", "-un"]).stdout


def test_a_user_who_is_root_already_needs_no_sudo(lab_host: LabHost, opened: list[Session]) -> None:
    session = connected(lab_host, opened)
    if who(session) != b"root\n":
        pytest.skip("the lab's user is not root")
    assert as_root(session, AnsweringAsker(), PURPOSE) is session


def test_sudo_without_a_password_asks_nobody(start_sudo_host: StartSudoHost, opened: list[Session]) -> None:
    session, asker = connected(start_sudo_host(WITHOUT_PASSWORD), opened), AnsweringAsker()
    root = as_root(session, asker, PURPOSE)
    assert who(session) == f"{USER}\n".encode()
    assert who(root) == b"root\n"
    assert asker.secret_questions == []


def test_a_password_is_asked_for_once_and_told_for_what(start_sudo_host: StartSudoHost, opened: list[Session]) -> None:
    asker = AnsweringAsker(secrets=[PASSWORD])
    root = as_root(connected(start_sudo_host(), opened), asker, PURPOSE)
    assert [who(root) for _ in range(3)] == [b"root\n"] * 3
    (question,) = asker.secret_questions
    assert (question.user, question.purpose, question.attempt) == (USER, PURPOSE, 1)


def test_what_runs_as_root_has_its_own_input_streams_and_status(
    start_sudo_host: StartSudoHost, opened: list[Session]
) -> None:
    root = as_root(connected(start_sudo_host(), opened), AnsweringAsker(secrets=[PASSWORD]), PURPOSE)
    script = b"echo out; echo err >&2; cat; exit 7"
    done = root.run(["sh", "-c", script.decode()], stdin=b"the input")
    assert (done.stdout, done.stderr, done.exit_status) == (b"out\nthe input", b"err\n", 7)
    assert root.run(["printf", "%s|", "a b", "$HOME", "-n"]).stdout == b"a b|$HOME|-n|"
    with pytest.raises(RemoteTimeoutError):
        root.run(["sleep", "30"], timeout=1.0)


@pytest.mark.parametrize("forget", ["", "sudo -k; "])
def test_the_password_never_reaches_the_command(
    start_sudo_host: StartSudoHost, opened: list[Session], forget: str
) -> None:
    # With a fresh time stamp sudo does not prompt: what was sent blindly would then be the command's input.
    session = connected(start_sudo_host(), opened)
    root = as_root(session, AnsweringAsker(secrets=[PASSWORD]), PURPOSE)
    session.run(["sh", "-c", f"{forget}true"])
    assert root.run(["cat"], stdin=b"mine").stdout == b"mine"


@pytest.mark.slow
def test_a_wrong_password_is_asked_for_again_and_then_given_up(
    start_sudo_host: StartSudoHost, opened: list[Session]
) -> None:
    session = connected(start_sudo_host(), opened)
    asker = AnsweringAsker(secrets=["wrong", PASSWORD])
    assert who(as_root(session, asker, PURPOSE)) == b"root\n"
    assert [question.attempt for question in asker.secret_questions] == [1, 2]
    with pytest.raises(PrivilegeError, match=r"drop the page cache.*sudo needs a password"):
        as_root(connected(start_sudo_host(), opened), AnsweringAsker(), PURPOSE)
    with pytest.raises(WrongPasswordError, match="refused 3 passwords"):
        as_root(connected(start_sudo_host(), opened), AnsweringAsker(secrets=["x"] * 3), PURPOSE)


def test_an_account_that_sudo_does_not_know_is_told_so(start_sudo_host: StartSudoHost, opened: list[Session]) -> None:
    asker = AnsweringAsker(secrets=[PASSWORD])
    with pytest.raises(PrivilegeError, match=f"{USER} is not in the sudoers file"):
        as_root(connected(start_sudo_host(NOBODY), opened), asker, PURPOSE)


def test_one_command_alone_that_sudo_allows_is_not_enough(
    start_sudo_host: StartSudoHost, opened: list[Session]
) -> None:
    session = connected(start_sudo_host(f"{USER} ALL=(ALL) NOPASSWD: /usr/bin/true\n"), opened)
    root = as_root(session, AnsweringAsker(), PURPOSE)
    with pytest.raises(PrivilegeError, match="did not start the command"):
        root.run(["id"])


def test_a_closed_session_has_forgotten_the_password(start_sudo_host: StartSudoHost, opened: list[Session]) -> None:
    session = connected(start_sudo_host("Defaults timestamp_timeout=0\n" + f"{USER} ALL=(ALL) ALL\n"), opened)
    root = as_root(session, AnsweringAsker(secrets=[PASSWORD]), PURPOSE)
    root.close()
    with pytest.raises(PrivilegeError):
        who(root)
    assert PASSWORD not in repr(vars(root))


def test_no_process_shows_the_password(start_sudo_host: StartSudoHost, opened: list[Session]) -> None:
    session = connected(start_sudo_host(), opened)
    root = as_root(session, AnsweringAsker(secrets=[PASSWORD]), PURPOSE)
    channel = root.open(["sh", "-c", "echo began; read line"], keep_input=True)
    while not channel.read(60.0):
        pass
    shown = b"".join(words_of_processes())
    assert b"echo began" in shown  # or the look would prove nothing
    assert PASSWORD.encode() not in shown
    channel.send(b"\n", last=True)
    channel.close()


def test_a_root_session_does_not_close_the_session_below(start_sudo_host: StartSudoHost, opened: list[Session]) -> None:
    session = connected(start_sudo_host(WITHOUT_PASSWORD), opened)
    RootSession(session).close()
    assert who(session) == f"{USER}\n".encode()


# Writes 64 MiB past the page cache, spawns children that nobody waits for, and lingers.
AS_ROOT = """
import os, resource, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.system("dd if=/dev/zero of=written bs=1M count=64 oflag=direct 2>/dev/null")
ends = time.monotonic() + 3
while time.monotonic() < ends:
    if not os.fork():
        while sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) < 0.02:
            pass
        os._exit(0)
    time.sleep(0.04)
time.sleep(1)
"""


@pytest.mark.slow
def test_of_a_job_under_sudo_telemetry_counts_what_it_may_read(
    start_sudo_host: StartSudoHost, opened: list[Session]
) -> None:
    """The kernel does not show an account the I/O of a process of root: absent, not that of a part of the tree."""
    session = connected(start_sudo_host(WITHOUT_PASSWORD), opened)
    root = as_root(session, AnsweringAsker(), PURPOSE)
    home = session.run(["sh", "-c", "mkdir lease && pwd"]).stdout.decode().strip()
    workspace, lease = make_workspace(session, home), f"{home}/lease"
    telemetry = Telemetry.start(session, 0.2, lease)
    found: dict[str, list[float]] = {}
    try:
        telemetry.read(30.0)
        job = RemoteJob.start(root, workspace, [sys.executable, "-c", AS_ROOT], lease=lease)
        deadline = time.monotonic() + 60.0
        while job.running() and time.monotonic() < deadline:
            for sample in telemetry.read(10.0):
                found.setdefault(sample.metric.name, []).append(sample.value)
    finally:
        telemetry.stop()
        remove_workspace(root, workspace)
    used = sum(map(sum, zip(found["tool_cpu_user"], found["tool_cpu_system"], strict=True)))
    assert used > 0
    assert not {"tool_read_rate", "tool_write_rate", "tool_read_calls", "tool_write_calls"} & set(found)
    assert {"tool_threads", "tool_minor_faults"} <= set(found)
    seconds = used / 100 * 0.2 * (os.cpu_count() or 1)
    assert seconds > 0.5, "children that nobody waits for are counted in the job's cgroup"
