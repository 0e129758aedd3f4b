"""Below the comparison: the trials of the chosen metric, and its samples over time."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QVBoxLayout, QWidget

from widgets.compare.compare_lines import CompareLine
from widgets.compare.compared import Compared
from widgets.compare.distribution_pane import DistributionPane
from widgets.compare.overlay import Overlay
from widgets.compare.trial_lanes import lanes_of
from widgets.theme import SPACE

NARROWEST = 240
BESIDE_FROM = 600
"""Pixels from which both plots stand beside each other."""


class RowPlots(QWidget):
    """Two plots of one metric: its trials or their distribution, and its samples over time; in a narrow place a bar of
    tabs turns between them."""

    def __init__(self) -> None:
        super().__init__()
        self.distribution = DistributionPane()
        self.dots = self.distribution.dots
        self.overlay = Overlay()
        self.tabs = QTabBar()
        self.tabs.addTab("Figures")
        self.tabs.addTab("Over time")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.currentChanged.connect(self._fit)
        plots = QHBoxLayout()
        plots.setSpacing(SPACE[2])
        plots.addWidget(self.distribution, 2)
        plots.addWidget(self.overlay, 3)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(SPACE[0])
        rows.addWidget(self.tabs)
        rows.addLayout(plots, 1)
        self._fit()

    def show_line(self, compared: Compared, line: CompareLine) -> None:
        """Show the trials and samples of the line's metric, of every run."""
        row = line.row
        if row is not None:
            margin = compared.comparison.margin_in(row)
            self.dots.show_lanes(row.metric, row.labels, lanes_of(compared, row), margin)
            self.distribution.show_row(row)
            self.overlay.show_row(compared, row)

    def minimumSizeHint(self) -> QSize:
        """Return the width of one plot: side by side they would keep the place from getting narrow."""
        return QSize(NARROWEST, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the plots beside each other, or one behind the other."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        beside = self.width() >= BESIDE_FROM
        self.tabs.setVisible(not beside)
        self.distribution.setVisible(beside or self.tabs.currentIndex() == 0)
        self.overlay.setVisible(beside or self.tabs.currentIndex() == 1)
