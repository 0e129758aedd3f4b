"""Panel of the selected run: head, actions, results, plots and output, cross-check, host facts, history."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QScrollArea, QTabWidget, QToolButton, QWidget

from app.events import State
from app.history import History, HistoryQuery
from app.library_rows import LibraryRow
from app.plans.plan import Plan
from app.records import RunRecord
from app.rejudging.history_text import recall_text, unjudged_text
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.verdict import NOT_JUDGED
from widgets.compare.sample_size_pane import SampleSizePane
from widgets.crosscheck import AgreementPanel
from widgets.library.facts_panel import FactsPanel
from widgets.library.figure_table import FigureTable
from widgets.library.history_panel import HistoryPanel
from widgets.library.run_actions import RunActions
from widgets.library.run_reader import OpenedRun
from widgets.library.run_rows import lock_text, run_duration, run_start
from widgets.live.model import StepKey
from widgets.live.run_issues import RunIssues
from widgets.live.verdict_panel import VerdictPanel
from widgets.parts.actions import ActionButton
from widgets.parts.boxes import column_in, fill, in_row, row_in
from widgets.parts.controls import tool_button
from widgets.parts.flow_layout import flowing
from widgets.parts.issue_line import IssueActions
from widgets.parts.names import host_title, mark_of
from widgets.parts.notice import FieldMessage, Notice, Picture
from widgets.parts.text import OneLine, Text, Tone, set_tool_tip
from widgets.plots.profile_pane import ProfilePane
from widgets.plots.studies import StudyTabs
from widgets.theme import SPACE, TextSize, text_font

if TYPE_CHECKING:
    from widgets.run_view import RunView


STATE_ICONS = {State.RUNNING: "live", State.DONE: "good", State.PARTIAL: "warning", State.FAILED: "error"}
"""Icon of each state."""

_SEVERITIES = {State.PARTIAL: "warning", State.FAILED: "error", State.RUNNING: "info"}


class RunHead(QWidget):
    """Name and state, details, question if any, and the reason if the run did not complete."""

    def __init__(self) -> None:
        super().__init__()
        self.name = OneLine(text_font(TextSize.HEADING, bold=True))
        self.details = OneLine(text_font(TextSize.BODY), "muted")
        self.question = OneLine(text_font(TextSize.BODY))
        self.mark = Picture("good")
        self.state = OneLine(text_font(TextSize.BODY))
        self.reason = FieldMessage()
        self.recall = OneLine(text_font(TextSize.BODY), "muted")
        self.lock = Picture("lock")
        first = in_row(self.lock, (self.name, 1), self.mark, self.state, spacing=SPACE[1])
        fill(column_in(self, 2), first, self.details, self.question, self.reason, self.recall)

    def show_line(self, row: LibraryRow) -> None:
        """Show the summary and the lock of the run of `row`."""
        run = row.summary
        self.name.set_text(run.name)
        hosts = ", ".join(host_title(host) for host in run.hosts)
        parts = (run_start(run), hosts, ", ".join(run.steps), run_duration(run), run.id)
        self.details.set_text(" · ".join(part for part in parts if part))
        set_tool_tip(self.details, "\n".join(part for part in parts if part))
        self.lock.setVisible(bool(row.lock))
        self.lock.setAccessibleName(lock_text(row))
        set_tool_tip(self.lock, lock_text(row))
        self.question.set_text(run.question)
        self.question.setVisible(bool(run.question))
        done = run.state is State.DONE
        self.mark.show_icon(mark_of(run.trust) if done and run.trust else STATE_ICONS[run.state])
        trust = run.trust or (NOT_JUDGED if done else "")
        self.state.set_text(" · ".join(filter(None, (run.status_text, trust))))
        self._show_reason(run.state, "")
        self._show_recall("")

    def show_record(self, record: RunRecord) -> None:
        """Show the reason if the run did not complete, and what a later version of the checks changed."""
        self._show_reason(record.summary.state, record.reason)
        self._show_recall(" ".join(filter(None, (recall_text(record), unjudged_text(record)))))

    def _show_recall(self, text: str) -> None:
        self.recall.set_text(text)
        self.recall.setVisible(bool(text))
        set_tool_tip(self.state, text)

    def _show_reason(self, state: State, reason: str) -> None:
        self.reason.setVisible(bool(reason) and state in _SEVERITIES)
        if reason and state in _SEVERITIES:
            self.reason.show_message(_SEVERITIES[state], reason)


MOST_ACTIONS = 0.25
"""Most of the panel's height that the buttons take."""

PATIENCE = 150
"""Delay before *Reading the run…* replaces the previous run, in ms; without it, quick reads would flicker."""


class RunPanel(QWidget):
    """Details of one run. Plots are created on first use: they load slower than all the rest."""

    output_requested = Signal(str, int)  # the run's id and the trial's

    def __init__(self, actions: RunActions, workstation: Workstation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._alone = False
        self._opened: OpenedRun | None = None
        self._step_key: StepKey | None = None
        self._drawn: OpenedRun | None = None
        self.head = RunHead()
        self.notice = Notice()
        self.figures = FigureTable()
        self.figures.chosen_step_key.connect(self.show_step_key)
        self.facts = FactsPanel()
        self.crosscheck = AgreementPanel()
        self.history = HistoryPanel()
        self.read_history: Callable[[HistoryQuery], History] | None = None
        self._workstation = workstation
        self.run_view: RunView | None = None
        self._plots = QScrollArea(widgetResizable=True)
        self._plots.setAccessibleName("Plots and output")
        self.verdict = VerdictPanel()
        self.drawer = RunIssues("library", IssueActions(fix=False))
        self._no_figures = Text("No counted trials. See the raw output.", Tone.MUTED)
        self._waiting = QTimer(self, singleShot=True, interval=PATIENCE)
        self._waiting.timeout.connect(self._show_waiting)
        self.tabs = self._build_tabs(workstation)
        self._build(actions)

    @property
    def opened(self) -> OpenedRun | None:
        """The run that is shown, or None."""
        return self._opened

    def set_alone(self, *, alone: bool) -> None:
        """Show the actions as a menu if the run fills the page: the plots get the room of the buttons."""
        self._alone = alone
        self._place_actions()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the actions as a menu if the panel is low for them, as with large text."""
        super().resizeEvent(event)
        self._place_actions()

    def _place_actions(self) -> None:
        as_menu = self._alone or self._row.heightForWidth(self.width()) > MOST_ACTIONS * self.height()
        self._row.setVisible(not as_menu)
        self.actions_menu.setVisible(as_menu)

    def show_line(self, row: LibraryRow) -> None:
        """Show the summary of the run of `row`; of another run than the one shown, the rest follows."""
        self.head.show_line(row)
        if self._opened is not None and self._opened.record.summary.id == row.id:
            self._waiting.stop()  # back at the run that is shown, before the other was read
            self.head.show_record(self._opened.record)
        elif not self._waiting.isActive():
            self._waiting.start()

    def show_failure(self, error: BenchwrightError) -> None:
        """Show why the run cannot be read."""
        self._opened = None
        self._waiting.stop()
        self.tabs.hide()
        self.drawer.hide()
        self.notice.show_error(error)

    def show_run(self, opened: OpenedRun) -> None:
        """Show `opened`; keep the selected step and host if it has them."""
        self._opened, self._drawn = opened, None
        self._waiting.stop()
        self.tabs.show()
        self.drawer.show()
        self.head.show_record(opened.record)
        self.notice.hide()
        if opened.problem is not None:
            self.notice.show_message("warning", f"Baseline not shown. {opened.problem.message}", opened.problem.remedy)
        self.figures.show_run(opened.record)
        self._no_figures.setVisible(not self.figures.content.rowCount())
        self.figures.setVisible(bool(self.figures.content.rowCount()))
        self.facts.show_run(opened.record)
        self.crosscheck.show_agreements(opened.agreements)
        self.tabs.setTabVisible(self.tabs.indexOf(self.crosscheck), bool(opened.agreements))
        self.studies.show_runs([opened.record.summary.id], opened.missing)
        if self.read_history is not None:
            self.history.show_run(opened.record, self.read_history)
        self.drawer.show_run(opened.model)
        keys = opened.model.step_keys()
        self.show_step_key(self._step_key if self._step_key in keys else keys[0])

    def show_step_key(self, key: StepKey) -> None:
        """Show the findings of a step on a host; draw it as well if the plots are visible."""
        self._step_key = key
        if self._opened is None or key not in self._opened.model.step_keys():  # of a run that is still read
            return
        if self.tabs.currentWidget() is self._plots:
            self._draw(self._opened, key)
            return
        self.verdict.show_step(self._opened.model, key)

    def show_trials(self, key: StepKey) -> None:
        """Show the plots of a step on a host, also of a run that is still read."""
        self._step_key = key
        self.tabs.setCurrentWidget(self._plots)
        self.show_step_key(key)

    def show_remarks(self, run_id: str, plan: Plan) -> None:
        """Show the acknowledgements in `plan` if the run `run_id` is the one that is shown."""
        opened = self._opened
        if opened is None or opened.record.summary.id != run_id:
            return
        opened.model.plan = plan
        self._opened = replace(opened, record=replace(opened.record, plan=plan))
        if self._drawn is opened:
            self._drawn = self._opened
        self.drawer.show_run(opened.model)

    def _show_waiting(self) -> None:
        self._opened = None  # so that it is shown again by show_run() only
        self.tabs.hide()
        self.drawer.hide()
        self.notice.show_message("info", "Reading the run…")

    def _draw(self, opened: OpenedRun, key: StepKey) -> None:
        view = self._ready_view()
        if self._drawn is not opened:
            self._drawn = opened
            view.set_model(opened.model, opened.bands)
        if view.view.step_key != key:
            view.show_step_key(key)

    def _ready_view(self) -> "RunView":
        if self.run_view is None:
            from widgets.run_view import RunView

            self.run_view = RunView(self._workstation)
            self.run_view.view.tabs.take_turns(self.drawer)
            self.run_view.output_requested.connect(self.output_requested)
            self.run_view.strip.step_chosen.connect(self._follow)
            self.run_view.setContentsMargins(0, SPACE[0], 0, 0)
            self._plots.setWidget(self.run_view)
        return self.run_view

    def _follow(self, key: StepKey) -> None:
        self._step_key = key

    def _show_tab(self) -> None:
        if self.tabs.currentWidget() is self.history:
            self.history.look()
        if self._opened is not None and self._step_key is not None:
            self.show_step_key(self._step_key)

    def _build_tabs(self, workstation: Workstation) -> QTabWidget:
        figures = QWidget()
        column = column_in(figures, -1, (0, SPACE[0], 0, 0))
        fill(column, (self.figures, 1), (self._no_figures, 0, Qt.AlignmentFlag.AlignTop))
        tabs = QTabWidget(self, documentMode=True)
        tabs.tabBar().setDrawBase(False)
        tabs.setAccessibleName("The selected run")
        tabs.addTab(figures, "Figures")
        tabs.addTab(self._plots, "Plots and output")
        tabs.addTab(self.verdict, "Verdict")
        tabs.addTab(self.crosscheck, "Cross-check")
        tabs.addTab(self.facts, "Facts")
        tabs.addTab(self.history, "History")
        self.sample_size = SampleSizePane(workstation)
        self.studies = StudyTabs(tabs, workstation, self.sample_size, ProfilePane(workstation))
        tabs.currentChanged.connect(self._show_tab)
        return tabs

    def _build(self, actions: RunActions) -> None:
        offered = (
            actions.compare,
            actions.pin,
            actions.unpin,
            actions.study,
            actions.like,
            actions.export,
            actions.again,
            actions.lock,
            actions.unlock,
            actions.delete,
            actions.restore,
        )
        self.buttons = {action: ActionButton(action) for action in offered}
        self._row = flowing(*self.buttons.values(), spacing=SPACE[1])
        self.actions_menu = tool_button(
            "Actions", visible=False, popupMode=QToolButton.ToolButtonPopupMode.InstantPopup
        )
        self.actions_menu.setMenu(QMenu(self.actions_menu))
        self.actions_menu.menu().addActions(list(offered))
        button = QToolButton()
        button.setDefaultAction(actions.open)
        corner = QWidget()
        fill(row_in(corner), self.actions_menu, button)
        self.tabs.setCornerWidget(corner)
        rows = column_in(self, SPACE[1])
        fill(rows, self.head, self._row, self.notice, (self.tabs, 1))
        fill(rows, self.drawer)
        rows.addStretch(0)
