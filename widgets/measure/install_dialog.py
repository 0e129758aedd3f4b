"""Asks before a tool is installed, shows the exact command, and then what it prints."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.parts.names import host_words
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, visible
from widgets.theme import SPACE, TextSize, text_font

MAXIMUM_LINES = 2000
"""Lines of output that are kept on the screen."""


class InstallDialog(QDialog):
    """One command on one host. Nothing runs before it is agreed to; Enter does not agree."""

    installed = Signal(str)  # the host

    def __init__(self, workstation: Workstation, asker: Asker, host: str, command: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._host = host
        self._command = command
        self._job: Job | None = None
        self._worked = False
        self.setWindowTitle("Install a tool")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(520)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        column.setSpacing(SPACE[2])
        column.addWidget(Text(f"Run this on {host_words(host)}?", font=text_font(TextSize.HEADING, bold=True)))
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        column.addWidget(Text(command, font=fixed))
        explanation = (
            "The package manager installs the tool and its dependencies. Benchwright asks for the sudo password if one "
            "is needed, and stores the output."
        )
        column.addWidget(Text(explanation, Tone.MUTED))
        self.output = QPlainTextEdit()
        self.output.setReadOnly(True)
        self.output.setFont(fixed)
        self.output.setMaximumBlockCount(MAXIMUM_LINES)
        self.output.setMinimumHeight(180)
        self.output.setAccessibleName("Output of the command")
        self.output.hide()
        column.addWidget(self.output, 1)
        self.notice = Notice()
        column.addWidget(self.notice)
        column.addLayout(self._build_buttons())

    def _build_buttons(self) -> QHBoxLayout:
        self.run_button = QPushButton("Run it")
        self.run_button.setAutoDefault(False)
        self.run_button.clicked.connect(self._run)
        self.close_button = QPushButton("Cancel")
        self.close_button.setDefault(True)
        self.close_button.clicked.connect(self.reject)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.run_button)
        buttons.addWidget(self.close_button)
        return buttons

    def _run(self) -> None:
        self.run_button.setEnabled(False)
        self.output.show()
        self.notice.say("info", "The command is running.")
        workstation, host, command, asker = self._workstation, self._host, self._command, self._asker
        self._worked = True
        self._job = Job(lambda: workstation.install(host, command, asker))
        self._job.yielded.connect(self._add_line)
        self._job.failed.connect(self._fail)
        self._job.finished.connect(self._end)
        self._job.start()

    def _add_line(self, line: str) -> None:
        self.output.appendPlainText(visible(line))

    def _fail(self, error: BenchwrightError) -> None:
        self._worked = False
        self.notice.say_error(error)

    def _end(self) -> None:
        cancelled = self._job is not None and self._job.cancelled
        self._job = None
        if self._worked and not cancelled:
            self.notice.say("good", "The command succeeded.", "The host's facts are read again.")
        self.close_button.setText("Close")
        self.installed.emit(self._host)

    def reject(self) -> None:
        """Close; a command under way is ended at its next line."""
        if self._job is not None:
            self._job.cancel()
        super().reject()
