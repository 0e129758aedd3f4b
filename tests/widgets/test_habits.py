"""Habits of the whole window: help in context, remembered layouts, one name for a verb, two clicks to a result."""

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QMenu, QSplitter, QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL
from app.services import Workstation
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.command_palette import menu_entries
from widgets.help_page import TOPICS, HelpPage, text_of
from widgets.hosts.hosts_page import HostsPage
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.help_topics import set_help, topic_of
from widgets.parts.layouts import remember_splitter
from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel
from widgets.wizard.measure_page import PARAMETERS, MeasurePage

Keep = Callable[[QWidget], QWidget]


@pytest.fixture
def window(qtbot: QtBot, workstation: Workstation) -> Iterator[MainWindow]:
    made = MainWindow(workstation)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    qtbot.waitUntil(lambda: made.sidebar.state.digest.counts != {} and not jobs.running())
    yield made
    qtbot.waitUntil(lambda: not jobs.running())


def shown_topic(window: MainWindow) -> str:
    """Return the topic that the help shows."""
    assert isinstance(window.front, HelpPage)
    return window.front.topic


def test_f1_shows_the_help_on_the_focused_column_item_or_page(qtbot: QtBot, window: MainWindow) -> None:
    page = window.front
    assert isinstance(page, HostsPage)
    topics = []
    names = [column.name for column in page.table.content.columns]
    for column in ("Host", "Last result"):
        window.show_page(PageName.HOSTS)
        page.table.setCurrentIndex(page.table.content.index(0, names.index(column)))
        qtbot.keyClick(page.table, Qt.Key.Key_F1)
        topics.append(shown_topic(window))
    window.show_page(PageName.HOSTS)
    view = window.sidebar.view
    view.setFocus()
    view.setCurrentIndex(view.content.index(view.content.rowCount() - 1, 0))  # Library
    qtbot.keyClick(view, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
    topics.append(shown_topic(window))
    assert topics == ["connections", "verdicts", "library"]


def test_the_widget_nearest_to_the_focus_decides_on_the_topic(keep: Keep) -> None:
    outer = keep(QWidget())
    inner = QWidget(outer)
    field = QWidget(inner)
    assert topic_of(field) == topic_of(None) == ""
    set_help(outer, "library")
    assert topic_of(field) == "library"
    set_help(inner, "verdicts")
    assert topic_of(field) == "verdicts"


COLUMNS: tuple[TableColumn[str], ...] = (
    TableColumn("first", lambda row: row, key=lambda row: row),
    TableColumn("second", lambda row: row * 2, key=lambda row: row),
    TableColumn("rest", lambda row: row, stretch=True),
)


def table(keep: Keep) -> Table[str]:
    """Return a shown table of three rows."""
    made: Table[str] = Table("Words", TableModel(COLUMNS))
    keep(made)
    made.resize(600, 200)
    made.show_rows(["b", "c", "a"])
    made.show()
    return made


def drag(made: Table[str], start: int, end: int) -> None:
    """Drag in the header with the left button, from and to a position in pixels."""
    head = made.horizontalHeader()
    window = made.windowHandle()
    at = [head.viewport().mapTo(made, QPoint(x, head.height() // 2)) for x in (start, (start + end) // 2, end)]
    QTest.mousePress(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at[0])
    for each in at[1:]:
        QTest.mouseMove(window, each)
    QTest.mouseRelease(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at[-1])


def test_every_table_remembers_widths_and_orders(keep: Keep) -> None:
    before = table(keep)
    head = before.horizontalHeader()
    assert [before.content.index(row, 0).data() for row in range(3)] == ["b", "c", "a"]
    assert head.sortIndicatorSection() == -1, "the head says that unsorted rows are sorted"
    edge, wide = head.sectionSize(0), head.sectionSize(0) + 70
    drag(before, edge - 1, wide - 1)
    assert head.sectionSize(0) == wide
    before.show_rows(["c", "b", "a"])
    assert head.sectionSize(0) == wide
    before.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    drag(before, 20, wide + head.sectionSize(1) - 5)
    assert head.visualIndex(0) == 1
    assert before.as_text().startswith("second\tfirst\trest")
    after = table(keep)
    assert after.horizontalHeader().sectionSize(0) == wide
    assert after.horizontalHeader().visualIndex(0) == 1
    assert after.horizontalHeader().sortIndicatorSection() == 1
    assert [after.content.index(row, 0).data() for row in range(3)] == ["c", "b", "a"]


def test_a_table_that_is_resized_by_a_drag_elsewhere_keeps_its_own_widths(qtbot: QtBot, keep: Keep) -> None:
    made, handle = table(keep), keep(QWidget())
    narrow = made.columnWidth(0)
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton)
    made.show_rows(["needs more room"])
    assert made.columnWidth(0) > narrow
    made.resize(500, 200)
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton)
    made.show_rows(["b", "c", "a"])
    assert made.columnWidth(0) == narrow


def test_a_column_of_short_texts_gives_its_room_to_one_of_long_texts(keep: Keep) -> None:
    columns: list[TableColumn[str]] = [
        *(TableColumn(name, lambda row: row[:6], stretch=True) for name in ("short", "other")),
        TableColumn("long", lambda row: row, stretch=True),
    ]
    made: Table[str] = Table("Long", TableModel(columns))
    keep(made)
    made.resize(600, 200)
    made.show_rows(["w" * 45])
    made.show()
    widths = [made.columnWidth(number) for number in range(3)]
    assert sum(widths) == made.viewport().width()
    assert widths[2] >= made.sizeHintForColumn(2) > made.viewport().width() / 3
    assert widths[0] == widths[1] == made.sizeHintForColumn(0)
    made.show_rows(["w"])
    assert made.columnWidth(2) - made.columnWidth(0) < 3


def test_a_splitter_remembers_the_place_of_its_handle(keep: Keep) -> None:
    def made() -> QSplitter:
        splitter = QSplitter(Qt.Orientation.Vertical)
        keep(splitter)
        for _ in range(2):
            splitter.addWidget(QWidget())
        splitter.resize(300, 600)
        return splitter

    first = made()
    assert not remember_splitter(first, "test")
    first.show()
    first.moveSplitter(150, 1)
    again = made()
    assert remember_splitter(again, "test")
    again.show()
    assert again.sizes()[0] == first.sizes()[0] == 150


SYNONYMS = {
    "New test": ("Measure", "Measure a host", "Measure this host", "New measurement"),
    "Edit plan": ("Open on Measure", "Repeat"),
    "Run again": ("Repeat", "Rerun"),
    "Compare": ("Open in Compare",),
    "Copy as image": ("Copy image", "Copy picture"),
    "Copy as data": ("Copy data",),
    "Copy as text": ("Copy text",),
    "Pin as baseline…": ("Pin as baseline",),
    "Restore settings…": ("Restore…",),
    "Read facts": ("Refresh facts",),
    "Retry": ("Try again",),
}
"""Names that a verb must not have, by its name."""


def names(window: MainWindow) -> dict[str, set[str]]:
    """Return the texts of the buttons of the window by the command that they call."""
    found: dict[str, set[str]] = {}
    for button in window.findChildren(QAbstractButton):
        if (command := button.property("slot")) and "<lambda>" not in command and button.text():
            found.setdefault(command, set()).add(button.text().replace("&", "").rstrip("…"))
    return found


def test_a_command_has_one_name_and_a_verb_one_word(qtbot: QtBot, window: MainWindow, workstation: Workstation) -> None:
    copied_library(workstation)
    for page in PageName:
        window.show_page(page)
    window.pages.compare([run.id for run in workstation.runs()[:2]])
    qtbot.waitUntil(lambda: not jobs.running())
    by_command = names(window)
    assert len(by_command) > 20
    assert {command: texts for command, texts in by_command.items() if len(texts) > 1} == {}
    texts = [one.text() for one in window.findChildren(QAction)]
    texts += [one.text() for one in window.findChildren(QAbstractButton)]
    plain = {text.replace("&", "") for text in texts}
    assert {"New test", "Run again", "Edit plan", "Compare", "Delete", "Undo"} <= plain
    assert {synonym for synonyms in SYNONYMS.values() for synonym in synonyms} & plain == set()


def test_the_palette_and_the_menus_share_their_actions(window: MainWindow) -> None:
    titles = [entry.title for entry in menu_entries(window.menuBar())]
    assert {"New test", window.actions_of_window.quick.text(), "Read facts", "Hosts", "Dark"} <= set(titles)
    hosts = window.front
    assert isinstance(hosts, HostsPage)
    menu = next(action.menu() for action in window.menuBar().actions() if action.text() == "H&ost")
    assert isinstance(menu, QMenu)
    assert set(hosts.actions_of_hosts.all()) < set(menu.actions())
    assert set(hosts.actions_of_hosts.all()) <= set(hosts.table.actions())


@pytest.mark.lab
def test_an_empty_window_leads_to_a_result_in_one_click(qtbot: QtBot, window: MainWindow) -> None:
    page = window.front
    assert isinstance(page, HostsPage)
    assert page.start_button.isVisible()
    qtbot.mouseClick(page.start_button, Qt.MouseButton.LeftButton)
    live = window.front
    assert isinstance(live, LivePage)
    qtbot.waitUntil(lambda: bool(live.runs.running))
    assert live.runs.running[0].start_request.card
    live.stop_all()
    qtbot.waitUntil(lambda: not live.running and not jobs.running())


def test_f1_on_a_parameter_shows_its_help(qtbot: QtBot, window: MainWindow) -> None:
    page = window.show_page(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    page.begin([LOCAL])
    page.plan_step.tests.add("fio")
    page.stack.setCurrentIndex(PARAMETERS)
    page.parameters.refresh()
    field = page.parameters.row("runtime").editor.field
    field.setFocus()
    assert topic_of(field) == "suite-fio#runtime"
    qtbot.keyClick(field, Qt.Key.Key_F1)
    assert shown_topic(window) == "suite-fio#runtime"
    help_page = window.front
    assert isinstance(help_page, HelpPage)
    assert "### runtime" in text_of("suite-fio")
    assert help_page.browser.verticalScrollBar().value() > 0
    assert help_page.topics.currentItem().text() == TOPICS["suites"]
