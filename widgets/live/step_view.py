"""View of one step on a host: headline, plots, and foldable tabs with trials, output, commands and verdict."""

import time
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QSplitter, QWidget

from app.records import Band
from app.services import Workstation
from widgets.live.fold_tabs import FoldTabs
from widgets.live.headline import headline, headline_metric
from widgets.live.headline_bar import HeadlineBar
from widgets.live.log_view import LogView
from widgets.live.messages import command_text
from widgets.live.model import RunModel, StepKey, TrialView
from widgets.live.plot_panes import PlotPanes
from widgets.live.run_plots import RunPlots
from widgets.live.sweep_plots import SweepPlots, sweep_of
from widgets.live.trial_table import TrialTable
from widgets.live.verdict_panel import VerdictPanel
from widgets.parts.boxes import column_in, fill
from widgets.parts.controls import pop_up, tool_button
from widgets.parts.layouts import remember_splitter
from widgets.parts.text import visible
from widgets.plots.span_statistics import SpanTable
from widgets.theme import SPACE, code_font

_HEIGHTS = (420, 160)
_ALL = 100_000


class StepView(QWidget):
    """Shows a step on a host, and one of its trials in front. Call `sync` after the model has changed."""

    front_changed = Signal()
    output_wanted = Signal(int)  # id of the trial whose raw output is shown

    def __init__(self, workstation: Workstation | None = None) -> None:
        """`workstation` reads what stored trials have beyond their samples: heat maps and the model of a sweep."""
        super().__init__()
        self._model: RunModel | None = None
        self._step_key: StepKey | None = None
        self._front: TrialView | None = None
        self._bands: Sequence[Band] = ()
        self.bar = HeadlineBar()
        self.plots = RunPlots(None if workstation is None else workstation.output)
        self.sweep = SweepPlots(workstation)
        self.plot_panes = PlotPanes(self.plots, self.sweep)
        self.table = TrialTable()
        self.span = SpanTable()
        self.log = LogView()
        self.commands = QPlainTextEdit()
        self.verdict = VerdictPanel()
        self._build()

    @property
    def step_key(self) -> StepKey | None:
        """The step and host that are shown."""
        return self._step_key

    @property
    def front(self) -> TrialView | None:
        """The trial whose commands and output are shown, and whose curves are in front of an overlay."""
        return self._front

    def show_step_key(self, model: RunModel, step_key: StepKey, bands: Sequence[Band]) -> None:
        """Show a step on a host, with its trial under way or its last one in front, if one began.

        A profiled trial that has ended gives way to those that count.
        """
        self._model, self._step_key, self._bands = model, step_key, bands
        self._show_front(max(model.trials_at(step_key), key=_place_in_front, default=None))

    def take_focus(self) -> None:
        """Focus the uppermost plot, whose keys are those of all plots."""
        plot = next(iter(self.plots.shown_plots()), None)
        (self.tabs.tabBar() if plot is None else plot.view).setFocus()

    def show_trial(self, view: TrialView) -> None:
        """Put `view` in front."""
        if view is not self._front:
            self._show_front(view)

    def sync(self) -> None:
        """Update the view from the model."""
        if self._model is None or self._step_key is None:
            return
        shown = headline(self._model, self._step_key, self._bands, time.monotonic())
        self.bar.show_headline(shown, self._model.decisions.get(self._step_key, ()))
        self.bar.badge.show_verdict(self._model.verdicts.get(self._step_key))
        self._sync_verdict()
        self._sync_table()
        self.plots.sync()
        if self.plots.window_of_time.selection is not None:
            self._sync_span()
        self.sweep.show_panels(sweep_of(self._model, self._step_key, self._front))
        self.sweep.show_scaling(self._model, self._step_key)
        self.plot_panes.fit()

    def _show_front(self, view: TrialView | None) -> None:
        if self._model is None or self._step_key is None:
            return
        self._front = view
        focused = QApplication.focusWidget()
        has_focus = focused is not None and self.plots.isAncestorOf(focused)
        self.plots.show_step(self._model, self._step_key, view, self._bands)
        if has_focus:  # its plot may be gone
            self.take_focus()
        self.commands.setPlainText(visible(command_text(view.trial.commands)) if view is not None else "")
        self.sync()
        self.front_changed.emit()
        self._request_output()

    def _sync_table(self) -> None:
        """Update the table of trials, unless it is folded: of hundreds of trials it takes a tenth of a second."""
        if self._model is not None and self._step_key is not None and not self.tabs.folded:
            metric = headline_metric(self._model, self._step_key)
            self.table.show_trials(self._model.trials_at(self._step_key), metric, self._front)

    def _sync_verdict(self) -> None:
        """Update the verdict and the host, unless their tab is folded."""
        if self._model is not None and self._step_key is not None and not self.tabs.folded:
            self.verdict.show_step(self._model, self._step_key)

    def _choose_trial(self, trial: int) -> None:
        view = None if self._model is None else self._model.trials.get(trial)
        if view is not None:
            self.show_trial(view)

    def _request_output(self) -> None:
        if self._front is not None and not self.tabs.folded and self.tabs.currentWidget() is self.log:
            self.output_wanted.emit(self._front.trial.id)

    def _sync_span(self) -> None:
        """Update the statistics with new samples and plots."""
        self.span.show_span(self.plots.shown_plots(), self.plots.window_of_time.selection)

    def _show_span(self) -> None:
        """Show the statistics of the selected span, and unfold them for a new one."""
        selection = self.plots.window_of_time.selection
        self._sync_span()
        if selection is not None and (self.tabs.folded or self.tabs.currentWidget() is not self.span):
            self.tabs.open_tab(self.span)

    def _build(self) -> None:
        self.commands.setReadOnly(True)
        self.commands.setFont(code_font())
        self.commands.setAccessibleName("Exact commands")
        self.tabs = FoldTabs()
        for page, title in (
            (self.table, "Trials"), (self.log, "Raw output"), (self.commands, "Exact commands"),
            (self.verdict, "Verdict and host"), (self.span, "Selected span"),
        ):  # fmt: skip
            self.tabs.addTab(page, title)
        self.tabs.currentChanged.connect(self._request_output)
        self.bar.badge.clicked.connect(lambda: self.tabs.open_tab(self.verdict))
        self.tabs.fold_changed.connect(self._folded)
        self.table.chosen_trial.connect(self.show_trial)
        self.plots.strip.trial_chosen.connect(self._choose_trial)
        self.plots.window_of_time.selection_changed.connect(self._show_span)
        self.plots.plots_changed.connect(self._sync_span)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._splitter.addWidget(self.plot_panes)
        self._splitter.addWidget(self.tabs)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setChildrenCollapsible(False)
        self._share_height()
        self._build_tools()
        fill(column_in(self, SPACE[0]), self.bar, (self._splitter, 1))

    def _build_tools(self) -> None:
        """Add the switch between whole run and overlay, the choice of plots, and the menu of all plots."""
        self.overlay = QAction("Overlay trials", self, checkable=True, shortcut=QKeySequence("O"))
        self.overlay.setToolTip("Draw the trials over each other, each from its own start (O)")
        self.overlay.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.overlay.toggled.connect(lambda overlay: self.plots.set_overlay(overlay=overlay))
        whole = tool_button("Whole run", tip="Draw all trials on one time axis (O)", checkable=True, checked=True)
        whole.clicked.connect(lambda: self.overlay.setChecked(False))
        self.overlay.toggled.connect(lambda overlay: whole.setChecked(not overlay))
        self.addActions([self.overlay, *self.plots.actions()])
        switch = tool_button()
        switch.setDefaultAction(self.overlay)
        self.chooser = tool_button("Plots", tip="Choose the plots to show")
        self.chooser.clicked.connect(lambda: self.plots.choose_plots(self.chooser))
        more = tool_button("⋯", tip="Zoom, marks and copies of all plots")
        more.setAccessibleName("Menu of all plots")
        more.clicked.connect(lambda: pop_up(self.plots.menu, more))
        self.bar.add_tools(whole, switch, self.chooser, more)

    def _folded(self) -> None:
        self._share_height()
        self._sync_table()
        self._sync_verdict()
        self._request_output()

    def _share_height(self) -> None:
        """Give the plots all height that the tabs do not need."""
        if self.tabs.folded:
            self._splitter.setSizes([_ALL, self.tabs.minimumHeight()])
        elif not remember_splitter(self._splitter, "run"):
            self._splitter.setSizes(list(_HEIGHTS))


def _place_in_front(view: TrialView) -> tuple[bool, bool, int]:
    return not view.never_began, view.ended is None or not view.trial.profiled, view.trial.id
