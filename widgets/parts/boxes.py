"""Rows and columns as the layout of a widget."""

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

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
