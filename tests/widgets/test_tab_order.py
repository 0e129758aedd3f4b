"""Tab reaches everything on a page, what stands before its table included."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from tests.suites.captured_outputs import DATA
from tests.widgets.fleet_studies import begin, fleet_plan
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.fleet.fleet_page import FleetPage
from widgets.hosts.hosts_page import HostsPage
from widgets.investigations.investigation_page import InvestigationPage
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.outputs.judge_page import JudgePage
from widgets.page import PageName

pytestmark = pytest.mark.usefixtures("idle")

Keep = Callable[[QWidget], QWidget]

MOST = 60
"""More than there are places to go on a page."""


def _reached(page: QWidget) -> list[QWidget]:
    """Return what the keyboard is in, one Tab after the other."""
    found = []
    for _ in range(MOST):
        here = QApplication.focusWidget() or page
        QTest.keyClick(here, Qt.Key.Key_Tab)
        if (after := QApplication.focusWidget()) is not None:
            found.append(after)
    return found


@pytest.mark.parametrize(
    "room",
    [PageName.HOSTS, PageName.LIBRARY, PageName.COMPARE, PageName.FLEET, PageName.JUDGE, PageName.INVESTIGATIONS],
)
def test_tab_reaches_every_button_of_a_page_and_begins_at_its_table(
    qtbot: QtBot, keep: Keep, workstation: Workstation, room: PageName
) -> None:
    copied_library(workstation)
    window = MainWindow(workstation)
    keep(window)
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    if room is PageName.COMPARE:
        window.pages.compare([run.id for run in workstation.runs()[:2]])
    if room is PageName.FLEET:
        begin(workstation, fleet_plan(6))
    if room is PageName.JUDGE:
        window.pages.judge([DATA / "sysbench/1.0.20/fileio_rndrd.stdout"])
    if room is PageName.INVESTIGATIONS:
        made = workstation.begin_investigation("Upgrade", "Faster?")
        entries = [workstation.entry_of([run.id], "") for run in workstation.runs()[:2]]
        workstation.change_investigation(made.id, lambda one: one.added(entries))
    page = window.show_page(room)
    assert isinstance(page, HostsPage | LibraryPage | ComparePage | FleetPage | JudgePage | InvestigationPage)
    qtbot.waitUntil(lambda: not jobs.running())
    page.take_focus()
    if isinstance(page, FleetPage):
        table: QWidget = page.board.table
    else:
        table = page.list if isinstance(page, InvestigationPage) else page.table
    qtbot.waitUntil(table.hasFocus)
    buttons = {one for one in page.findChildren(QPushButton) if one.isVisible() and one.isEnabled()}
    assert buttons, "the page offers something"
    assert buttons <= set(_reached(page))
