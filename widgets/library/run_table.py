"""The table of runs: it keeps the cursor and the selection on the same runs whatever is sorted, found or read anew."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QItemSelection, QItemSelectionModel, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from widgets.library.run_lines import Column, RunLine
from widgets.library.run_model import RunModel
from widgets.theme import SPACE

_WIDTHS = {
    Column.STARTED: 128, Column.NAME: 180, Column.HOSTS: 108, Column.HEADLINE: 92, Column.STATE: 78,
    Column.VERDICT: 152, Column.TRIALS: 50, Column.BASELINE: 112, Column.STEPS: 140, Column.QUESTION: 240,
}  # fmt: skip
"""Pixels of the columns at the platform's usual size of text."""

_GIVEN_UP = (Column.QUESTION, Column.STEPS, Column.BASELINE, Column.TRIALS, Column.HOSTS, Column.STATE)
"""Columns that go where the place is narrow, the first of them first; the run beneath the table tells all of them."""

_NAME_LEAST = 120
SETTLED = 120
"""Milliseconds after the last move until the run under the cursor is told: arrow keys held down open nothing."""


class RunTable(QTableView):
    """The runs, one a line; several can be selected."""

    moved = Signal()  # the cursor is on another run, or others are selected
    rested = Signal()  # and has stayed there for a moment

    def __init__(self) -> None:
        super().__init__()
        self.runs = RunModel(self)
        self.setModel(self.runs)
        self._resting = QTimer(self)
        self._resting.setSingleShot(True)
        self._resting.setInterval(SETTLED)
        self._resting.timeout.connect(self.rested)
        self.selectionModel().selectionChanged.connect(self._move)
        self.selectionModel().currentRowChanged.connect(self._move)
        self._look()

    def current(self) -> RunLine | None:
        """Return the run under the cursor, or None."""
        found = self.currentIndex().data(RunModel.LINE)
        return found if isinstance(found, RunLine) else None

    def chosen(self) -> list[RunLine]:
        """Return the selected runs, from top to bottom."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self.runs.shown[row] for row in rows]

    def show_lines(self, lines: Iterable[RunLine]) -> None:
        """Show `lines`; the cursor and the selection stay on their runs."""
        made = list(lines)
        if made != list(self.runs.lines):
            self._keeping(lambda: self.runs.show_lines(made))
            self._fit()

    def search(self, words: str) -> None:
        """Show only the runs in which every one of `words` occurs."""
        self._keeping(lambda: self.runs.search(words))

    def select(self, run_ids: Sequence[str]) -> None:
        """Select these runs, the cursor on the first of them that is shown."""
        rows = [row for run_id in run_ids if (row := self.runs.row_of(run_id)) >= 0]
        chosen = QItemSelection()
        for row in rows:
            chosen.select(self.runs.index(row, 0), self.runs.index(row, self.runs.columnCount() - 1))
        if rows:
            self.setCurrentIndex(self.runs.index(rows[0], 0))
        self.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def settle(self) -> None:
        """Tell at once what the cursor rests on."""
        self._resting.stop()
        self.moved.emit()
        self.rested.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give columns up where the place is narrow."""
        super().resizeEvent(event)
        self._fit()

    def _keeping(self, change: Callable[[], None]) -> None:
        line, chosen, row = self.current(), [each.id for each in self.chosen()], self.currentIndex().row()
        change()
        kept = [run_id for run_id in chosen if self.runs.row_of(run_id) >= 0]
        at = self.runs.row_of(line.id) if line is not None else -1
        if at < 0 and self.runs.shown:  # the run is gone: its neighbour takes the cursor
            at = min(max(row, 0), len(self.runs.shown) - 1)
        if at >= 0:
            here = self.runs.shown[at].id
            self.select([here, *(run_id for run_id in kept if run_id != here)] if here in kept or not kept else kept)
        self._move()

    def _move(self) -> None:
        self.moved.emit()
        self._resting.start()

    def _fit(self) -> None:
        room = self.viewport().width()
        scale = self._scale()
        wanted = {column: round(width * scale) for column, width in _WIDTHS.items()}
        wanted[Column.NAME] = round(_NAME_LEAST * scale)
        shown = set(Column) - ({Column.BASELINE} if not self._any_pinned() else set())
        for column in _GIVEN_UP:
            if sum(wanted[each] for each in shown) > room:
                shown.discard(column)
        for column in Column:
            self.setColumnHidden(column, column not in shown)

    def _any_pinned(self) -> bool:
        return any(line.summary.baseline for line in self.runs.lines)

    def _scale(self) -> float:
        """Return how much wider this font is than the one the widths were chosen for."""
        return self.fontMetrics().averageCharWidth() / 6

    def _look(self) -> None:
        self.setAccessibleName("Runs")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + SPACE[1])
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setSortIndicator(Column.STARTED, Qt.SortOrder.DescendingOrder)
        head.sortIndicatorChanged.connect(self._sort)
        head.setSectionsClickable(True)
        head.setSortIndicatorShown(True)
        for column, width in _WIDTHS.items():
            head.resizeSection(column, round(width * self._scale()))
        head.setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)

    def _sort(self, column: int, order: Qt.SortOrder) -> None:
        self._keeping(lambda: self.runs.sort(column, order))
