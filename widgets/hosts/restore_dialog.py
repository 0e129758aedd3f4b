"""Looks at what is changed on a host, and puts it back once the user says so."""

import shlex

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.hosts.restoring import note_text
from app.moments import age_text
from app.plans.tuning import path_title
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.parts.names import host_words
from widgets.parts.notice import Notice, Working
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font

WIDTH = 520
MOST = 12
"""Settings that are listed; a host has one governor for each CPU."""


class RestoreDialog(QDialog):
    """One host. It is only looked at until the button is pressed; Enter does not press it."""

    restored = Signal(str)  # the host

    def __init__(self, workstation: Workstation, asker: Asker, host: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._workstation, self._asker, self._host = workstation, asker, host
        self._job: Job | None = None
        self.setWindowTitle("Put settings back")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(WIDTH)
        self.settings = Text()
        self.working = Working()
        self.working.cancelled.connect(self.reject)
        self.notice = Notice()
        self.restore_button = QPushButton("Put back")
        self.restore_button.setAutoDefault(False)
        self.restore_button.setEnabled(False)
        self.restore_button.clicked.connect(self._restore)
        self.close_button = QPushButton("Cancel")
        self.close_button.setDefault(True)
        self.close_button.clicked.connect(self.reject)
        self._arrange()
        self._look()

    def _arrange(self) -> None:
        explanation = (
            "Runs note on the host what they change there, and put it back as root. What was changed since by "
        )
        explanation += "another program or user is left as it is."
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.restore_button)
        buttons.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        column.setSpacing(SPACE[2])
        column.addWidget(
            Text(f"What is changed on {host_words(self._host)}?", font=text_font(TextSize.HEADING, bold=True))
        )
        column.addWidget(Text(explanation, Tone.MUTED))
        for part in (self.settings, self.working, self.notice):
            column.addWidget(part)
        column.addStretch(1)
        column.addLayout(buttons)

    def _look(self) -> None:
        workstation, host, asker = self._workstation, self._host, self._asker
        self._begin(Job(lambda: workstation.host_notes(host, asker), self), "Looking at the host")
        if self._job is not None:
            self._job.returned.connect(self._show_notes)
            self._job.start()

    def _show_notes(self, notes: object) -> None:
        found = notes if isinstance(notes, tuple) else ()
        lines = [
            f"{note_text(note)} (run {note.run} of {note.workstation}"
            f"{'' if note.age is None else f', {age_text(note.age)} ago'})"
            for note in found[:MOST]
        ]
        if len(found) > MOST:
            lines.append(f"and {len(found) - MOST} more")
        self.settings.setText("\n".join(lines))
        self.restore_button.setEnabled(bool(found))
        if not found:
            self.notice.say("good", "Nothing is noted down as changed on this host.")
            self._restore()  # so that the library, too, knows that nothing is left to put back

    def _restore(self) -> None:
        self.restore_button.setEnabled(False)
        workstation, host, asker = self._workstation, self._host, self._asker
        self._begin(Job(lambda: workstation.restore(host, asker), self), "Putting back")
        if self._job is not None:
            self._job.returned.connect(self._show_outcome)
            self._job.start()

    def _show_outcome(self, done: object) -> None:
        found = done if isinstance(done, tuple) else ()
        if found:
            self.settings.setText("\n".join(f"{path_title(each.path)}: {each.problem or 'put back'}" for each in found))
            kept = any(each.kept for each in found)
            said = "Something could not be put back." if kept else "The host is as it was."
            log = f"Recorded in: benchwright hosts log {shlex.quote(self._host)}"
            self.notice.say("warning" if kept else "good", said, log)
        self.close_button.setText("Close")
        self.restored.emit(self._host)

    def _begin(self, job: Job, doing: str) -> None:
        self.working.begin(f"{doing}…")
        self._job = job
        job.failed.connect(self._fail)
        job.finished.connect(self.working.end)

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.say_error(error)
        self.close_button.setText("Close")

    def reject(self) -> None:
        """Close; what is under way on the host goes on to its end."""
        if self._job is not None:
            self._job.cancel()
        super().reject()
