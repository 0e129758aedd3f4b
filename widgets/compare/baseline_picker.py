"""Asks which baseline is compared against: a pinned one in any version, a published table, or one from a file."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.baselines.baselines import Baseline, remarks, title
from app.moments import age_text
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.parts.notice import Notice
from widgets.parts.screen import fit
from widgets.parts.text import Text, Tone, set_tool_tip, tool_tip, visible
from widgets.theme import SPACE, TextSize, figure_font, text_font

_SIZE = (860, 460)
_HEADS = ("Baseline", "Version", "What", "Measured", "To know")
_VERSION = 1
"""The column that holds a number."""


class BaselinePicker(QDialog):
    """The baselines, the newest pinned first; a table from a file is kept as one before it is chosen."""

    def __init__(self, workstation: Workstation, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._found: list[Baseline] = []
        self._wanted = ""
        self.table = QTableWidget(0, len(_HEADS))
        self.about = Text("", Tone.MUTED)
        self.notice = Notice()
        self.import_button = QPushButton("Import table…")
        self.use_button = QPushButton("Compare with it")
        self.cancel_button = QPushButton("Cancel")
        self._arrange()
        self._connect()
        self._refresh()

    def chosen(self) -> str:
        """Return the word of the chosen baseline, empty where none is."""
        row = self.table.currentRow()
        return self._found[row].word if 0 <= row < len(self._found) else ""

    def import_file(self, path: Path) -> None:
        """Keep the table in a file as a baseline, and choose it."""
        workstation = self._workstation
        job = Job(lambda: workstation.import_baseline(path), self)
        job.returned.connect(self._take_imported)
        job.failed.connect(self.notice.say_error)
        job.start()

    def _refresh(self) -> None:
        job = Job(self._workstation.baselines, self)
        job.returned.connect(self._show)
        job.failed.connect(self._fail)
        job.start()

    def _take_imported(self, baseline: Baseline) -> None:
        self._wanted = baseline.word
        self._refresh()

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.say_error(error)

    def _show(self, found: list[Baseline]) -> None:
        self._found = found
        self.notice.hide()
        self.table.setRowCount(len(found))
        for row, one in enumerate(found):
            for column, text in enumerate(_cells(one)):
                item = QTableWidgetItem(visible(text))
                item.setToolTip(tool_tip(text))
                if column == _VERSION:
                    item.setFont(figure_font())
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.table.setItem(row, column, item)
        self.table.resizeColumnsToContents()
        self.table.horizontalHeader().setSectionResizeMode(len(_HEADS) - 1, QHeaderView.ResizeMode.Stretch)
        self.table.resizeRowsToContents()
        for row in range(len(found)):
            self.table.setRowHeight(row, self.table.rowHeight(row) + SPACE[1])
        words = [one.word for one in found]
        self.table.selectRow(words.index(self._wanted) if self._wanted in words else 0)
        self._explain()

    def _explain(self) -> None:
        row = self.table.currentRow()
        one = self._found[row] if 0 <= row < len(self._found) else None
        self.use_button.setEnabled(one is not None)
        self.about.setText("" if one is None else about(one))

    def _ask_for_file(self) -> None:
        chooser = QFileDialog(self, "Import a table of figures")
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.setNameFilters(["Tables (*.toml *.csv)"])
        chooser.fileSelected.connect(lambda path: self.import_file(Path(path)))
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()

    def _connect(self) -> None:
        self.table.currentCellChanged.connect(lambda *_cells: self._explain())
        self.table.cellDoubleClicked.connect(lambda *_cell: self.accept())
        self.import_button.clicked.connect(self._ask_for_file)
        self.use_button.clicked.connect(self.accept)
        self.cancel_button.clicked.connect(self.reject)

    def _arrange(self) -> None:
        self.setWindowTitle("Compare with a baseline")
        fit(self, _SIZE)
        for column, words in enumerate(_HEADS):
            side = Qt.AlignmentFlag.AlignRight if column == _VERSION else Qt.AlignmentFlag.AlignLeft
            head = QTableWidgetItem(words)
            head.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            self.table.setHorizontalHeaderItem(column, head)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setShowGrid(False)
        self.table.verticalHeader().hide()
        self.table.setAccessibleName("Baselines")
        set_tool_tip(self.import_button, "A TOML or CSV file: metric, unit, value, and what is known beside them")
        self.use_button.setProperty("primary", True)
        self.use_button.setDefault(True)
        for button in (self.import_button, self.cancel_button):
            button.setAutoDefault(False)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE[1])
        buttons.addWidget(self.import_button)
        buttons.addStretch(1)
        buttons.addWidget(self.use_button)
        buttons.addWidget(self.cancel_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        rows.setSpacing(SPACE[2])
        rows.addWidget(Text("Compare with a baseline", font=text_font(TextSize.HEADING, bold=True)))
        rows.addWidget(self.notice)
        rows.addWidget(self.table, 1)
        rows.addWidget(self.about)
        rows.addLayout(buttons)


def about(baseline: Baseline) -> str:
    """Return in lines where a baseline comes from, and what is doubtful."""
    table = baseline.reference
    if table is None:
        whose = "Run" if len(baseline.parts) == 1 else "Runs"
        return f"{whose} {', '.join(baseline.parts[:6])}{' …' if len(baseline.parts) > 6 else ''}"
    return "\n".join([f"Source: {table.source or 'not said'}.", *table.doubts])


def _cells(one: Baseline) -> tuple[str, ...]:
    age = one.age()
    what = title(one).rpartition(", ")[2] + (", built in" if one.built_in else "")
    measured = "not known" if age is None else f"{age_text(age)} ago"
    known = "; ".join(remarks(one)).replace(f"measured {measured}, ", "")  # the column beside it says so
    return one.name, str(one.version), what, measured, known
