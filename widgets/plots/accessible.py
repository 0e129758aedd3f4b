"""Plots for screen readers: role *chart*, and a description that is made when it is read, not with each sample."""

from functools import cache
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QAccessibleWidget, QWidget


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


@cache
def install_accessible_plots() -> None:
    """Tell Qt of the role of plots; once."""
    QAccessible.installFactory(_interface_of)


def announce(widget: QWidget) -> None:
    """Report that the description of a plot has changed by an action of the user."""
    QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged))


def _interface_of(_name: str, made_for: QObject) -> AccessiblePlot | None:
    if not isinstance(made_for, QWidget):
        return None
    return AccessiblePlot(made_for, made_for) if isinstance(made_for, Described) else None
