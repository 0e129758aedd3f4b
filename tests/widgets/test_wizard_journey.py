"""The journey of the README: from an empty wizard to a running fio test on a remote host, with the keyboard alone."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import Plan
from app.services import Workstation
from tests.lab_sshd import LabHost
from tests.widgets.measure_stage import settle
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.rail import PageName
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


def test_an_own_fio_test_on_a_remote_host_starts_within_twelve_keys(
    qtbot: QtBot, keep: Keep, workstation: Workstation, lab_host: LabHost
) -> None:
    lab_host.add_to_home("lab")
    window = MainWindow(workstation)
    keep(window)
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    qtbot.waitUntil(lambda: not jobs.running())
    keys = Keyboard(qtbot, window)
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
