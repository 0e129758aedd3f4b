"""Plots, tabs and scroll areas for screen readers.

A plot has the role *chart*, and a description that is made when it is read, not with each sample. Qt gives tabs and
scroll areas the role *client*, which says nothing.
"""

from functools import cache
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QAbstractScrollArea, QAccessibleWidget, QScrollArea, QTabWidget, QWidget


@runtime_checkable
class Described(Protocol):
    """Interface of a widget that draws a plot."""

    def plot_description(self) -> str:
        """Return what the plot shows: unit, curves with their latest values, trials, the crosshair's reading."""
        ...


class AccessiblePlot(QAccessibleWidget):
    """A plot as screen readers see it."""

    def __init__(self, widget: QWidget, plot: Described) -> None:
        super().__init__(widget, QAccessible.Role.Chart)
        self._plot = plot

    def text(self, kind: QAccessible.Text) -> str:
        """Return the name of the widget, or the description as it is now."""
        return self._plot.plot_description() if kind is QAccessible.Text.Description else super().text(kind)

    def childCount(self) -> int:
        """Return the number of parts, without the viewport of a scroll area, which is drawn on."""
        return 0 if isinstance(self.widget(), QAbstractScrollArea) else super().childCount()


@cache
def install_accessible_roles() -> None:
    """Tell Qt of the roles of plots, tabs and scroll areas; once."""
    QAccessible.installFactory(_interface_of)


def announce(widget: QWidget) -> None:
    """Report that the description of a plot has changed by an action of the user."""
    QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged))


def _interface_of(_name: str, made_for: QObject) -> QAccessibleWidget | None:
    if isinstance(made_for, QTabWidget | QScrollArea):
        return QAccessibleWidget(made_for, QAccessible.Role.Pane)
    if isinstance(made_for, QWidget) and isinstance(made_for, Described):
        return AccessiblePlot(made_for, made_for)
    return None
