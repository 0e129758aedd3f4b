"""Questions to the user at a terminal; without one, nothing is trusted and no secret is known."""

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from app.cli.common import plain
from remote.questions import ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion


def asks(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that answer questions before they are asked, and an `asker` made of them."""

    @click.option("--fingerprint", metavar="SHA256:…", help="Trust the host key with exactly this fingerprint.")
    @click.option(
        "--allow-proxy-command", is_flag=True, help="Run the ProxyCommand and Match exec commands of ~/.ssh/config."
    )
    @wraps(command)
    def asking(*arguments: Any, fingerprint: str | None, allow_proxy_command: bool, **named: Any) -> None:
        asker = TerminalAsker(fingerprint, allow_programs=allow_proxy_command)
        command(*arguments, asker=asker, **named)

    return asking


def agrees(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that runs plans the option --yes, for its `asker`."""

    @click.option(
        "--yes",
        is_flag=True,
        help="Agree to the commands that the plan executes, the files of this computer that it copies and the settings "
        "that it changes. They are printed all the same.",
    )
    @wraps(command)
    def agreeing(*arguments: Any, asker: TerminalAsker, yes: bool, **named: Any) -> None:
        asker.agree = yes
        command(*arguments, asker=asker, **named)

    return agreeing


class TerminalAsker:
    """Asks on the terminal, on standard error, so that standard output stays for results."""

    def __init__(self, fingerprint: str | None = None, *, allow_programs: bool = False) -> None:
        """Trust exactly the key with `fingerprint`, if there is one; `allow_programs`: run what ~/.ssh/config names."""
        self._fingerprint = None if fingerprint is None else _bare(fingerprint)
        self._allow_programs = allow_programs
        self.keep_secrets = False
        """Whether secrets that have worked go to the system's keyring."""
        self.destroy: tuple[str, ...] = ()
        """What confirms that the data on a device may be lost: given when the program was started."""
        self.agree = False
        """Whether what a plan does is agreed to without being asked."""

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the user trusts the key: by typing yes, or the fingerprint itself, as with OpenSSH."""
        if self._fingerprint is not None:
            return _bare(question.fingerprint) == self._fingerprint
        via = f" (through {question.via})" if question.via else ""
        stored = f"it is added to {question.known_hosts}" if question.known_hosts else "it is not written down"
        said = (
            f"The host key of {question.host} at {question.address}:{question.port}{via} is not known.\n"
            f"{question.key_type} {question.fingerprint}\n"
            f"Compare it with one you got another way. If you trust it, {stored}. {question.note}"
        )
        click.echo(plain(said.rstrip()), err=True)
        if not sys.stdin.isatty():
            click.echo("There is no terminal to ask on: pass --fingerprint to trust exactly this key.", err=True)
            return False
        answer = _prompt("Trust this key (yes, or paste the fingerprint)", default="no")
        return answer.strip() == "yes" or _bare(answer) == _bare(question.fingerprint)

    def secret(self, question: SecretQuestion) -> str | None:
        """Return what the user types unseen, or None where there is no terminal."""
        if not sys.stdin.isatty():
            return None
        whom = f"{question.user}@{question.host}"
        what = f"Passphrase for {question.key_path} ({whom})" if question.key_path else f"{whom}: {question.prompt}"
        if question.purpose:
            what = f"{whom}: {question.prompt}, to {question.purpose}"
        answer = _prompt(plain(what.rstrip(": ")), hide_input=not question.echo, default="", show_default=False)
        return answer or None

    def remember(self, question: SecretQuestion) -> bool:  # noqa: ARG002 (the protocol's)
        """Return whether secrets that have worked are to be kept, as asked for when the program was started."""
        return self.keep_secrets

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Return what the user types to confirm a loss, or what confirmed it when Benchwright was started."""
        if question.confirmation in self.destroy:
            return question.confirmation
        lines = [f"Everything on {question.device} of {question.host} will be lost:"]
        lines += [f"  {name}: {value}" for name, value in question.facts]
        click.echo(plain("\n".join(lines)), err=True)
        if not sys.stdin.isatty():
            click.echo(
                plain(
                    f"There is no terminal to ask on: pass --destroy with its {question.confirmed_by} to confirm it."
                ),
                err=True,
            )
            return None
        answer = _prompt(plain(f"Type its {question.confirmed_by} to go on"), default="", show_default=False)
        return answer.strip() or None

    def consent(self, question: ConsentQuestion) -> bool:
        """Return whether the user agrees to what a plan does: by typing yes, or as said when Benchwright was started.

        All of it is printed, whatever the answer.
        """
        lines = [f"The plan “{question.plan}” does more than run benchmark tools:"]
        for item in question.items:
            lines += [f"{item.action} ({item.what}):", *(f"    {line}" for line in item.text.split("\n"))]
        click.echo(plain("\n".join(lines)), err=True)
        if self.agree:
            return True
        if not sys.stdin.isatty():
            click.echo("There is no terminal to ask on: pass --yes to agree to all of it.", err=True)
            return False
        return _prompt("Run it (yes or no)", default="no").strip() == "yes"

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether the program may run: by typing yes, or as allowed when Benchwright was started."""
        if self._allow_programs:
            return True
        click.echo(
            plain(
                f"{question.setting} in {question.path}, line {question.line}, runs this command on this computer "
                f"on the way to {question.host}:\n{question.command}"
            ),
            err=True,
        )
        if not sys.stdin.isatty():
            click.echo("There is no terminal to ask on: pass --allow-proxy-command to let it run.", err=True)
            return False
        return _prompt("Run it (yes or no)", default="no").strip() == "yes"


class _Prompting:
    """Whether the main thread waits for an answer: a signal then ends the question."""

    now = False


def end_question() -> None:
    """End the question that the main thread asks, if any, as if nothing was answered. Called by handlers of signals."""
    if _Prompting.now:
        raise KeyboardInterrupt


def _prompt(text: str, **named: Any) -> str:
    """Return what the user types, empty where they end the question with Ctrl+C or Ctrl+D."""
    _Prompting.now = threading.current_thread() is threading.main_thread()
    try:
        return str(click.prompt(plain(text), err=True, **named))
    except click.Abort:
        return ""
    finally:
        _Prompting.now = False


def _bare(fingerprint: str) -> str:
    return fingerprint.strip().removeprefix("SHA256:").rstrip("=")
