"""The library as a workbench: chips, groups, columns, names and tags in place, undo, what is remembered."""

from collections.abc import Callable, Iterator
from unittest.mock import Mock, patch

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.questions import RefusingAsker
from app.run_filter import parse_filter
from app.services import Workstation
from suites.verdict import Trust
from tests.widgets.library_runs import Made, copied_library, record
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.library.filter_bar import TermChip
from widgets.library.library_page import LibraryPage
from widgets.library.run_columns import GroupLine
from widgets.library.run_dialogs import TextQuestion
from widgets.library.run_panel import PATIENCE
from widgets.library.run_table import TREND

pytestmark = pytest.mark.usefixtures("idle")

Keep = Callable[[QWidget], QWidget]
BEFORE, SECOND, AFTER = "20260112-081502-a1b2", "20260112-093010-c3d4", "20260113-141230-e5f6"
CONTROL = Qt.KeyboardModifier.ControlModifier


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def opened(qtbot: QtBot, keep: Keep, workstation: Workstation) -> LibraryPage:
    page = LibraryPage(workstation, RefusingAsker())
    keep(page)
    page.resize(1100, 700)
    page.show()
    page.activateWindow()
    page.activated()
    settle(qtbot)
    return page


@pytest.fixture
def page(qtbot: QtBot, keep: Keep, workstation: Workstation) -> Iterator[LibraryPage]:
    copied_library(workstation)
    made = opened(qtbot, keep, workstation)
    yield made
    settle(qtbot)


def shown(page: LibraryPage) -> list[str]:
    return [row.id for row in page.table.lines.matched]


def chips(page: LibraryPage) -> list[TermChip]:
    return [chip for chip in page.filter_bar.findChildren(TermChip) if not chip.isHidden()]


def press(qtbot: QtBot, page: LibraryPage, key: Qt.Key, modifier: Qt.KeyboardModifier = CONTROL) -> None:
    page.table.setFocus()
    qtbot.keyClick(page.table, key, modifier)
    settle(qtbot)


def entries(menu: QMenu) -> list[str]:
    menu.aboutToShow.emit()
    return [action.text() for action in menu.actions()]


def test_terms_become_chips_that_are_changed_and_removed(qtbot: QtBot, page: LibraryPage) -> None:
    qtbot.keyClicks(page.search, "host:web-1 bs=4k volume")
    qtbot.keyClick(page.search, Qt.Key.Key_Return)
    assert page.search.text() == "volume"
    assert [str(chip.term) for chip in chips(page)] == ["host:web-1", "bs=4k"]
    found = shown(page)
    assert BEFORE in found
    host, size = chips(page)
    assert "web-2\t1" in entries(host.menu)
    assert len(entries(size.menu)) > 2
    next(action for action in size.menu.actions() if action.text() == "Exclude").trigger()
    assert not set(shown(page)) & set(found)
    qtbot.waitUntil(lambda: len(chips(page)) == 2)
    chips(page)[1].close_button.click()
    assert set(shown(page)) > set(found)
    page.search.clear()
    qtbot.keyClick(page.search, Qt.Key.Key_Backspace)
    assert len(shown(page)) == 8
    assert page.filter_bar.shown.terms == ()


def test_a_fault_in_a_filter_is_shown_and_the_rows_stay(qtbot: QtBot, page: LibraryPage) -> None:
    page.search.setText("host:web-2")
    qtbot.waitUntil(lambda: len(shown(page)) == 1)
    page.search.setText("iodept>=3")
    qtbot.waitUntil(page.filter_bar.message.isVisible)
    assert "iodepth?" in page.filter_bar.message.label.text()
    assert len(shown(page)) == 1
    page.search.setText("iops>400k")
    settle(qtbot)
    qtbot.waitUntil(lambda: 1 < len(shown(page)) < 8)
    assert not page.filter_bar.message.isVisible()


def test_the_values_that_exist_are_in_menus(page: LibraryPage) -> None:
    page.filter_bar.add_button.menu().aboutToShow.emit()
    menus = {menu.title(): menu for menu in page.filter_bar.add_button.menu().findChildren(QMenu)}
    for name in ("Host", "bs", "Instance type"):
        menus[name].aboutToShow.emit()
    assert next(iter(menus["Host"].actions())).text() == "web-1\t6"
    assert {action.text().partition("\t")[0] for action in menus["bs"].actions()} == {"4 KiB", "16 KiB"}
    menus["Instance type"].actions()[1].trigger()
    assert [str(term) for term in page.filter_bar.shown.terms] == ["type=c7i.4xlarge"]
    assert len(shown(page)) == 1


def test_groups_have_counts_and_spans_and_are_collapsed_by_keys(qtbot: QtBot, page: LibraryPage) -> None:
    page.filter_bar.set_grouping("host")
    lines = [line for line in page.table.lines.shown if isinstance(line, GroupLine)]
    assert sorted(line.count for line in lines) == [1, 1, 6]
    assert any(" to " in line.span for line in lines)
    at = page.table.row_of("web-1")
    page.table.setCurrentIndex(page.table.lines.index(at, 0))
    rows = len(page.table.lines.shown)
    press(qtbot, page, Qt.Key.Key_Left, Qt.KeyboardModifier.NoModifier)
    assert len(page.table.lines.shown) == rows - 6
    press(qtbot, page, Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier)
    assert len(page.table.lines.shown) == rows


def test_the_span_of_a_group_has_the_unit_of_the_head(qtbot: QtBot, page: LibraryPage) -> None:
    page.filter_bar.set_grouping("host")
    page.search.setText("iops>1")
    qtbot.waitUntil(lambda: any(column.unit == "k IOPS" for column in page.table.lines.columns))
    spans = [line.span for line in page.table.lines.shown if isinstance(line, GroupLine)]
    assert spans
    for span in spans:
        ends = [float(end) for end in span.split(" to ")]  # a number alone
        assert ends == sorted(ends)


def test_a_run_is_renamed_in_place_and_that_is_undone(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    page.table.select(AFTER)
    press(qtbot, page, Qt.Key.Key_F2, Qt.KeyboardModifier.NoModifier)
    editor = page.table.findChild(QLineEdit)
    assert editor is not None
    editor.setText("kernel 6.12")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(page.undo_bar.isVisible)
    settle(qtbot)
    assert workstation.load(AFTER).summary.name == "kernel 6.12"
    assert page.table.run is not None
    assert page.table.run.summary.name == "kernel 6.12"
    press(qtbot, page, Qt.Key.Key_Z)
    assert workstation.load(AFTER).summary.name == "after the kernel update"


def test_several_runs_are_tagged_at_once_and_found_by_the_tag(qtbot: QtBot, page: LibraryPage) -> None:
    page.table.select(BEFORE, AFTER)
    press(qtbot, page, Qt.Key.Key_T)
    dialog = next(one for one in page.findChildren(TextQuestion) if one.isVisible())
    dialog.field.setText("release, nightly")
    dialog.accept()
    settle(qtbot)
    page.filter_bar.set_filter(parse_filter("tag:nightly"))
    assert set(shown(page)) == {BEFORE, AFTER}
    page.undo_bar.undo_button.click()
    settle(qtbot)
    assert not shown(page)


def test_searches_are_saved_by_name_shown_and_deleted_with_undo(
    qtbot: QtBot, page: LibraryPage, workstation: Workstation
) -> None:
    page.filter_bar.set_filter(parse_filter("host:web-2"))
    page.filter_bar.save_requested.emit(str(page.filter_bar.shown))
    dialog = next(one for one in page.findChildren(TextQuestion) if one.isVisible())
    dialog.field.setText("the other host")
    dialog.accept()
    settle(qtbot)
    page.filter_bar.clear()
    menu = page.filter_bar.saved_button.menu()
    assert entries(menu)[0] == "the other host"
    menu.actions()[0].trigger()
    assert len(shown(page)) == 1
    page.filter_bar.delete_requested.emit("the other host")
    settle(qtbot)
    assert workstation.library().searches == {}
    page.undo_bar.undo_button.click()
    settle(qtbot)
    assert workstation.library().searches == {"the other host": "host:web-2"}


def test_runs_like_one_are_those_with_its_parameters(qtbot: QtBot, page: LibraryPage) -> None:
    page.table.select(BEFORE)
    press(qtbot, page, Qt.Key.Key_L)
    assert {BEFORE, SECOND, AFTER} <= set(shown(page)) < {row.id for row in page.library.rows}
    press(qtbot, page, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    assert len(shown(page)) == 8


def test_parameters_that_differ_and_chosen_columns_are_shown(qtbot: QtBot, page: LibraryPage) -> None:
    page.table.select(BEFORE, "20260114-090120-i9j0")
    page.actions_of_runs.differences.trigger()
    assert "bs" in page.table.lines.names
    page.columns.toggle("latency_p99")
    settle(qtbot)
    values = {page.table.lines.at(row, "Completion latency, p99").data() for row in range(8)}
    assert len(values) > 1
    page.columns.toggle("latency_p99")
    assert "latency_p99" not in page.table.lines.names


def test_selected_rows_are_copied_with_their_heads(qtbot: QtBot, page: LibraryPage) -> None:
    page.table.select(BEFORE, AFTER)
    press(qtbot, page, Qt.Key.Key_C)
    heads, *rows = QGuiApplication.clipboard().text().splitlines()
    assert heads.startswith("Started\tName\tHosts")
    assert [row.split("\t")[1] for row in rows] == ["after the kernel update", "volume check"]


def test_the_layout_is_remembered(qtbot: QtBot, keep: Keep, page: LibraryPage, workstation: Workstation) -> None:
    page.columns.toggle("kernel")
    page.table.sortByColumn(page.table.lines.names.index("name"), Qt.SortOrder.AscendingOrder)
    page.filter_bar.set_grouping("host")
    head, names = page.table.horizontalHeader(), page.table.lines.names
    head.moveSection(head.visualIndex(names.index("verdict")), 1)
    qtbot.waitUntil(lambda: page.table.lines.names[1] == "verdict")  # heads of groups span columns of the model
    assert [head.visualIndex(number) for number in range(head.count())] == list(range(head.count()))
    assert page.table.lines.names[head.sortIndicatorSection()] == "name"
    page.actions_of_runs.preview.trigger()
    assert page.preview.isHidden()
    page.hide()
    again = opened(qtbot, keep, workstation)
    assert "kernel" in again.table.lines.names
    assert again.table.lines.names[:3] == ["started", "verdict", "name"]
    names = [row.summary.name for row in again.table.lines.matched]
    assert names == sorted(names, key=str.casefold)
    assert again.filter_bar.grouping == "host"
    assert again.preview.isHidden()


def test_a_baseline_is_seen_in_the_table(page: LibraryPage) -> None:
    page.filter_bar.set_filter(parse_filter("baseline:yes"))
    assert shown(page) == [BEFORE]
    assert page.table.lines.at(0, "Baseline").data() == "before the update"
    assert not page.table.isColumnHidden(page.table.lines.names.index("baseline"))


@pytest.mark.parametrize("changed", [False, True])
def test_the_run_is_shown_when_another_is_left_before_it_was_read(
    qtbot: QtBot, page: LibraryPage, *, changed: bool
) -> None:
    page.table.select(BEFORE)
    page.table.settle()
    settle(qtbot)
    page.table.select(AFTER)
    page.table.select(BEFORE)
    if changed:
        page.actions_of_runs.unpin.trigger()
    qtbot.wait(PATIENCE + 100)
    settle(qtbot)
    assert page.panel.tabs.isVisible()
    assert page.panel.opened is not None
    assert page.panel.opened.record.summary.id == BEFORE
    assert not page.panel.notice.isVisible()


@pytest.mark.usefixtures("large_text")
def test_the_actions_of_a_low_panel_are_a_menu(qtbot: QtBot, page: LibraryPage) -> None:
    menu = page.panel.actions_menu
    page.resize(700, 640)
    qtbot.waitUntil(menu.isVisible)
    assert not any(button.isVisible() for button in page.panel.buttons.values())
    page.resize(1100, 1600)
    qtbot.waitUntil(lambda: not menu.isVisible())
    assert page.panel.buttons[page.actions_of_runs.delete].isVisible()


def test_a_trend_has_the_runs_of_the_same_parameters(page: LibraryPage) -> None:
    at = page.table.lines.names.index("trend")
    values, own = page.table.lines.index(page.table.row_of(SECOND), at).data(TREND)
    assert own == 1
    assert len(values) > 2


def test_a_run_without_a_trend_has_the_reason(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    alike = [Made(f"202601{day}-081502-a1b2", host=host) for day, host in ((10, "web-1"), (11, "web-1"))]
    elsewhere = [Made(f"202601{day}-081502-a1b2", host="elsewhere") for day in (12, 13)]
    invalid, alone = Made("20260114-081502-a1b2", trust=Trust.INVALID), Made("20260115-081502-a1b2", host="web-2")
    record(workstation, *alike, *elsewhere, invalid, alone)
    page = opened(qtbot, keep, workstation)
    cells = {row.id: page.table.lines.at(page.table.row_of(row.id), "Trend") for row in page.library.rows}
    for made in alike:
        values, _own = cells[made.run_id].data(TREND)
        assert (len(values), cells[made.run_id].data()) == (2, "")
    for made, reason in (*((one, "host is not known") for one in elsewhere), (invalid, "invalid"), (alone, "No other")):
        cell = cells[made.run_id]
        assert (cell.data(TREND), cell.data()) == (None, "—")
        assert reason in cell.data(Qt.ItemDataRole.ToolTipRole)


@pytest.mark.usefixtures("dressed")
@pytest.mark.parametrize("made", [LibraryPage, ComparePage])
def test_a_page_is_built_without_repeated_changes_of_its_style(
    keep: Keep, qapp: QApplication, workstation: Workstation, made: type[LibraryPage | ComparePage]
) -> None:
    class Counter(QObject):
        changes = 0

        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
            self.changes += event.type() is QEvent.Type.StyleChange
            return False

    counter = Counter()
    qapp.installEventFilter(counter)
    try:
        page = made(workstation, RefusingAsker())
    finally:
        qapp.removeEventFilter(counter)
    keep(page)
    assert counter.changes < 4 * len(page.findChildren(QWidget)), "a first showing takes as long as these"


def test_selected_rows_are_read_without_each_cell(qtbot: QtBot, page: LibraryPage) -> None:
    page.table.group("day")
    lines = page.table.lines
    page.table.selectAll()
    with patch.object(lines, "flags", Mock(side_effect=lines.flags)) as asked:
        assert len(page.table.runs()) == 8
    assert asked.call_count <= len(lines.shown)


def test_runs_of_an_older_library_are_completed_while_it_is_shown(
    qtbot: QtBot, keep: Keep, workstation: Workstation
) -> None:
    record(workstation, *(Made(f"2026011{day}-081502-a1b2") for day in (1, 2)))
    with workstation._store.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM run_summaries")
    page = opened(qtbot, keep, workstation)
    qtbot.waitUntil(lambda: page.library.missing == 0)
    assert all(row.configurations for row in page.library.rows)
