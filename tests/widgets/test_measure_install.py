"""Installing a tool: nothing runs before it is agreed to, and what the command prints is shown."""

import shlex
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from app.services import Workstation
from widgets import jobs
from widgets.wizard.install_dialog import InstallDialog


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


def _dialog(qtbot: QtBot, window: QWidget, folder: Path, command: str) -> InstallDialog:
    workstation = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
    dialog = InstallDialog(workstation, RefusingAsker(), LOCAL, command, window)
    qtbot.addWidget(dialog)
    dialog.open()
    return dialog


def test_enter_does_not_agree(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    made = tmp_path / "made"
    dialog = _dialog(qtbot, window, tmp_path, shlex.join(["touch", str(made)]))
    others = jobs.running()  # what an earlier test's window left running
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    assert not made.exists()
    assert jobs.running() <= others


def test_the_command_runs_on_consent_and_its_output_is_shown(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    dialog = _dialog(qtbot, window, tmp_path, "printf 'one\\n<b>two</b>\\n'")
    with qtbot.waitSignal(dialog.installed) as shown:
        qtbot.mouseClick(dialog.run_button, Qt.MouseButton.LeftButton)
    assert shown.args == [LOCAL]
    assert dialog.output.toPlainText() == "one\n<b>two</b>"
    assert "succeeded" in dialog.notice.text()
    assert dialog.close_button.text() == "Close"


def test_a_command_that_fails_says_so(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    dialog = _dialog(qtbot, window, tmp_path, "sh -c 'echo no such package; exit 100'")
    with qtbot.waitSignal(dialog.installed):
        qtbot.mouseClick(dialog.run_button, Qt.MouseButton.LeftButton)
    assert "no such package" in dialog.output.toPlainText()
    assert "100" in dialog.notice.text()
