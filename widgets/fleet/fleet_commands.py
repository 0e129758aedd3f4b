"""What the actions of the page Fleet do to the study that is shown, and to the selected hosts of its board."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction

from app.fleet_study import FleetStudy, HostRun, HostRunState
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.fleet.board_view import BoardView
from widgets.fleet.fleet_actions import FleetActions
from widgets.fleet.fleet_runs import FleetRuns
from widgets.fleet.hosts_question import HostsQuestion
from widgets.fleet.study_questions import ask_to_end, ask_to_stop
from widgets.jobs import BackgroundJob
from widgets.page import Page
from widgets.parts.dialogs import opened
from widgets.undo import UndoStack

NOT_UNDONE = BenchwrightError(
    "Not undone: the study was ended, or these sessions have changed since.", "Retry runs skipped sessions again."
)


class FleetCommands(QObject):
    """Does what is triggered; every change of the library is made in the background."""

    changed = Signal()  # the study was changed
    failed = Signal(object)  # a BenchwrightError
    show_run_requested = Signal(str)
    watch_requested = Signal(object)  # a WatchedRun

    def __init__(self, page: Page, board: BoardView, actions: FleetActions, runs: FleetRuns, undo: UndoStack) -> None:
        super().__init__(page)
        self._page, self._workstation = page, page.workstation
        self._board, self._runs, self._undo = board, runs, undo
        slots: dict[QAction, Callable[[], object]] = {
            actions.pause: self._pause,
            actions.resume: self._resume,
            actions.stop: self._ask_to_stop,
            actions.end: self._ask_to_end,
            actions.delete: self._delete,
            actions.retry_failed: lambda: self._retry([]),
            actions.retry: self._retry_chosen,
            actions.skip: self._skip,
            actions.stop_hosts: self._stop_hosts,
            actions.add: self._add_hosts,
            actions.replace: self._replace,
            actions.open_run: self.open_run,
        }
        for action, slot in slots.items():
            action.triggered.connect(lambda _checked, slot=slot: slot())
        self._board.table.activated.connect(lambda _index: self.open_run())

    def ask_to_stop(self, study: str) -> None:
        """Ask whether to stop or detach a study that this window runs."""
        ask_to_stop(self._page, lambda: self._runs.stop(study), lambda: self._runs.detach(study))

    def open_run(self) -> None:
        """Show the latest run of the selected host: live if this window carries it, else in the library."""
        row, study = self._board.table.current(), self._study
        if row is None or study is None or not row.current.run:
            return
        watched = self._runs.watched(study, row.current)
        if watched is not None:
            self.watch_requested.emit(watched)
        else:
            self.show_run_requested.emit(row.current.run)

    @property
    def _study(self) -> FleetStudy | None:
        return None if self._board.head is None else self._board.head.study

    def _pause(self) -> None:
        if (study := self._study) is not None:
            pause = self._workstation.pause_fleet_study
            self._do(lambda: pause(study.id), lambda _before: pause(study.id, paused=False), f"Paused {study.name}")

    def _resume(self) -> None:
        if (study := self._study) is not None:
            job = BackgroundJob(lambda: self._workstation.pause_fleet_study(study.id, paused=False), self)
            job.start(self._runs.start, self.failed, finished=self.changed)

    def _ask_to_stop(self) -> None:
        if (study := self._study) is not None:
            self.ask_to_stop(study.id)

    def _ask_to_end(self) -> None:
        if (study := self._study) is not None:
            end = self._workstation.end_fleet_study
            ask_to_end(
                self._page,
                study.name,
                lambda: self._change(lambda: end(study.id)),
                lambda: self._change(lambda: end(study.id, stop=True), lambda: self._runs.stop(study.id)),
            )

    def _delete(self) -> None:
        if (study := self._study) is not None:
            delete, restore = self._workstation.delete_fleet_study, self._workstation.restore_fleet_study
            self._do(lambda: delete(study.id), restore, f"Deleted {study.name}")

    def _retry_chosen(self) -> None:
        if numbers := self._board.table.numbers():
            self._retry(numbers)

    def _retry(self, numbers: Sequence[int]) -> None:
        if (study := self._study) is not None:
            self._change(lambda: self._workstation.retry_host_runs(study.id, numbers=numbers), self._continue)

    def _skip(self) -> None:
        study, rows, numbers = self._study, self._board.table.chosen(), self._board.table.numbers()
        if study is None or not rows:
            return
        workstation = self._workstation
        text = f"Skipped {rows[0].title if len(rows) == 1 else count_text(len(rows), 'host')}"

        def undo(skipped: Sequence[HostRun]) -> None:
            if skipped and not workstation.unskip_host_runs(study.id, skipped):
                raise NOT_UNDONE

        self._do(lambda: workstation.skip_host_runs(study.id, numbers=numbers), undo, text)

    def _stop_hosts(self) -> None:
        if (study := self._study) is not None:
            running = [one for row in self._board.table.chosen() for one in row.host_runs]
            self._runs.stop_host_runs(study.id, [one.number for one in running if one.state is HostRunState.RUNNING])

    def _add_hosts(self) -> None:
        study, board = self._study, self._board.table.board
        if study is not None and board is not None:
            add = self._workstation.add_fleet_hosts
            question = HostsQuestion(self._workstation, self._page, board)
            question.accepted.connect(lambda: self._change(lambda: add(study.id, question.hosts), self._continue))
            opened(question)

    def _replace(self) -> None:
        study, board, rows = self._study, self._board.table.board, self._board.table.chosen()
        if study is None or board is None or len(rows) != 1:
            return
        replace_host, old = self._workstation.replace_fleet_host, rows[0].current.host
        question = HostsQuestion(self._workstation, self._page, board, old)
        question.accepted.connect(
            lambda: self._change(lambda: replace_host(study.id, old, question.hosts[0].name), self._continue)
        )
        opened(question)

    def _continue(self) -> None:
        """Run the shown study here after a change that lets hosts wait, unless it is paused or another process does."""
        head = self._board.head
        if head is not None and head.study.paused is None and (head.idle or head.study.ended is not None):
            self._runs.start(head.study)

    def _change(self, work: Callable[[], object], then: Callable[[], None] = lambda: None) -> None:
        BackgroundJob(work, self).start(lambda _changed: then(), self.failed, finished=self.changed)

    def _do(self, work: Callable[[], object], undo: Callable[..., object], text: str) -> None:
        self._undo.do(work, undo, text, lambda _text: self.changed.emit(), self.failed.emit)
