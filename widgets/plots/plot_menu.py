"""Menu of a plot: copy as picture or data, save, scale."""

import csv
import io
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from PySide6.QtCore import QMimeData, QStandardPaths, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPixmap
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.output import write_whole
from app.records import Band
from suites.units import Unit
from widgets.jobs import BackgroundJob
from widgets.parts.dialogs import opened
from widgets.parts.images import png
from widgets.parts.text import sheet_cell
from widgets.plots.annotations import Level
from widgets.plots.axis import TimeAxis
from widgets.plots.lines import AxisScaling, PlotLine
from widgets.plots.plot_header import PlotHead
from widgets.plots.time_window import TimeWindow
from widgets.plots.view import PlotView


class Plotted(Protocol):
    """Interface of a plot that the menu uses."""

    title: str
    unit: Unit
    lines: dict[Hashable, PlotLine]
    scaling: AxisScaling
    window_of_time: TimeWindow
    view: PlotView
    head: PlotHead

    def bands(self) -> dict[Hashable, Band]:
        """Return the baseline's bands by the curves they belong to."""
        ...

    def levels(self) -> Sequence[Level]:
        """Return the figures of whole trials."""
        ...

    def touch(self) -> None:
        """Request a redraw."""
        ...


Rows = list[tuple[str, ...]]


def table_of(plots: Iterable[Plotted]) -> Rows:
    """Return a table with one row per time or position of any point of `plots`. Values are not decimated.

    Figures of whole trials are in every row of their trial, and one row begins each.
    """
    curves = [(plot, line) for plot in plots for line in plot.lines.values()]
    levels = [
        (plot, line, own) for plot, line in curves if (own := [one for one in plot.levels() if one[0] == line.key])
    ]
    shown = [(plot, line) for plot, line in curves if line.taken or any(line is one for _, one, _ in levels)]
    several = len({id(plot) for plot, _ in shown}) > 1
    starts = [np.array([start for _, start, _, _ in own]) for _, _, own in levels]
    times = np.unique(np.concatenate([*(line.points()[0] for _, line in shown), *starts])) if shown else np.empty(0)
    columns = [_column(line, times) for _, line in shown]
    axis = shown[0][0].view.time_axis if shown else TimeAxis()
    heads = [axis.head, *(_head(plot, line, named=several) for plot, line in shown)]
    for plot, line, own in levels:
        heads.append(_head(plot, line, named=several, of=", whole trial"))
        columns.append(_level_column(own, times))
    for plot in dict.fromkeys(plot for plot, _ in shown):
        for band in plot.bands().values():
            for name, value in (("median", band.median), ("low", band.low), ("high", band.high)):
                heads.append(f"{band.name} {name} [{band.unit}]")
                columns.append([f"{value:.9g}"] * len(times))
    rows = zip((axis.cell(float(time)) for time in times), *columns, strict=True)
    return [tuple(heads), *rows]


def copy_table(rows: Rows) -> None:
    """Copy a table: tabs for spreadsheets, and CSV for programs that take it."""
    data = QMimeData()
    data.setText("".join("\t".join(map(sheet_cell, row)) + "\n" for row in rows))
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    data.setData("text/csv", text.getvalue().encode())
    QGuiApplication.clipboard().setMimeData(data)


def picture_of(widget: QWidget) -> QPixmap:
    """Return `widget` as it is shown, at twice the resolution."""
    picture = QPixmap(widget.size() * _DENSITY)
    picture.setDevicePixelRatio(_DENSITY)
    widget.render(picture)
    return picture


def _head(plot: Plotted, line: PlotLine, *, named: bool, of: str = "") -> str:
    return f"{f'{plot.title}: ' if named else ''}{line.title}{of} [{plot.unit.value}]"


def _level_column(levels: Iterable[Level], times: np.ndarray) -> list[str]:
    cells = [""] * len(times)
    for _, start, end, value in levels:
        first, last = np.searchsorted(times, [start, end])
        cells[first : max(last, first + 1)] = [f"{value:.9g}"] * max(1, int(last - first))
    return cells


def _column(line: PlotLine, times: np.ndarray) -> list[str]:
    cells = [""] * len(times)
    own, values = line.points()
    for index, value in zip(np.searchsorted(times, own), values, strict=True):
        if np.isfinite(value):
            cells[int(index)] = f"{value:.9g}"
    return cells


_DENSITY = 2
"""Pixels of a picture per pixel of the screen."""


class PlotMenu(QMenu):
    """The menu of one plot."""

    def __init__(self, widget: QWidget, plot: Plotted) -> None:
        super().__init__(widget)
        self._widget, self._plot = widget, plot
        self._add("Copy as image", self.copy_picture, "Ctrl+Shift+C")
        self._add("Copy as data", self.copy_data, QKeySequence.StandardKey.Copy)
        self._add("Save image…", self.choose_file, "")
        self.addSeparator()
        self.everything = self._add("Show the whole time range", plot.window_of_time.show_all, "Home")
        self.from_zero = self._check("Start the axis at zero", self._set_from_zero)
        self.logarithmic = self._check("Logarithmic axis", self._set_logarithmic)
        self.aboutToShow.connect(self._update)
        self._update()

    def copy_picture(self) -> None:
        """Copy the plot as a picture."""
        QGuiApplication.clipboard().setPixmap(self.picture())

    def copy_data(self) -> None:
        """Copy the values: one row per time, units in the head."""
        copy_table(table_of([self._plot]))

    def picture(self) -> QPixmap:
        """Return the plot as it is shown, at twice the resolution."""
        return picture_of(self._widget)

    def save_picture(self, path: str) -> None:
        """Write the plot to `path` as PNG in the background and show whether it succeeded."""
        image, show = self.picture().toImage(), self._plot.head.show_message
        BackgroundJob(lambda: write_whole(Path(path), png(image)), self).start(
            lambda _written: show(f"Saved {path}."), lambda _error: show(f"Cannot write {path}. Choose another folder.")
        )

    def choose_file(self) -> None:
        """Ask where to save the picture, without blocking the window."""
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.PicturesLocation)
        dialog = QFileDialog(self._widget, "Save image", folder, "PNG image (*.png)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        dialog.selectFile(f"{self._plot.title.replace('/', ' ')}.png")
        dialog.fileSelected.connect(self.save_picture)
        opened(dialog)

    def _add(self, text: str, act: object, shortcut: str | QKeySequence.StandardKey) -> QAction:
        action = self.addAction(text)
        action.triggered.connect(act)
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.setShortcutVisibleInContextMenu(True)
            self._widget.addAction(action)
        return action

    def _check(self, text: str, act: object) -> QAction:
        action = self._add(text, act, "")
        action.setCheckable(True)
        return action

    def _update(self) -> None:
        scaling = self._plot.scaling
        self.from_zero.setChecked(scaling.from_zero)
        self.from_zero.setEnabled(not scaling.bounds.logarithmic)
        self.logarithmic.setChecked(scaling.bounds.logarithmic)

    def _set_from_zero(self, checked: bool) -> None:  # noqa: FBT001 (Qt hands it over)
        self._plot.scaling.from_zero = checked
        self._plot.touch()

    def _set_logarithmic(self, checked: bool) -> None:  # noqa: FBT001 (as above)
        self._plot.scaling.forced_logarithmic = checked
        self._plot.touch()
