"""Stack of plots on one time axis: which are shown, keys for all of them, copying them together."""

import json
from collections.abc import Callable, Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QFontMetricsF, QGuiApplication, QKeySequence, QPixmap
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QWidget

from suites.units import Unit
from suites.vocab import Better
from widgets import settings
from widgets.parts.boxes import column_in, fill
from widgets.plots.axis import tick_font
from widgets.plots.plot_chooser import PlotChooser
from widgets.plots.plot_menu import copy_table, picture_of, table_of
from widgets.plots.time_plot import TimePlot
from widgets.plots.time_window import TimeWindow
from widgets.plots.timeline_strip import TimelineStrip
from widgets.theme import SPACE

_LEAST_ROWS, _LEAST_MAIN_ROWS, _AXIS_ROWS = 4.3, 7.6, 1.5
"""Height in lines of tick labels in which a curve, two of them and the names of four curves are readable; of the main
plot; of the labels of the time axis."""

_MAIN_STRETCH = 4

_SETTING = "plots_chosen"
_WITHIN = Qt.ShortcutContext.WidgetWithChildrenShortcut


class PlotStack(QWidget):
    """Plots by name that share time range, crosshair, selection and marks; the lowest shows the time axis."""

    plots_changed = Signal()  # others are shown

    def __init__(self) -> None:
        super().__init__()
        self.window_of_time = TimeWindow(self)
        self.plots: dict[str, TimePlot] = {}
        self.strip = TimelineStrip(self.window_of_time)
        self.chooser = PlotChooser(self)
        self.chooser.toggled.connect(self._choose)
        self.menu = QMenu(self)
        self._titles: dict[str, str] = {}
        self._chosen: dict[str, bool] = _stored_choice()
        self._defaults: dict[str, bool] = {}
        self._ranks: dict[str, int] = {}
        self._inner = QWidget()
        self._column = fill(column_in(self._inner, SPACE[0]), self.strip)
        area = QScrollArea(self)
        area.setAccessibleName("Plots")
        area.setWidget(self._inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        fill(column_in(self), area)
        self._add_actions()

    def wanted(self, name: str, title: str, rank: int, *, shown: bool) -> bool:
        """List a plot in the chooser and return whether it is to be drawn.

        `shown` is whether it is, unless the user has chosen. A plot takes 10 ms to make, and most are never looked at.
        """
        self._titles[name], self._ranks[name] = title, rank
        self._defaults[name] = shown
        return self._is_shown(name)

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
        """Add a plot below those of the same or a lower `rank`; `stretch` is its share of the height.

        `shown` is whether it is shown unless the user has chosen.
        """
        plot = TimePlot(
            title,
            unit,
            better=better,
            may_be_logarithmic=may_be_logarithmic,
            window=self.window_of_time,
            parent=self._inner,
        )
        before = [other for other in self.plots if self._ranks[other] <= rank]
        after = [other for other in self.plots if self._ranks[other] > rank]
        self.wanted(name, title, rank, shown=shown)
        self.plots = {other: self.plots.get(other, plot) for other in [*before, name, *after]}
        self._column.insertWidget(len(before) + 1, plot, stretch)
        self._show_chosen()
        return plot

    def clear(self) -> None:
        """Remove all plots."""
        for plot in self.plots.values():
            self._column.removeWidget(plot)
            plot.hide()
            plot.deleteLater()
        for known in (self.plots, self._titles, self._defaults, self._ranks):
            known.clear()

    def shown(self) -> tuple[str, ...]:
        """Return the names of the shown plots, from top to bottom."""
        return tuple(name for name in self.plots if self._is_shown(name))

    def shown_plots(self) -> list[TimePlot]:
        """Return the shown plots, from top to bottom."""
        return [self.plots[name] for name in self.shown()]

    def titles(self) -> dict[str, str]:
        """Return the title of every plot that can be shown, by name, from top to bottom."""
        return {name: self._titles[name] for name in sorted(self._titles, key=self._ranks.__getitem__)}

    def choose_plots(self, button: QWidget) -> None:
        """Open the list of plots at `button`."""
        titles = self.titles()
        self.chooser.open_below(button, titles, frozenset(filter(self._is_shown, titles)))

    def copy_picture(self) -> None:
        """Copy all shown plots as one picture."""
        QGuiApplication.clipboard().setPixmap(self.picture())

    def copy_data(self) -> None:
        """Copy the values of all shown plots as one table, also as CSV."""
        copy_table(table_of(self.shown_plots()))

    def picture(self) -> QPixmap:
        """Return the stack as it is shown, also what is scrolled out of view."""
        return picture_of(self._inner)

    def _is_shown(self, name: str) -> bool:
        return self._chosen.get(name, self._defaults[name])

    def _choose(self, name: str, shown: bool) -> None:  # noqa: FBT001 (a slot takes what its signal sends)
        self._chosen[name] = shown
        settings.put(_SETTING, json.dumps(self._chosen))
        self._show_chosen()

    def _show_chosen(self) -> None:
        shown = self.shown()
        for name, plot in self.plots.items():
            plot.setVisible(name in shown)
            is_last = bool(shown) and name == shown[-1]
            plot.show_time_axis(shown=is_last)
            rows = (
                _LEAST_MAIN_ROWS if self._column.stretch(self._column.indexOf(plot)) >= _MAIN_STRETCH else _LEAST_ROWS
            )
            rows += _AXIS_ROWS if is_last else 0
            plot.view.setMinimumHeight(round(rows * QFontMetricsF(tick_font()).height()))
        self.plots_changed.emit()

    def _fit(self, *, from_zero: bool) -> None:
        window = self.window_of_time
        if window.zoom is not None and window.zoom.plot is not None:
            window.zoom_to(*window.shown)
        for plot in self.plots.values():
            plot.set_from_zero(from_zero=from_zero)

    def _add_actions(self) -> None:
        window = self.window_of_time
        self._add("Fit the value axes to the data", lambda: self._fit(from_zero=False), "F")
        self._add("Start the value axes at zero", lambda: self._fit(from_zero=True), "0")
        self._add("Back to the previous zoom", window.go_back, "Alt+Left")
        self._add("Forward to the next zoom", window.go_forward, "Alt+Right")
        self._add("Show the whole time range", window.show_all, "")
        self.menu.addSeparator()
        self._add("Next mark", lambda: window.to_mark(1), "N")
        self._add("Previous mark", lambda: window.to_mark(-1), "Shift+N")
        self._add("Clear the selection", lambda: window.select(None), "Esc")
        self.menu.addSeparator()
        self._add("Copy all plots as image", self.copy_picture, "Ctrl+Alt+Shift+C")
        self._add("Copy all plots as data", self.copy_data, "Ctrl+Alt+C")

    def _add(self, text: str, act: Callable[[], object], shortcut: str) -> None:
        action = QAction(text, self, shortcut=QKeySequence(shortcut), shortcutVisibleInContextMenu=True)
        action.setShortcutContext(_WITHIN)
        action.triggered.connect(lambda _checked: act())
        self.menu.addAction(action)
        self.addAction(action)


def _stored_choice() -> dict[str, bool]:
    """Return which plots the user has chosen, by name; nothing if the setting is damaged."""
    try:
        found = json.loads(settings.text(_SETTING, "{}"))
    except ValueError:
        return {}
    pairs: Iterable[tuple[object, object]] = found.items() if isinstance(found, dict) else ()
    return {str(name): bool(shown) for name, shown in pairs}
