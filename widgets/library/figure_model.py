"""The figures of a run as a table for Qt: every metric over the trials that count, in groups by step and host."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.leading import leading
from app.records import RunRecord
from app.summary import MetricSummary, summaries
from app.wording import direction_text, figure_text, metric_text, range_text, share_text, spread_text
from widgets.parts.grouped_table import HEADING
from widgets.parts.names import place_words
from widgets.parts.sheet_text import sheet_text
from widgets.parts.text import strong, tool_tip, visible
from widgets.theme import figure_font, palette

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()

NOTHING = "—"


class Column(IntEnum):
    """What the table tells of a metric, from left to right."""

    METRIC = 0
    MEDIAN = 1
    SPREAD = 2
    COV = 3
    N = 4
    RANGE = 5
    BETTER = 6


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A heading, or a metric over its trials. `leads` where it is what the step is run for."""

    heading: str
    summary: MetricSummary | None = None
    leads: bool = False


def figure_lines(record: RunRecord) -> list[FigureLine]:
    """Return the figures of `record` under a heading for each step and host, what leads on top."""
    found = summaries(record)
    lines: list[FigureLine] = []
    for step in record.plan.steps:
        for host in dict.fromkeys(summary.host for summary in found if summary.step == step.name):
            here = [summary for summary in found if (summary.step, summary.host) == (step.name, host)]
            first = leading(step, [summary.metric for summary in here])
            ordered = sorted(here, key=lambda summary: summary.metric.name not in first)
            lines.append(FigureLine(place_words(step.name, host)))
            lines += [FigureLine("", summary, summary.metric.name in first) for summary in ordered]
    return lines


class FigureModel(QAbstractTableModel):
    """One metric a line: median, spread and number of trials. One trial is one value."""

    HEADS: ClassVar = ("Metric", "Median", "±", "CoV", "n", "Lowest to highest", "Better")
    TIPS: ClassVar = (
        "",
        "The median of the trials",
        "Half the distance between the lowest and the highest trial",
        "Coefficient of variation: standard deviation by mean of the trials",
        "Trials that count: warm-ups and trials that failed are left out",
        "The lowest and the highest trial",
        "Which way is better",
    )
    SUMMARY = Qt.ItemDataRole.UserRole

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[FigureLine] = []

    def show_lines(self, lines: Sequence[FigureLine]) -> None:
        """Show `lines` in place of what was shown."""
        self.beginResetModel()
        self._lines = list(lines)
        self.endResetModel()

    def as_text(self) -> str:
        """Return all figures for a spreadsheet, whole and with their units."""
        return sheet_text(_rows(self._lines))

    def rowCount(self, parent: Index = ROOT) -> int:
        """Return the number of lines."""
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(Column)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let headings not be selected."""
        line = self._line(index)
        return super().flags(index) if line is None or line.summary is not None else Qt.ItemFlag.ItemIsEnabled

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
        if role == HEADING:
            return 0 if line.summary is not None else len(Column)
        if role == self.SUMMARY:
            return line.summary
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(Column(index.column()))
        if line.summary is None:
            return _heading(line.heading, index.column(), role)
        return _cell(line, line.summary, Column(index.column()), role)

    def _line(self, index: Index) -> FigureLine | None:
        return self._lines[index.row()] if index.isValid() and index.row() < len(self._lines) else None


def _alignment(column: Column) -> Qt.AlignmentFlag:
    right = Column.METRIC < column < Column.BETTER
    return (Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter


def _heading(words: str, column: int, role: int) -> object:
    if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole} and column == 0:
        return visible(words) if role == Qt.ItemDataRole.DisplayRole else tool_tip(words)
    return strong() if role == Qt.ItemDataRole.FontRole else None


def _cell(line: FigureLine, summary: MetricSummary, column: Column, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole:
        return _text(summary, column)
    if role == Qt.ItemDataRole.ToolTipRole:
        return tool_tip(_more(summary, column))
    if role == Qt.ItemDataRole.FontRole:
        return figure_font(bold=line.leads and column is Column.MEDIAN)
    quiet = column in {Column.SPREAD, Column.COV, Column.N, Column.RANGE, Column.BETTER}
    return QColor(palette().muted) if role == Qt.ItemDataRole.ForegroundRole and quiet else None


def _text(summary: MetricSummary, column: Column) -> str:
    metric, half = summary.metric, summary.uncertainty
    several = summary.n > 1
    return {
        Column.METRIC: lambda: visible(metric_text(metric, summary.labels)),
        Column.MEDIAN: lambda: figure_text(metric, summary.median, half),
        Column.SPREAD: lambda: _half(summary),
        Column.COV: lambda: NOTHING if summary.cov is None else share_text(summary.cov),
        Column.N: lambda: str(summary.n),
        Column.RANGE: lambda: range_text(metric, summary.minimum, summary.maximum, half) if several else NOTHING,
        Column.BETTER: lambda: direction_text(metric.better),
    }[column]()


def _half(summary: MetricSummary) -> str:
    half = summary.uncertainty
    if not half:
        return NOTHING if half is None else "± 0"
    return f"± {spread_text(summary.metric, summary.median, half).rpartition('± ')[2]}"


def _more(summary: MetricSummary, column: Column) -> str:
    if column is Column.METRIC:
        return f"{metric_text(summary.metric, summary.labels)}\n{summary.metric.name}, {summary.metric.unit.value}"
    if column is Column.SPREAD and summary.n < 2:
        return "One trial says nothing about the spread"
    listed = ", ".join(figure_text(summary.metric, value, summary.uncertainty) for value in summary.values[:20])
    more = f", and {summary.n - 20} more" if summary.n > 20 else ""
    return f"Trials in their order: {listed}{more}"


def _rows(lines: Sequence[FigureLine]) -> Iterator[Sequence[str | float | None]]:
    yield ("step", "host", "metric", "labels", "median", "unit", "lowest", "highest", "cov", "n", "better")
    for found in (line.summary for line in lines if line.summary is not None):
        metric = found.metric
        labelled = ";".join(f"{name}={value}" for name, value in found.labels)
        spread = (found.minimum, found.maximum, found.cov, found.n)
        yield (
            found.step, found.host, metric.name, labelled, found.median, metric.unit.value, *spread, metric.better.value
        )  # fmt: skip
