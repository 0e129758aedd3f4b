"""The board of one to 200 hosts: names, states and findings of any length, and nothing moves while it is read."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.fleet_study import HostRunState
from tests.widgets.fleet_boards import LONG_FINDING, LONG_NAME, THREE_LINES, made_board, reading_of
from widgets.fleet.board_text import session_text, state_text
from widgets.fleet.board_view import BoardView
from widgets.fleet.fleet_actions import FleetActions
from widgets.theme import SPACE

WIDTH = 760
"""Pixels that the board has in a window of 1024."""


@pytest.fixture
def view(qtbot: QtBot) -> BoardView:
    owner = QWidget()
    qtbot.addWidget(owner)
    made = BoardView(FleetActions(owner))
    qtbot.addWidget(made)
    made.resize(WIDTH, 420)
    with qtbot.waitExposed(made):
        made.show()
    return made


def column(view: BoardView, name: str) -> int:
    """Return the number of a column."""
    return next(at for at, each in enumerate(view.table.content.columns) if each.name == name)


@pytest.mark.parametrize("count", [1, 10, 100, 200])
def test_state_and_figures_have_room_whatever_the_names(view: BoardView, count: int) -> None:
    view.show_reading(reading_of(made_board(count)), own=True)
    table = view.table
    assert table.content.rowCount() == count
    head = table.horizontalHeader()
    shown = [at for at in range(len(table.content.columns)) if not table.isColumnHidden(at)]
    assert {"Host", "Sessions", "State", "Median", "Off group"} <= {table.content.columns[at].name for at in shown}
    assert sum(map(table.columnWidth, shown)) <= table.viewport().width()
    assert table.columnWidth(column(view, "State")) >= table.scaled(100)
    titles = {at: str(table.content.headerData(at, Qt.Orientation.Horizontal)) for at in shown}
    needed = {at: head.fontMetrics().horizontalAdvance(title) + SPACE[2] for at, title in titles.items()}
    assert [titles[at] for at in shown if table.columnWidth(at) < needed[at]] == []


@pytest.mark.parametrize("state", [HostRunState.WAITING, HostRunState.FAILED])
def test_a_study_without_values_shows_its_states(view: BoardView, state: HostRunState) -> None:
    view.show_reading(reading_of(made_board(8, state=state)), own=True)
    assert {row.state for row in view.table.content.shown} == {state}
    assert not view.figure.isEnabled()


def test_a_long_name_has_room_among_many_hosts(view: BoardView) -> None:
    view.resize(1500, 420)
    widths = []
    for count in (10, 200):
        view.show_reading(reading_of(made_board(count)), own=True)
        widths.append(view.table.columnWidth(column(view, "Host")))
    assert widths[1] == widths[0] > view.table.scaled(150)


def test_hosts_of_a_slow_group_keep_their_digits(view: BoardView) -> None:
    board = made_board(12)
    slow = [replace(row, group="hdd", values=(181.3, 181.3), value=181.3) for row in board.rows[:3]]
    view.show_reading(reading_of(replace(board, rows=(*slow, *board.rows[3:]))), own=True)
    median, trials, content = column(view, "Median"), column(view, "Trials"), view.table.content
    assert content.columns[median].unit == "k IOPS"
    texts = [row[0] for row in content.texts([median])[1:]]
    assert texts[:3] == ["0.1813"] * 3
    assert {len(text.partition(".")[2]) for text in texts[3:]} == {1}
    assert content.texts([trials])[1] == ["0.1813 0.1813"]  # drawn, but copied as text


def test_a_host_whose_worker_ended_is_not_connecting() -> None:
    row = made_board(1, state=HostRunState.RUNNING).rows[0]
    assert "waits for another" in state_text(row)
    assert row.doing == state_text(row)
    carried = replace(row, host_runs=(replace(row.current, worker="ann@desk (process 1)"),), progress=None)
    assert state_text(carried) == "connecting"
    assert state_text(replace(carried, unknown=("quark",))) == "quark: unknown suite; connecting"


def test_a_skipped_host_is_skipped_once() -> None:
    row = made_board(1, state=HostRunState.SKIPPED).rows[0]
    skipped = replace(row, host_runs=(replace(row.current, reason="skipped"),))
    assert state_text(skipped) == "skipped"
    assert session_text(skipped.current) == "session 1: skipped"


def test_the_line_below_has_what_the_table_cuts(view: BoardView) -> None:
    view.show_reading(reading_of(made_board(10)), own=True)
    view.table.select((LONG_NAME, "g"))
    assert LONG_NAME in view.chosen.text()
    assert LONG_FINDING in view.chosen.text()
    view.show_reading(reading_of(made_board(10, state=HostRunState.FAILED)), own=True)
    assert THREE_LINES.replace("\n", " ") in view.chosen.text()
    view.clear()
    assert not view.chosen.text()


@pytest.mark.parametrize("sorted_by", ["", "Median"])
def test_nothing_moves_while_a_new_board_is_shown(view: BoardView, sorted_by: str) -> None:
    table = view.table
    view.show_reading(reading_of(made_board(100)), own=True)
    if sorted_by:
        table.horizontalHeader().setSortIndicator(column(view, sorted_by), Qt.SortOrder.DescendingOrder)
    table.select(("host-042", "g"))
    bar = table.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    top = table.content.shown[table.rowAt(0)].title
    offset = table.rowViewportPosition(table.rowAt(0))
    view.show_reading(reading_of(made_board(100, seed=2)), own=True)
    assert table.content.shown[table.rowAt(0)].title == top
    assert table.rowViewportPosition(table.rowAt(0)) == offset
    assert [row.title for row in table.chosen()] == ["host-042"]
    current = table.current()
    assert current is not None
    assert current.title == "host-042"
