"""The plots of a step: over time, and over what was swept; in a narrow place a bar of tabs turns between them."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QTabBar, QVBoxLayout, QWidget

from widgets.live.sweep_plots import SweepPlots
from widgets.live.trial_plots import TrialPlots
from widgets.theme import SPACE

BESIDE_FROM = 680
"""Pixels from which both stand beside each other."""

_WIDTHS = (520, 400)
_SWEEP, _TIME = 0, 1


class Pictures(QWidget):
    """Holds both kinds of plots; without a sweep, those over time have the whole place."""

    def __init__(self, plots: TrialPlots, sweep: SweepPlots) -> None:
        super().__init__()
        self._plots, self._sweep = plots, sweep
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("Plots")
        self.tabs.addTab("Sweep")
        self.tabs.addTab("Over time")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.currentChanged.connect(self.fit)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.addWidget(plots)
        splitter.addWidget(sweep)
        splitter.setSizes(_WIDTHS)
        splitter.setChildrenCollapsible(False)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(SPACE[0])
        rows.addWidget(self.tabs)
        rows.addWidget(splitter, 1)
        self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the plots beside each other, or one behind the other."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Show what there is and what there is room for; call when a sweep has begun or another step is shown."""
        swept = bool(self._sweep.plots)
        beside = self.width() >= BESIDE_FROM
        self.tabs.setVisible(swept and not beside)
        self._sweep.setVisible(swept and (beside or self.tabs.currentIndex() == _SWEEP))
        self._plots.setVisible(not swept or beside or self.tabs.currentIndex() == _TIME)
