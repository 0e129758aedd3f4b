"""Confirm the installation of a tool, run the command and show its output."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QWidget

from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill
from widgets.parts.controls import push_button
from widgets.parts.dialogs import button_row, dialog_column
from widgets.parts.names import host_label
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, visible
from widgets.theme import code_font

MAXIMUM_LINES = 2000
"""Lines of output kept in the view."""


class InstallDialog(QDialog):
    """One command on one host. It runs only after *Run* is clicked; Enter cancels."""

    installed = Signal(str)  # the host

    def __init__(self, workstation: Workstation, asker: Asker, host: str, command: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._host = host
        self._command = command
        self._job: BackgroundJob | None = None
        self._worked = False
        self.setWindowTitle("Install a tool")
        column = dialog_column(self, f"Run this command on {host_label(host)}?")
        column.addWidget(Text(command, font=code_font()))
        explanation = (
            "The package manager installs the tool and its dependencies. Benchwright asks for the sudo password if "
            "sudo needs it, and stores the output."
        )
        column.addWidget(Text(explanation, Tone.MUTED))
        self.output = QPlainTextEdit(readOnly=True)
        self.output.setFont(code_font())
        self.output.setMaximumBlockCount(MAXIMUM_LINES)
        self.output.setMinimumHeight(180)
        self.output.setAccessibleName("Output of the command")
        self.output.hide()
        column.addWidget(self.output, 1)
        self.notice = Notice()
        fill(column, self.notice, self._build_buttons())

    def _build_buttons(self) -> QHBoxLayout:
        self.run_button = push_button("Run", self._run, autoDefault=False)
        self.close_button = push_button("Cancel", self.reject, default=True)
        return button_row(None, self.run_button, self.close_button)

    def _run(self) -> None:
        self.run_button.setEnabled(False)
        self.output.show()
        self.notice.show_message("info", "Installing…")
        workstation, host, command, asker = self._workstation, self._host, self._command, self._asker
        self._worked = True
        self._job = BackgroundJob(lambda: workstation.install(host, command, asker)).start(
            failed=self._fail, finished=self._end, yielded=self._add_line
        )

    def _add_line(self, line: str) -> None:
        self.output.appendPlainText(visible(line))

    def _fail(self, error: BenchwrightError) -> None:
        self._worked = False
        self.notice.show_error(error)

    def _end(self) -> None:
        cancelled = self._job is not None and self._job.cancelled
        self._job = None
        if self._worked and not cancelled:
            self.notice.show_message("good", "The command succeeded.", "Reading the host's facts again.")
        self.close_button.setText("Close")
        self.installed.emit(self._host)

    def reject(self) -> None:
        """Close; a running command is cancelled at its next line of output."""
        if self._job is not None:
            self._job.cancel()
        super().reject()
