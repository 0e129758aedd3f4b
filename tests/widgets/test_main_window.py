"""The window as a whole: pages, keys, folding, what runs, and closing while something does."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QMenuBar, QPushButton, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import SecretQuestion
from app.queue.entries import EntryState
from app.services import Workstation
from tests.messages import messages
from tests.suites.captured_outputs import DATA
from tests.widgets.library_runs import Made, record
from widgets import jobs
from widgets.export_dialog import ExportDialog
from widgets.help_page import HelpPage
from widgets.hosts.hosts_page import HostsPage
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.page import PAGE_MARGINS, SIGNS, Page, PageName
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.empty_state import EmptyState
from widgets.parts.issues_drawer import IssuesDrawer
from widgets.parts.text import Text
from widgets.question_dialogs import SecretDialog
from widgets.run_strip import LineState, StripLine
from widgets.theme import SPACE
from widgets.wizard.measure_page import MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets", "test_main_window")

LINE = StripLine("a", "web-1 · fio", "trial 2 of 6", LineState.RUNNING, figure="412k IOPS", left="4:10 left")
WAITING = StripLine("c", "web-1 · stream", MESSAGES["waits_for_web_1"], LineState.WAITING)

HEAVY = ("suites.registry", "pyqtgraph", "pandas", "numpy", "paramiko", "sqlalchemy", "matplotlib", "scipy", "cattrs")


@pytest.fixture
def window(qtbot: QtBot, workstation: Workstation) -> Iterator[MainWindow]:
    made = _open_window(qtbot, workstation)
    yield made
    made.close()
    qtbot.waitUntil(lambda: not jobs.running())


def _open_window(qtbot: QtBot, workstation: Workstation) -> MainWindow:
    made = MainWindow(workstation)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    qtbot.waitUntil(lambda: not jobs.running())
    return made


def _question(window: MainWindow) -> QuestionDialog:
    return next(found for found in window.findChildren(QuestionDialog) if found.isVisible())


def _action(window: MainWindow, text: str) -> QAction:
    return next(action for action in window.findChildren(QAction) if action.text() == text)


def _front(window: MainWindow) -> str:
    """Return the page that the sidebar marks."""
    view = window.sidebar.view
    marked = [view.content.index(row, 0) for row in range(view.content.rowCount())]
    found = [index.data() for index in marked if view.is_front(index)]
    return found[0] if found else PageName.HELP if window.sidebar.help_button.isChecked() else ""


def test_it_opens_on_the_hosts_with_the_focus_where_work_begins(window: MainWindow) -> None:
    assert isinstance(window.front, HostsPage)
    assert _front(window) == PageName.HOSTS
    assert window.front.table.hasFocus()


def test_nothing_heavy_is_loaded_before_the_first_painted_window() -> None:
    script = (
        "import os, sys; os.environ['QT_QPA_PLATFORM'] = 'offscreen'\n"
        "from PySide6.QtWidgets import QApplication\n"
        "application = QApplication([])\n"
        "from widgets import theme\n"
        "from widgets.main_window import MainWindow\n"
        "from app.services import Workstation\n"
        "theme.apply(application)\n"
        "window = MainWindow(Workstation())\n"
        "window.grab()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "os._exit(0 if sys.stdout.flush() is None else 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("number", [1, 7, *(pytest.param(number, marks=pytest.mark.slow) for number in range(2, 7))])
def test_every_room_has_a_key_and_is_opened_once(qtbot: QtBot, window: MainWindow, number: int) -> None:
    room = list(SIGNS)[number - 1]
    qtbot.keyClick(window, Qt.Key(Qt.Key.Key_0 + number), Qt.KeyboardModifier.ControlModifier)
    assert _front(window) == room
    page = window.front
    assert isinstance(page, Page)
    window.show_page(PageName.HOSTS)
    window.show_page(room)
    assert window.front is page


def test_a_page_that_fails_to_open_says_so_and_leaves_the_others_usable(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Page:
        raise ZeroDivisionError

    works = window.pages._makers[PageName.HELP]
    monkeypatch.setitem(window.pages._makers, PageName.HELP, fail)
    with caplog.at_level(logging.ERROR):
        assert window.show_page(PageName.HELP) is None
    assert "ZeroDivisionError" in caplog.text
    failure = window.front
    assert isinstance(failure, EmptyState)
    assert failure.button is not None
    window.show_help("words")
    monkeypatch.setitem(window.pages._makers, PageName.HELP, works)
    qtbot.mouseClick(failure.button, Qt.MouseButton.LeftButton)
    assert isinstance(window.front, HelpPage)


def test_the_issues_open_by_key_and_stay_open_next_time(
    qtbot: QtBot, window: MainWindow, workstation: Workstation
) -> None:
    def drawer(shown: MainWindow) -> IssuesDrawer:
        page = shown.show_page(PageName.LIVE)
        assert isinstance(page, LivePage)
        page._ensure_view()
        page._stack.setCurrentIndex(1)
        return page.issues

    assert drawer(window).folded
    qtbot.keyClick(window, Qt.Key.Key_F9)
    assert not drawer(window).folded
    window.close()
    again = _open_window(qtbot, workstation)
    assert not drawer(again).folded
    qtbot.keyClick(again, Qt.Key.Key_F9)
    assert drawer(again).folded
    again.close()


def test_the_size_of_the_window_is_remembered(qtbot: QtBot, window: MainWindow, workstation: Workstation) -> None:
    window.resize(window.width(), 555)
    window.close()
    again = _open_window(qtbot, workstation)
    assert again.height() == 555
    again.close()


def test_each_page_has_its_own_line_at_the_bottom(window: MainWindow) -> None:
    hosts = window.front
    assert isinstance(hosts, Page)
    hosts.status.emit("3 hosts")
    assert window.status_line.message.text() == "3 hosts"
    window.show_page(PageName.HELP)
    assert window.status_line.message.text() == ""
    hosts.status.emit("4 hosts")
    assert window.status_line.message.text() == ""
    window.show_page(PageName.HOSTS)
    assert window.status_line.message.text() == "4 hosts"


def test_what_runs_is_seen_from_everywhere(window: MainWindow) -> None:
    assert not window.status_line.stop_button.isVisible()
    height = window.status_line.height()
    window.show_running("running 1 · This computer fio 00:41 of 02:10")
    window.show_lines([LINE], LINE.key)
    assert window.windowTitle() == MESSAGES["title_of_one"]
    assert not window.strip.isVisible()
    assert window.status_line.running.text() == "running 1 · This computer fio 00:41 of 02:10"
    assert window.status_line.stop_button.isVisible()
    assert window.status_line.height() == height
    window.show_lines([LINE, replace(LINE, key="b", title="web-2 · fio"), WAITING], LINE.key)
    assert window.strip.isVisible()
    assert window.windowTitle() == MESSAGES["title_of_several"]
    assert not window.status_line.stop_button.isVisible()
    assert MESSAGES["counts"] in window.status_line.running.text()
    assert [card.button.accessibleName() for card in window.strip.cards][2] == MESSAGES["card_waits"]
    window.show_running("")  # another run than that under way is in front, or it only waits
    for line in (LINE, WAITING):
        window.show_lines([line], "")
        assert window.status_line.running.text() == f"{line.title} · {line.detail}"
        assert window.windowTitle() != "Benchwright"
    window.show_lines([], "")
    assert window.windowTitle() == "Benchwright"
    assert window.status_line.running.text() == "No run under way"
    assert not window.status_line.stop_button.isVisible()


def _plan(seconds: int) -> Plan:
    step = make_step("sysbench-cpu", {"time": seconds})
    return Plan("long", (LOCAL,), (step,), repetition=Repetition(trials=1))


def _measuring(qtbot: QtBot, window: MainWindow) -> LivePage:
    """Start a real run that would take a minute."""
    window.pages.run(_plan(60), None)
    live = window.pages.live
    assert live is not None
    qtbot.waitUntil(lambda: bool(window.status_line.stop_button.isVisible()))
    return live


@pytest.mark.lab
def test_closing_while_something_runs_asks_and_stays_by_default(qtbot: QtBot, window: MainWindow) -> None:
    live = _measuring(qtbot, window)
    assert not window.close()
    question = _question(window)
    qtbot.keyClick(question, Qt.Key.Key_Return)
    assert window.isVisible()
    assert live.running
    qtbot.mouseClick(window.status_line.stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not live.running)
    assert window.status_line.running.text() == "No run under way"
    assert window.isVisible()


@pytest.mark.lab
def test_closing_ends_the_run_in_order_and_keeps_it(qtbot: QtBot, window: MainWindow) -> None:
    live = _measuring(qtbot, window)
    window.close()
    qtbot.mouseClick(_question(window).accept_button, Qt.MouseButton.LeftButton)
    assert window.isVisible()
    assert not window.sidebar.isEnabled()
    assert "Stopping" in window.status_line.running.text()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert not live.running
    assert [run.state.value for run in window.workstation.runs()] == ["partial"]


@pytest.mark.lab
def test_closing_leaves_what_waits_in_the_queue(qtbot: QtBot, window: MainWindow) -> None:
    _measuring(qtbot, window)
    window.pages.run(_plan(1), None)
    qtbot.waitUntil(lambda: window.strip.cards[1].line.state is LineState.WAITING)
    window.closing.stop_and_close()
    qtbot.waitUntil(lambda: not window.isVisible() and not jobs.running())
    (place,) = window.workstation.queue.places()
    assert place.entry.state is EntryState.WAITING
    assert len(window.workstation.runs()) == 1


@pytest.mark.slow
@pytest.mark.lab
def test_export_is_about_the_run_in_front_and_else_leads_to_the_library(qtbot: QtBot, window: MainWindow) -> None:
    window.pages.run(_plan(1), None)
    live = window.pages.live
    assert live is not None
    window.export()
    assert _front(window) == PageName.LIBRARY
    qtbot.waitUntil(lambda: not live.running)
    window.show_page(PageName.LIVE)
    window.export()
    assert any(found.isVisible() for found in window.findChildren(ExportDialog))


@pytest.mark.slow
@pytest.mark.lab
def test_a_second_measurement_of_a_host_waits_in_the_strip_and_can_be_removed(qtbot: QtBot, window: MainWindow) -> None:
    live = _measuring(qtbot, window)
    window.pages.run(_plan(1), None)
    first, second = live.runs.controllers
    assert live.front is second
    qtbot.waitUntil(lambda: window.strip.cards[1].line.state is LineState.WAITING)
    assert MESSAGES["waits"] in window.strip.cards[1].line.detail
    menu = next(found for found in window.findChildren(QMenu) if found.title() == "&Run")
    enabled = [action.text() for action in menu.actions() if action.isEnabled()]
    assert "Pause" in enabled
    assert "Resume" not in enabled
    _action(window, "Pause").trigger()
    qtbot.waitUntil(lambda: window.strip.cards[1].line.state is LineState.PAUSED)
    _action(window, "Resume").trigger()
    qtbot.waitUntil(lambda: window.strip.cards[1].line.state is LineState.WAITING)
    window.show_page(PageName.HOSTS)
    qtbot.keyClick(window, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    assert window.front is live
    assert live.front is first
    _action(window, "Stop").trigger()
    qtbot.waitUntil(lambda: first.over and second.running)
    qtbot.waitUntil(lambda: second.over)
    assert [card.line.state for card in window.strip.cards] == [LineState.EARLY, LineState.DONE]
    qtbot.mouseClick(window.strip.cards[1].stop_button, Qt.MouseButton.LeftButton)
    assert live.runs.controllers == [first]


def test_a_plan_that_cannot_be_read_is_said_in_words(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    window.pages.open_plan_file(tmp_path / "missing.toml")
    qtbot.waitUntil(lambda: not jobs.running())
    page = window.pages.existing(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    assert "missing.toml" in page.notice.text()


def test_titles_of_pages_are_at_one_place(qtbot: QtBot, window: MainWindow, workstation: Workstation) -> None:
    record(workstation, *(Made(f"2026011{day}-081502-a1b2") for day in (1, 2)))
    workstation.begin_investigation("Upgrade", "Faster?")
    window.pages.compare([run.id for run in workstation.runs()])
    window.pages.judge([DATA / "sysbench/1.0.20/cpu_default.stdout"])
    places = {}
    for name in PageName:
        page = window.show_page(name)
        qtbot.waitUntil(lambda: not jobs.running())
        assert page is not None
        for one in page.findChildren(Text):
            if one.text() == name and one.isVisible():
                places[name] = one.mapTo(page, QPoint())
    assert places.keys() == set(PageName) - {PageName.MEASURE, PageName.LIVE}, "these begin with steps and runs"
    assert {place.x() for place in places.values()} == {PAGE_MARGINS[0]}
    assert max(place.y() for place in places.values()) - PAGE_MARGINS[1] < SPACE[1]


class _Watcher(QObject):
    """Lists the widgets that are shown as windows."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Look at one event."""
        if event.type() is QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.shown.append(type(watched).__name__)
        return False


def test_no_part_of_a_page_opens_as_a_window(qtbot: QtBot, qapp: QApplication, window: MainWindow) -> None:
    watcher = _Watcher()
    qapp.installEventFilter(watcher)
    try:
        for name in PageName:
            window.show_page(name)
            qtbot.waitUntil(lambda: not jobs.running())
        assert watcher.shown == []
        window.pages.add_host()
        SecretDialog(SecretQuestion("web-1", "ann", "Password:", None, 2, may_keep=True), window)
    finally:
        qapp.removeEventFilter(watcher)
    assert watcher.shown == ["AddHostDialog"]


def test_every_button_has_a_name(window: MainWindow) -> None:
    for room in PageName:
        window.show_page(room)
    nameless = [
        button
        for button in window.findChildren(QWidget)
        if isinstance(button, QToolButton | QPushButton) and not (button.text() or button.accessibleName())
    ]
    assert [button for button in nameless if not isinstance(button.parent(), QLineEdit | QTabBar | QMenuBar)] == []
