"""A study begun in the window runs on a host to its end; a window that closes detaches it, and the next resumes it."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QDialog, QPushButton
from pytestqt.qtbot import QtBot

from app.fleet.idle import IdleStudy
from app.fleet_study import HostRunState
from app.plans.plan import LOCAL
from app.services import Workstation
from suites import registry
from tests.lab.counting import Counting, counting_plan
from tests.widgets.fleet_studies import fleet_plan
from widgets import jobs
from widgets.fleet.fleet_page import FleetPage
from widgets.fleet.study_dialog import StudyDialog
from widgets.live.model import LivePhase
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.dialogs import QuestionDialog

pytestmark = pytest.mark.usefixtures("few_programs")

PATIENCE = 60_000

SAMPLES_UNSTORED = 50
"""Samples of a second: those that were not stored when the run was opened."""


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


@pytest.mark.slow
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
    bar = second.idle_bar
    qtbot.waitUntil(bar.isVisible, timeout=PATIENCE)
    assert "1 of 1" in bar.message.text()
    assert bar.detail.text().startswith("1 ")
    windows.press(bar.resume_button)
    assert not bar.isVisible()
    qtbot.waitUntil(lambda: following.runs.running, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not following.runs.running, timeout=PATIENCE)
    assert windows.counts() == {HostRunState.DONE: 1}
    (one,) = windows.workstation.host_runs("last")
    assert one.attempts == 1  # the run that was detached continued
    assert [run.id for run in windows.workstation.runs()] == [one.run]


def test_a_study_that_was_left_is_not_offered_again_in_the_window(qtbot: QtBot, windows: Windows) -> None:
    windows.workstation._store.begin_fleet_study(fleet_plan(6), by_workers=False)
    window, page = windows.open()
    study = windows.workstation.fleet_study("last")
    window.idle_bar.show_studies([IdleStudy(study, study.created)])
    assert window.idle_bar.isVisible()
    windows.press(window.idle_bar.leave_button)
    assert not window.idle_bar.isVisible()
    window.idle_bar.show_studies([IdleStudy(study, study.created)])
    assert not window.idle_bar.isVisible()
    assert not page.runs.running
    qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)


def measuring(qtbot: QtBot, page: FleetPage) -> None:
    """Wait until the first trial of the study has samples on the board's run."""
    qtbot.waitUntil(lambda: any(row.progress for row in page.board.table.content.shown), timeout=PATIENCE)


@pytest.mark.slow
def test_enter_shows_a_run_under_way_live_with_every_sample(qtbot: QtBot, windows: Windows) -> None:
    window, page = windows.open()
    windows.begin(page, 500)
    measuring(qtbot, page)
    page.board.table.setFocus()
    qtbot.keyClick(page.board.table, Qt.Key.Key_Return)
    live = window.pages.live
    assert live is not None
    assert window.front is live
    qtbot.waitUntil(lambda: live.model is not None and live.model.current is not None, timeout=PATIENCE)
    (shown,) = live.runs.active
    page.commands.open_run()
    assert live.runs.active == [shown]  # the same run, not another view of it
    live.runs.look()
    qtbot.waitUntil(lambda: bool(live.runs._places), timeout=PATIENCE)
    window.show_lines(live.runs.lines(0.0), shown.key)
    assert [card.line.fleet for card in window.strip.cards] == [False, True]  # the run that is watched, and the study
    assert window.strip.cards[1].line.hosts == (LOCAL,)
    qtbot.waitUntil(lambda: not page.runs.running and not live.running, timeout=PATIENCE)
    assert live.model is not None
    assert live.model.phase is LivePhase.DONE
    (trial,) = live.model.trials.values()
    values = [series.buffer.values().tolist() for series in trial.series.values()]
    missing = 500 - len(values[0])
    assert missing <= SAMPLES_UNSTORED
    assert sorted(set(values[0])) == values[0]  # none twice, in order
    assert values[0][-1] == 500


def test_a_stopped_host_fails_and_is_retried(qtbot: QtBot, windows: Windows) -> None:
    window, page = windows.open()
    windows.begin(page, 3000)
    measuring(qtbot, page)
    assert page.actions_of_fleet.stop_hosts.isEnabled()
    window.activateWindow()
    page.board.table.setFocus()
    qtbot.waitUntil(page.board.table.hasFocus)
    qtbot.keyClick(page.board.table, Qt.Key.Key_Delete, Qt.KeyboardModifier.ControlModifier)
    assert "stopping" in page.board.chosen.text()
    qtbot.waitUntil(lambda: windows.counts() == {HostRunState.FAILED: 1}, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not page.runs.running, timeout=PATIENCE)
    qtbot.waitUntil(page.actions_of_fleet.retry.isEnabled, timeout=PATIENCE)
    assert not page.actions_of_fleet.stop_hosts.isEnabled()
    assert page.actions_of_fleet.stop_hosts.toolTip() == "The study has ended"
    page.actions_of_fleet.retry.trigger()
    qtbot.waitUntil(lambda: windows.counts() == {HostRunState.RUNNING: 1}, timeout=PATIENCE)
    assert page.runs.running
