"""The table of a ranking: a line a candidate, those that are not told apart under one place."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QTableWidget, QTableWidgetItem

from app.ranking.ranking import Ranking
from app.ranking.ranking_text import HEAD, RIGHT_ALIGNED, ranking_rows, shown_columns
from widgets.parts.text import tool_tip, visible
from widgets.theme import figure_font, palette

_WIDEST = 300
"""Pixels of a candidate's name; the rest is in its tool tip."""

_TIPS = {
    0: "Candidates of one place are not told apart by the margin",
    5: "Between which ranks it lies when its trials are resampled (bootstrap, 95 %)",
    8: "Reached or missed with the whole interval; else it is not sure",
}


class RankTable(QTableWidget):
    """Shows a ranking. Every second place is shaded, so that ties are seen at a glance."""

    def __init__(self) -> None:
        super().__init__()
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setShowGrid(False)
        self.setAccessibleName("Ranking")
        self.verticalHeader().hide()
        self.horizontalHeader().setHighlightSections(False)

    def show_ranking(self, ranking: Ranking) -> None:
        """Show `ranking`, only the columns that say something."""
        columns, rows = shown_columns(ranking), ranking_rows(ranking)
        self.setColumnCount(len(columns))
        self.setRowCount(len(rows))
        for place, column in enumerate(columns):
            head = QTableWidgetItem(HEAD[column])
            head.setToolTip(tool_tip(_TIPS.get(column, "")))
            head.setTextAlignment(_alignment(column))
            self.setHorizontalHeaderItem(place, head)
        for number, (row, ranked) in enumerate(zip(rows, ranking.ranked, strict=True)):
            for place, column in enumerate(columns):
                self.setItem(number, place, _cell(row[column], column, shaded=ranked.group % 2 == 0))
        self.resizeColumnsToContents()
        name = columns.index(1)
        self.setColumnWidth(name, min(self.columnWidth(name), _WIDEST))

    def texts(self) -> list[list[str]]:
        """Return what is shown, the head first, for copying."""
        head = [self._text(self.horizontalHeaderItem(column)) for column in range(self.columnCount())]
        rows = [
            [self._text(self.item(row, column)) for column in range(self.columnCount())]
            for row in range(self.rowCount())
        ]
        return [head, *rows]

    @staticmethod
    def _text(item: QTableWidgetItem | None) -> str:
        return "" if item is None else item.text()


def _cell(text: str, column: int, *, shaded: bool) -> QTableWidgetItem:
    item = QTableWidgetItem(visible(text))
    item.setTextAlignment(_alignment(column))
    item.setToolTip(tool_tip(text))
    if column != 1:
        item.setFont(figure_font(bold=column == 0))
    if shaded:
        item.setBackground(QColor(palette().raised))
    return item


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in RIGHT_ALIGNED else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
