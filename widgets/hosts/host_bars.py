"""Bars about hosts: settings that a run changed and did not restore, and detached runs."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QTimer, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QPushButton

from app.detached_runs import DetachedRun
from app.records import ChangeRecord
from app.runs.messages import detached_detail, detached_text
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob, Slot
from widgets.parts.boxes import fill, in_column, row_in
from widgets.parts.controls import push_button
from widgets.parts.dialogs import QuestionDialog, opened
from widgets.parts.names import host_title
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, restyle

MOST = 2
"""Settings listed; the rest is a count."""


class NoticeBar(QFrame):
    """A message with its detail and buttons; hidden until there is one."""

    def __init__(self, workstation: Workstation, level: str, *buttons: QPushButton) -> None:
        super().__init__()
        self._workstation, self._buttons = workstation, buttons
        self.setObjectName("notice")
        restyle(self, "level", level)
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        texts = in_column(self.message, self.detail, spacing=SPACE[0])
        row = row_in(self, SPACE[1], (SPACE[2], SPACE[1], SPACE[2], SPACE[1]))
        fill(row, Picture(level), (texts, 1), *buttons)
        self.hide()

    @property
    def first_button(self) -> QPushButton:
        """The button with the next step."""
        return self._buttons[0]

    def _write(self, message: str, detail: str) -> None:
        self.message.setText(message)
        self.detail.setText(detail)
        self.setAccessibleName(f"{self.message.text()} {self.detail.text()}")

    def _read(self, work: Callable[[], object], show: Slot) -> None:
        BackgroundJob(work, self).start(show, lambda _error: self.hide())  # the hosts page shows the library's error


class ChangedBar(NoticeBar):
    """Host with the oldest unrestored change; hidden if there is none."""

    restore_requested = Signal(str)  # the name of a host

    def __init__(self, workstation: Workstation) -> None:
        self.restore_button = push_button("Restore settings…", tip="Show the changed settings and restore them as root")
        super().__init__(workstation, "warning", self.restore_button)
        self.host = ""
        self.restore_button.clicked.connect(lambda: self.restore_requested.emit(self.host))

    def refresh(self) -> None:
        """Read the pending changes from the library."""
        self._read(self._workstation.pending_changes, self.show_changes)

    def show_changes(self, changes: Sequence[ChangeRecord]) -> None:
        """Show the changes of the host with the oldest one; hide the bar without changes."""
        self.setVisible(bool(changes))
        if not changes:
            return
        self.host = changes[0].change.host
        own = [record for record in changes if record.change.host == self.host]
        more = len({record.change.host for record in changes}) - 1
        others = f" Also on {more} more host{'s' if more > 1 else ''}." if more else ""
        listed = [f"{each.change.what}: {each.change.during} (was {each.change.before})" for each in own[:MOST]]
        rest = f"; and {len(own) - MOST} more" if len(own) > MOST else ""
        detail = f"{'; '.join(listed)}{rest} (run {own[0].run_id})."
        self._write(f"Settings not restored on {host_title(self.host)}.{others}", detail)


class DetachedBar(NoticeBar):
    """Newest detached run; hidden if there is none."""

    attach_requested = Signal(object)  # the DetachedRun
    stop_requested = Signal(object)
    shown = Signal(list)  # every DetachedRun

    def __init__(self, workstation: Workstation) -> None:
        self.attach_button = push_button("Attach", tip="Read the results so far and continue the plan")
        self.stop_button = push_button("Stop", tip="Stop the trial on the host and end the run")
        self.forget_button = push_button("Forget…", tip="End the run without contacting its host")
        super().__init__(workstation, "info", self.attach_button, self.stop_button, self.forget_button)
        self._run: DetachedRun | None = None
        self._runs: list[DetachedRun] = []
        self._age_clock = QTimer(self, interval=1000)
        self._age_clock.timeout.connect(self._update_age)
        self.attach_button.clicked.connect(lambda: self._request(self.attach_requested))
        self.stop_button.clicked.connect(lambda: self._request(self.stop_requested))
        self.forget_button.clicked.connect(self._ask_to_forget)

    def refresh(self) -> None:
        """Read the detached runs, except those that their fleet study resumes.

        Those of a read-only library cannot be continued and are not shown.
        """
        workstation = self._workstation

        def read() -> list[DetachedRun]:
            if workstation.read_only() is not None:
                return []
            of_studies = workstation.runs_of_host_runs_under_way()
            return [run for run in workstation.detached_runs() if run.id not in of_studies]

        self._read(read, self.show_detached)

    def show_detached(self, runs: list[DetachedRun]) -> None:
        """Show the first of `runs`, the newest; hide the bar if there is none."""
        self._runs, self._run = runs, runs[0] if runs else None
        self.setVisible(bool(runs))
        self.shown.emit(runs)
        (self._age_clock.start if runs else self._age_clock.stop)()
        if self._run is None:
            return
        more = "" if len(runs) == 1 else f" And {len(runs) - 1} more."
        self._write(f"{detached_text(self._run)}.{more}", detached_detail(self._run))
        for button in self._buttons:
            button.setEnabled(True)

    def _update_age(self) -> None:
        if self._run is not None and not self.message.text().startswith(f"{detached_text(self._run)}."):
            self.show_detached(self._runs)

    def _request(self, signal: SignalInstance) -> None:
        if self._run is not None:
            run, self._run = self._run, None  # a second click must not request it again
            self.show_detached([])
            signal.emit(run)

    def _ask_to_forget(self) -> None:
        run = self._run
        if run is None:
            return
        question = QuestionDialog(
            "Forget this run?",
            "The run ends as partial. A running trial continues on its host until it finishes; remove its files with "
            "Hosts, Leftovers.",
            "Forget",
            self,
        )
        question.accepted.connect(lambda: self._forget(run))
        opened(question)

    def _forget(self, run: DetachedRun) -> None:
        workstation = self._workstation
        BackgroundJob(lambda: workstation.forget(run.id), self).start(failed=self._show_error, finished=self.refresh)

    def _show_error(self, error: BenchwrightError) -> None:
        """Show why the run could not be forgotten."""
        self._run = None
        self._write(error.message, error.remedy)
        for button in self._buttons:
            button.setEnabled(False)
        self.show()
