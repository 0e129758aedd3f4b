"""A table fits its columns to its rows when it is shown; a hidden one measures nothing."""

from PySide6.QtWidgets import QStackedWidget, QWidget
from pytestqt.qtbot import QtBot

from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel


class MeasuredTable(Table[str]):
    """Counts how often the texts of a column are measured."""

    measured = 0

    def sizeHintForColumn(self, column: int) -> int:
        """Count and measure."""
        self.measured += 1
        return super().sizeHintForColumn(column)


def test_a_hidden_table_is_fitted_when_it_is_shown(qtbot: QtBot) -> None:
    table = MeasuredTable("Words", TableModel([TableColumn("Word", str)]))
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    for page in (table, QWidget()):
        stack.addWidget(page)
    with qtbot.waitExposed(stack):
        stack.show()
    table.show_rows(["short"])
    narrow = table.columnWidth(0)
    stack.setCurrentIndex(1)
    table.content.show_rows(["a much longer word than before"])
    before = table.measured
    table.content.refresh()
    table.fit_if_shown()
    qtbot.wait(20)  # the timer of a change
    assert table.measured == before
    stack.setCurrentIndex(0)
    qtbot.waitUntil(lambda: table.columnWidth(0) > narrow)
