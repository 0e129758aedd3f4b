"""Reads the board of a study in the background, again and again while it is shown."""

import time
from contextlib import suppress
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from app.fleet.board import Board, BoardReader
from app.fleet.progress import remaining_seconds
from app.fleet_study import FigureKey, FleetStudy
from app.services import Workstation
from app.timestamps import now, seconds_since
from suites.errors import BenchwrightError
from widgets.fleet.board_text import BoardHead, carriers_of
from widgets.jobs import BackgroundJob

READ_EVERY = 2.0
"""Seconds between reads of a study under way."""

OVER_EVERY = 10.0
"""Seconds between reads of a study that is over: another process may retry it."""

MOST_SIMULATED = 5000
"""Host-runs of a study whose time is estimated while its rate is unknown: some 40 µs each."""

IDLE = 4.0
"""Seconds between two reads at least, as a multiple of the time that a read takes."""


@dataclass(frozen=True, slots=True)
class BoardReading:
    """A board with what its head shows; `seconds` is the time that it took to read."""

    board: Board
    head: BoardHead
    seconds: float


class BoardFeed(QObject):
    """Reads the board of one study at a time."""

    read = Signal(object)  # a BoardReading
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._study = ""
        self._figure: FigureKey | None = None
        self._reader: BoardReader | None = None
        self._whole: dict[str, float | None] = {}  # seconds of a study by its estimate, None if unknown
        self._job: BackgroundJob | None = None
        self._again = False
        self._clock = QTimer(self, singleShot=True)
        self._clock.timeout.connect(self.refresh)

    @property
    def study(self) -> str:
        """The id of the study; empty for none."""
        return self._study

    def show(self, study: str) -> None:
        """Read the board of a study from now on; an empty id: of none."""
        if study != self._study:
            self._study, self._figure, self._reader = study, None, None
        self.refresh() if study else self.pause()

    def show_figure(self, figure: FigureKey | None) -> None:
        """Read the values of another figure."""
        self._figure = figure
        self.refresh()

    def pause(self) -> None:
        """Read nothing until refresh() or show()."""
        self._again = False
        self._clock.stop()

    def refresh(self) -> None:
        """Read the board now."""
        self._clock.stop()
        if self._job is not None:
            self._again = True
        elif self._study:
            self._again = False
            study, figure = self._study, self._figure
            reader = self._reader = self._reader or self._workstation.board_reader()
            self._job = BackgroundJob(lambda: self._reading(study, reader, figure), self)
            self._job.start(self._take, self._fail, finished=self._finish)

    def _reading(self, study: str, reader: BoardReader, figure: FigureKey | None) -> BoardReading:
        """Read a board; on the thread of the job."""
        began = time.monotonic()
        board = self._workstation.fleet_board(study, reader, figure)
        remaining = remaining_seconds(board.study, board.host_runs, now())
        if remaining is None and board.study.paused is None:
            remaining = self._estimated(board.study)
        idle = self._workstation.idle_since(board.study, board.host_runs)
        workers = self._workstation.workers_alive() if board.study.by_workers else 0
        head = BoardHead(board.study, remaining, carriers_of(board.host_runs), idle_since=idle, workers=workers)
        return BoardReading(board, head, time.monotonic() - began)

    def _estimated(self, study: FleetStudy) -> float | None:
        """Return the remaining seconds by the estimate of the tests, until a rate is known; None if unknown.

        So they are once a study has taken longer, such as one that was stopped for a day.
        """
        if study.id not in self._whole:
            self._whole[study.id] = None
            if study.total <= MOST_SIMULATED:
                with suppress(BenchwrightError):
                    found = self._workstation.fleet_estimate(study.plan)
                    self._whole[study.id] = None if found.open else found.whole
        whole = self._whole[study.id]
        remaining = None if whole is None else whole - seconds_since(study.created)
        return None if remaining is None or remaining <= 0.0 else remaining

    def _take(self, reading: BoardReading) -> None:
        if reading.board.study.id == self._study:
            every = OVER_EVERY if reading.board.study.over else READ_EVERY
            self._clock.start(round(1000 * max(every, IDLE * reading.seconds)))
            self.read.emit(reading)

    def _fail(self, error: object) -> None:
        self._clock.start(round(1000 * OVER_EVERY))
        self.failed.emit(error)

    def _finish(self) -> None:
        self._job = None
        if self._again:
            self.refresh()
