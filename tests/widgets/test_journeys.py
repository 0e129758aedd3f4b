"""The journeys of the README with the keyboard alone, in counted steps: quick, an own test, a comparison."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.services import Workstation
from tests.lab_sshd import LabHost
from tests.widgets.measure_stage import settle
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.wizard.measure_page import MeasurePage

pytestmark = pytest.mark.usefixtures("idle")
Keep = Callable[[QWidget], QWidget]

MOST_KEYS = 12


class Keyboard:
    """Presses keys in the window, and counts them; a letter counts as one."""

    def __init__(self, qtbot: QtBot, window: MainWindow) -> None:
        self.qtbot, self.window = qtbot, window
        self.pressed = 0

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.pressed += 1
        self.qtbot.keyClick(QApplication.focusWidget() or self.window, key, modifier)

    def write(self, text: str) -> None:
        for letter in text:
            self.pressed += 1
            self.qtbot.keyClicks(QApplication.focusWidget(), letter)


@pytest.fixture
def named_host(lab_host: LabHost) -> None:
    lab_host.add_to_home("lab")


@pytest.fixture
def window(qtbot: QtBot, keep: Keep, workstation: Workstation) -> MainWindow:
    made = MainWindow(workstation)
    keep(made)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    qtbot.waitUntil(lambda: not jobs.running())
    return made


@pytest.fixture
def keys(qtbot: QtBot, window: MainWindow) -> Keyboard:
    return Keyboard(qtbot, window)


def _ended(qtbot: QtBot, window: MainWindow, runs: int) -> None:
    """Wait until so many runs have ended and what they left was read."""
    live = window.pages.live
    assert live is not None
    workstation = window.workstation
    qtbot.waitUntil(lambda: not live.runs.active and len(workstation.runs()) == runs, timeout=240_000)
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.mark.slow
@pytest.mark.lab
def test_a_quick_benchmark_is_on_the_clipboard_in_two_steps(qtbot: QtBot, window: MainWindow, keys: Keyboard) -> None:
    keys.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    _ended(qtbot, window, 1)
    keys.press(Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "IOPS" in QApplication.clipboard().text())
    assert keys.pressed == 2


@pytest.mark.slow
@pytest.mark.lab
def test_a_run_against_a_baseline_is_a_picture_within_six_steps(
    qtbot: QtBot, window: MainWindow, keys: Keyboard
) -> None:
    step = make_step("sysbench-cpu", {"time": 1})
    window.pages.run(Plan("CPU", (LOCAL,), (step,), repetition=Repetition(trials=2)), None)
    _ended(qtbot, window, 1)
    keys.press(Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)  # Pin as baseline
    qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit))
    keys.press(Qt.Key.Key_Return)  # under the proposed name
    qtbot.waitUntil(lambda: not jobs.running())
    keys.press(Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)  # Run again
    _ended(qtbot, window, 2)
    keys.press(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)  # Compare with baseline
    qtbot.waitUntil(lambda: window.pages.existing(PageName.COMPARE) is not None)
    page = window.pages.existing(PageName.COMPARE)
    assert isinstance(page, ComparePage)
    qtbot.waitUntil(lambda: page.table.model().rowCount() > 0 and not jobs.running())
    keys.press(Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert QApplication.clipboard().image().width() >= 800
    assert keys.pressed <= 6


def test_an_own_fio_test_on_a_remote_host_starts_within_twelve_keys(
    qtbot: QtBot, named_host: None, window: MainWindow, keys: Keyboard
) -> None:
    keys.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)  # New test
    page = window.pages.existing(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    qtbot.waitUntil(lambda: not jobs.running())
    page.run_requested.disconnect()
    keys.write("l")  # the host
    keys.press(Qt.Key.Key_Space)
    keys.press(Qt.Key.Key_Tab)
    keys.write("fio")
    keys.press(Qt.Key.Key_Return)
    settle(qtbot, page)
    keys.press(Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)  # Parameters
    keys.press(Qt.Key.Key_Down)  # rw: from randread to randwrite
    with qtbot.waitSignal(page.run_requested) as requested:
        keys.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)  # starts once the plan is checked
    plan = requested.args[0]
    assert isinstance(plan, Plan)
    (step,) = plan.steps
    assert (plan.hosts, step.suite_id, step.values["rw"]) == (("lab",), "fio", "randwrite")
    assert keys.pressed <= MOST_KEYS
