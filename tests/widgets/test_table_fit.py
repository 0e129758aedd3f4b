"""A table fits its columns to its rows when it is shown; a hidden one measures nothing."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QStackedWidget, QStyle, QStyleOptionHeaderV2, QWidget
from pytestqt.qtbot import QtBot

from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel


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


@pytest.mark.usefixtures("dressed")
@pytest.mark.parametrize("text", ["qapp", "large_text"])
def test_no_column_is_narrower_than_its_title(qtbot: QtBot, request: pytest.FixtureRequest, text: str) -> None:
    request.getfixturevalue(text)
    columns: list[TableColumn[str]] = [
        TableColumn("Instance type", str, width=20),
        TableColumn("Headline", str, width=20, align=RIGHT, unit="k IOPS", key=str),
        TableColumn("Availability zone", str, width=20, whole=True, most=30),
        TableColumn("Remarks of the host", str, stretch=True),
        TableColumn("Remarks of the run", lambda row: row * 9, stretch=True),
    ]
    table = Table("Hosts", TableModel(columns))
    qtbot.addWidget(table)
    table.resize(300, 200)
    table.show_rows(["a", "b"])
    with qtbot.waitExposed(table):
        table.show()
    head, titles = table.horizontalHeader(), table.content.texts()[0]
    needed = [head.fontMetrics().horizontalAdvance(title) + 2 * 8 for title in titles]  # the padding is in window.qss
    assert all(head.sectionSize(number) >= needed[number] for number in range(5))
    assert table.horizontalScrollBar().maximum() > 0
    before = head.sectionSize(1)
    head.setSortIndicator(1, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: head.sectionSize(1) > before)  # the sort indicator
    table.resize(sum(needed) + 400, 200)
    qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)


@pytest.mark.usefixtures("dressed")
@pytest.mark.parametrize("text", ["qapp", "large_text"])
def test_the_sort_indicator_covers_no_title_at_the_right(
    qtbot: QtBot, request: pytest.FixtureRequest, text: str
) -> None:
    request.getfixturevalue(text)
    columns: list[TableColumn[str]] = [
        TableColumn("Median", str, align=RIGHT),
        TableColumn("Off", str, align=RIGHT),
        TableColumn("Rest", str, stretch=True),
    ]
    table = Table("Hosts", TableModel(columns), identity=str)
    qtbot.addWidget(table)
    table.setSortingEnabled(True)
    table.show_rows(["1", "2"])
    head, style = table.horizontalHeader(), table.style()
    for column in (0, 1):
        head.setSortIndicator(column, Qt.SortOrder.DescendingOrder)
        table.fit()
        option = QStyleOptionHeaderV2()
        head.initStyleOption(option)
        head.initStyleOptionForIndex(option, column)
        option.rect = QRect(head.sectionViewportPosition(column), 0, head.sectionSize(column), head.height())
        arrow = style.subElementRect(QStyle.SubElement.SE_HeaderArrow, option, head)
        label = style.subElementRect(QStyle.SubElement.SE_HeaderLabel, option, head)
        spaces = option.text[len(option.text.rstrip()) :]
        assert label.right() - head.fontMetrics().horizontalAdvance(spaces) < arrow.left()


def test_rows_of_wrapped_texts_follow_the_width(qtbot: QtBot) -> None:
    table = Table("Remarks", TableModel([TableColumn("Remark", str, stretch=True)]))
    qtbot.addWidget(table)
    table.setWordWrap(True)
    table.resize(600, 200)
    table.show_rows(["too old; reference, no spread known"])
    with qtbot.waitExposed(table):
        table.show()
    one_line = table.rowHeight(0)
    table.resize(120, 200)
    assert table.rowHeight(0) > one_line
