"""The field for text of several lines: typed, pasted, or taken from a file of this computer."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout

from app.plans.job_files import read_text
from suites.errors import BenchwrightError
from suites.parameters import Parameter
from widgets.jobs import Job
from widgets.measure.editors import Editor
from widgets.parts.icons import set_icon
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, code_font, text_font

LINES = 8
"""Lines of the text that are seen at once."""


class LinesEditor(Editor):
    """Several lines of text, and a button that fills them from a file."""

    def __init__(self, parameter: Parameter) -> None:
        self.text = QPlainTextEdit()
        super().__init__(self.text, parameter)
        self.text.setFont(code_font())
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setPlaceholderText("empty")
        self.text.setFixedHeight(self.text.fontMetrics().lineSpacing() * LINES + 2 * SPACE[1])
        self.text.textChanged.connect(self._typed)
        self.import_button = QPushButton("Import file…")
        set_icon(self.import_button, "folder")
        self.import_button.setAccessibleName(f"{parameter.title}: import a file")
        self.import_button.clicked.connect(self.ask_import)
        self._said = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        row = QHBoxLayout()
        row.setContentsMargins(0, SPACE[0], 0, 0)
        row.setSpacing(SPACE[1])
        row.addWidget(self.import_button)
        row.addWidget(self._said, 1)
        column = self.layout()
        if isinstance(column, QVBoxLayout):
            column.addLayout(row)
        self._shown = ""

    def set_text(self, text: str) -> None:
        """Show `text` unless it stands there: the cursor stays where it is."""
        if self.text.toPlainText() != text:
            self._shown = text
            self.text.setPlainText(text)

    def ask_import(self) -> None:
        """Ask for a file, and take its text."""
        dialog = QFileDialog(self.window(), f"Import: {self.parameter.title}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptOpen)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(["All files (*)"])
        dialog.fileSelected.connect(lambda path: self.import_from(Path(path)))
        dialog.open()

    def import_from(self, path: Path) -> None:
        """Read the file at `path` in the background, and take its text, or say why not."""
        job = Job(lambda: read_text(path), self)
        job.returned.connect(lambda text: self._imported(path, text))
        job.failed.connect(self._refused)
        job.start()

    def _imported(self, path: Path, text: str) -> None:
        self.text.setPlainText(text)
        self._said.set_tone(Tone.MUTED)
        self._said.setText(f"From {path.name}; the text belongs to the plan.")

    def _refused(self, error: BenchwrightError) -> None:
        self._said.set_tone(Tone.ERROR)
        self._said.setText(f"{error.message} {error.remedy}".strip())

    def _typed(self) -> None:
        text = self.text.toPlainText()
        if text != self._shown:
            self._shown = text
            self.edited.emit(text)
