"""The comparison as a table for Qt: per metric a line for each run, the baseline first."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.comparing.compare import Against, Verdict
from app.wording import direction_text, metric_text, run_letter, run_name
from widgets.compare.compare_lines import CompareLine, Part
from widgets.compare.verdict_words import (
    ICONS,
    NOTHING,
    centre_words,
    interval_words,
    ratio_words,
    spread_words,
    value_words,
    verdict_line,
)
from widgets.parts.grouped_table import HEADING
from widgets.parts.icons import icon
from widgets.parts.text import strong, tool_tip, visible
from widgets.theme import figure_font, palette

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()

_TONES = {Verdict.BETTER: "good", Verdict.WORSE: "error", Verdict.NOT_COMPARABLE: "muted", Verdict.UNDECIDED: "muted"}


class Column(IntEnum):
    """What the table tells of a run, from left to right."""

    METRIC = 0
    RUN = 1
    VALUE = 2
    SPREAD = 3
    N = 4
    RATIO = 5
    INTERVAL = 6
    VERDICT = 7


_FIGURES = {Column.VALUE, Column.SPREAD, Column.N, Column.RATIO}


class CompareModel(QAbstractTableModel):
    """Lines of a comparison. The interval is text here; the view draws it."""

    HEADS: ClassVar = ("Metric", "Run", "Median", "±", "n", "Ratio", "95 % interval", "Verdict")
    TIPS: ClassVar = (
        "",
        "A is the baseline",
        "The median of the trials that count: one trial is one value",
        "Half the distance between the lowest and the highest trial",
        "Trials that count",
        "To the baseline: of the geometric means of the trials",
        "Of the ratio, by Welch's t on the logarithms of the trials. Grey: the margin around 1",
        "Better or worse where the whole interval lies beyond the margin and outlasts Holm's correction",
    )
    LINE = Qt.ItemDataRole.UserRole

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[CompareLine] = []
        self._margin = 0.05

    @property
    def lines(self) -> Sequence[CompareLine]:
        """The lines from top to bottom."""
        return self._lines

    @property
    def margin(self) -> float:
        """The share that does not matter."""
        return self._margin

    def _margin_of(self, against: Against) -> float:
        return self._margin if against.margin is None else against.margin

    def show_lines(self, lines: Sequence[CompareLine], margin: float) -> None:
        """Show `lines` in place of what was shown."""
        self.beginResetModel()
        self._lines, self._margin = list(lines), margin
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Return the number of lines."""
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(Column)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let headings not be selected."""
        line = self._line(index)
        heading = line is not None and line.part is Part.HEADING
        return Qt.ItemFlag.ItemIsEnabled if heading else super().flags(index)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the heads, with what they mean."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(Column):
            return None
        answers = {
            Qt.ItemDataRole.DisplayRole: self.HEADS[section],
            Qt.ItemDataRole.ToolTipRole: tool_tip(self.TIPS[section]),
            Qt.ItemDataRole.TextAlignmentRole: _alignment(Column(section)),
        }
        return answers.get(Qt.ItemDataRole(role))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what the cell shows in `role`."""
        line = self._line(index)
        if line is None:
            return None
        column = Column(index.column())
        if role == HEADING:
            return Column.INTERVAL if line.part is Part.HEADING else 0
        if role == self.LINE:
            return line
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole}:
            text = self._text(line, column)
            return visible(text) if role == Qt.ItemDataRole.DisplayRole else tool_tip(self._more(line, column, text))
        return _look(line, column, role)

    def _line(self, index: Index) -> CompareLine | None:
        return self._lines[index.row()] if index.isValid() and index.row() < len(self._lines) else None

    def _text(self, line: CompareLine, column: Column) -> str:
        if line.row is None:
            return line.heading if column is Column.METRIC else ""
        if column is Column.METRIC:
            return metric_text(line.row.metric, line.row.labels) if line.part is Part.BASELINE else ""
        if column is Column.RUN:
            return run_letter(line.number)
        if line.against is not None and column >= Column.RATIO:
            return self._judged(line, line.against, column)
        return _of_side(line, column)

    def _judged(self, line: CompareLine, against: Against, column: Column) -> str:
        if column is Column.VERDICT:
            return verdict_line(against, self._margin_of(against))
        if line.row is None or column is Column.INTERVAL:
            return interval_words(against)
        return ratio_words(line.row, against)

    def _more(self, line: CompareLine, column: Column, text: str) -> str:
        """Return what a cell means, for the tool tip."""
        if line.row is None:
            return text
        if column is Column.METRIC:
            return f"{metric_text(line.row.metric, line.row.labels)}\n{direction_text(line.row.metric.better)}"
        if line.against is not None and column >= Column.RATIO:
            words = verdict_line(line.against, self._margin_of(line.against))
            return f"{words}\n{line.against.reason}" if line.against.reason not in words else words
        more = centre_words(line.row, line.number, line.number or 1) if column is Column.VALUE else ""
        return f"{run_name(line.number)}: {text}" + (f"\nThe ratio is of the {more}" if more else "")


def _of_side(line: CompareLine, column: Column) -> str:
    side, row = line.side, line.row
    if column > Column.N:
        return direction_text(row.metric.better) if column is Column.VERDICT and row is not None else ""
    if side is None:
        return "0" if column is Column.N else NOTHING
    return {
        Column.VALUE: lambda: value_words(side),
        Column.SPREAD: lambda: spread_words(side),
        Column.N: lambda: str(side.n),
    }[column]()


def _alignment(column: Column) -> Qt.AlignmentFlag:
    if column is Column.INTERVAL:
        return Qt.AlignmentFlag.AlignCenter
    right = column in _FIGURES
    return (Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter


def _look(line: CompareLine, column: Column, role: int) -> object:
    if role == Qt.ItemDataRole.FontRole:
        if line.part is Part.HEADING:
            return strong()
        return figure_font(bold=column is Column.RATIO)
    if role == Qt.ItemDataRole.DecorationRole and column is Column.VERDICT and line.against is not None:
        return icon(*ICONS[line.against.verdict])
    if role == Qt.ItemDataRole.ForegroundRole and line.part is not Part.HEADING:
        tone = _tone(line, column)
        return QColor(getattr(palette(), tone)) if tone else None
    return None


def _tone(line: CompareLine, column: Column) -> str:
    """Return the colour of a cell's words: what cannot be compared stands back, and so does the baseline."""
    against = line.against
    if against is not None and against.verdict is Verdict.NOT_COMPARABLE and column is not Column.METRIC:
        return "muted"
    if column is Column.VERDICT:
        return "muted" if against is None else _TONES.get(against.verdict, "")
    return "muted" if column in {Column.SPREAD, Column.N} else ""
