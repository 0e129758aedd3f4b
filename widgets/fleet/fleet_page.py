"""Fleet page: the studies of the library, and the board and the results of the selected one."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QApplication, QSplitter, QStackedLayout, QWidget

from app.fleet_study import FleetStudy
from app.plans.plan import Plan
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.fleet.board_feed import BoardFeed, BoardReading
from widgets.fleet.board_view import BoardView
from widgets.fleet.fleet_actions import FleetActions
from widgets.fleet.fleet_commands import FleetCommands
from widgets.fleet.fleet_runs import FleetRuns
from widgets.fleet.results_view import ResultsView
from widgets.fleet.study_dialog import StudyDialog
from widgets.fleet.study_draft import StudyDraft
from widgets.fleet.study_table import StudyRow, StudyTable
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
    watch_requested = Signal(object)  # a WatchedRun
    filter_requested = Signal(str)  # a filter of the library

    def __init__(
        self, workstation: Workstation, asker: Asker, undo: UndoStack | None = None, runs: FleetRuns | None = None
    ) -> None:
        super().__init__(workstation, asker)
        self.undo = undo or UndoStack(self)
        self.runs = runs or FleetRuns(workstation, asker, self)
        self.actions_of_fleet = FleetActions(self)
        self.studies, self.board = StudyTable(), BoardView(self.actions_of_fleet)
        self.results = ResultsView(workstation)
        self.commands = FleetCommands(self, self.board, self.actions_of_fleet, self.runs, self.undo)
        self.views = StudyViews(self.board, self.results, self.actions_of_fleet)
        self.results.study_requested.connect(self.new_study)
        self.feed = BoardFeed(workstation, self)
        self.notice, self.undo_bar = Notice(), UndoBar(self.undo)
        self.new_button = push_button("New study…", lambda _checked: self.new_study(), primary=True)
        self._wanted = ""  # a study to select once it is listed
        self._unread = False  # whether the notice is about a read that failed
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

    def export(self) -> bool:
        """Offer to export the results of the selected study; return whether one is selected."""
        if not self.feed.study:
            return False
        self.views.show_results()
        if not self.results.export():
            self.status.emit("The results are not read yet: export them then")
        return True

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
        self._listing = BackgroundJob(self._read_studies, self)
        self._listing.start(self._show_studies, self._show_unread, finished=self._listed)

    def _read_studies(self) -> list[StudyRow]:
        """Read the studies; on the thread of the job."""
        studies = self.workstation.fleet_studies()
        idle = {one.study.id for one in self.workstation.idle_fleet_studies(studies)}
        return [StudyRow(one, idle=one.id in idle) for one in studies]

    def _listed(self) -> None:
        self._listing = None
        if self._list_again:
            self.refresh()

    def _show_studies(self, studies: Sequence[StudyRow]) -> None:
        here = QApplication.focusWidget()
        focused = here is not None and self.isAncestorOf(here)
        if (self._stack.currentIndex() == 1) is not bool(studies):
            self._stack.setCurrentIndex(1 if studies else 0)
            if focused:
                self.take_focus()
        self.new_button.setVisible(bool(studies))
        rows = [replace(row, idle=row.idle and not self.runs.runs(row.study.id)) for row in studies]
        self.studies.show_rows(rows)
        self.status.emit(count_text(len(studies), "study", "studies"))
        if self._wanted and self.studies.row_of(self._wanted) >= 0:
            self.studies.select(self._wanted)
            self._wanted = ""
        elif studies and self.studies.current() is None:
            self.studies.select(studies[0].study.id)
        if not self._show_current() and self.feed.study:
            self.feed.refresh()

    def _show_current(self) -> bool:
        """Show the board of the selected study; return whether it is another one."""
        row = self.studies.current()
        name = "" if row is None else row.study.id
        if name == self.feed.study:
            return False
        self.board.clear()
        self.actions_of_fleet.show_nothing()
        self.feed.show(name)
        self.results.show_study(name)
        return True

    def _show_reading(self, reading: BoardReading) -> None:
        if self._unread:
            self._unread = False
            self.notice.hide()
        own = self.runs.runs(reading.board.study.id)
        self.board.show_reading(reading, own=own)
        self.results.follow(reading.board.study)
        self.runs.take(replace(reading.head, own=own))
        self._offer()

    def _offer(self) -> None:
        if (head := self.board.head) is None:
            self.actions_of_fleet.show_nothing()
            return
        head = replace(head, own=self.runs.runs(head.study.id))
        stopping = self.runs.stopping(head.study.id)
        self.board.show_stopping(self.runs.stopping_host_runs(head.study.id))
        self.actions_of_fleet.show_study(head, self.board.table.chosen(), stopping=stopping)

    def _show_unread(self, error: BenchwrightError) -> None:
        """Show why studies or a board were not read, until a board is."""
        self._show_error(error)
        self._unread = True

    def _show_error(self, error: BenchwrightError) -> None:
        self._unread = False
        if not self.report_damage(error):
            self.notice.show_error(error)

    def ask_to_stop(self, study: str) -> None:
        """Show a study that this window runs, and ask whether to stop or detach it."""
        self.show_study(study)
        self.commands.ask_to_stop(study)

    def resume(self, study: FleetStudy) -> None:
        """Show a study that no process runs, and run it."""
        self.show_study(study.id)
        self.runs.start(study)

    # Building

    def _connect(self) -> None:
        self.studies.moved.connect(self._show_current)
        self.feed.read.connect(self._show_reading)
        self.feed.failed.connect(self._show_unread)
        self.board.figure_chosen.connect(self.feed.show_figure)
        self.board.table.moved.connect(self._offer)
        self.commands.changed.connect(self.refresh)
        self.commands.failed.connect(self._show_error)
        self.commands.show_run_requested.connect(self.show_run_requested)
        self.commands.watch_requested.connect(self.watch_requested)
        self.results.filter_requested.connect(self.filter_requested)
        self.results.status.connect(self.status)
        self.runs.changed.connect(self._offer)
        self.runs.failed.connect(self._show_error)
        self.runs.ended.connect(lambda: self.refresh() if self.isVisible() else None)
        for action in (*self.actions_of_fleet.of_study(), *self.actions_of_fleet.of_hosts()):
            action.triggered.connect(self.notice.hide)  # it was about an earlier one
        self.addActions(list(self.actions_of_fleet.of_study()))
        self.addAction(self.undo.action)

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
