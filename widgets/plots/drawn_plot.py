"""Base of the plots that the program draws itself: focus, reading under the pointer, copies, screen readers."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QAction, QColor, QFocusEvent, QGuiApplication, QHelpEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from widgets.parts.text import sheet_text, tool_tip
from widgets.plots.accessible import install_accessible_roles
from widgets.theme import palette

SheetRow = Sequence[str | float | None]
"""Cells of a row for a spreadsheet."""


class DrawnPlot(QWidget):
    """A plot. A tool tip reads what is under the pointer; menu and keys copy it as image and as data."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        install_accessible_roles()
        self._copy_action("Copy as image", "Ctrl+Shift+C").triggered.connect(self.copy_picture)
        self._copy_action("Copy as data", "Ctrl+C").triggered.connect(self.copy_data)

    def plot_description(self) -> str:
        """Return what the plot shows, for a screen reader."""
        raise NotImplementedError

    def data_rows(self) -> Sequence[SheetRow]:
        """Return the head and a row for each point; no rows without data."""
        raise NotImplementedError

    def text_at(self, position: QPointF) -> str:
        """Return the text of what is at `position`, or an empty string."""
        raise NotImplementedError

    def copy_picture(self) -> None:
        """Copy the plot as a picture."""
        QGuiApplication.clipboard().setPixmap(self.grab())

    def copy_data(self) -> None:
        """Copy the plot's data for a spreadsheet."""
        if rows := self.data_rows():
            QGuiApplication.clipboard().setText(sheet_text(rows))

    def event(self, event: QEvent) -> bool:
        """Show what is under the pointer in a tool tip."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            text = self.text_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), tool_tip(text) if text else "", self)
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Draw the focus frame."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Remove the focus frame."""
        super().focusOutEvent(event)
        self.update()

    def draw_focus(self, painter: QPainter) -> None:
        """Draw the focus frame if the plot has the focus."""
        if self.hasFocus():
            painter.setPen(QColor(palette().accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _copy_action(self, text: str, keys: str) -> QAction:
        action = QAction(text, self, shortcut=QKeySequence(keys), shortcutContext=Qt.ShortcutContext.WidgetShortcut)
        self.addAction(action)
        return action
