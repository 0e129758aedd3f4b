"""Dialogs to select runs of the library or a baseline for a comparison."""

from collections.abc import Collection
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QPushButton, QStyleOptionViewItem, QWidget

from app.baselines.baselines import HEAD, Baseline, baseline_row
from app.baselines.reference_file import PARSERS
from app.library_rows import LibraryRow
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.library.run_table import RunTable
from widgets.parts.boxes import fill, in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.dialogs import ask_for_file, button_row, dialog_column, fit
from widgets.parts.notice import Notice
from widgets.parts.table import RowDelegate, Table
from widgets.parts.table_model import LEFT, RIGHT, Index, TableColumn, TableModel
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE

_RUNS_SIZE = (780, 460)


class RunPicker(QDialog):
    """Table of the library without the runs in the comparison; multiple selection."""

    def __init__(self, workstation: Workstation, taken: Collection[str], parent: QWidget | None) -> None:
        super().__init__(parent)
        self._taken = frozenset(taken)
        self.table = RunTable()
        self.search = line_edit(
            "Find runs", self._search, placeholderText="Find by name, host, test or state", clearButtonEnabled=True
        )
        self.notice = Notice()
        self.count = Text(tone=Tone.MUTED)
        self.add_button = push_button("Add", self.accept, primary=True, default=True)
        self.cancel_button = push_button("Cancel", self.reject, autoDefault=False)
        self._arrange()
        self._connect()
        BackgroundJob(lambda: workstation.matching("")[1], self).start(self._show_lines, self.notice.show_error)

    def chosen(self) -> list[str]:
        """Return the ids of the selected runs, oldest first."""
        return [row.id for row in sorted(self.table.runs(), key=lambda row: row.summary.started)]

    def _show_lines(self, rows: list[LibraryRow]) -> None:
        self.table.show_lines([row for row in rows if row.id not in self._taken])
        self._check()

    def _search(self, text: str) -> None:
        self.table.search(text)
        self._check()

    def _check(self) -> None:
        chosen = len(self.table.runs())
        self.add_button.setEnabled(chosen > 0)
        self.add_button.setText(f"Add {chosen} runs" if chosen > 1 else "Add")
        self.count.setText("" if self.table.content.shown else "No other runs.")

    def _connect(self) -> None:
        self.table.moved.connect(self._check)
        self.table.activated.connect(self.accept)

    def _arrange(self) -> None:
        self.setWindowTitle("Add runs")
        fit(self, _RUNS_SIZE)
        buttons = in_row((self.count, 1), self.add_button, self.cancel_button, spacing=SPACE[1])
        fill(dialog_column(self, "Add runs to the comparison"), self.search, self.notice, self.table, buttons)


_BASELINES_SIZE = (860, 460)

_PADDING = 5
"""Pixels at each side of a cell, as in window.qss."""

FILES = f"Tables, results of yabs.sh ({' '.join(f'*{suffix}' for suffix in (*PARSERS, '.txt', '.json', '.log'))})"


class _WrappedCell(RowDelegate):
    """Has the height of its wrapped text with a space: Qt leaves out the padding where it wraps."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the size of a cell."""
        if option.rect.isValid():
            option.rect = option.rect.adjusted(_PADDING, 0, -_PADDING, 0)
        return super().sizeHint(option, index) + QSize(0, SPACE[1])


class BaselinePicker(QDialog):
    """Table of baselines, most recently pinned first; an imported table becomes a baseline."""

    def __init__(self, workstation: Workstation, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._to_select = ""
        self.table = Table("Baselines", TableModel(COLUMNS), identity=lambda one: one.selector)
        self.table.setWordWrap(True)  # contents and remarks
        self.table.setItemDelegate(_WrappedCell(self.table))
        self.about = Text("", Tone.MUTED)
        self.notice = Notice()
        self.import_button = QPushButton("Import table…")
        self.use_button = push_button("Compare", self.accept, primary=True, default=True)
        self.cancel_button = push_button("Cancel", self.reject)
        self._arrange()
        self._connect()
        self._refresh()

    def chosen(self) -> str:
        """Return the id of the selected baseline, or an empty string."""
        one = self.table.current()
        return "" if one is None else one.selector

    def import_file(self, path: Path) -> None:
        """Store the table in a file as a baseline and select it."""
        workstation = self._workstation
        BackgroundJob(lambda: workstation.import_baseline(path), self).start(
            self._take_imported, self.notice.show_error
        )

    def _refresh(self) -> None:
        BackgroundJob(self._workstation.baselines, self).start(self._show, self._fail)

    def _take_imported(self, baseline: Baseline) -> None:
        self._to_select = baseline.selector
        self._refresh()

    def _fail(self, error: BenchwrightError) -> None:
        self.notice.show_error(error)

    def _show(self, found: list[Baseline]) -> None:
        self.notice.hide()
        self.table.show_rows(found)
        self.table.select(
            self._to_select if self.table.row_of(self._to_select) >= 0 else found[0].selector if found else ""
        )
        self._explain()

    def _explain(self) -> None:
        one = self.table.current()
        self.use_button.setEnabled(one is not None)
        self.about.setText("" if one is None else about(one))

    def _ask_for_file(self) -> None:
        ask_for_file(self, "Import baseline table", self.import_file, [FILES, "All files (*)"])

    def _connect(self) -> None:
        self.table.moved.connect(self._explain)
        self.table.doubleClicked.connect(lambda _index: self.accept())
        self.import_button.clicked.connect(self._ask_for_file)

    def _arrange(self) -> None:
        self.setWindowTitle("Compare with a baseline")
        fit(self, _BASELINES_SIZE)
        set_tool_tip(self.import_button, "File of figures with metric, unit, value and optional details")
        for button in (self.import_button, self.cancel_button):
            button.setAutoDefault(False)
        buttons = button_row(self.import_button, None, self.use_button, self.cancel_button)
        fill(dialog_column(self, "Compare with a baseline"), self.notice, (self.table, 1), self.about, buttons)


def about(baseline: Baseline) -> str:
    """Return the runs or the source of a baseline, and doubts about it, one per line."""
    table = baseline.reference
    if table is None:
        noun = "Run" if len(baseline.parts) == 1 else "Runs"
        return f"{noun} {', '.join(baseline.parts[:6])}{' …' if len(baseline.parts) > 6 else ''}"
    return "\n".join([f"Source: {table.source or 'unknown'}.", *table.doubts])


def _column(number: int) -> TableColumn[Baseline]:
    return TableColumn(
        HEAD[number],
        lambda one: baseline_row(one)[number],
        align=RIGHT if HEAD[number] == "Version" else LEFT,
        stretch=HEAD[number] in {"Contents", "Remarks"},
    )


COLUMNS = tuple(map(_column, range(len(HEAD))))
