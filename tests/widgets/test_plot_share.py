"""Plots have three fifths of the height of a page in a window of 1280x800, and a part of it beside lists."""

from collections.abc import Callable
from typing import cast

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from tests.widgets.library_runs import copied_library
from tests.widgets.test_compare_page import AFTER, AGAIN, BEFORE, BLOCKS, OTHER
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.page import PageName

pytestmark = pytest.mark.usefixtures("idle", "dressed")


@pytest.fixture
def window(qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation) -> MainWindow:
    copied_library(workstation)
    made = MainWindow(workstation)
    keep(made)
    made.resize(1280, 800)
    with qtbot.waitExposed(made):
        made.show()
    return made


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.mark.parametrize("runs", [(BEFORE, AFTER), (BEFORE, AGAIN, AFTER, OTHER, BLOCKS)])
def test_on_compare(qtbot: QtBot, window: MainWindow, runs: tuple[str, ...]) -> None:
    page = cast("ComparePage", window.show_page(PageName.COMPARE))
    page.compare(runs)
    _settle(qtbot)
    qtbot.waitUntil(lambda: page.tabs.height() >= 0.6 * page.height())
    assert page.plots is not None
    assert page.plots.isVisible()
    baseline = page.table.content.index(1, 2)
    qtbot.waitUntil(lambda: page.table.visualRect(baseline).intersects(page.table.viewport().rect()))


def test_of_a_stored_run_alone(qtbot: QtBot, window: MainWindow) -> None:
    page = cast("LibraryPage", window.show_page(PageName.LIBRARY))
    page.show_run(AFTER)
    _settle(qtbot)
    page.actions_of_runs.open.trigger()
    page.panel.tabs.setCurrentWidget(page.panel._plots)
    _settle(qtbot)
    view = page.panel.run_view
    assert view is not None
    stack, tabs = view.view.plots, view.view.tabs
    qtbot.waitUntil(lambda: stack.height() >= 0.6 * page.height())
    tabs.set_folded(folded=False)
    page.panel.drawer.set_folded(folded=False)
    assert tabs.folded
    tabs.set_folded(folded=False)
    assert page.panel.drawer.folded
    qtbot.waitUntil(lambda: stack.height() < 0.6 * page.height())
    assert stack.height() >= 0.4 * page.height()
    tabs.set_folded(folded=True)
