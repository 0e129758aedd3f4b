"""The window with a study of many hosts under way: ``python -m tests.perf.fleet_window FOLDER HOSTS``; prints JSON.

The board is shown to the end, except for a while in which the first host-run that measures is shown live.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog

from app.fleet_study import HostRunState
from app.services import Workstation
from tests.event_loop import process_events_while
from tests.lab_sshd import AnsweringAsker
from tests.perf.fleet_study import sleep_plan

BEAT = 5
"""Milliseconds between two beats of the window's event loop."""

LIVE = 3.0
"""Seconds for which a host-run is shown live."""

PATIENCE = 1200.0
"""Seconds that the study may take."""


@dataclass(slots=True)
class Beat:
    """A moment of the event loop, and the processor seconds of its thread."""

    at: float
    used: float


class Heart(QObject):
    """Notes when the event loop came round."""

    def __init__(self) -> None:
        super().__init__()
        self.beats: list[Beat] = []
        self._timer = QTimer(self, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.beat)
        self._timer.start(BEAT)

    def beat(self) -> None:
        """Note a moment."""
        self.beats.append(Beat(time.monotonic(), time.thread_time()))

    def taken(self) -> Sequence[Beat]:
        """Return the beats since the last call."""
        self.beat()
        found, self.beats = self.beats, []
        return found


def main(folder: Path, count: int) -> dict[str, float]:
    """Run a study of `count` hosts in the window; return its longest stall and work in seconds, and what was done."""
    from widgets import jobs, theme
    from widgets.fleet.fleet_page import FleetPage
    from widgets.main_window import MainWindow
    from widgets.page import PageName

    theme.apply(cast("QApplication", QApplication.instance()))
    workstation = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
    study = workstation.begin_fleet_study(sleep_plan(count), AnsweringAsker())
    window = MainWindow(workstation)
    window.asker.asked.connect(QDialog.accept)
    window.show()
    for name in (PageName.LIVE, PageName.FLEET):  # what a page takes when it is made is measured elsewhere
        window.show_page(name)
        _wait_for(1.0)
    gc.freeze()  # as the window does once a page has loaded
    page, heart = cast("FleetPage", window.front), Heart()
    page.runs.start(study)
    page.show_study(study.id)
    table = page.board.table
    _wait(lambda: any(row.progress is not None for row in table.content.shown))
    board = [heart.taken()]
    table.select(*((row.title, row.group) for row in table.content.shown if row.progress is not None))
    page.commands.open_run()
    _wait_for(LIVE)
    live = heart.taken()
    window.show_page(PageName.FLEET)
    _wait(lambda: not page.runs.running)
    board.append(heart.taken())
    done = workstation.fleet_study(study.id).counts.get(HostRunState.DONE, 0)
    window.close()
    _wait(lambda: not jobs.running())
    pairs = [pair for beats in board for pair in pairwise(beats)]
    return {
        "stall": max(later.at - earlier.at for earlier, later in pairs),
        "work": max(later.used - earlier.used for earlier, later in pairs),
        "live": max(later.used - earlier.used for earlier, later in pairwise(live)),
        "done": float(done),
    }


def _wait_for(seconds: float) -> None:
    until = time.monotonic() + seconds
    process_events_while(lambda: time.monotonic() < until)


def _wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    process_events_while(lambda: not until() and time.monotonic() < deadline)
    if not until():
        raise TimeoutError


if __name__ == "__main__":
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = QApplication(sys.argv[:1])
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
