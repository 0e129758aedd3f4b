"""One step on one host: its leading figure, its plots, its trials, its raw output and its commands."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QSplitter, QTabWidget, QToolButton, QVBoxLayout, QWidget

from app.records import Band
from widgets.live.headline import headline, headline_metric
from widgets.live.headline_bar import HeadlineBar
from widgets.live.log_view import LogView
from widgets.live.model import Place, RunModel, TrialView
from widgets.live.pictures import Pictures
from widgets.live.repetition_strip import RepetitionStrip
from widgets.live.sweep_plots import SweepPlots
from widgets.live.swept import sweep_of
from widgets.live.trial_plots import TrialPlots
from widgets.live.trial_table import TrialTable
from widgets.live.words import command_text
from widgets.parts.text import visible
from widgets.theme import SPACE, code_font

_HEIGHTS = (420, 132)


class StepView(QWidget):
    """Shows a place of a run and one of its trials in front. Call `sync` after the model has changed."""

    front_changed = Signal()
    output_wanted = Signal(int)  # the id of the trial whose raw output is to be shown
    scaling_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._model: RunModel | None = None
        self._place: Place | None = None
        self._front: TrialView | None = None
        self._bands: Sequence[Band] = ()
        self.bar = HeadlineBar()
        self.repetition = RepetitionStrip()
        self.plots = TrialPlots()
        self.sweep = SweepPlots()
        self.pictures = Pictures(self.plots, self.sweep)
        self.table = TrialTable()
        self.log = LogView()
        self.commands = QPlainTextEdit()
        self._build()

    @property
    def place(self) -> Place | None:
        """The step and host that are shown."""
        return self._place

    @property
    def front(self) -> TrialView | None:
        """The trial whose curves are drawn in front."""
        return self._front

    def show_place(self, model: RunModel, place: Place, bands: Sequence[Band]) -> None:
        """Show a step on a host, with its trial under way or its last one in front."""
        self._model, self._place, self._bands = model, place, bands
        views = model.trials_at(place)
        self._show_front(views[-1] if views else None)

    def show_trial(self, view: TrialView) -> None:
        """Draw `view` in front."""
        if view is not self._front:
            self._show_front(view)

    def sync(self) -> None:
        """Show what has changed."""
        if self._model is None or self._place is None:
            return
        self.bar.show_headline(headline(self._model, self._place, self._bands))
        self.repetition.show_decisions(self._model.decisions.get(self._place, ()))
        metric = headline_metric(self._model, self._place)
        self.table.show_trials(self._model.trials_at(self._place), metric, self._front)
        self.plots.sync()
        self.sweep.show_panels(sweep_of(self._model, self._place, self._front))
        self.pictures.fit()
        self._offer_scaling(over=self._model.phase.over)

    def _show_front(self, view: TrialView | None) -> None:
        if self._model is None or self._place is None:
            return
        self._front = view
        self.plots.show_trial(self._model, self._place, view, self._bands)
        self.commands.setPlainText(visible(command_text(view.trial.commands)) if view is not None else "")
        self.sync()
        self.front_changed.emit()
        self._ask_for_output()

    def _ask_for_output(self) -> None:
        if self._front is not None and self.tabs.currentWidget() is self.log:
            self.output_wanted.emit(self._front.trial.id)

    def _build(self) -> None:
        self.commands.setReadOnly(True)
        self.commands.setFont(code_font())
        self.commands.setAccessibleName("Exact commands")
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.table, "Trials")
        self.tabs.addTab(self.log, "Raw output")
        self.tabs.addTab(self.commands, "Exact commands")
        self.tabs.currentChanged.connect(self._ask_for_output)
        self.tabs.setMinimumHeight(84)
        self.chooser = QToolButton()
        self.chooser.setText("Plots…")
        self.chooser.setToolTip("Choose which plots are shown")
        self.chooser.clicked.connect(self._choose_plots)
        self.scaling = QToolButton()
        self.scaling.setText("Scaling…")
        self.scaling.clicked.connect(self.scaling_requested)
        corner = QWidget()
        corner_row = QHBoxLayout(corner)
        corner_row.setContentsMargins(0, 0, 0, SPACE[0])
        corner_row.addWidget(self.scaling)
        corner_row.addWidget(self.chooser)
        self.tabs.setCornerWidget(corner)
        self.table.chosen.connect(self.show_trial)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.addWidget(self.pictures)
        splitter.addWidget(self.tabs)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes(_HEIGHTS)
        splitter.setCollapsible(0, False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[1])
        column.addWidget(self.bar)
        column.addWidget(self.repetition)
        column.addWidget(splitter, 1)

    def _offer_scaling(self, *, over: bool) -> None:
        """Offer the figure of the whole sweep, with its model; it needs every trial."""
        self.scaling.setVisible(bool(self.sweep.plots))
        self.scaling.setEnabled(over)
        what = "Show what more threads, depth or streams give, with the model that fits"
        self.scaling.setToolTip(what if over else "When the run is over: it takes every trial")

    def _choose_plots(self) -> None:
        self.plots.menu.popup(self.chooser.mapToGlobal(self.chooser.rect().bottomLeft()))
