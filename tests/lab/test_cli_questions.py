"""What the command line asks on a terminal, and what it does where there is none."""

import os
import pty
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.pam_host import PASSWORD, StartPam
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.program import BENCHWRIGHT, DONE, FAILED, benchwright, environment

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_cli_questions")


def on_a_terminal(words: Sequence[str], answers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Run `benchwright` on a terminal; type each answer once its question has appeared. Return status and screen."""
    ours, theirs = pty.openpty()
    command = [*BENCHWRIGHT, *words]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(TERM="dumb")) as process:
        os.close(theirs)
        screen, waiting = "", list(answers)
        while True:
            try:
                screen += os.read(ours, 4096).decode()
            except OSError:  # the last who had the terminal has closed it
                break
            if waiting and waiting[0][0] in screen:
                os.write(ours, waiting.pop(0)[1].encode() + b"\n")
        os.close(ours)
        assert not waiting, f"never asked for {waiting[0][0]}:\n{screen}"
    return process.returncode, screen.replace("\r\n", "\n")


def test_an_unknown_key_is_shown_and_enter_does_not_trust_it(lab_host: LabHost) -> None:
    lab_host.add_to_home(trusted=False)
    status, screen = on_a_terminal(["hosts", "test", "lab"], [("Trust this key", "")])
    assert status == FAILED
    assert f"ssh-ed25519 {lab_host.fingerprint}" in screen
    assert "was not accepted" in screen
    assert not (Path.home() / ".ssh" / "known_hosts").exists()


def test_the_expected_fingerprint_is_an_answer(lab_host: LabHost) -> None:
    lab_host.add_to_home(trusted=False)
    status, screen = on_a_terminal(["hosts", "test", "lab"], [("Trust this key", lab_host.fingerprint)])
    assert status == DONE, screen
    assert "Connected to lab" in screen


def test_a_changed_key_is_refused_with_the_line_and_the_command(lab_host: LabHost) -> None:
    lab_host.add_to_home()
    lab_host.restart(host_key=lab_host.keys.other_host)
    ran = benchwright("hosts", "test", "lab", "--fingerprint", lab_host.fingerprint)
    assert ran.status == FAILED
    known_hosts = Path.home() / ".ssh" / "known_hosts"
    assert f"{known_hosts}, line 1" in ran.out
    assert "cloud address" in ran.out
    assert f"ssh-keygen -R '[127.0.0.1]:{lab_host.port}' -f {known_hosts}" in ran.out


def test_a_password_is_typed_unseen(start_pam_host: StartPam) -> None:
    host = start_pam_host(PasswordAuthentication="yes")
    host.add_to_home()
    config = Path.home() / ".ssh" / "config"
    config.write_text(config.read_text().replace(str(host.keys.client), "none"))
    status, screen = on_a_terminal(["hosts", "test", "lab"], [(f"{host.user}@lab: Password", PASSWORD)])
    assert status == DONE, screen
    assert PASSWORD not in screen


def test_without_a_terminal_a_locked_key_is_a_refusal_with_what_to_do(lab_host: LabHost) -> None:
    lab_host.add_to_home()
    config = Path.home() / ".ssh" / "config"
    config.write_text(config.read_text().replace(str(lab_host.keys.client), str(lab_host.keys.encrypted)))
    ran = benchwright("hosts", "test", "lab", "--json")
    assert (ran.status, ran.json["outcome"]) == (FAILED, "authentication refused")
    assert "no terminal" in ran.json["message"]
    assert "benchwright hosts test lab --remember" in ran.json["remedy"]


def add_proxy(host: LabHost, line: str) -> None:
    host.add_to_home()
    with (Path.home() / ".ssh" / "config").open("a") as config:
        config.write(f"  ProxyCommand {line}\n")


def test_without_a_terminal_no_program_runs_unless_it_is_allowed(lab_host: LabHost, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    add_proxy(lab_host, f"sh -c 'touch {ran}; exit 7'")
    refused = benchwright("hosts", "test", "lab")
    assert refused.status == FAILED
    assert "--allow-proxy-command" in refused.err
    assert f"{Path.home() / '.ssh' / 'config'}, line 7" in refused.err
    assert f"touch {ran}" in refused.err
    assert not ran.exists()
    allowed = benchwright("hosts", "test", "lab", "--allow-proxy-command")
    assert ran.exists()
    assert "exit status 7" in allowed.out


def test_on_a_terminal_a_program_runs_after_a_yes_alone(lab_host: LabHost, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    add_proxy(lab_host, f"sh -c 'touch {ran}; exit 7'")
    status, screen = on_a_terminal(["facts", "lab"], [("Run it (yes or no)", "")])
    assert status == FAILED
    assert "not allowed" in screen
    assert not ran.exists()
    on_a_terminal(["facts", "lab"], [("Run it (yes or no)", "yes")])
    assert ran.exists()


def test_forgetting_where_nothing_is_kept(lab_host: LabHost) -> None:
    lab_host.add_to_home()
    ran = benchwright("hosts", "forget", "lab")
    assert (ran.status, ran.out) == (DONE, MESSAGES["the_keyring_keeps_nothing"])
