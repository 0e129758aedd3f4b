"""Plots over time beside those of a sweep."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QTabBar

from widgets.live.run_plots import RunPlots
from widgets.live.sweep_plots import SweepPlots
from widgets.parts.boxes import FittedWidget, column_in, fill
from widgets.theme import SPACE

SIDE_BY_SIDE_FROM = 680
"""Width in pixels from which both kinds of plots are shown side by side."""

_WIDTHS = (520, 400)
_SWEEP, _TIME = 0, 1


class PlotPanes(FittedWidget):
    """Plots over time and, if the step has a sweep, its plots: side by side, or in tabs where narrow."""

    def __init__(self, plots: RunPlots, sweep: SweepPlots) -> None:
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
        fill(column_in(self, SPACE[0]), self.tabs, (splitter, 1))
        self.fit()

    def fit(self) -> None:
        """Show the plots there is room for. Call after a sweep has begun or another step is shown."""
        has_sweep = bool(self._sweep.plots)
        side_by_side = self.width() >= SIDE_BY_SIDE_FROM
        self.tabs.setVisible(has_sweep and not side_by_side)
        self._sweep.setVisible(has_sweep and (side_by_side or self.tabs.currentIndex() == _SWEEP))
        self._plots.setVisible(not has_sweep or side_by_side or self.tabs.currentIndex() == _TIME)
