"""Random walks through the real window: no exception, no page that is stuck, no run or job that is left."""

import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import cast

import pytest
from hypothesis import Phase, given, settings
from PySide6.QtWidgets import QApplication
from pytestqt.exceptions import TimeoutError as NotWithinTime
from pytestqt.exceptions import format_captured_exceptions
from pytestqt.qtbot import QtBot

from app.services import Workstation
from tests.conftest import EXPLORING
from tests.perf.large_library import make_library
from tests.widgets.random_walk import Act, Walker, harmless, leave, walks
from widgets import jobs
from widgets.main_window import MainWindow

PATIENCE = 60_000
"""Milliseconds in which what is under way ends on a busy computer."""


@pytest.mark.slow
def test_nothing_that_a_user_does_breaks_the_window(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    harmless(monkeypatch.setattr)
    make_library(tmp_path / "runs.sqlite3", 40, recorded=30)
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")

    @settings(max_examples=40 if EXPLORING else 12, phases=[Phase.generate])  # shrinking takes an hour
    @given(walks(60))
    def walk(acts: list[Act]) -> None:
        done: list[str] = []
        with qtbot.captureExceptions() as raised:
            try:
                _walk(qtbot, MainWindow(workstation), acts, done)
            except (AssertionError, NotWithinTime) as error:
                done.append(f"{type(error).__name__}: {error}")
                raised.append((type(error), error, cast("TracebackType", error.__traceback__)))
        if raised:
            pytest.fail("\n".join([*done, format_captured_exceptions(raised), *_state()]))

    walk()
    workstation.close()
    assert not [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]


def _state() -> list[str]:
    """Return what is open and under way, and where each thread is."""
    shown = [f"{type(one).__name__} “{one.windowTitle()}”" for one in QApplication.topLevelWidgets() if one.isVisible()]
    threads = {thread.ident: thread.name for thread in threading.enumerate()}
    stacks = [
        f"{threads.get(number)}:\n{''.join(traceback.format_stack(frame)[-8:])}"
        for number, frame in sys._current_frames().items()
    ]
    return [f"open: {', '.join(shown)}", f"jobs: {[one._work for one in jobs.running()]}", *stacks]


def _walk(qtbot: QtBot, window: MainWindow, acts: list[Act], done: list[str]) -> None:
    with qtbot.waitExposed(window):
        window.show()
    walker = Walker(window, done)
    for act in acts:
        if not window.isVisible():  # the user has quit
            break
        walker.act(act)
    while walker.front is not window:
        leave(walker.front, window)
        QApplication.processEvents()
    window.closing.stop_and_close()
    qtbot.waitUntil(lambda: not window.isVisible() and not jobs.running(), timeout=PATIENCE)
    window.deleteLater()
    QApplication.processEvents()
