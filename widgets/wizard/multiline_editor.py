"""Field for multi-line text: typed, pasted or imported from a local file."""

from pathlib import Path

from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout

from app.plans.job_files import read_text
from suites.errors import BenchwrightError
from suites.parameters import Parameter
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import fill
from widgets.parts.controls import push_button
from widgets.parts.dialogs import ask_for_file
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, code_font, text_font
from widgets.wizard.editors import Editor

LINES = 8
"""Visible lines."""


class LinesEditor(Editor):
    """Multi-line text with *Import file…*."""

    def __init__(self, parameter: Parameter) -> None:
        self.text = QPlainTextEdit()
        super().__init__(self.text, parameter)
        self.text.setFont(code_font())
        self.text.setTabChangesFocus(True)
        self.text.setAcceptDrops(False)  # the window opens files
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setPlaceholderText("empty")
        self.text.setFixedHeight(self.text.fontMetrics().lineSpacing() * LINES + 2 * SPACE[1])
        self.text.textChanged.connect(self._typed)
        self.import_button = push_button(
            "Import file…", self.ask_import, icon="folder", accessibleName=f"{parameter.title}: import a file"
        )
        self._status = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        row = QHBoxLayout()
        row.setContentsMargins(0, SPACE[0], 0, 0)
        row.setSpacing(SPACE[1])
        fill(row, self.import_button, (self._status, 1))
        column = self.layout()
        if isinstance(column, QVBoxLayout):
            column.addLayout(row)
        self._shown = ""

    def set_text(self, text: str) -> None:
        """Show `text`; unchanged text keeps the cursor."""
        if self.text.toPlainText() != text:
            self._shown = text
            self.text.setPlainText(text)

    def ask_import(self) -> None:
        """Ask for a file and import its text."""
        ask_for_file(self.window(), f"Import: {self.parameter.title}", self.import_from, ["All files (*)"])

    def import_from(self, path: Path) -> None:
        """Read the file at `path` in the background and show its text, or the error."""
        BackgroundJob(lambda: read_text(path), self).start(lambda text: self._imported(path, text), self._refused)

    def _imported(self, path: Path, text: str) -> None:
        self.text.setPlainText(text)
        self._status.set_tone(Tone.MUTED)
        self._status.setText(f"Copied from {path.name} into the plan.")

    def _refused(self, error: BenchwrightError) -> None:
        self._status.set_tone(Tone.ERROR)
        self._status.setText(f"{error.message} {error.remedy}".strip())

    def _typed(self) -> None:
        text = self.text.toPlainText()
        if text != self._shown:  # set_text() triggers textChanged, too
            self._shown = text
            self.edited.emit(text)
