"""Bar about the next due session of a plan that repeats over time; starts it by itself after a countdown."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from PySide6.QtCore import QTimer, Signal

from app.services import Workstation
from app.session_series import SessionSeries
from app.session_text import LATE_FROM, held_back
from suites.errors import BenchwrightError
from suites.quantities import duration_text
from widgets.hosts.host_bars import NoticeBar
from widgets.jobs import BackgroundJob
from widgets.parts.controls import push_button
from widgets.parts.dialogs import QuestionDialog, opened

TICK = 1000
"""Milliseconds between looks at the clock: sessions are due by the wall clock, which may be set or jump on resume."""

COUNTDOWN = 30.0
"""Seconds for which the bar is shown before a session starts by itself."""

LATER = timedelta(hours=1)
"""Time for which *Later* puts off a session."""

RETRY = timedelta(minutes=5)
"""Time after which a session that was started and is still due, as its host is in use, is offered again."""


class SessionBar(NoticeBar):
    """The session that has been due for longest; hidden if there is none, or while it is under way or waits.

    Only the wall clock is looked at, against series read before; no host is contacted.
    """

    start_requested = Signal(object, bool)  # the SessionSeries, and whether the user asked for it

    def __init__(self, workstation: Workstation, countdown: float = COUNTDOWN) -> None:
        self.start_button = push_button("Start", tip="Start the session now")
        self.later_button = push_button("Later", tip="Offer the session again in an hour")
        self.end_button = push_button("End series…", tip="No session follows; the runs so far are kept")
        super().__init__(workstation, "info", self.start_button, self.later_button, self.end_button)
        self.is_under_way: Callable[[SessionSeries], bool] = lambda _series: False  # or waits in the queue
        self._countdown = countdown
        self._series: Sequence[SessionSeries] = ()
        self._off: dict[tuple[str, int], datetime] = {}  # by series and session: until when it is not offered
        self._shown: SessionSeries | None = None
        self._starts_at: float | None = None  # monotonic seconds
        self.start_button.clicked.connect(lambda: self._start(asked=True))
        self.later_button.clicked.connect(self._put_off)
        self.end_button.clicked.connect(self._ask_to_end)
        self._clock = QTimer(self, interval=TICK)
        self._clock.timeout.connect(self._look)
        self._clock.start()

    def refresh(self) -> None:
        """Read the series; those of a read-only library cannot be continued."""
        workstation = self._workstation
        self._read(lambda: workstation.session_series() if workstation.read_only() is None else [], self.show_series)

    def show_series(self, series: Sequence[SessionSeries]) -> None:
        """Take `series` as the present ones, and show the one that is due."""
        self._series = [one for one in series if not one.over]
        self._look()

    def _due(self) -> SessionSeries | None:
        """Return the series whose session has been due for longest."""
        now = datetime.now(UTC)
        offered = [one for one in self._series if not self.is_under_way(one)]
        waiting = [(one.due, one) for one in offered if self._off.get((one.id, one.next_number), now) <= now]
        due = [(moment, one) for moment, one in waiting if moment is not None and moment <= now]
        return min(due, key=lambda found: found[0])[1] if due else None

    def _look(self) -> None:
        """Show the session that is due, or count down to its start."""
        due = self._due()
        if due is None:
            self._shown = self._starts_at = None
            self.hide()
            return
        if self._shown is None or self._shown.id != due.id or self._shown.next_number != due.next_number:
            self._shown = due
            self._starts_at = None if held_back(due) else time.monotonic() + self._countdown
        left = None if self._starts_at is None else self._starts_at - time.monotonic()
        if left is not None and left <= 0:
            self._start(asked=False)
        else:
            self._show(due, left)

    def _show(self, due: SessionSeries, left: float | None) -> None:
        late = -(due.due_in(datetime.now(UTC)) or 0.0)
        since = f", {duration_text(late)} late" if late >= LATE_FROM else ""
        by_hand = held_back(due)
        starts = f"It starts in {left:.0f} s." if left is not None else f"{by_hand.capitalize()}." if by_hand else ""
        name = f"Session {due.next_number} of {due.total} of “{due.plan.name}”"
        self._write(f"{name} is due{since}.", starts)
        self.show()

    def _start(self, *, asked: bool) -> None:
        if (due := self._shown) is not None:
            self._put_off_for(due, RETRY)
            self.start_requested.emit(due, asked)

    def _put_off(self) -> None:
        if self._shown is not None:
            self._put_off_for(self._shown, LATER)

    def _put_off_for(self, series: SessionSeries, time_off: timedelta) -> None:
        self._off[series.id, series.next_number] = datetime.now(UTC) + time_off
        self._look()

    def _ask_to_end(self) -> None:
        if (series := self._shown) is None:
            return
        self._starts_at = None  # the question may stay open for long
        question = QuestionDialog(
            "End this series?",
            f"No session follows the {series.done} of {series.total} that are done. Their runs are kept.",
            "End series",
            self,
        )
        question.accepted.connect(lambda: self._end(series))
        question.rejected.connect(self._restart)
        opened(question)

    def _restart(self) -> None:
        """Begin the countdown anew."""
        self._shown = None
        self._look()

    def _end(self, series: SessionSeries) -> None:
        workstation = self._workstation
        BackgroundJob(lambda: workstation.end_series(series.id), self).start(
            lambda _ended: self.refresh(), self._show_error
        )

    def _show_error(self, error: BenchwrightError) -> None:
        self._write(error.message, error.remedy)
