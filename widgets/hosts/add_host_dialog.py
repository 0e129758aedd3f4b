"""Dialog to add hosts, written as for ssh, or to edit one: fields, their validation, and a connection test."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QPlainTextEdit, QWidget

from app.hosts.host_lines import MAXIMUM, HostLine, host_lines
from app.hosts.hosts import ConnectReport, HostEntry, Origin, ssh_address
from app.plans.plan import LOCAL
from app.questions import Asker, ConnectOutcome
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import ask_for_file, button_row, dialog_column
from widgets.parts.notice import FieldMessage, Notice, ProgressNotice
from widgets.parts.paths import exists, typed_path
from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, code_font, icon, restyle

FIELDS = ("name", "host_name", "port", "user", "identity_file", "jump")

_VISIBLE_LINES = 8

_WORD = re.compile(r"[^\s\x00-\x1f\x7f/\\\"'`$;|&<>(){}*?!]+")
_JUMP = re.compile(r"(?:(?P<user>[^@]+)@)?(?P<host>\[[0-9a-fA-F:]+\]|[^:@]+)(?::(?P<port>\d+))?")


Typed = Mapping[str, str]
"""Texts of the dialog's fields by name; a missing one is empty."""


def typed(entry: HostEntry) -> Typed:
    """Return the field texts of `entry`."""
    values = {field: getattr(entry, field) for field in FIELDS}
    return {field: "" if value is None else str(value) for field, value in values.items()}


def faults(given: Typed, taken: frozenset[str] = frozenset()) -> Mapping[str, str]:
    """Return the error of each invalid field, empty if the host can be saved. `taken`: names in use."""
    checks: Mapping[str, Callable[[str], str]] = {
        "name": lambda text: _name(text, taken),
        "host_name": lambda text: _invalid_word(text, "an address or a host name"),
        "port": _port,
        "user": lambda text: _invalid_word(text, "a user name"),
        "identity_file": _key_file,
        "jump": _jump,
    }
    found = {field: check(given.get(field, "").strip()) for field, check in checks.items()}
    return {field: fault for field, fault in found.items() if fault}


def entry(given: Typed) -> HostEntry:
    """Return the host of `given`, which must have no faults. Empty fields become None: ssh decides."""
    name, host_name, port, user, key, jump = (given.get(field, "").strip() or None for field in FIELDS)
    return HostEntry(name or "", Origin.SAVED, host_name, int(port) if port else None, user, key, jump)


def _name(text: str, taken: frozenset[str]) -> str:
    if not text:
        return "Enter a name."
    if text == LOCAL:
        return f"“{LOCAL}” is this computer. Choose another name."
    if text in taken:
        return "This name is already in use."
    return _invalid_word(text, "a name")


def _invalid_word(text: str, what: str) -> str:
    if not text:
        return ""
    if len(text) > MAXIMUM:
        return f"Longer than {MAXIMUM} characters."
    if text.startswith("-") or not _WORD.fullmatch(text):
        return f"Not {what}: remove spaces, quotes and a leading dash."
    return ""


def _port(text: str) -> str:
    if text and not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 65535 and len(text) <= 5):
        return "Enter a port from 1 to 65535."
    return ""


def _key_file(text: str) -> str:
    if not text:
        return ""
    if text.endswith(".pub"):
        return "This is the public key. Choose the private key, the file without .pub."
    path = typed_path(text)
    return "" if exists(path) and path.is_file() else "No such file."


def _jump(text: str) -> str:
    for hop in filter(None, (part.strip() for part in text.split(","))):
        match = _JUMP.fullmatch(hop)
        if (
            match is None
            or _invalid_word(match["user"] or "", "")
            or _invalid_word(match["host"], "")
            or _port(match["port"] or "")
        ):
            return "Enter user@host:port; separate several with commas."
    return ""


_LABELS: Mapping[str, tuple[str, str, str]] = {
    "name": ("Name", "web-1", "Name in Benchwright. An alias from ~/.ssh/config keeps its settings."),
    "host_name": ("Address", "same as name", "Host name or address, if it differs from the name."),
    "port": ("Port", "22", "Port of the SSH server."),
    "user": ("User", "ssh default", "Login user on the host."),
    "identity_file": ("Key file", "agent and default keys", "Private key for authentication."),
    "jump": ("Jump host", "none", "user@host:port; separate several with commas, nearest first."),
}


class _Field(QWidget):
    """Line edit with an error message below."""

    def __init__(self, name: str) -> None:
        super().__init__()
        label, placeholder, help_text = _LABELS[name]
        self.edit = line_edit(label, placeholderText=placeholder, maxLength=1000, tip=help_text)
        self.message = FieldMessage()
        self.line = in_row((self.edit, 1), spacing=SPACE[1])
        fill(column_in(self, SPACE[0]), self.line, self.message)
        self.show_message("")

    def show_message(self, fault: str, level: str = "error") -> None:
        """Show `fault` below the line; hide the message if it is empty."""
        self.message.setVisible(bool(fault))
        self.message.show_message(level, fault)
        restyle(self.edit, "wrong", bool(fault) and level == "error")
        self.edit.setAccessibleDescription(fault)


class DestinationEdit(QPlainTextEdit):
    """Hosts as for ssh, one per line. Enter confirms, Shift+Enter begins another line."""

    confirmed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Hosts, one per line")
        self.setPlaceholderText("root@192.0.2.14:2222\nssh root@web-1 -J bastion")
        set_tool_tip(self, "An alias, user@host:port, an ssh:// URL or an ssh command; Shift+Enter adds a line")
        self.setFont(code_font())
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.textChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        """Take the height of the lines, within limits."""
        lines = min(max(self.blockCount(), 2), _VISIBLE_LINES) + 0.6
        self.setFixedHeight(round(lines * self.fontMetrics().lineSpacing()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Confirm on Enter."""
        if (
            event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            self.confirmed.emit()
        else:
            super().keyPressEvent(event)


_LINE_COLUMNS: tuple[TableColumn[HostLine], ...] = (
    TableColumn("Name", lambda line: line.text if line.entry is None else line.entry.name),
    TableColumn(
        "Address", lambda line: line.fault if line.entry is None else ssh_address(line.entry),
        mark=lambda line: icon("error") if line.fault else None, stretch=True,
    ),
)  # fmt: skip


class AddHostDialog(QDialog):
    """Form of six fields; empty fields use the ssh configuration."""

    def __init__(
        self,
        workstation: Workstation,
        asker: Asker,
        known: Iterable[HostEntry],
        edited: HostEntry | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Add a host to the `known` ones, or edit the connection of `edited`."""
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._edited = edited
        self._job: BackgroundJob | None = None
        self._pressed: QWidget | None = None  # had the focus before the form was disabled
        known = tuple(known)
        self._taken = frozenset(host.name for host in known if host.origin is Origin.SAVED and host != edited)
        self._aliases = [host.name for host in known if host.origin is Origin.SSH_CONFIG]
        self._lines: list[HostLine] = []
        self.replaced: list[HostEntry] = []
        """The saved hosts that were replaced."""

        self.destinations = DestinationEdit()
        self.lines = Table("Hosts to add", TableModel(_LINE_COLUMNS))
        self.fields = {name: _Field(name) for name in FIELDS}
        self.working = ProgressNotice()
        self.outcome = Notice()
        self.setWindowTitle("Add a host" if edited is None else f"Edit {edited.name}")
        self._arrange()
        self._fill(edited)
        self._connect()

    def entries(self) -> list[HostEntry]:
        """Return the hosts as typed, which must have no faults."""
        return [line.entry for line in self._lines if line.entry is not None] if self._several else [self.entry()]

    def entry(self) -> HostEntry:
        """Return the one host as typed."""
        return entry(self._typed())

    @property
    def _several(self) -> bool:
        return len(self._lines) > 1

    def reject(self) -> None:
        """Close without saving; do not wait for a running connection test."""
        self._stop_waiting()
        super().reject()

    def _arrange(self) -> None:
        self._form = QWidget()
        form = QFormLayout(self._form)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(SPACE[3])
        form.setVerticalSpacing(SPACE[1])
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        for name, field in self.fields.items():
            label = Text(_LABELS[name][0], wrap=False)
            label.setContentsMargins(0, SPACE[0] + 1, 0, 0)  # align with the text in the field
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
            label.setBuddy(field.edit)
            form.addRow(label, field)
        self.browse_button = push_button("Browse…", self._browse, accessibleName="Browse for the key file")
        self.fields["identity_file"].line.addWidget(self.browse_button)
        self.lines.hide()
        rows = dialog_column(self, self.windowTitle())
        top = (Text(self._explanation(), Tone.MUTED), self.destinations, self._form, (self.lines, 1))
        fill(rows, *top, self.working, self.outcome, None, self._buttons())
        self.destinations.setVisible(self._edited is None)  # without a parent it would open as a window

    def _explanation(self) -> str:
        if self._edited is None:
            return "One host per line: an alias, user@host:port, an ssh:// URL, or an ssh command."
        return "Empty fields use ~/.ssh/config and OpenSSH’s defaults. ~/.ssh/config is not changed."

    def _buttons(self) -> QHBoxLayout:
        self.test_button = push_button("Test connection", self._test)
        self.save_button = push_button("Add host" if self._edited is None else "Save", primary=True, default=True)
        self.cancel_button = push_button("Cancel", self.reject)
        return button_row(self.test_button, None, self.save_button, self.cancel_button)

    def _fill(self, edited: HostEntry | None) -> None:
        if edited is not None:
            texts = typed(edited)
            for name, field in self.fields.items():
                field.edit.setText(texts[name])
            self.fields["name"].edit.setReadOnly(edited.origin is not Origin.SAVED)
            set_tool_tip(self.fields["name"].edit, "Runs in the library keep the name that they were made with.")
            self.fields["host_name"].edit.setFocus()
            return
        self.destinations.setFocus()

    def _connect(self) -> None:
        for name, field in self.fields.items():
            field.edit.textEdited.connect(lambda _text, name=name: self._edited_field(name))
            field.edit.editingFinished.connect(lambda name=name: self._check_field(name))
        self.save_button.clicked.connect(self._save)
        self.destinations.textChanged.connect(self._read_lines)
        self.destinations.confirmed.connect(self._save)
        self.working.cancelled.connect(self._stop_waiting)

    def _typed(self) -> Typed:
        return {name: field.edit.text() for name, field in self.fields.items()}

    def _read_lines(self) -> None:
        """Read the hosts: one fills the fields, several are listed."""
        self._lines = host_lines(self.destinations.toPlainText(), self._taken)
        self.outcome.hide()
        several = self._several
        self._form.setVisible(not several)
        self.lines.setVisible(several)
        self.test_button.setVisible(not several)
        self.save_button.setText(f"Add {count_text(len(self.entries()), 'host')}" if several else "Add host")
        if several:
            self.lines.show_rows(self._lines)
            self.lines.setMinimumHeight(self.lines.whole_height(_VISIBLE_LINES))
        else:
            self._fill_from_line()

    def _fill_from_line(self) -> None:
        line = self._lines[0] if self._lines else None
        texts = typed(line.entry) if line is not None and line.entry is not None else {}
        for name, field in self.fields.items():
            field.edit.setText(texts.get(name, ""))
            field.show_message("")
        if texts:
            self._check_field("name")
        elif line is not None:
            self.outcome.show_message("error", line.fault)

    def _edited_field(self, name: str) -> None:
        self.fields[name].show_message("")
        self.outcome.hide()

    def _check_field(self, name: str) -> None:
        """Show the error of a field that lost the focus; an empty name is an error only on saving."""
        text = self.fields[name].edit.text().strip()
        fault = faults(self._typed(), self._taken).get(name, "") if text else ""
        if not fault and name == "name" and text in self._aliases and self._edited is None:
            self.fields[name].show_message("In ~/.ssh/config; empty fields use its settings.", "info")
        else:
            self.fields[name].show_message(fault)

    def _complete(self) -> bool:
        """Show the error of every field or line; return whether all are valid."""
        wrong = [line for line in self._lines if line.fault]
        if wrong:
            lines = "\n".join(f"Line {line.number}: {line.fault}" for line in wrong[:_VISIBLE_LINES])
            self.outcome.show_message("error", lines if self._several else wrong[0].fault)
            self.destinations.setFocus()
            return False
        if self._several:
            return True
        found = faults(self._typed(), self._taken)
        for name, field in self.fields.items():
            field.show_message(found.get(name, ""))
        if found:
            self.fields[next(iter(found))].edit.setFocus()
        return not found

    def _browse(self) -> None:
        ask_for_file(self, "Choose a private key", self._take_key_file)

    def _take_key_file(self, path: Path) -> None:
        self.fields["identity_file"].edit.setText(str(path))
        self._check_field("identity_file")

    def _test(self) -> None:
        if self._complete():
            host = self.entry()
            self._work(
                f"Connecting to {host.name}…",
                BackgroundJob(lambda: self._workstation.test_connection(host.name, self._asker, host), self),
            )

    def _save(self) -> None:
        if self._complete():
            hosts = self.entries()
            name = hosts[0].name if len(hosts) == 1 else count_text(len(hosts), "host")
            old = [] if self._edited is None else [self._edited.name]
            job = BackgroundJob(lambda: self._workstation.save_hosts(*hosts, instead=old), self)
            self._work(f"Saving {name}…", job)

    def _work(self, text: str, job: BackgroundJob) -> None:
        self._job = job
        self._pressed = self.focusWidget()
        self.outcome.hide()
        self.working.begin(text)
        self._allow(enabled=False)
        job.returned.connect(lambda value: self._take(job, value))
        job.failed.connect(lambda error: self._fail(job, error))
        job.start()

    def _take(self, job: BackgroundJob, value: object) -> None:
        if self._job is not job:
            return
        self._stop_waiting()
        if isinstance(value, ConnectReport):
            self._report(value)
        elif isinstance(value, list):
            self.replaced = value
            self.accept()

    def _fail(self, job: BackgroundJob, error: BenchwrightError) -> None:
        if self._job is job:
            self._stop_waiting()
            self.outcome.show_error(error)

    def _report(self, report: ConnectReport) -> None:
        if report.outcome is ConnectOutcome.CONNECTED:
            self.outcome.show_message("good", f"{report.message} It took {report.seconds:.2f} s.")
        else:
            self.outcome.show_message(report.severity, report.message, report.remedy)

    def _stop_waiting(self) -> None:
        """Abandon the job; its thread ends by itself, and its questions are withdrawn."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self.working.end()
        self._allow(enabled=True)
        if self._pressed is not None:
            self._pressed.setFocus()

    def _allow(self, *, enabled: bool) -> None:
        for widget in (self.destinations, *self.fields.values(), self.test_button, self.save_button):
            widget.setEnabled(enabled)
