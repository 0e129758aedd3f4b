"""The library is backed up from the menu File; the bar says what was verified, or why there is no copy."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.services import Workstation
from tests.widgets.library_runs import Made, record
from widgets import jobs
from widgets.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("idle")


def test_the_library_is_backed_up(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation, tmp_path: Path
) -> None:
    record(workstation, Made("20260101-000000-0000", iops=(1000.0, 1010.0), samples=2))
    window = MainWindow(workstation)
    keep(window)
    window.show()
    qtbot.waitUntil(lambda: not jobs.running())

    def backed_up() -> str:
        window.actions_of_window.back_up.trigger()
        (chooser,) = [each for each in window.findChildren(QFileDialog) if each.isVisible()]
        chooser.fileSelected.emit(str(tmp_path / "backup.sqlite3"))
        chooser.close()
        qtbot.waitUntil(lambda: not jobs.running())
        return window.library_bar.text()

    assert "Backed up 1 run" in backed_up()
    with closing(Workstation(tmp_path / "backup.sqlite3")) as copy:
        assert [run.id for run in copy.runs()] == ["20260101-000000-0000"]
    assert "exists already" in backed_up()
