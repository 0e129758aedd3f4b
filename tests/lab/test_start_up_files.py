"""A start-up file of the host's shell that reads what commands are sent is named, and nothing of a script is run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remote.errors import RemoteError, StartUpFileError
from remote.jobs.leftovers import find_workspaces
from remote.jobs.workspace import make_workspace, remove_workspace
from remote.probe import read_facts
from remote.reconnect import ReconnectingSession
from remote.ssh.connect import connect
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages
from tests.program import FAILED, benchwright

MESSAGES = messages("lab", "test_start_up_files")

Start = Callable[..., LabHost]

READERS = ("cat >/dev/null", "read -r x", "head -c 5000 >/dev/null", "head -n 1 >/dev/null", "dd of=/dev/null 2>&1")


def session_on(host: LabHost, text: str) -> ReconnectingSession:
    (host.home / ".bashrc").write_text(f"{text}\n")
    session = connect(host.target(), AnsweringAsker(), known_hosts=host.known_hosts)
    if session.run(["sh", "-c", 'echo "$SHELL"']).stdout.strip() != b"/bin/bash":
        session.close()
        pytest.skip("the account's shell is not bash")
    return ReconnectingSession(lambda: session)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_reads_standard_input_is_named(lab_host: LabHost, reader: str, tmp_path: Path) -> None:
    session = session_on(lab_host, reader)
    for ask in (
        lambda: read_facts(session),
        lambda: make_workspace(session, str(tmp_path)),
        lambda: find_workspaces(session),
    ):
        with pytest.raises(StartUpFileError, match=r"on lab \(~/\.bashrc\) consumes standard input") as caught:
            ask()
        assert "case $- in *i*) ;; *) return ;; esac" in caught.value.remedy
    session.close()
    assert list(tmp_path.iterdir()) == []


def test_the_line_that_is_proposed_mends_it(lab_host: LabHost, tmp_path: Path) -> None:
    session = session_on(lab_host, "case $- in *i*) ;; *) return ;; esac\ncat >/dev/null")
    remove_workspace(session, make_workspace(session, str(tmp_path)))
    session.close()


def test_a_file_that_becomes_another_program_is_told_apart(lab_host: LabHost) -> None:
    session = session_on(lab_host, '[ -n "$SSH_TTY" ] || true')
    (lab_host.home / ".bashrc").write_text("exec cat >/dev/null\n")
    with pytest.raises(RemoteError, match=r"did not start the command") as caught:
        read_facts(session)
    assert not isinstance(caught.value, StartUpFileError)
    assert "~/.bashrc" in caught.value.remedy
    session.close()


def test_the_command_line_names_the_file(lab_host: LabHost) -> None:
    session_on(lab_host, "cat >/dev/null").close()
    lab_host.add_to_home()
    ran = benchwright("facts", "lab")
    assert ran.status == FAILED
    assert MESSAGES["bashrc_reads_standard_input"] in ran.err
