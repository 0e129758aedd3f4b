"""Drawing area of a plot. Mouse and keys only emit signals."""

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from widgets.parts.text import set_tool_tip
from widgets.plots.axis import TimeAxis, ValueAxis
from widgets.plots.layers import Backdrop, Cursor, CurveLabels, Foreground
from widgets.theme import palette

_DRAG = 6
"""Pixels the pointer must move to select a range."""
_KEYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -20, Qt.Key.Key_PageDown: 20}


class PlotView(pg.GraphicsView):
    """Axes, curves and labels, without pyqtgraph's menus and mouse modes."""

    hovered = Signal(object)  # the time under the pointer, or None
    stepped = Signal(int)  # move the crosshair by this many points
    range_chosen = Signal(float, float)
    zoomed = Signal(float, float)  # around this time, by this factor
    reset = Signal()
    menu_wanted = Signal(QPoint)

    def __init__(self, axis: TimeAxis | None = None) -> None:
        """Use `axis` as the horizontal axis, by default a TimeAxis."""
        super().__init__(background=None)
        self.box = pg.ViewBox(enableMenu=False, enableMouse=False, defaultPadding=0)
        self.box.disableAutoRange()
        self.value_axis, self.time_axis = ValueAxis(), axis or TimeAxis()
        self.labels = CurveLabels(self.box)
        self._lay_out()
        self.backdrop, self.foreground, self.cursor = Backdrop(self.box), Foreground(self.box), Cursor(self.box)
        self._pressed: QPointF | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(56)
        self.restyle()

    def restyle(self) -> None:
        """Apply the current colours."""
        self.setBackground(QColor(palette().surface))
        self.value_axis.restyle()
        self.time_axis.restyle()
        self.box.update()
        self.labels.update()

    def time_at(self, position: QPointF) -> float:
        """Return the time at `position` (pixels of this widget), clamped to the axis."""
        start, end = self.box.viewRange()[0]
        area = self.box.sceneBoundingRect()
        part = (position.x() - area.left()) / max(area.width(), 1.0)
        return float(start + min(max(part, 0.0), 1.0) * (end - start))

    def _lay_out(self) -> None:
        grid = pg.GraphicsLayout()
        grid.setContentsMargins(0, 4, 0, 0)
        grid.setSpacing(0)
        grid.addItem(self.value_axis, 0, 0)
        grid.addItem(self.box, 0, 1)
        grid.addItem(self.labels, 0, 2)
        grid.addItem(self.time_axis, 1, 1)
        self.value_axis.linkToView(self.box)
        self.time_axis.linkToView(self.box)
        self.setCentralItem(grid)

    # Input. super() is not called: pyqtgraph's own handling must not run.

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the crosshair; extend the selected range while the button is down."""
        time = self.time_at(event.position())
        if self._pressed is not None and self._is_drag(event.position()):
            self.foreground.selection = (self.time_at(self._pressed), time)
            self.foreground.update()
        mark = self.foreground.mark_at(time)
        set_tool_tip(self.viewport(), mark.text if mark is not None else "")
        self.hovered.emit(time)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start to select a range."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = event.position()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Zoom to the selected range."""
        chosen, self.foreground.selection = self.foreground.selection, None
        self._pressed = None
        self.foreground.update()
        if chosen is not None and event.button() is Qt.MouseButton.LeftButton:
            start, end = sorted(chosen)
            self.range_chosen.emit(start, end)

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        """Reset the zoom."""
        self.reset.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with Ctrl; without it, leave the event to the scroll area."""
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
            return
        self.zoomed.emit(self.time_at(event.position()), 0.8 ** (event.angleDelta().y() / 120))
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the plot's menu."""
        self.menu_wanted.emit(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the crosshair (arrows), zoom (plus, minus) or reset the zoom (0)."""
        key = Qt.Key(event.key())
        centre = sum(self.box.viewRange()[0]) / 2
        if key in _KEYS:
            self.stepped.emit(_KEYS[key])
        elif key in {Qt.Key.Key_Plus, Qt.Key.Key_Equal}:
            self.zoomed.emit(centre, 0.8)
        elif key is Qt.Key.Key_Minus:
            self.zoomed.emit(centre, 1.25)
        elif key is Qt.Key.Key_0:
            self.reset.emit()
        else:
            QWidget.keyPressEvent(self, event)

    def enterEvent(self, _event: QEnterEvent) -> None:
        """Do nothing until the pointer moves."""

    def leaveEvent(self, _event: QEvent) -> None:
        """Hide the crosshair."""
        self.hovered.emit(None)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Draw the focus frame."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Remove the focus frame."""
        super().focusOutEvent(event)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the plot, and a frame if it has the focus."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self.viewport())
            painter.setPen(QColor(palette().accent))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def _is_drag(self, position: QPointF) -> bool:
        return self._pressed is not None and abs(position.x() - self._pressed.x()) >= _DRAG
