"""A plot's menu in our own words: copy as picture, copy as data, save, scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPixmap
from PySide6.QtWidgets import QFileDialog, QMenu

from widgets.plots.copying import as_table

if TYPE_CHECKING:
    from widgets.plots.time_plot import TimePlot

_DENSITY = 2
"""Pixels of a picture for each of the screen, so that it reads well in a ticket."""


class PlotMenu(QMenu):
    """The menu of one plot."""

    def __init__(self, plot: TimePlot) -> None:
        super().__init__(plot)
        self._plot = plot
        self._add("Copy as picture", self.copy_picture, "Ctrl+Shift+C")
        self._add("Copy as data", self.copy_data, QKeySequence.StandardKey.Copy)
        self._add("Save picture…", self.choose_file, "")
        self.addSeparator()
        self.everything = self._add("Show the whole time", plot.window_of_time.show_all, "0")
        self.from_zero = self._check("Start the axis at zero", self._set_from_zero)
        self.logarithmic = self._check("Logarithmic axis", self._set_logarithmic)
        self.aboutToShow.connect(self._update)
        self._update()

    def copy_picture(self) -> None:
        """Put the plot on the clipboard as a picture."""
        QGuiApplication.clipboard().setPixmap(self.picture())

    def copy_data(self) -> None:
        """Put the figures on the clipboard: one row for each moment, units in the head."""
        plot = self._plot
        QGuiApplication.clipboard().setText(as_table(plot.lines.values(), plot.bands(), plot.unit, plot.view.time_axis))

    def picture(self) -> QPixmap:
        """Return the plot as it is shown, twice as fine."""
        plot = self._plot
        picture = QPixmap(plot.size() * _DENSITY)
        picture.setDevicePixelRatio(_DENSITY)
        plot.render(picture)
        return picture

    def save_picture(self, path: str) -> bool:
        """Write the plot to `path` as PNG; return whether that worked."""
        return self.picture().save(path, "PNG")

    def choose_file(self) -> None:
        """Ask where to save the picture; the window stays alive meanwhile."""
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.PicturesLocation)
        dialog = QFileDialog(self._plot, "Save picture", folder, "PNG picture (*.png)")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        dialog.selectFile(f"{self._plot.title.replace('/', ' ')}.png")
        dialog.fileSelected.connect(self._save_or_say)
        dialog.open()

    def _save_or_say(self, path: str) -> None:
        saved = self.save_picture(path)
        self._plot.head.reading.set_text(
            f"Saved {path}." if saved else f"{path} could not be written. Choose another folder."
        )

    def _add(self, words: str, act: object, shortcut: str | QKeySequence.StandardKey) -> QAction:
        action = self.addAction(words)
        action.triggered.connect(act)
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.setShortcutVisibleInContextMenu(True)
            self._plot.addAction(action)
        return action

    def _check(self, words: str, act: object) -> QAction:
        action = self._add(words, act, "")
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
