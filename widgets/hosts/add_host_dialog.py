"""Adds a host, or changes how a saved one is reached; it can be tried before it is saved."""

from collections.abc import Iterable, Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCompleter,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.hosts.hosts import ConnectReport, HostEntry, Origin
from app.questions import Asker, Outcome
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.hosts.host_form import FIELDS, Typed, entry, faults, typed
from widgets.jobs import Job
from widgets.parts.notice import FieldMessage, Notice, Working
from widgets.parts.screen import grow
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, restyle, text_font

_LABELS: Mapping[str, tuple[str, str, str]] = {
    "name": ("Name", "web-1", "What the host is called here; an alias of ~/.ssh/config brings its settings along."),
    "host_name": ("Address", "the name itself", "A host name or an address, where it differs from the name."),
    "port": ("Port", "22", "The port of the SSH server."),
    "user": ("User", "as ssh would", "Who signs in on the host."),
    "identity_file": ("Key file", "your agent and your usual keys", "The private key to sign in with."),
    "jump": ("Jump host", "none", "user@host:port, several separated by commas; the first is the nearest."),
}


class _Field(QWidget):
    """A line to type in, and beneath it what is wrong with it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        label, placeholder, help_text = _LABELS[name]
        self.edit = QLineEdit()
        self.edit.setPlaceholderText(placeholder)
        self.edit.setMaxLength(1000)
        self.edit.setAccessibleName(label)
        set_tool_tip(self.edit, help_text)
        self.message = FieldMessage()
        self.line = QHBoxLayout()
        self.line.setSpacing(SPACE[1])
        self.line.addWidget(self.edit, 1)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(SPACE[0])
        rows.addLayout(self.line)
        rows.addWidget(self.message)
        self.say("")

    def say(self, fault: str, level: str = "error") -> None:
        """Show `fault` beneath the line; nothing hides it."""
        self.message.setVisible(bool(fault))
        self.message.say(level, fault)
        restyle(self.edit, "wrong", bool(fault) and level == "error")
        self.edit.setAccessibleDescription(fault)


class AddHostDialog(QDialog):
    """Six fields, most of which may stay empty; ssh's own configuration then decides."""

    def __init__(
        self,
        workstation: Workstation,
        asker: Asker,
        known: Iterable[HostEntry],
        edited: HostEntry | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Add a host besides those `known`, or change how `edited` is reached."""
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._edited = edited
        self._job: Job | None = None
        self._pressed: QWidget | None = None  # had the focus before everything was disabled
        known = tuple(known)
        self._taken = frozenset(host.name for host in known if host.origin is Origin.SAVED and edited is None)
        self._aliases = [host.name for host in known if host.origin is Origin.SSH_CONFIG]
        self.fields = {name: _Field(name) for name in FIELDS}
        self.working = Working()
        self.outcome = Notice()
        self.setWindowTitle("Add a host" if edited is None else f"How to reach {edited.name}")
        self._arrange()
        self._fill(edited)
        self._connect()

    def entry(self) -> HostEntry:
        """Return the host as typed."""
        return entry(self._typed())

    def reject(self) -> None:
        """Close without saving; a connection under way is not waited for."""
        self._stop_waiting()
        super().reject()

    def _arrange(self) -> None:
        self.setMinimumWidth(520)
        form = QFormLayout()
        form.setHorizontalSpacing(SPACE[3])
        form.setVerticalSpacing(SPACE[1])
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        for name, field in self.fields.items():
            label = Text(_LABELS[name][0], wrap=False)
            label.setContentsMargins(0, SPACE[0] + 1, 0, 0)  # its text stands beside the text in the line
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
            label.setBuddy(field.edit)
            form.addRow(label, field)
        self.browse_button = QPushButton("Browse…")
        self.browse_button.setAccessibleName("Browse for the key file")
        self.fields["identity_file"].line.addWidget(self.browse_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text(self.windowTitle(), font=text_font(TextSize.HEADING, bold=True)))
        rows.addWidget(Text(self._explanation(), Tone.MUTED))
        rows.addLayout(form)
        rows.addWidget(self.working)
        rows.addWidget(self.outcome)
        rows.addStretch(1)
        rows.addLayout(self._buttons())

    def _explanation(self) -> str:
        if self._edited is None:
            return "What you leave empty is decided by ~/.ssh/config and OpenSSH’s defaults."
        return "What you leave empty is decided by ~/.ssh/config, which is not changed, and OpenSSH’s defaults."

    def _buttons(self) -> QHBoxLayout:
        self.test_button = QPushButton("Test connection")
        self.save_button = QPushButton("Add host" if self._edited is None else "Save")
        self.save_button.setProperty("primary", True)
        self.save_button.setDefault(True)
        self.cancel_button = QPushButton("Cancel")
        row = QHBoxLayout()
        row.setSpacing(SPACE[1])
        row.addWidget(self.test_button)
        row.addStretch(1)
        row.addWidget(self.save_button)
        row.addWidget(self.cancel_button)
        return row

    def _fill(self, edited: HostEntry | None) -> None:
        if edited is not None:
            texts = typed(edited)
            for name, field in self.fields.items():
                field.edit.setText(getattr(texts, name))
            self.fields["name"].edit.setReadOnly(True)
            set_tool_tip(self.fields["name"].edit, "The runs in the library know the host by this name.")
            self.fields["host_name"].edit.setFocus()
            return
        completer = QCompleter(self._aliases, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.fields["name"].edit.setCompleter(completer)
        self.fields["name"].edit.setFocus()

    def _connect(self) -> None:
        for name, field in self.fields.items():
            field.edit.textEdited.connect(lambda _text, name=name: self._edited_field(name))
            field.edit.editingFinished.connect(lambda name=name: self._check_field(name))
        self.browse_button.clicked.connect(self._browse)
        self.test_button.clicked.connect(self._test)
        self.save_button.clicked.connect(self._save)
        self.cancel_button.clicked.connect(self.reject)
        self.working.cancelled.connect(self._stop_waiting)

    def _typed(self) -> Typed:
        return Typed(**{name: field.edit.text() for name, field in self.fields.items()})

    def _edited_field(self, name: str) -> None:
        self.fields[name].say("")
        self.outcome.hide()

    def _check_field(self, name: str) -> None:
        """Say what is wrong once somebody has left the field; an empty name is not wrong before it is needed."""
        text = self.fields[name].edit.text().strip()
        fault = faults(self._typed(), self._taken).get(name, "") if text else ""
        if not fault and name == "name" and text in self._aliases and self._edited is None:
            self.fields[name].say("In ~/.ssh/config; what you leave empty comes from there.", "info")
        else:
            self.fields[name].say(fault)
        grow(self)

    def _complete(self) -> bool:
        """Say every fault beside its field; return whether there is none."""
        found = faults(self._typed(), self._taken)
        for name, field in self.fields.items():
            field.say(found.get(name, ""))
        if found:
            self.fields[next(iter(found))].edit.setFocus()
        grow(self)
        return not found

    def _browse(self) -> None:
        chooser = QFileDialog(self, "Choose a private key")
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self._take_key_file)
        chooser.open()

    def _take_key_file(self, path: str) -> None:
        self.fields["identity_file"].edit.setText(path)
        self._check_field("identity_file")

    def _test(self) -> None:
        if self._complete():
            host = self.entry()
            self._work(
                f"Connecting to {host.name}…",
                Job(lambda: self._workstation.test_connection(host.name, self._asker, host), self),
            )

    def _save(self) -> None:
        if self._complete():
            host = self.entry()
            self._work(f"Saving {host.name}…", Job(lambda: self._workstation.save_host(host), self))

    def _work(self, words: str, job: Job) -> None:
        self._job = job
        self._pressed = self.focusWidget()
        self.outcome.hide()
        self.working.begin(words)
        self._allow(enabled=False)
        job.returned.connect(lambda value: self._take(job, value))
        job.failed.connect(lambda error: self._fail(job, error))
        job.start()

    def _take(self, job: Job, value: object) -> None:
        if self._job is not job:
            return
        self._stop_waiting()
        if isinstance(value, ConnectReport):
            self._report(value)
        else:
            self.accept()

    def _fail(self, job: Job, error: BenchwrightError) -> None:
        if self._job is job:
            self._stop_waiting()
            self.outcome.say_error(error)

    def _report(self, report: ConnectReport) -> None:
        if report.outcome is Outcome.CONNECTED:
            self.outcome.say("good", f"{report.message} It took {report.seconds:.2f} s.")
        else:
            self.outcome.say("error", report.message, report.remedy)

    def _stop_waiting(self) -> None:
        """Do not wait for the job any more; its thread ends by itself, and its questions are withdrawn."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self.working.end()
        self._allow(enabled=True)
        if self._pressed is not None:
            self._pressed.setFocus()

    def _allow(self, *, enabled: bool) -> None:
        for widget in (*self.fields.values(), self.test_button, self.save_button):
            widget.setEnabled(enabled)
