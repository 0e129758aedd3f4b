"""View of one step on a host: headline, interval strip, plots, trials, output, commands."""

import time
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QTabWidget, QWidget

from app.records import Band
from widgets.live.headline import headline, headline_metric
from widgets.live.headline_bar import HeadlineBar
from widgets.live.log_view import LogView
from widgets.live.messages import command_text
from widgets.live.model import RunModel, StepKey, TrialView
from widgets.live.sweep_plots import SweepPlots, sweep_of
from widgets.live.trial_plots import PlotPanes, TrialPlots
from widgets.live.trial_table import TrialTable
from widgets.parts.boxes import column_in, fill, row_in
from widgets.parts.controls import tool_button
from widgets.parts.text import visible
from widgets.theme import SPACE, code_font

_HEIGHTS = (420, 132)


class StepView(QWidget):
    """Shows a step on a host, and one of its trials in front. Call `sync` after the model has changed."""

    front_changed = Signal()
    output_wanted = Signal(int)  # id of the trial whose raw output is shown
    scaling_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._model: RunModel | None = None
        self._step_key: StepKey | None = None
        self._front: TrialView | None = None
        self._bands: Sequence[Band] = ()
        self.bar = HeadlineBar()
        self.plots = TrialPlots()
        self.sweep = SweepPlots()
        self.plot_panes = PlotPanes(self.plots, self.sweep)
        self.table = TrialTable()
        self.log = LogView()
        self.commands = QPlainTextEdit()
        self._build()

    @property
    def step_key(self) -> StepKey | None:
        """The step and host that are shown."""
        return self._step_key

    @property
    def front(self) -> TrialView | None:
        """The trial whose curves are drawn in front."""
        return self._front

    def show_step_key(self, model: RunModel, step_key: StepKey, bands: Sequence[Band]) -> None:
        """Show a step on a host, with its trial under way or its last one in front."""
        self._model, self._step_key, self._bands = model, step_key, bands
        views = model.trials_at(step_key)
        self._show_front(views[-1] if views else None)

    def show_trial(self, view: TrialView) -> None:
        """Draw `view` in front."""
        if view is not self._front:
            self._show_front(view)

    def sync(self) -> None:
        """Update the view from the model."""
        if self._model is None or self._step_key is None:
            return
        shown = headline(self._model, self._step_key, self._bands, time.monotonic())
        self.bar.show_headline(shown, self._model.decisions.get(self._step_key, ()))
        metric = headline_metric(self._model, self._step_key)
        self.table.show_trials(self._model.trials_at(self._step_key), metric, self._front)
        self.plots.sync()
        self.sweep.show_panels(sweep_of(self._model, self._step_key, self._front))
        self.plot_panes.fit()
        self._offer_scaling(over=self._model.phase.over)

    def _show_front(self, view: TrialView | None) -> None:
        if self._model is None or self._step_key is None:
            return
        self._front = view
        self.plots.show_trial(self._model, self._step_key, view, self._bands)
        self.commands.setPlainText(visible(command_text(view.trial.commands)) if view is not None else "")
        self.sync()
        self.front_changed.emit()
        self._request_output()

    def _request_output(self) -> None:
        if self._front is not None and self.tabs.currentWidget() is self.log:
            self.output_wanted.emit(self._front.trial.id)

    def _build(self) -> None:
        self.commands.setReadOnly(True)
        self.commands.setFont(code_font())
        self.commands.setAccessibleName("Exact commands")
        self.tabs = QTabWidget(documentMode=True)
        self.tabs.addTab(self.table, "Trials")
        self.tabs.addTab(self.log, "Raw output")
        self.tabs.addTab(self.commands, "Exact commands")
        self.tabs.currentChanged.connect(self._request_output)
        self.tabs.setMinimumHeight(84)
        self.chooser = tool_button("Plots…", self._choose_plots)
        self.chooser.setToolTip("Choose the plots to show")
        self.scaling = tool_button("Scaling…", self.scaling_requested)
        corner = QWidget()
        fill(row_in(corner, -1, (0, 0, 0, SPACE[0])), self.scaling, self.chooser)
        self.tabs.setCornerWidget(corner)
        self.table.chosen_trial.connect(self.show_trial)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.addWidget(self.plot_panes)
        splitter.addWidget(self.tabs)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes(_HEIGHTS)
        splitter.setCollapsible(0, False)
        fill(column_in(self, SPACE[1]), self.bar, (splitter, 1))

    def _offer_scaling(self, *, over: bool) -> None:
        """Offer the chart of the whole sweep with its fitted model, once all trials are done."""
        self.scaling.setVisible(bool(self.sweep.plots))
        self.scaling.setEnabled(over)
        tip = "Chart the figure by threads, depth or streams, with a fitted model"
        self.scaling.setToolTip(tip if over else "Available when the run is over: uses every trial")

    def _choose_plots(self) -> None:
        self.plots.menu.popup(self.chooser.mapToGlobal(self.chooser.rect().bottomLeft()))
