"""The runs of the library as a table for Qt; sorted and searched here, so that a thousand of them cost nothing."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QIcon

from app.events import State
from app.records import RunSummary
from widgets.library.run_lines import Column, RunLine, in_order, matching, took
from widgets.parts.icons import icon
from widgets.parts.text import tool_tip
from widgets.parts.trust_marks import mark_of
from widgets.theme import figure_font, palette

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()

STATE_ICONS = {State.RUNNING: "live", State.DONE: "good", State.PARTIAL: "warning", State.FAILED: "error"}
"""The mark beside the word for how a run ended."""

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class RunModel(QAbstractTableModel):
    """One run a line, the newest first until told otherwise."""

    HEADS: ClassVar = (
        "Started",
        "Name",
        "Hosts",
        "Headline",
        "State",
        "Verdict",
        "Trials",
        "Baseline",
        "Steps",
        "Question",
    )
    TIPS: ClassVar = {
        Column.STARTED: "In your own time",
        Column.HEADLINE: "The first step's first figure: the median of its trials",
        Column.VERDICT: "May the result be believed: the worst of its steps",
        Column.TRIALS: "Trials that are done; warm-ups are left out",
        Column.BASELINE: "The name under which the run is pinned",
    }
    LINE = Qt.ItemDataRole.UserRole

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[RunLine] = []
        self._shown: list[RunLine] = []
        self._words = ""
        self._column, self._descending = Column.STARTED, True

    @property
    def lines(self) -> Sequence[RunLine]:
        """Every run, shown or not."""
        return self._all

    @property
    def shown(self) -> Sequence[RunLine]:
        """The runs that are shown, from top to bottom."""
        return self._shown

    def show_lines(self, lines: Iterable[RunLine]) -> None:
        """Show `lines` in place of what was shown."""
        self._all = list(lines)
        self._arrange()

    def show_line(self, line: RunLine) -> None:
        """Show `line` in place of that of the same run, where it stands; sorting goes by it from the next time on."""
        self._all = [line if each.id == line.id else each for each in self._all]
        row = self.row_of(line.id)
        if row >= 0:
            self._shown[row] = line
            self.dataChanged.emit(self.index(row, 0), self.index(row, self.columnCount() - 1))

    def search(self, words: str) -> None:
        """Show only the runs in which every one of `words` occurs."""
        self._words = words
        self._arrange()

    def row_of(self, run_id: str) -> int:
        """Return the row of a run, -1 where it is not shown."""
        return next((row for row, line in enumerate(self._shown) if line.id == run_id), -1)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by `column`."""
        self._column, self._descending = Column(max(0, column)), order is Qt.SortOrder.DescendingOrder
        self._arrange()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Return how many runs are shown."""
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(Column)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the heads, with their alignment and what they mean."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(Column):
            return None
        answers = {
            Qt.ItemDataRole.DisplayRole: self.HEADS[section],
            Qt.ItemDataRole.ToolTipRole: tool_tip(self.TIPS.get(Column(section), "")),
            Qt.ItemDataRole.TextAlignmentRole: _alignment(Column(section)),
        }
        return answers.get(Qt.ItemDataRole(role))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what the cell shows in `role`. Names are shown literally."""
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        line, column = self._shown[index.row()], Column(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return line.texts[column]
        if role == self.LINE:
            return line
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        return _look(line, column, role)

    def _arrange(self) -> None:
        self.beginResetModel()
        self._shown = in_order(matching(self._all, self._words), self._column, descending=self._descending)
        self.endResetModel()


def _alignment(column: Column) -> Qt.AlignmentFlag:
    return _RIGHT if column in {Column.HEADLINE, Column.TRIALS} else _LEFT


def _look(line: RunLine, column: Column, role: int) -> object:
    if role == Qt.ItemDataRole.DecorationRole:
        return _mark(line.summary, column)
    if role == Qt.ItemDataRole.ToolTipRole:
        return tool_tip(_more(line.summary, column))
    if role == Qt.ItemDataRole.FontRole and column in {Column.STARTED, Column.HEADLINE, Column.TRIALS}:
        return figure_font(bold=column is Column.HEADLINE)
    if role == Qt.ItemDataRole.ForegroundRole and column in {Column.STARTED, Column.STEPS, Column.QUESTION}:
        return QColor(palette().muted)
    return None


def _mark(run: RunSummary, column: Column) -> QIcon | None:
    if column is Column.STATE:
        return icon(STATE_ICONS[run.state])
    if column is Column.VERDICT:
        return icon(mark_of(run.trust)) if run.trust else None
    return icon("pin", "accent") if column is Column.BASELINE and run.baseline else None


def _more(run: RunSummary, column: Column) -> str:
    """Return the whole of a cell, with what the cell leaves out."""
    lasted = took(run)
    return {
        Column.STARTED: f"{run.started}\n{run.id}{f', took {lasted}' if lasted else ''}",
        Column.NAME: f"{run.name}\n{run.question}".strip(),
        Column.HOSTS: "\n".join(run.hosts),
        Column.VERDICT: f"{run.trust}\n{f'limited by {run.limited_by}' if run.limited_by else ''}".strip(),
        Column.BASELINE: f"Pinned as the baseline “{run.baseline}”" if run.baseline else "",
        Column.STEPS: "\n".join(run.steps),
        Column.QUESTION: run.question,
    }.get(column, "")
