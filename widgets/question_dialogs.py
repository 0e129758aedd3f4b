"""Dialogs for host keys, secrets, local programs, data loss and consent."""

import re

from PySide6.QtCore import QMimeData, QTimer
from PySide6.QtGui import QColor, QShowEvent, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QCheckBox, QLineEdit, QTextEdit, QWidget

from app.questions import (
    ConsentItem,
    ConsentQuestion,
    HostKeyQuestion,
    LocalProgramQuestion,
    LossQuestion,
    SecretQuestion,
)
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.notice import FieldMessage
from widgets.parts.text import JOINER, Text, Tone, unbroken
from widgets.theme import SPACE, TextSize, code_font, palette, text_font

_SHA256 = re.compile(r"(?<![A-Za-z0-9+/])(?:SHA256:)?([A-Za-z0-9+/]{43})=?(?![A-Za-z0-9+/=])")
"""A SHA256 fingerprint as OpenSSH and cloud consoles print it: 43 base64 characters, optional prefix."""

_MD5 = re.compile(r"(?:MD5:)?(?:[0-9a-fA-F]{2}:){15}[0-9a-fA-F]{2}")


def pasted_fingerprint(text: str) -> str | None:
    """Return the only SHA256 fingerprint in `text` as ``SHA256:…``, or None if there are none or several.

    Accepts the bare fingerprint, the prefix, padding, and a whole line of ``ssh-keygen -lf``.
    """
    found = {match.group(1) for match in re.finditer(_SHA256, text)}
    return f"SHA256:{found.pop()}" if len(found) == 1 else None


class HostKeyDialog(QuestionDialog):
    """Shows the fingerprint of an unknown host key and compares it with an expected one."""

    def __init__(self, question: HostKeyQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            f"Unknown host key: {question.host}",
            "The key is not in known_hosts, so the host is not authenticated. Compare the fingerprint with the one "
            "from the host’s console or its administrator.",
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
            note.show_message("warning", question.note)
            self.form.addRow("", note)
        self.expected = QLineEdit(placeholderText="Paste the expected fingerprint to compare")
        self.expected.setAccessibleName("Expected fingerprint")
        self.expected.setFont(code_font())
        self.expected.setMaxLength(1000)
        self.expected.textChanged.connect(self._compare)
        self.form.addRow(Text("Expected", Tone.MUTED, wrap=False), self.expected)
        self.verdict = FieldMessage()
        self.verdict.setMinimumHeight(2 * self.fontMetrics().lineSpacing())  # keep the layout when a message appears
        self.form.addRow("", self.verdict)

    def _compare(self, text: str) -> None:
        found = pasted_fingerprint(text)
        if not text.strip():
            self.verdict.clear()
        elif found == pasted_fingerprint(self._question.fingerprint):
            self.verdict.show_message("good", "The fingerprints match.")
        elif found is not None:
            self.verdict.show_message("error", "The fingerprints differ: this is not the expected key. Do not connect.")
        elif _MD5.search(text):
            self.verdict.show_message("warning", "MD5 fingerprint. Get the SHA256 one: ssh-keygen -lf KEYFILE")
        else:
            self.verdict.show_message("warning", "Not a SHA256 fingerprint (43 letters, digits, + and /).")
        self.accept_button.setEnabled(found is None or found == pasted_fingerprint(self._question.fingerprint))


class SecretDialog(QuestionDialog):
    """Asks for a password, a passphrase or another server prompt. The input is hidden unless the server allows echo."""

    def __init__(self, question: SecretQuestion, parent: QWidget | None = None) -> None:
        title, explanation, accept = _secret_texts(question)
        super().__init__(title, explanation, accept, parent)
        self.add_fact("Host", question.host)
        self.add_fact("User", question.user)
        if question.key_path is not None:
            self.add_fact("Key", question.key_path)
        if question.purpose:
            self.add_fact("As root", question.purpose)
        self.field = QLineEdit(echoMode=QLineEdit.EchoMode.Normal if question.echo else QLineEdit.EchoMode.Password)
        self.field.setAccessibleName(question.prompt)
        prompt = question.prompt.strip().rstrip(":").strip() or ("Passphrase" if question.key_path else "Password")
        self.form.addRow(Text(prompt), self.field)
        self.keep = QCheckBox("Remember in the system keyring")
        if question.may_keep:
            self.form.addRow("", self.keep)
        if question.attempt > 1:
            verdict = FieldMessage()
            verdict.show_message("warning", f"Not accepted. Attempt {question.attempt}.")
            self.form.addRow("", verdict)
        self.make_default(self.accept_button)
        self.field.setFocus()

    def secret(self) -> str:
        """Return the input and clear the field."""
        typed = self.field.text()
        self.field.clear()
        return typed

    def reject(self) -> None:
        """Clear the field and close."""
        self.field.clear()
        super().reject()


def _secret_texts(question: SecretQuestion) -> tuple[str, str, str]:
    """Return the title, the explanation of how the secret is used, and the button's text."""
    if question.purpose:
        explanation = (
            "sudo asks for your password. It is sent to sudo’s prompt on this host, kept in memory until the work is "
            "done, and not stored."
        )
        return f"Become root on {question.host}", explanation, "Continue as root"
    retention = "kept in memory until Benchwright is closed" if question.lasting else "used once"
    retention += "." if question.may_keep else ", and not stored."
    if question.key_path is not None:
        return (
            f"Unlock your key for {question.host}",
            f"The passphrase unlocks the key on this computer and is not sent. It is {retention}",
            "Unlock",
        )
    return (f"Sign in to {question.host}", f"Your answer is sent to this host only. It is {retention}", "Sign in")


class LocalProgramDialog(QuestionDialog):
    """Asks whether to run a program on this computer that ~/.ssh/config specifies."""

    def __init__(self, question: LocalProgramQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            "Run this command on this computer?",
            f"Your ssh configuration runs this command to reach {question.host}. It runs on this computer with your "
            "permissions. The permission holds for exactly this command until Benchwright is closed.",
            "Run command",
            parent,
        )
        self.add_fact("Host", question.host)
        self.add_fact("Set by", f"{question.setting} in {question.path}, line {question.line}")
        self.command = self.add_fact("Command", question.command, code=True)


class LossDialog(QuestionDialog):
    """Asks to type an identifier of a device before it is overwritten; the identifier cannot be copied."""

    def __init__(self, question: LossQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            f"Overwrite {question.device}?",
            f"The run overwrites this device of {question.host}; its data cannot be recovered. Check that it is the "
            f"right device, then type its {question.confirmed_by}.",
            "Overwrite device",
            parent,
        )
        self._confirmation, self._confirmed_by = question.confirmation, question.confirmed_by
        self.add_fact("Host", question.host)
        for name, value in question.facts:
            self.add_fact(name, value, code=name in {"Device", "Known as", "Serial number", "Backing file"})
        self.field = line_edit(changed=self._compare, maxLength=1000)
        self.field.setFont(code_font())
        self.field.setAccessibleName(f"The device’s {question.confirmed_by}")
        self.field.setPlaceholderText(f"Type the {question.confirmed_by}")
        self.form.addRow(Text("Confirmation", Tone.MUTED, wrap=False), self.field)
        self.message = FieldMessage()
        self.message.setMinimumHeight(2 * self.fontMetrics().lineSpacing())  # keep the layout when a message appears
        self.form.addRow("", self.message)
        self.accept_button.setEnabled(False)
        self.field.setFocus()

    def typed(self) -> str:
        """Return the text typed."""
        return self.field.text().strip()

    def _compare(self) -> None:
        typed = self.typed()
        right = typed == self._confirmation
        self.accept_button.setEnabled(right)
        if right:
            self.message.show_message("warning", "All data on this device will be lost.")
        elif typed and not self._confirmation.startswith(typed):
            self.message.show_message("error", f"Not the {self._confirmed_by} of this device.")
        else:
            self.message.clear()


WIDTH, HEIGHT = 760, 360
"""Width of the dialog and largest height of the list in pixels, so that it fits a window of 1024 x 700."""


class ConsentDialog(QuestionDialog):
    """Shows what a plan executes, copies, sends and changes. Accepting needs scrolling to the end."""

    def __init__(self, question: ConsentQuestion, parent: QWidget | None = None) -> None:
        super().__init__(
            "Plan needs your consent",
            f"“{question.plan}” does more than run benchmark tools. Consent is stored for this content and these "
            "hosts.",
            "Agree and run",
            parent,
            width=WIDTH,
        )
        self.list = _EffectList(question.items)
        self.list.verticalScrollBar().valueChanged.connect(self._check_read)
        self.list.verticalScrollBar().rangeChanged.connect(self._check_read)
        self.form.addRow(self.list)
        self.message = FieldMessage()
        self.form.addRow(self.message)
        self._read_to_end = False
        self.accept_button.setEnabled(False)
        self.list.setFocus()

    def _check_read(self) -> None:
        """Enable the accept button once the end of the list was shown."""
        self._read_to_end = self._read_to_end or (self.isVisible() and self.list.shows_end())
        self.accept_button.setEnabled(self._read_to_end)
        if not self._read_to_end:
            self.message.show_message("info", "Scroll to the end of the list to agree.")
        elif self.list.verticalScrollBar().maximum() > 0:
            self.message.show_message("good", "End of the list reached.")
        else:
            self.message.clear()

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the height to the content, and check whether the whole list is visible."""
        super().showEvent(event)
        if (rows := self.layout()) is not None and not event.spontaneous():
            self.resize(self.width(), rows.totalHeightForWidth(self.width()))
        QTimer.singleShot(0, self, self._check_read)  # after the layout


class _EffectList(QTextEdit):
    """List of a plan's effects, verbatim. Long lines and words wrap, so that nothing is hidden beyond the edge."""

    def __init__(self, items: tuple[ConsentItem, ...]) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTabChangesFocus(True)
        self.setAccessibleName("What the plan does")
        self.document().setDocumentMargin(SPACE[2])
        cursor = QTextCursor(self.document())
        for index, item in enumerate(items):
            self._add(cursor, item, first=index == 0)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.document().setTextWidth(WIDTH - 2 * SPACE[4] - self.verticalScrollBar().sizeHint().width())
        self.setMinimumHeight(min(HEIGHT, round(self.document().size().height()) + SPACE[1]))

    def toPlainText(self) -> str:
        """Return the text without word joiners."""
        return super().toPlainText().replace(JOINER, "")

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy the text without word joiners."""
        copied = QMimeData()
        copied.setText(self.textCursor().selection().toPlainText().replace(JOINER, ""))
        return copied

    def shows_end(self) -> bool:
        """Return whether the last line is visible. Not by the scroll bar's range, which lags behind the layout."""
        height = self.document().size().height()  # forces the whole layout
        return self.verticalScrollBar().value() + self.viewport().height() >= height - 1

    def _add(self, cursor: QTextCursor, item: ConsentItem, *, first: bool) -> None:
        colours = palette()
        head, faint, code = QTextCharFormat(), QTextCharFormat(), QTextCharFormat()
        head.setFont(text_font(TextSize.BODY, bold=True))
        faint.setForeground(QColor(colours.muted))
        code.setFont(code_font())
        above, inset = QTextBlockFormat(), QTextBlockFormat()
        above.setTopMargin(0 if first else SPACE[3])
        above.setBottomMargin(SPACE[0])
        inset.setLeftMargin(SPACE[2])
        if first:
            cursor.setBlockFormat(above)
        else:
            cursor.insertBlock(above)
        cursor.insertText(item.action, head)
        cursor.insertText(f"   {item.what}", faint)
        cursor.insertBlock(inset)
        cursor.insertText(unbroken(item.text), code)
