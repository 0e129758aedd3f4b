"""A library of a thousand runs, and a run of a hundred thousand samples, hold the window up for less than a blink."""

import sqlite3
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.questions import RefusingAsker
from app.services import Workstation
from tests.widgets.library_runs import Made, record
from widgets import jobs
from widgets.library.library_page import LibraryPage

pytestmark = [pytest.mark.usefixtures("idle"), pytest.mark.alone]

RUNS = 1000
LONGEST = 0.1
"""Seconds the window may be deaf: what people do not notice."""

BUSY = 3
"""How often it is measured before the machine, not the window, is to blame for a gap."""

Keep = Callable[[QWidget], QWidget]


class Gaps:
    """The longest time between two turns of the event loop."""

    def __init__(self, parent: QWidget) -> None:
        self.longest = 0.0
        self._last = time.monotonic()
        self._timer = QTimer(parent)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._turn)
        self._timer.start(1)

    def _turn(self) -> None:
        now = time.monotonic()
        self.longest, self._last = max(self.longest, now - self._last), now

    def end(self) -> float:
        """Stop watching and return the longest gap."""
        self._turn()
        self._timer.stop()
        return self.longest


def _multiply(workstation: Workstation) -> None:
    """Write the only run of the library down a thousand times, under names of their own."""
    with sqlite3.connect(workstation.library_path) as store:
        columns = [
            row[1] for row in store.execute("PRAGMA table_info(runs)") if row[1] not in {"id", "name", "started"}
        ]
        listed = ", ".join(columns)
        store.executemany(
            f"INSERT INTO runs (id, name, started, {listed}) SELECT ?, ?, ?, {listed} FROM runs LIMIT 1",
            [
                (f"2026-{number:04}", f"run {number:04}", f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00")
                for number in range(1, RUNS)
            ],
        )


def _page(qtbot: QtBot, keep: Keep, workstation: Workstation) -> LibraryPage:
    page = LibraryPage(workstation, RefusingAsker())
    keep(page)
    page.resize(900, 700)
    page.show()
    qtbot.waitUntil(lambda: not jobs.running())
    return page


@pytest.mark.slow
def test_a_thousand_runs_are_read_found_and_sorted_without_holding_the_window_up(
    qtbot: QtBot, keep: Keep, workstation: Workstation
) -> None:
    record(workstation, Made("20251231-081502-a1b2", iops=(1000.0,)))
    _multiply(workstation)
    page = _page(qtbot, keep, workstation)
    found = []
    for _ in range(BUSY):
        gaps = Gaps(page)
        page.table.show_lines([])
        page.activated()
        qtbot.waitUntil(lambda: len(page.table.content.shown) == RUNS and not jobs.running())
        for words in ("r", "ru", "run", "run 0", "run 05", ""):
            page.search.setText(words)
            qtbot.wait(1)
        page.table.horizontalHeader().setSortIndicator(1, Qt.SortOrder.AscendingOrder)
        qtbot.waitUntil(lambda: page.panel.opened is not None and not jobs.running())
        page.table.selectAll()
        qtbot.waitUntil(page.comparison.isVisible)
        found.append(gaps.end())
        if found[-1] < LONGEST:
            break
    assert min(found) < LONGEST, f"the window was deaf for {found} seconds"


@pytest.mark.slow
def test_a_long_run_is_opened_without_holding_the_window_up(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    record(workstation, Made("20251231-081502-a1b2", iops=(1000.0, 1010.0), samples=50_000))
    found = []
    for _ in range(BUSY):
        page = _page(qtbot, keep, workstation)
        gaps = Gaps(page)
        with qtbot.waitSignal(page.table.rested):  # the run on top is chosen, and read from now on
            page.activated()
        qtbot.waitUntil(lambda: not jobs.running())
        assert page.panel.opened is not None
        found.append(gaps.end())
        if found[-1] < LONGEST:
            break
    assert min(found) < LONGEST, f"the window was deaf for {found} seconds"
