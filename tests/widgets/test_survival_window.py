"""The window lets go of a run, offers it again, and tells who else measures: by the buttons that a user presses."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton
from pytestqt.qtbot import QtBot

import app.runs.run_hosts
from app.events import SampleRead, State
from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from app.runs.control import Control
from app.runs.findings import HOST_IN_USE
from app.services import Workstation
from remote.jobs.lease import Holder
from suites import registry
from tests.lab.counting import Counting, counting_plan
from tests.lab.survival import assert_whole, attach, jobs_on, leftovers_in, run, workspaces_on
from tests.messages import messages
from widgets import jobs
from widgets.hosts.cleanup_dialogs import LeftoversDialog
from widgets.hosts.hosts_page import HostsPage
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.dialogs import QuestionDialog

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets", "test_survival_window")

PATIENCE = 30_000


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))


class Stage:
    """Windows on one library, one after the other."""

    def __init__(self, qtbot: QtBot, workstation: Workstation) -> None:
        self.qtbot, self.workstation = qtbot, workstation
        self.windows: list[MainWindow] = []

    def open(self) -> MainWindow:
        window = MainWindow(self.workstation)
        self.windows.append(window)  # closed by the fixture, in order: a run may be under way
        with self.qtbot.waitExposed(window):
            window.show()
        self.settle()
        return window

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)

    def press(self, button: QAbstractButton) -> None:
        assert button.isVisible()
        assert button.isEnabled()
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def measure(self, window: MainWindow, count: int, trials: int = 1) -> LivePage:
        """Start a run, and wait until it measures."""
        page = window.show_page(PageName.LIVE)
        assert isinstance(page, LivePage)
        page.start_run(counting_plan(count, host=LOCAL, trials=trials))
        self.qtbot.waitUntil(lambda: self.counted(page) >= 5, timeout=PATIENCE)
        return page

    def counted(self, page: LivePage) -> float:
        model = page.model
        if model is None or model.current is None:
            return 0.0
        return max((series.buffer.values()[-1] for series in model.current.series.values()), default=0.0)

    def question(self, window: MainWindow) -> QuestionDialog:
        return next(found for found in window.findChildren(QuestionDialog) if found.isVisible())

    def answer(self, window: MainWindow, text: str) -> None:
        buttons = self.question(window).findChildren(QPushButton)
        self.press(next(button for button in buttons if button.text() == text))


@pytest.fixture
def stage(qtbot: QtBot, workstation: Workstation) -> Iterator[Stage]:
    made = Stage(qtbot, workstation)
    yield made
    for window in made.windows:
        window.closing.stop_and_close()
        qtbot.waitUntil(window.isHidden, timeout=PATIENCE)
    made.settle()
    for window in made.windows:
        window.deleteLater()


def leave_one(stage: Stage, count: int, trials: int = 1) -> MainWindow:
    """Close a window and keep its run running; return the next window."""
    window = stage.open()
    stage.measure(window, count, trials)
    window.close()
    assert window.isVisible()
    stage.answer(window, "Detach and close")
    stage.qtbot.waitUntil(lambda: not window.isVisible(), timeout=PATIENCE)
    stage.settle()
    assert jobs_on(Path.home())
    following = stage.open()
    stage.qtbot.waitUntil(following.detached_bar.isVisible, timeout=PATIENCE)
    return following


@pytest.mark.slow
def test_a_window_that_closes_can_keep_its_run_running(stage: Stage, workstation: Workstation) -> None:
    window = leave_one(stage, 250, trials=2)
    bar = window.detached_bar
    assert bar.message.text().startswith(MESSAGES["detached_run_on_this"])
    assert MESSAGES["trial_1_of_counting_on_this"] in bar.detail.text()
    stage.press(bar.attach_button)
    page = window.pages.live
    assert page is not None
    with stage.qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        pass
    stage.settle()
    assert not bar.isVisible()
    assert_whole(workstation, 1, 250)
    assert_whole(workstation, 2, 250)
    assert workspaces_on(Path.home()) == []


@pytest.mark.slow
def test_a_run_that_was_left_can_be_stopped_from_the_bar(stage: Stage, workstation: Workstation) -> None:
    window = leave_one(stage, 3000)
    stage.press(window.detached_bar.stop_button)
    stage.qtbot.waitUntil(lambda: workstation.load("last").summary.state is State.PARTIAL, timeout=PATIENCE)
    stage.settle()
    assert not window.detached_bar.isVisible()
    assert jobs_on(Path.home()) == []


@pytest.mark.slow
def test_a_run_that_is_forgotten_leaves_what_the_leftovers_remove(stage: Stage, workstation: Workstation) -> None:
    window = leave_one(stage, 3000)
    stage.press(window.detached_bar.forget_button)
    stage.answer(window, "Forget")
    stage.qtbot.waitUntil(lambda: not window.detached_bar.isVisible(), timeout=PATIENCE)
    assert workstation.load("last").summary.state is State.PARTIAL
    page = window.front
    assert isinstance(page, HostsPage)
    stage.press(page.card.leftovers_button)
    dialog = page.findChild(LeftoversDialog)
    assert dialog is not None
    stage.qtbot.waitUntil(dialog.remove_button.isEnabled, timeout=PATIENCE)
    assert any(row[1].startswith("this library (") for row in dialog.table.content.texts())
    stage.press(dialog.remove_button)
    stage.qtbot.waitUntil(lambda: "Removed 2 of 2." in dialog.notice.text(), timeout=PATIENCE)
    assert jobs_on(Path.home()) == []
    assert workspaces_on(Path.home()) == []
    stage.press(dialog.close_button)


@pytest.mark.slow
def test_a_window_that_stays_open_stays_as_it_is(stage: Stage) -> None:
    window = stage.open()
    page = stage.measure(window, 3000)
    window.close()
    stage.answer(window, "Keep the window open")
    assert window.isVisible()
    assert page.running


# Somebody else


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Control]:
    """Somebody else who measures on this computer, until told to stop."""
    workstation = Workstation(tmp_path / "other.sqlite3", tmp_path / "hosts.toml")
    control, measuring = Control(), threading.Event()

    def look(event: object, _control: Control) -> None:
        if isinstance(event, SampleRead):
            measuring.set()

    thread = threading.Thread(target=run, args=(workstation, counting_plan(3000, host=LOCAL), look, control))
    thread.start()
    assert measuring.wait(60.0)
    yield control
    control.stop()
    thread.join()
    workstation.close()


def refused(stage: Stage) -> LivePage:
    """Start a run on a host in use, and return the page that says so."""
    window = stage.open()
    page = window.show_page(PageName.LIVE)
    assert isinstance(page, LivePage)
    page.start_run(counting_plan(10, host=LOCAL))
    stage.qtbot.waitUntil(lambda: MESSAGES["waits_for_run"] in page._busy.message.text(), timeout=PATIENCE)
    assert page._busy.isVisible()
    assert not page._outcome.isVisible()
    return page


@pytest.mark.slow
def test_a_host_in_use_is_reported_and_can_be_shared(stage: Stage, workstation: Workstation, other: Control) -> None:
    page = refused(stage)
    assert workstation.runs() == []
    with stage.qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        stage.press(page._busy.anyway_button)
    assert not page._busy.isVisible()
    assert HOST_IN_USE in [finding.id for finding in workstation.load("last").findings]


@pytest.mark.slow
def test_a_host_in_use_can_be_waited_for(stage: Stage, workstation: Workstation, other: Control) -> None:
    page = refused(stage)
    with stage.qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        other.stop()
    assert_whole(workstation, 1, 10)
    assert not page._busy.isVisible()


@pytest.mark.slow
def test_another_process_can_attach_what_the_window_left(stage: Stage, workstation: Workstation) -> None:
    window = leave_one(stage, 250)
    attach(workstation)
    window.detached_bar.refresh()
    stage.qtbot.waitUntil(lambda: not window.detached_bar.isVisible(), timeout=PATIENCE)
    assert_whole(workstation, 1, 250)
    assert leftovers_in(Path.home(), workstation.leftovers(LOCAL, RefusingAsker())) == []


@pytest.mark.slow
def test_attaching_beside_a_running_benchwright_needs_confirmation(
    stage: Stage, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = leave_one(stage, 250)
    holder = Holder("0123456789abcdef", "ann", "", "ann@desk", 60.0, 1.0, working=False)
    monkeypatch.setattr(app.runs.run_hosts, "live_holder", lambda *_: holder)
    page = window.show_page(PageName.LIVE)
    assert isinstance(page, LivePage)
    (left,) = workstation.detached_runs()
    page.attach_run(left)
    waits = MESSAGES["is_under_way_ann_desk"]
    stage.qtbot.waitUntil(lambda: waits in page._busy.message.text(), timeout=PATIENCE)
    assert page._busy.isVisible()
    with stage.qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        stage.press(page._busy.anyway_button)
    assert_whole(workstation, 1, 250)
    assert len(workstation.runs()) == 1
