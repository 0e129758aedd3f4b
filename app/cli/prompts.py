"""Prompts on the terminal; without a terminal, they are answered with no."""

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from app.cli.common import plain
from remote.questions import Asker, ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion


def with_asker(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that answer prompts in advance to a command, passed as `asker`."""

    @click.option("--fingerprint", metavar="SHA256:…", help="Trust only the host key with this fingerprint.")
    @click.option(
        "--allow-proxy-command", is_flag=True, help="Run the ProxyCommand and Match exec commands of ~/.ssh/config."
    )
    @wraps(command)
    def asking(*arguments: Any, fingerprint: str | None, allow_proxy_command: bool, **named: Any) -> None:
        asker = TerminalAsker(fingerprint, allow_programs=allow_proxy_command)
        command(*arguments, asker=asker, **named)

    return asking


def agrees(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option --yes to a command that runs plans, stored in its `asker`."""

    @click.option(
        "--yes",
        is_flag=True,
        help="Allow the plan's commands, copies of local files and changed settings. They are still printed. A step "
        "that an error of a check blocks is not started.",
    )
    @wraps(command)
    def agreeing(*arguments: Any, asker: TerminalAsker, yes: bool, **named: Any) -> None:
        asker.agree = yes
        command(*arguments, asker=asker, **named)

    return agreeing


class TerminalAsker(Asker):
    """Prompts on standard error; standard output is for results."""

    def __init__(self, fingerprint: str | None = None, *, allow_programs: bool = False) -> None:
        """Trust only the key with `fingerprint`, if given; `allow_programs`: run the commands of ~/.ssh/config."""
        self.expected_fingerprint = None if fingerprint is None else f"SHA256:{_bare(fingerprint)}"
        self._allow_programs = allow_programs
        self.attended = sys.stdin.isatty()
        self.keep_secrets = False
        """Whether accepted secrets are stored in the system keyring."""
        self.destroy: tuple[str, ...] = ()
        """Confirmations (--destroy) of data loss on devices."""
        self.agree = False
        """Whether the plan's actions are allowed without a prompt (--yes)."""

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the user trusts the key: by typing yes or the fingerprint, as with OpenSSH."""
        if self.expected_fingerprint is not None:
            return _bare(question.fingerprint) == _bare(self.expected_fingerprint)
        via = f" (through {question.via})" if question.via else ""
        stored = f"it is added to {question.known_hosts}" if question.known_hosts else "it is not stored"
        text = (
            f"The host key of {question.host} at {question.address}:{question.port}{via} is unknown.\n"
            f"{question.key_type} {question.fingerprint}\n"
            f"Compare the fingerprint with one from a trusted source. If you trust it, {stored}. {question.note}"
        )
        click.echo(plain(text.rstrip()), err=True)
        if not _can_prompt("--fingerprint to trust this key"):
            return False
        answer = _prompt("Trust this key (yes, or paste the fingerprint)", default="no")
        return answer.strip() == "yes" or _bare(answer) == _bare(question.fingerprint)

    def secret(self, question: SecretQuestion) -> str | None:
        """Return the secret that the user types without echo; None without a terminal."""
        if not self.attended:
            return None
        login = f"{question.user}@{question.host}"
        text = f"Passphrase for {question.key_path} ({login})" if question.key_path else f"{login}: {question.prompt}"
        if question.purpose:
            text = f"{login}: {question.prompt}, to {question.purpose}"
        answer = _prompt(plain(text.rstrip(": ")), hide_input=not question.echo, default="", show_default=False)
        return answer or None

    def remember(self, question: SecretQuestion) -> bool:
        """Return whether accepted secrets are stored (--remember), whatever the question."""
        del question
        return self.keep_secrets

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Return the confirmation of data loss: typed, or from --destroy; None without one."""
        if question.confirmation in self.destroy:
            return question.confirmation
        lines = [f"Everything on {question.device} of {question.host} will be lost:"]
        lines += [f"  {name}: {value}" for name, value in question.facts]
        click.echo(plain("\n".join(lines)), err=True)
        if not _can_prompt(f"--destroy with its {question.confirmed_by} to confirm"):
            return None
        answer = _prompt(plain(f"Type its {question.confirmed_by} to continue"), default="", show_default=False)
        return answer.strip() or None

    def consent(self, question: ConsentQuestion) -> bool:
        """Return whether the user allows the plan's actions: by typing yes, or with --yes. Always print them."""
        lines = [f"The plan “{question.plan}” does more than run benchmark tools:"]
        for item in question.items:
            lines += [f"{item.action} ({item.what}):", *(f"    {line}" for line in item.text.split("\n"))]
        click.echo(plain("\n".join(lines)), err=True)
        if self.agree:
            return True
        return confirmed("--yes to allow all of it", "Run it")

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether the program may run: by typing yes, or with --allow-proxy-command."""
        if self._allow_programs:
            return True
        click.echo(
            plain(
                f"{question.setting} in {question.path}, line {question.line}, runs this command on this computer "
                f"to connect to {question.host}:\n{question.command}"
            ),
            err=True,
        )
        return confirmed("--allow-proxy-command to run it", "Run it")


def confirmed(option: str, text: str) -> bool:
    """Return whether the user types yes; without a terminal, print the `option` that answers in advance."""
    return _can_prompt(option) and _prompt(f"{text} (yes or no)", default="no").strip() == "yes"


def _can_prompt(option: str) -> bool:
    """Return whether standard input is a terminal; if not, print the option that answers the prompt."""
    if sys.stdin.isatty():
        return True
    click.echo(plain(f"No terminal to prompt on: pass {option}."), err=True)
    return False


class _OpenPrompt:
    """Whether the main thread waits at a prompt, which a signal must then end."""

    now = False


def end_question() -> None:
    """Abort the main thread's prompt, if any, without an answer. Called by signal handlers."""
    if _OpenPrompt.now:
        raise KeyboardInterrupt


def _prompt(text: str, **named: Any) -> str:
    """Return the user's input; empty after Ctrl+C or Ctrl+D."""
    _OpenPrompt.now = threading.current_thread() is threading.main_thread()
    try:
        return str(click.prompt(plain(text), err=True, **named))
    except click.Abort:
        return ""
    finally:
        _OpenPrompt.now = False


def _bare(fingerprint: str) -> str:
    return fingerprint.strip().removeprefix("SHA256:").rstrip("=")
