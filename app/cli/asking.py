"""Questions to the user at a terminal; without one, nothing is trusted and no secret is known."""

import sys

import click

from remote.questions import HostKeyQuestion, SecretQuestion


class TerminalAsker:
    """Asks on the terminal, on standard error, so that standard output stays for results."""

    def __init__(self, fingerprint: str | None = None) -> None:
        self._fingerprint = None if fingerprint is None else _bare(fingerprint)

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the user trusts the key: by typing yes, or the fingerprint itself, as with OpenSSH."""
        if self._fingerprint is not None:
            return _bare(question.fingerprint) == self._fingerprint
        via = f" (through {question.via})" if question.via else ""
        click.echo(
            f"The host key of {question.host} at {question.address}:{question.port}{via} is not known.\n"
            f"{question.key_type} {question.fingerprint}\n"
            f"Compare it with one you got another way. If you trust it, it is added to {question.known_hosts}.",
            err=True,
        )
        if not sys.stdin.isatty():
            click.echo("There is no terminal to ask on: pass --fingerprint to trust exactly this key.", err=True)
            return False
        answer = click.prompt("Trust this key (yes, or paste the fingerprint)", default="no", err=True)
        return answer.strip() == "yes" or _bare(answer) == _bare(question.fingerprint)

    def secret(self, question: SecretQuestion) -> str | None:
        """Return what the user types unseen, or None where there is no terminal."""
        if not sys.stdin.isatty():
            return None
        whom = f"{question.user}@{question.host}"
        what = f"Passphrase for {question.key_path} ({whom})" if question.key_path else f"{whom}: {question.prompt}"
        if question.purpose:
            what = f"{whom}: {question.prompt}, to {question.purpose}"
        answer: str = click.prompt(what.rstrip(": "), hide_input=True, default="", show_default=False, err=True)
        return answer or None


def _bare(fingerprint: str) -> str:
    return fingerprint.strip().removeprefix("SHA256:").rstrip("=")
