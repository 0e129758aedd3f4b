"""Fleet page: the studies of the library, and the board and the results of the selected one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent
from PySide6.QtWidgets import QApplication, QSplitter, QStackedLayout, QWidget

from app.fleet_study import FleetStudy, HostRun
from app.plans.plan import Plan
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.fleet.board_feed import BoardFeed, BoardReading
from widgets.fleet.board_view import BoardView
from widgets.fleet.fleet_actions import FleetActions
from widgets.fleet.fleet_runs import FleetRuns
from widgets.fleet.hosts_question import HostsQuestion
from widgets.fleet.results_view import ResultsView
from widgets.fleet.study_dialog import StudyDialog
from widgets.fleet.study_draft import StudyDraft
from widgets.fleet.study_questions import ask_to_end, ask_to_stop
from widgets.fleet.study_table import StudyTable
from widgets.fleet.study_views import StudyViews
from widgets.jobs import BackgroundJob
from widgets.page import PAGE_MARGINS, Page, PageName, page_title
from widgets.parts.boxes import column_in, fill, in_column, in_row
from widgets.parts.controls import push_button
from widgets.parts.dialogs import opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.layouts import remember_splitter
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, set_icon
from widgets.undo import UndoBar, UndoStack

LIST_EVERY = 10_000
"""Milliseconds between two reads of the list of studies while the page is shown."""

PURPOSE = "One plan on every host of some groups."


class FleetPage(Page):
    """Studies at the left, the board or the results of the selected one at the right."""

    show_run_requested = Signal(str)
    filter_requested = Signal(str)  # a filter of the library

    def __init__(
        self, workstation: Workstation, asker: Asker, undo: UndoStack | None = None, runs: FleetRuns | None = None
    ) -> None:
        super().__init__(workstation, asker)
        self._undo = undo or UndoStack(self)
        self.runs = runs or FleetRuns(workstation, asker, self)
        self.actions_of_fleet = FleetActions(self)
        self.studies, self.board = StudyTable(), BoardView(self.actions_of_fleet)
        self.results = ResultsView(workstation)
        self.views = StudyViews(self.board, self.results, self.actions_of_fleet)
        self.results.study_requested.connect(self.new_study)
        self.feed = BoardFeed(workstation, self)
        self.notice, self.undo_bar = Notice(), UndoBar(self._undo)
        self.new_button = push_button("New study…", lambda _checked: self.new_study(), primary=True)
        self._wanted = ""  # a study to select once it is listed
        self._listing: BackgroundJob | None = None
        self._list_again = False
        self._clock = QTimer(self, interval=LIST_EVERY)
        self._clock.timeout.connect(self.refresh)
        self._connect()
        self._arrange()

    # Called by the window

    def activated(self) -> None:
        """Read the studies again."""
        self.notice.hide()
        self._clock.start()
        self.refresh()

    def take_focus(self) -> None:
        """Focus the board, or the button of an empty page."""
        empty = self.empty.button if self._stack.currentWidget() is self.empty else None
        (empty or self.board.table).setFocus()

    def show_study(self, study: str) -> None:
        """Select a study."""
        self._wanted = study
        self.refresh()

    def new_study(self, plan: Plan | None = None, words: str = "") -> None:
        """Ask for a new study of `plan` on the hosts that `words` select, which the user can change."""
        dialog = StudyDialog(self.workstation, self.asker, self, StudyDraft(plan, words))
        dialog.begun.connect(self._take_begun)
        opened(dialog)

    def _take_begun(self, study: FleetStudy) -> None:
        self.runs.start(study)
        self.show_study(study.id)

    def hideEvent(self, event: QHideEvent) -> None:
        """Read nothing while the page is hidden."""
        super().hideEvent(event)
        self._clock.stop()
        self.feed.pause()

    # Reading

    def refresh(self) -> None:
        """Read the studies and the board."""
        if self._listing is not None:
            self._list_again = True
            return
        self._list_again = False
        self._listing = BackgroundJob(self.workstation.fleet_studies, self)
        self._listing.start(self._show_studies, self._show_error, finished=self._listed)
        if self.feed.study:
            self.feed.refresh()

    def _listed(self) -> None:
        self._listing = None
        if self._list_again:
            self.refresh()

    def _show_studies(self, studies: Sequence[FleetStudy]) -> None:
        here = QApplication.focusWidget()
        focused = here is not None and self.isAncestorOf(here)
        if (self._stack.currentIndex() == 1) is not bool(studies):
            self._stack.setCurrentIndex(1 if studies else 0)
            if focused:
                self.take_focus()
        self.new_button.setVisible(bool(studies))
        self.studies.show_rows(studies)
        self.status.emit(count_text(len(studies), "study", "studies"))
        if self._wanted and self.studies.row_of(self._wanted) >= 0:
            self.studies.select(self._wanted)
            self._wanted = ""
        elif studies and self.studies.current() is None:
            self.studies.select(studies[0].id)
        self._show_current()

    def _show_current(self) -> None:
        """Show the board of the selected study."""
        study = self.studies.current()
        name = "" if study is None else study.id
        if name != self.feed.study:
            self.board.clear()
            self.actions_of_fleet.show_nothing()
            self.feed.show(name)
            self.results.show_study(name)

    def _show_reading(self, reading: BoardReading) -> None:
        own = self.runs.runs(reading.board.study.id)
        self.board.show_reading(reading, own=own)
        self.results.follow(reading.board.study)
        self.runs.take(replace(reading.head, own=own))
        self._offer()

    def _offer(self) -> None:
        if (head := self.board.head) is None:
            self.actions_of_fleet.show_nothing()
            return
        chosen, study = self.board.table.chosen(), head.study
        own, stopping = self.runs.runs(study.id), self.runs.stopping(study.id)
        self.actions_of_fleet.show_study(study, chosen, own=own, stopping=stopping)

    def _show_error(self, error: BenchwrightError) -> None:
        if not self.report_damage(error):
            self.notice.show_error(error)

    # Actions

    @property
    def _study(self) -> FleetStudy | None:
        return None if self.board.head is None else self.board.head.study

    def _pause(self) -> None:
        if (study := self._study) is not None:
            pause = self.workstation.pause_fleet_study
            self._do(lambda: pause(study.id), lambda _before: pause(study.id, paused=False), f"Paused {study.name}")

    def _resume(self) -> None:
        if (study := self._study) is not None:
            job = BackgroundJob(lambda: self.workstation.pause_fleet_study(study.id, paused=False), self)
            job.start(self.runs.start, self._show_error, finished=self.refresh)

    def ask_to_stop(self, study: str) -> None:
        """Show a study that this window runs, and ask whether to stop or detach it."""
        self.show_study(study)
        ask_to_stop(self, lambda: self.runs.stop(study), lambda: self.runs.detach(study))

    def _ask_to_stop(self) -> None:
        if (study := self._study) is not None:
            self.ask_to_stop(study.id)

    def _ask_to_end(self) -> None:
        if (study := self._study) is not None:
            end = self.workstation.end_fleet_study
            ask_to_end(
                self,
                study.name,
                lambda: self._change(lambda: end(study.id)),
                lambda: self._change(lambda: end(study.id, stop=True), lambda: self.runs.stop(study.id)),
            )

    def _retry_failed(self) -> None:
        self._retry([])

    def _retry_chosen(self) -> None:
        if names := self.board.table.hosts():
            self._retry(names)

    def _retry(self, hosts: Sequence[str]) -> None:
        if (study := self._study) is not None:
            self._change(lambda: self.workstation.retry_host_runs(study.id, hosts), self._continue)

    def _skip(self) -> None:
        study, names = self._study, self.board.table.hosts()
        if study is None or not names:
            return
        workstation = self.workstation
        text = f"Skipped {names[0] if len(names) == 1 else count_text(len(names), 'host')}"

        def undo(skipped: Sequence[HostRun]) -> None:
            workstation.unskip_host_runs(study.id, skipped)

        self._do(lambda: workstation.skip_host_runs(study.id, names), undo, text)

    def _add_hosts(self) -> None:
        if (study := self._study) is not None:
            add = self.workstation.add_fleet_hosts
            question = HostsQuestion(self.workstation, self)
            question.accepted.connect(lambda: self._change(lambda: add(study.id, question.hosts), self._continue))
            opened(question)

    def _replace(self) -> None:
        study, names = self._study, self.board.table.hosts()
        if study is None or len(names) != 1:
            return
        replace_host, old = self.workstation.replace_fleet_host, names[0]
        question = HostsQuestion(self.workstation, self, old)
        question.accepted.connect(
            lambda: self._change(lambda: replace_host(study.id, old, question.hosts[0].name), self._continue)
        )
        opened(question)

    def _open_run(self) -> None:
        row = self.board.table.current()
        if row is not None and row.current.run:
            self.show_run_requested.emit(row.current.run)

    def _continue(self) -> None:
        """Run the shown study here after a change that lets hosts wait, unless it is paused."""
        study = self._study
        if study is not None and study.paused is None:
            self.runs.start(study)

    def _change(self, work: Callable[[], object], then: Callable[[], None] = lambda: None) -> None:
        BackgroundJob(work, self).start(lambda _changed: then(), self._show_error, finished=self.refresh)

    def _do(self, work: Callable[[], object], undo: Callable[..., object], text: str) -> None:
        self._undo.do(work, undo, text, lambda _text: self.refresh(), self._show_error)

    # Building

    def _connect(self) -> None:
        self.studies.moved.connect(self._show_current)
        self.feed.read.connect(self._show_reading)
        self.feed.failed.connect(self._show_error)
        self.board.figure_chosen.connect(self.feed.show_figure)
        self.board.table.moved.connect(self._offer)
        self.board.table.activated.connect(lambda _index: self._open_run())
        self.results.filter_requested.connect(self.filter_requested)
        self.results.status.connect(self.status)
        self.runs.changed.connect(self._offer)
        self.runs.failed.connect(self._show_error)
        self.runs.ended.connect(lambda: self.refresh() if self.isVisible() else None)
        actions = self.actions_of_fleet
        slots: dict[QAction, Callable[[], object]] = {
            actions.pause: self._pause,
            actions.resume: self._resume,
            actions.stop: self._ask_to_stop,
            actions.end: self._ask_to_end,
            actions.retry_failed: self._retry_failed,
            actions.retry: self._retry_chosen,
            actions.skip: self._skip,
            actions.add: self._add_hosts,
            actions.replace: self._replace,
            actions.open_run: self._open_run,
        }
        for action, slot in slots.items():
            action.triggered.connect(lambda _checked, slot=slot: slot())
        self.addActions(list(actions.of_study()))
        self.addAction(self._undo.action)

    def _arrange(self) -> None:
        set_icon(self.new_button, "add", "on_accent")
        titles = in_column(page_title(PageName.FLEET), Text(PURPOSE, Tone.MUTED), spacing=SPACE[0])
        head = in_row((titles, 1), (self.new_button, 0, Qt.AlignmentFlag.AlignBottom))
        splitter = QSplitter(Qt.Orientation.Horizontal)
        for part, share in ((self.studies, 1), (self.views, 4)):
            splitter.addWidget(part)
            splitter.setStretchFactor(splitter.count() - 1, share)
        splitter.setChildrenCollapsible(False)
        if not remember_splitter(splitter, "fleet"):
            splitter.setSizes([self.studies.scaled(220), self.studies.scaled(880)])
        self.empty = EmptyState(
            "No fleet study yet",
            "A study measures one plan on every host of some groups, in sessions, and shows which hosts differ.",
            "New study…",
            self.new_study,
            icon="hosts",
        )
        content = QWidget()
        self._stack = QStackedLayout(content)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(splitter)
        self._stack.setCurrentIndex(1)  # until it is known that there is no study
        fill(column_in(self, SPACE[2], PAGE_MARGINS), head, self.notice, (content, 1), self.undo_bar)
