"""Asks which runs of the library are added to the comparison."""

from collections.abc import Collection

from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.services import Workstation
from widgets.jobs import Job
from widgets.library.run_lines import RunLine, lines_of
from widgets.library.run_table import RunTable
from widgets.parts.notice import Notice
from widgets.parts.screen import fit
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font

_SIZE = (780, 460)


class RunPicker(QDialog):
    """The library's table without the runs that are compared already; several can be chosen."""

    def __init__(self, workstation: Workstation, taken: Collection[str], parent: QWidget | None) -> None:
        super().__init__(parent)
        self._taken = frozenset(taken)
        self.table = RunTable()
        self.search = QLineEdit()
        self.notice = Notice()
        self.count = Text(tone=Tone.MUTED)
        self.add_button = QPushButton("Add")
        self.cancel_button = QPushButton("Cancel")
        self._arrange()
        self._connect()
        job = Job(lambda: lines_of(workstation.runs()), self)
        job.returned.connect(self._show_lines)
        job.failed.connect(self.notice.say_error)
        job.start()

    def chosen(self) -> list[str]:
        """Return the ids of the chosen runs, the oldest first."""
        return [line.id for line in sorted(self.table.chosen(), key=lambda line: line.summary.started)]

    def _show_lines(self, lines: list[RunLine]) -> None:
        self.table.show_lines(line for line in lines if line.id not in self._taken)
        self._check()

    def _search(self, words: str) -> None:
        self.table.search(words)
        self._check()

    def _check(self) -> None:
        chosen, there = len(self.table.chosen()), len(self.table.runs.shown)
        self.add_button.setEnabled(chosen > 0)
        self.add_button.setText(f"Add {chosen} runs" if chosen > 1 else "Add")
        self.count.setText("" if there else "There is no other run.")

    def _connect(self) -> None:
        self.search.textChanged.connect(self._search)
        self.table.moved.connect(self._check)
        self.table.activated.connect(self.accept)
        self.add_button.clicked.connect(self.accept)
        self.cancel_button.clicked.connect(self.reject)

    def _arrange(self) -> None:
        self.setWindowTitle("Add runs")
        fit(self, _SIZE)
        self.search.setPlaceholderText("Find by name, host, test or state")
        self.search.setAccessibleName("Find runs")
        self.search.setClearButtonEnabled(True)
        self.add_button.setProperty("primary", True)
        self.add_button.setDefault(True)
        self.cancel_button.setAutoDefault(False)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE[1])
        buttons.addWidget(self.count, 1)
        buttons.addWidget(self.add_button)
        buttons.addWidget(self.cancel_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text("Add runs to the comparison", font=text_font(TextSize.HEADING, bold=True)))
        for widget in (self.search, self.notice, self.table):
            rows.addWidget(widget)
        rows.addLayout(buttons)
