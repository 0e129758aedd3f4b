"""A table fits its columns to its rows when it is shown; a hidden one measures nothing."""

from PySide6.QtGui import QPaintEvent
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


class DrawnTable(Table[str]):
    """Counts how often it is drawn."""

    drawn = 0

    def paintEvent(self, event: QPaintEvent) -> None:
        """Count and draw."""
        self.drawn += 1
        super().paintEvent(event)


def test_rows_in_another_order_have_the_same_widths_and_are_drawn_once(qtbot: QtBot) -> None:
    rows = [f"host-{'1' * (number % 7)}-{number}" for number in range(150)]
    columns: list[TableColumn[str]] = [TableColumn(name, str, width=20, whole=True) for name in ("Host", "Alias")]
    table = DrawnTable("Hosts", TableModel(columns), identity=str)
    qtbot.addWidget(table)
    with qtbot.waitExposed(table):
        table.show()
    table.show_rows(rows)
    qtbot.wait(50)
    widths, before = [table.columnWidth(column) for column in (0, 1)], table.drawn
    for by in range(1, 8):
        table.show_rows(rows[by:] + rows[:by])
        qtbot.wait(50)
        assert [table.columnWidth(column) for column in (0, 1)] == widths
    assert table.drawn - before == 7
    table.show_rows([f"{row} of another zone" for row in rows])
    qtbot.wait(50)
    assert table.columnWidth(0) > widths[0]
    assert table.drawn - before == 8
