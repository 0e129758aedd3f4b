"""A study begun in the window runs on a host to its end; a window that closes detaches it, and the next resumes it."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QDialog, QPushButton
from pytestqt.qtbot import QtBot

from app.fleet_study import HostRunState
from app.plans.plan import LOCAL
from app.services import Workstation
from suites import registry
from tests.lab.counting import Counting, counting_plan
from widgets import jobs
from widgets.fleet.fleet_page import FleetPage
from widgets.fleet.study_dialog import StudyDialog
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.dialogs import QuestionDialog

pytestmark = pytest.mark.usefixtures("few_programs")

PATIENCE = 60_000


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))


class Windows:
    """Windows on one library, one after the other; every question of a run is answered with yes."""

    def __init__(self, qtbot: QtBot, workstation: Workstation) -> None:
        self.qtbot, self.workstation = qtbot, workstation
        self.windows: list[MainWindow] = []

    def open(self) -> tuple[MainWindow, FleetPage]:
        window = MainWindow(self.workstation)
        self.windows.append(window)
        window.asker.asked.connect(QDialog.accept)
        with self.qtbot.waitExposed(window):
            window.show()
        page = window.show_page(PageName.FLEET)
        assert isinstance(page, FleetPage)
        self.qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)
        return window, page

    def press(self, button: QAbstractButton) -> None:
        self.qtbot.waitUntil(lambda: button.isVisible() and button.isEnabled(), timeout=PATIENCE)
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def begin(self, page: FleetPage, count: int) -> None:
        """Begin a study on this computer, and wait until it measures."""
        page.new_study(counting_plan(count, host=LOCAL), LOCAL)
        dialog = page.findChild(StudyDialog)
        assert dialog is not None
        self.press(dialog.start_button)
        self.qtbot.waitUntil(lambda: page.runs.running, timeout=PATIENCE)

    def counts(self) -> dict[HostRunState, int]:
        return dict(self.workstation.fleet_study("last").counts)


@pytest.fixture
def windows(qtbot: QtBot, workstation: Workstation) -> Iterator[Windows]:
    made = Windows(qtbot, workstation)
    yield made
    for window in made.windows:
        window.closing.stop_and_close()
        qtbot.waitUntil(window.isHidden, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)
    for window in made.windows:
        window.deleteLater()


def test_a_study_begun_in_the_window_runs_to_its_end(qtbot: QtBot, windows: Windows) -> None:
    window, page = windows.open()
    assert page.empty.isVisible()
    windows.begin(page, 10)
    assert [line.fleet for line in window.fleet_runs.lines()] == [True]
    window.sidebar.show_now()
    details = {section.head.title: section.head.detail for section in window.sidebar.state.sections()}
    assert details["Fleet"] == "1 running"
    assert details["Live"] == ""
    qtbot.waitUntil(lambda: not page.runs.running, timeout=PATIENCE)
    assert windows.counts() == {HostRunState.DONE: 1}
    qtbot.waitUntil(lambda: page.board.end.text().startswith("ended"), timeout=PATIENCE)
    (row,) = page.board.table.content.shown
    assert row.value is not None
    assert not page.actions_of_fleet.stop.isEnabled()


def test_a_window_that_closes_detaches_its_study_and_the_next_one_resumes_it(qtbot: QtBot, windows: Windows) -> None:
    window, page = windows.open()
    windows.begin(page, 400)
    qtbot.waitUntil(lambda: any(row.current.run for row in page.board.table.content.shown), timeout=PATIENCE)
    qtbot.waitUntil(lambda: bool(page.board.table.content.shown[0].progress), timeout=PATIENCE)
    window.close()
    assert window.isVisible()
    question = next(found for found in window.findChildren(QuestionDialog) if found.isVisible())
    buttons = {button.text(): button for button in question.findChildren(QPushButton)}
    windows.press(buttons["Detach and close"])
    qtbot.waitUntil(window.isHidden, timeout=PATIENCE)
    assert windows.counts() == {HostRunState.RUNNING: 1}
    second, following = windows.open()
    assert not second.detached_bar.isVisible()  # the study resumes its runs
    qtbot.waitUntil(following.actions_of_fleet.resume.isEnabled, timeout=PATIENCE)
    following.actions_of_fleet.resume.trigger()
    qtbot.waitUntil(lambda: following.runs.running, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not following.runs.running, timeout=PATIENCE)
    assert windows.counts() == {HostRunState.DONE: 1}
    (one,) = windows.workstation.host_runs("last")
    assert one.attempts == 1  # the run that was detached continued
    assert [run.id for run in windows.workstation.runs()] == [one.run]
