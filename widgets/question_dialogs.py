"""The questions that must be answered on the way to a host: is this its key, what is the secret, may this run here."""

import re

from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app.questions import HostKeyQuestion, LocalProgramQuestion, SecretQuestion
from widgets.parts.notice import FieldMessage
from widgets.parts.question import Question
from widgets.parts.text import Text, Tone
from widgets.theme import code_font, restyle

_SHA256 = re.compile(r"(?<![A-Za-z0-9+/])(?:SHA256:)?([A-Za-z0-9+/]{43})=?(?![A-Za-z0-9+/=])")
"""A SHA256 fingerprint as OpenSSH and clouds print it: 43 characters of base64, with or without its prefix."""

_MD5 = re.compile(r"(?:MD5:)?(?:[0-9a-fA-F]{2}:){15}[0-9a-fA-F]{2}")


def pasted_fingerprint(text: str) -> str | None:
    """Return the one SHA256 fingerprint in `text` as ``SHA256:…``, or None where there is none or several.

    Accepts the bare fingerprint, the prefix, padding, and a whole line of ``ssh-keygen -lf``.
    """
    found = {match.group(1) for match in re.finditer(_SHA256, text)}
    return f"SHA256:{found.pop()}" if len(found) == 1 else None


class HostKeyDialog(Question):
    """Shows the fingerprint of a key that is not in known_hosts, and helps to compare it with the expected one."""

    def __init__(self, question: HostKeyQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            f"Is this really {question.host}?",
            "Its key is not in your known hosts, so it is not verified yet. Compare the fingerprint with the "
            "one from the host’s console or from whoever runs it.",
            "Trust this key and connect",
            parent,
        )
        self._question = question
        self.add_fact("Host", question.host)
        self.add_fact("Address", f"{question.address}, port {question.port}")
        if question.via is not None:
            self.add_fact("Through", question.via)
        self.add_fact("Key type", question.key_type)
        self.fingerprint = self.add_fact("Fingerprint", question.fingerprint, code=True)
        self.add_fact("Stored in", question.known_hosts or "nowhere: UserKnownHostsFile is none")
        if question.note:
            note = FieldMessage()
            note.say("warning", question.note)
            self.form.addRow("", note)
        self.expected = QLineEdit()
        self.expected.setPlaceholderText("Paste the fingerprint you expect, to compare")
        self.expected.setFont(code_font())
        self.expected.setMaxLength(1000)
        self.expected.textChanged.connect(self._compare)
        self.form.addRow(Text("Expected", Tone.MUTED, wrap=False), self.expected)
        self.verdict = FieldMessage()
        self.verdict.setMinimumHeight(2 * self.fontMetrics().lineSpacing())  # nothing jumps when it speaks
        self.form.addRow("", self.verdict)

    def _compare(self, text: str) -> None:
        found = pasted_fingerprint(text)
        if not text.strip():
            self.verdict.clear()
        elif found == pasted_fingerprint(self._question.fingerprint):
            self.verdict.say("good", "The fingerprints match.")
        elif found is not None:
            self.verdict.say("error", "The fingerprints differ: this is not the key you expect. Do not connect.")
        elif _MD5.search(text):
            self.verdict.say("warning", "This is an MD5 fingerprint. Ask for the SHA256 one: ssh-keygen -lf KEYFILE")
        else:
            self.verdict.say("warning", "This is not a SHA256 fingerprint: those have 43 letters, digits, + and /.")
        self.accept_button.setEnabled(found is None or found == pasted_fingerprint(self._question.fingerprint))


class SecretDialog(Question):
    """Asks for a password, a passphrase or what else a server wants to know. What is typed is not shown, as a rule."""

    def __init__(self, question: SecretQuestion, parent: QWidget | None = None) -> None:
        title, explanation, accept = _secret_words(question)
        super().__init__(title, explanation, accept, parent)
        self.add_fact("Host", question.host)
        self.add_fact("User", question.user)
        if question.key_path is not None:
            self.add_fact("Key", question.key_path)
        if question.purpose:
            self.add_fact("As root", question.purpose)
        self.field = QLineEdit()
        self.field.setEchoMode(QLineEdit.EchoMode.Normal if question.echo else QLineEdit.EchoMode.Password)
        self.field.setAccessibleName(question.prompt)
        prompt = question.prompt.strip().rstrip(":").strip() or ("Passphrase" if question.key_path else "Password")
        self.form.addRow(Text(prompt), self.field)
        self.keep = QCheckBox("Remember in the system keyring")
        self.keep.setVisible(question.may_keep)
        if question.may_keep:
            self.form.addRow("", self.keep)
        if question.attempt > 1:
            verdict = FieldMessage()
            verdict.say("warning", f"The last one was not accepted. This is attempt {question.attempt}.")
            self.form.addRow("", verdict)
        restyle(self.accept_button, "primary", value=True)
        self.make_default(self.accept_button)
        self.field.setFocus()

    def secret(self) -> str:
        """Return what was typed, and forget it."""
        typed = self.field.text()
        self.field.clear()
        return typed

    def reject(self) -> None:
        """Forget what was typed."""
        self.field.clear()
        super().reject()


def _secret_words(question: SecretQuestion) -> tuple[str, str, str]:
    """Return the title, what becomes of the secret, and the words of the button."""
    if question.purpose:
        explanation = (
            "sudo asks for your password there. What you type is sent to sudo’s own prompt on this host, is kept in "
            "memory until the work is done, and is not stored."
        )
        return f"Become root on {question.host}", explanation, "Go on as root"
    kept = "kept in memory until Benchwright is closed" if question.lasting else "used this once"
    kept += "." if question.may_keep else ", and not stored."
    if question.key_path is not None:
        return (
            f"Unlock your key for {question.host}",
            f"What you type opens the key here and goes nowhere else. It is {kept}",
            "Unlock",
        )
    return (
        f"Sign in to {question.host}",
        f"What you type is sent to this host only. It is {kept}",
        "Sign in",
    )


class LocalProgramDialog(Question):
    """Asks whether a program may run on this computer because ~/.ssh/config says so."""

    def __init__(self, question: LocalProgramQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            "Run this command on this computer?",
            f"Your ssh configuration asks for it on the way to {question.host}. It runs here, with all your rights. "
            "A yes holds for exactly this command until Benchwright is closed.",
            "Run it",
            parent,
        )
        self.add_fact("Host", question.host)
        self.add_fact("Asked by", f"{question.setting} in {question.path}, line {question.line}")
        self.command = self.add_fact("Command", question.command, code=True)
