"""The table of a comparison."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView

from widgets.compare.cells import IntervalCell, MetricCell, RunCell
from widgets.compare.compare_lines import CompareLine, Part
from widgets.compare.compare_model import Column, CompareModel
from widgets.compare.ratio_scale import scale_for
from widgets.parts.grouped_table import GroupedTable
from widgets.theme import SPACE

_WIDTHS = {
    Column.RUN: 40, Column.VALUE: 92, Column.SPREAD: 66, Column.N: 38, Column.RATIO: 56, Column.INTERVAL: 122,
}  # fmt: skip
_METRIC_LEAST, _VERDICT_LEAST = 104, 217
_GIVEN_UP = (Column.INTERVAL, Column.SPREAD)
"""Columns that go where the place is narrow, the first of them first; side and tool tips tell them, too."""

SEEN = 5
"""Lines that are seen however low the window is."""

_NARROW_INTERVAL = 92


class CompareTable(GroupedTable):
    """Per metric a line for each run. The chosen line is explained elsewhere."""

    chosen = Signal(object)  # a CompareLine

    def __init__(self) -> None:
        super().__init__("Comparison")
        self.compared = CompareModel(self)
        self.interval_cell = IntervalCell(self)
        self.setModel(self.compared)
        self.setItemDelegateForColumn(Column.METRIC, MetricCell(self))
        self.setItemDelegateForColumn(Column.RUN, RunCell(self))
        self.setItemDelegateForColumn(Column.INTERVAL, self.interval_cell)
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head.setSectionResizeMode(Column.VERDICT, QHeaderView.ResizeMode.Stretch)
        self.selectionModel().currentRowChanged.connect(self._choose)
        self.setMinimumHeight(self.verticalHeader().defaultSectionSize() * (SEEN + 1) + SPACE[1])
        self._fit()

    def show_lines(self, lines: Sequence[CompareLine], margin: float) -> None:
        """Show `lines`; the cursor stays on its metric and run, or goes to the first."""
        before = self.current()
        found = [line.against for line in lines if line.against is not None]
        self.interval_cell.scale, self.interval_cell.margin = scale_for(found, margin), margin
        self.compared.show_lines(lines, margin)
        same = [row for row, line in enumerate(lines) if before is not None and _key(line) == _key(before)]
        runs = [row for row, line in enumerate(lines) if line.part is Part.RUN]
        if same or runs:
            self.selectRow((same or runs)[0])

    def current(self) -> CompareLine | None:
        """Return the line under the cursor, or None."""
        found = self.currentIndex().data(CompareModel.LINE)
        return found if isinstance(found, CompareLine) and found.row is not None else None

    def span_headings(self) -> None:
        """Let headings reach up to the axis, and each metric down over its runs."""
        super().span_headings()
        lines = self.compared.lines
        for row, line in enumerate(lines):
            if line.part is Part.BASELINE and line.row is not None:
                self.setSpan(row, Column.METRIC, len(line.row.sides), 1)

    def whole_height(self) -> int:
        """Return the height in which no line is hidden."""
        return self.horizontalHeader().sizeHint().height() + self.verticalHeader().length() + 2 * self.frameWidth()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give columns up where the place is narrow, and room where it is wide."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        scale = self.fontMetrics().averageCharWidth() / 6  # of the font the widths were chosen for
        widths = {column: round(width * scale) for column, width in _WIDTHS.items()}
        least = round((_METRIC_LEAST + _VERDICT_LEAST) * scale)
        room = self.viewport().width() - least - sum(widths.values())
        if room < 0:
            spared = min(-room, widths[Column.INTERVAL] - round(_NARROW_INTERVAL * scale))
            widths[Column.INTERVAL] -= spared
            room += spared
        for column in _GIVEN_UP:
            gone = room < 0
            room += widths[column] if gone else 0
            self.setColumnHidden(column, gone)
        for column, width in widths.items():
            self.setColumnWidth(column, width)
        spare = max(0, room)
        self.setColumnWidth(Column.METRIC, round(_METRIC_LEAST * scale) + spare // 3)
        self.setColumnWidth(Column.INTERVAL, widths[Column.INTERVAL] + spare // 4)

    def _choose(self) -> None:
        line = self.current()
        if line is not None:
            self.chosen.emit(line)


def _key(line: CompareLine) -> object:
    row = line.row
    return None if row is None else (row.step, row.host, row.metric.name, row.labels, line.number)
