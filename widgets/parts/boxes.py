"""Rows, columns and areas that scroll."""

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

BoxT = TypeVar("BoxT", bound=QBoxLayout)

Part = QWidget | QLayout
Item = Part | tuple[Part, int] | tuple[QWidget, int, Qt.AlignmentFlag] | int | None
"""A widget or layout, also with its stretch and alignment; space in pixels; None for a stretch."""

Margins = tuple[int, int, int, int]
"""Left, top, right and bottom."""


def row_in(widget: QWidget, spacing: int = -1, margins: Margins = (0, 0, 0, 0)) -> QHBoxLayout:
    """Return a row as the layout of `widget`, by default with the style's spacing and without margins."""
    row = QHBoxLayout(widget)
    row.setContentsMargins(*margins)
    row.setSpacing(spacing)
    return row


def column_in(widget: QWidget, spacing: int = -1, margins: Margins = (0, 0, 0, 0)) -> QVBoxLayout:
    """Return a column as the layout of `widget`, by default with the style's spacing and without margins."""
    column = QVBoxLayout(widget)
    column.setContentsMargins(*margins)
    column.setSpacing(spacing)
    return column


def fill(box: BoxT, *items: Item) -> BoxT:
    """Add `items` to `box` and return it."""
    for item in items:
        if item is None:
            box.addStretch(1)
        elif isinstance(item, int):
            box.addSpacing(item)
        else:
            part, *placing = item if isinstance(item, tuple) else (item,)
            add: Callable[..., None] = box.addLayout if isinstance(part, QLayout) else box.addWidget
            add(part, *placing)
    return box


def in_row(*items: Item, spacing: int = -1) -> QHBoxLayout:
    """Return `items` in a row, by default with the style's spacing."""
    box = QHBoxLayout()
    box.setSpacing(spacing)
    return fill(box, *items)


def in_column(*items: Item, spacing: int = -1) -> QVBoxLayout:
    """Return `items` in a column, by default with the style's spacing."""
    box = QVBoxLayout()
    box.setSpacing(spacing)
    return fill(box, *items)


def scrolled(inner: QWidget) -> QScrollArea:
    """Return a frameless area in which `inner` scrolls vertically only."""
    area = QScrollArea(widgetResizable=True)
    area.setWidget(inner)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


class FittedWidget(QWidget):
    """Widget that fits its content to its size after every change of it."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the content to the new size."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Fit the content to the current size."""
        raise NotImplementedError
