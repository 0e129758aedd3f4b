"""The table of a step's trials; the chosen one is drawn in front."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from suites.vocab import Metric
from widgets.live.model import TrialView
from widgets.live.trial_model import TrialModel
from widgets.theme import SPACE


class TrialTable(QTableView):
    """Trials by row. Choosing one asks for its curves."""

    chosen = Signal(object)  # the TrialView

    def __init__(self) -> None:
        super().__init__()
        self._model = TrialModel(self)
        self.setModel(self._model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setAccessibleName("Trials of this step")
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + SPACE[1])
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        header.setHighlightSections(False)
        self.selectionModel().currentRowChanged.connect(self._choose)

    def show_trials(self, views: Sequence[TrialView], metric: Metric | None, front: TrialView | None) -> None:
        """Show these trials; `front` is the one whose curves are drawn."""
        quiet = self.selectionModel().blockSignals(True)
        self._model.show_trials(views, metric)
        row = self._model.row_of(front)
        if row >= 0 and self.currentIndex().row() != row:
            self.setCurrentIndex(self._model.index(row, 0))
        self.selectionModel().blockSignals(quiet)

    def _choose(self, current: QModelIndex) -> None:
        view = self._model.view_at(current.row())
        if view is not None:
            self.chosen.emit(view)
