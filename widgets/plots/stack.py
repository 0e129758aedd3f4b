"""Stack of plots on one time axis, with a menu to choose which are shown."""

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QWidget

from suites.units import Unit
from suites.vocab import Better
from widgets.parts.boxes import column_in, fill
from widgets.plots.time_plot import TimePlot
from widgets.plots.time_window import TimeWindow
from widgets.theme import SPACE

_LEAST_HEIGHT, _LEAST_MAIN_HEIGHT = 50, 88
"""Pixels in which a curve and two tick labels are readable; of the main plot."""

_MAIN_STRETCH = 4


class PlotStack(QWidget):
    """Plots by name that share time range and crosshair; the lowest shows the time axis."""

    def __init__(self) -> None:
        super().__init__()
        self.window_of_time = TimeWindow(self)
        self.plots: dict[str, TimePlot] = {}
        self.menu = QMenu(self)
        self._actions: dict[str, QAction] = {}
        self._ranks: dict[str, int] = {}
        self._inner = QWidget()
        self._column = column_in(self._inner, SPACE[0])
        area = QScrollArea(self)
        area.setWidget(self._inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        fill(column_in(self), area)

    def add_plot(
        self,
        name: str,
        title: str,
        unit: Unit,
        *,
        rank: int = 0,
        better: Better | None = None,
        may_be_logarithmic: bool = False,
        stretch: int = 2,
        shown: bool = True,
    ) -> TimePlot:
        """Add a plot below those of the same or a lower `rank`; `stretch` is its share of the height."""
        plot = TimePlot(
            title,
            unit,
            better=better,
            may_be_logarithmic=may_be_logarithmic,
            window=self.window_of_time,
            parent=self._inner,
        )
        plot.view.setMinimumHeight(_LEAST_MAIN_HEIGHT if stretch >= _MAIN_STRETCH else _LEAST_HEIGHT)
        before = [other for other in self.plots if self._ranks[other] <= rank]
        after = [other for other in self.plots if self._ranks[other] > rank]
        self._ranks[name] = rank
        self.plots = {other: self.plots.get(other, plot) for other in [*before, name, *after]}
        self._column.insertWidget(len(before), plot, stretch)
        action = QAction(title.replace("&", "&&"), self.menu, checkable=True, checked=shown)
        action.toggled.connect(self._show_chosen)
        if after:
            self.menu.insertAction(self._actions[after[0]], action)
        else:
            self.menu.addAction(action)
        self._actions[name] = action
        self._show_chosen()
        return plot

    def clear(self) -> None:
        """Remove all plots."""
        for plot in self.plots.values():
            self._column.removeWidget(plot)
            plot.hide()
            plot.deleteLater()
        self.plots.clear()
        self._actions.clear()
        self._ranks.clear()
        self.menu.clear()

    def shown(self) -> tuple[str, ...]:
        """Return the names of the shown plots, from top to bottom."""
        return tuple(name for name in self.plots if self._actions[name].isChecked())

    def _show_chosen(self) -> None:
        shown = self.shown()
        for name, plot in self.plots.items():
            plot.setVisible(name in shown)
            plot.show_time_axis(shown=bool(shown) and name == shown[-1])
