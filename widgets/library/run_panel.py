"""The selected run: what can be done with it, its figures, its plots and output, the facts of its hosts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollArea, QTabWidget, QToolButton, QVBoxLayout, QWidget

from app.history.history import History, Wanted
from app.plans.plan import Plan
from app.records import RunSummary
from suites.errors import BenchwrightError
from widgets.library.facts_panel import FactsPanel
from widgets.library.figure_table import FigureTable
from widgets.library.history_panel import HistoryPanel
from widgets.library.opened_run import OpenedRun
from widgets.library.run_actions import ActionButton, RunActions
from widgets.library.run_head import RunHead
from widgets.library.run_lines import RunLine
from widgets.live.model import Place
from widgets.live.run_side import RunSide
from widgets.opinion.agreement_panel import AgreementPanel
from widgets.parts.flow_layout import flowing
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE

if TYPE_CHECKING:
    from widgets.run_view import RunView

PATIENCE = 150
"""Milliseconds for which the run before may still be seen while the next is read: less would flicker."""


class RunPanel(QWidget):
    """Shows one run. Plots are made when somebody looks at them: they take longer to load than all the rest."""

    output_requested = Signal(str, int)  # the run's id and the trial's
    scaling_requested = Signal(str)  # the run's id

    def __init__(self, actions: RunActions, side: RunSide) -> None:
        super().__init__()
        self._side = side
        self._opened: OpenedRun | None = None
        self._place: Place | None = None
        self._drawn: OpenedRun | None = None
        self.head = RunHead()
        self.notice = Notice()
        self.figures = FigureTable()
        self.figures.chosen.connect(self.show_place)
        self.facts = FactsPanel()
        self.opinion = AgreementPanel()
        self.history = HistoryPanel()
        self.read_history: Callable[[Wanted], History] | None = None
        self.run_view: RunView | None = None
        self._plots = QScrollArea()
        self._plots.setWidgetResizable(True)
        self._nothing = Text("No trial has counted, so there is no figure. The raw output tells more.", Tone.MUTED)
        self._waiting = QTimer(self)
        self._waiting.setSingleShot(True)
        self._waiting.setInterval(PATIENCE)
        self._waiting.timeout.connect(self._show_waiting)
        self.tabs = self._build_tabs()
        self._build(actions)

    @property
    def opened(self) -> OpenedRun | None:
        """The run that is shown, or None."""
        return self._opened

    def show_line(self, run: RunSummary, chosen: Sequence[RunLine]) -> None:
        """Show what the table knows of `run` while the rest is read."""
        self.head.show_line(run, chosen)
        if self._opened is not None and self._opened.record.summary.id == run.id:
            self.head.show_record(self._opened.record)

    def wait(self) -> None:
        """Another run is about to be read: after a moment, show that instead of the one before."""
        if not self._waiting.isActive():
            self._waiting.start()

    def show_failure(self, error: BenchwrightError) -> None:
        """Say that the run cannot be read."""
        self._opened = None
        self._waiting.stop()
        self.tabs.hide()
        self.notice.say_error(error)

    def show_run(self, opened: OpenedRun) -> None:
        """Show a run that was read."""
        self._opened, self._drawn = opened, None
        self._waiting.stop()
        self.tabs.show()
        self.head.show_record(opened.record)
        self.notice.hide()
        if opened.problem is not None:
            self.notice.say("warning", f"No baseline is shown. {opened.problem.message}", opened.problem.remedy)
        self.figures.show_run(opened.record)
        self._nothing.setVisible(not self.figures.figures.rowCount())
        self.figures.setVisible(bool(self.figures.figures.rowCount()))
        self.facts.show_run(opened.record)
        self.opinion.show_agreements(opened.agreements)
        self.tabs.setTabVisible(self.tabs.indexOf(self.opinion), bool(opened.agreements))
        if self.read_history is not None:
            self.history.show_run(opened.record, self.read_history)
        places = opened.model.places()
        self.show_place(self._place if self._place in places else places[0])

    def show_place(self, place: Place) -> None:
        """Explain a step on a host; draw it, too, where plots are looked at."""
        self._place = place
        if self._opened is None:
            return
        if self.tabs.currentWidget() is self._plots:
            self._draw(self._opened, place)
            return
        trials = self._opened.model.trials_at(place)
        self._side.show_run(self._opened.model, place, trials[-1] if trials else None)

    def show_remarks(self, run_id: str, plan: Plan) -> None:
        """Show what of a run is acknowledged in its `plan` by now, where it is the one that is shown."""
        opened = self._opened
        if opened is None or opened.record.summary.id != run_id:
            return
        opened.model.plan = plan
        self._opened = replace(opened, record=replace(opened.record, plan=plan))
        if self._drawn is opened:
            self._drawn = self._opened
        self._side.show_remarks(plan.acknowledged)

    def show_plots(self) -> None:
        """Bring the plots to the front."""
        self.tabs.setCurrentWidget(self._plots)

    def _show_waiting(self) -> None:
        self.tabs.hide()
        self.notice.say("info", "Reading the run…")

    def _draw(self, opened: OpenedRun, place: Place) -> None:
        view = self._ready_view()
        if self._drawn is not opened:
            self._drawn = opened
            view.set_model(opened.model, opened.bands)
        if view.view.place != place:
            view.show_place(place)

    def _ready_view(self) -> "RunView":
        if self.run_view is None:
            from widgets.run_view import RunView

            self.run_view = RunView(side=self._side)
            self.run_view.output_requested.connect(self.output_requested)
            self.run_view.scaling_requested.connect(self.scaling_requested)
            self.run_view.strip.chosen.connect(self._follow)
            self.run_view.setContentsMargins(0, SPACE[1], 0, 0)
            self._plots.setWidget(self.run_view)
        return self.run_view

    def _follow(self, place: Place) -> None:
        self._place = place

    def _turn(self) -> None:
        if self.tabs.currentWidget() is self.history:
            self.history.look()
        if self._opened is not None and self._place is not None:
            self.show_place(self._place)

    def _build_tabs(self) -> QTabWidget:
        figures = QWidget()
        column = QVBoxLayout(figures)
        column.setContentsMargins(0, SPACE[1], 0, 0)
        column.addWidget(self.figures, 1)
        column.addWidget(self._nothing, 0, Qt.AlignmentFlag.AlignTop)
        tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.tabBar().setDrawBase(False)
        tabs.setAccessibleName("The selected run")
        tabs.addTab(figures, "Figures")
        tabs.addTab(self._plots, "Plots and output")
        tabs.addTab(self.opinion, "Second opinion")
        tabs.addTab(self.facts, "Facts")
        tabs.addTab(self.history, "History")
        tabs.currentChanged.connect(self._turn)
        return tabs

    def _build(self, actions: RunActions) -> None:
        offered = (
            actions.compare,
            actions.pin,
            actions.unpin,
            actions.study,
            actions.export,
            actions.repeat,
            actions.delete,
        )
        self.buttons = {action: ActionButton(action) for action in offered}
        corner = QToolButton()
        corner.setDefaultAction(actions.open)
        self.tabs.setCornerWidget(corner)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(SPACE[1])
        rows.addWidget(self.head)
        rows.addWidget(flowing(*self.buttons.values(), spacing=SPACE[1]))
        rows.addWidget(self.notice)
        rows.addWidget(self.tabs, 1)
        rows.addStretch(0)
