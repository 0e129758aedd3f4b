"""The table of a run's figures; choosing one asks for its step and host."""

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHeaderView

from app.records import RunRecord
from app.summary import MetricSummary
from widgets.library.figure_model import Column, FigureModel, figure_lines
from widgets.parts.grouped_table import GroupedTable

_GIVEN_UP = (Column.BETTER, Column.RANGE, Column.COV)
"""Columns that go where the place is narrow, the first of them last; tool tips tell them, too."""

_METRIC_LEAST = 150


class FigureTable(GroupedTable):
    """Every metric of a run over its trials."""

    chosen = Signal(object)  # a Place

    def __init__(self) -> None:
        super().__init__("Figures of the run")
        self.figures = FigureModel(self)
        self.setModel(self.figures)
        self.copy_requested.connect(self.copy_all)
        self.selectionModel().currentRowChanged.connect(self._choose)
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(Column.METRIC, QHeaderView.ResizeMode.Stretch)

    def show_run(self, record: RunRecord) -> None:
        """Show the figures of `record`."""
        self.figures.show_lines(figure_lines(record))
        self._fit()

    def copy_all(self) -> None:
        """Put all figures on the clipboard, whole and with their units."""
        QGuiApplication.clipboard().setText(self.figures.as_text())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give columns up where the place is narrow."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        wanted = {column: self._wanted(column) for column in Column}
        shown = set(Column)
        for column in reversed(_GIVEN_UP):
            if sum(wanted[each] for each in shown) > self.viewport().width():
                shown.discard(column)
        for column in Column:
            self.setColumnHidden(column, column not in shown)

    def _wanted(self, column: Column) -> int:
        if column is Column.METRIC:
            return _METRIC_LEAST
        return max(self.sizeHintForColumn(column), self.horizontalHeader().sectionSizeHint(column))

    def _choose(self, current: QModelIndex) -> None:
        found = current.data(FigureModel.SUMMARY)
        if isinstance(found, MetricSummary):
            self.chosen.emit((found.step, found.host))
