"""Drawing area of a plot. Mouse and keys only emit signals."""

from collections.abc import Callable

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollArea, QWidget

from widgets.parts.text import set_tool_tip
from widgets.plots.accessible import install_accessible_roles
from widgets.plots.axis import TimeAxis, ValueAxis, tick_font
from widgets.plots.layers import Backdrop, Cursor, CurveLabels, Foreground
from widgets.theme import palette

_DRAG = 6
"""Pixels the pointer must move to select a range."""
_FLAT = 24
"""Height in pixels of a box below which it selects a time range alone."""

_PANS = {Qt.Key.Key_Left: -0.25, Qt.Key.Key_Right: 0.25}
_KEYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -20, Qt.Key.Key_PageDown: 20}


class PlotView(pg.GraphicsView):
    """Axes, curves and labels, without pyqtgraph's menus and mouse modes."""

    hovered = Signal(object)  # the time under the pointer, or None
    stepped = Signal(int, bool)  # move the crosshair by this many points; True: extend the selected span
    box_chosen = Signal(float, float, float, float)  # start, end, and lowest and highest value; both 0: time alone
    span_chosen = Signal(float, float)
    panned = Signal(float)  # by this share of the shown range
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
        self._selecting = False
        self.describe: Callable[[], str] = str
        install_accessible_roles()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(56)
        self.restyle()

    def plot_description(self) -> str:
        """Return what the plot shows; `describe` makes it."""
        return self.describe()

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
        grid.setContentsMargins(0, round(QFontMetricsF(tick_font()).height() / 2), 0, 0)
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
        """Move the crosshair; extend the box, or with Shift the span, while the button is down."""
        time = self.time_at(event.position())
        if self._pressed is not None and self._is_drag(event.position()):
            if self._selecting:
                self.span_chosen.emit(self.time_at(self._pressed), time)
            else:
                self.foreground.box = self._box_to(event.position())
                self.foreground.update()
        mark = self.foreground.mark_at(time)
        set_tool_tip(self.viewport(), mark.text if mark is not None else "")
        self.hovered.emit(time)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start to draw a box, or with Shift to select a span."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = event.position()
            self._selecting = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Zoom to the drawn box."""
        box, self.foreground.box = self.foreground.box, None
        self._pressed = None
        self.foreground.update()
        if box is not None and event.button() is Qt.MouseButton.LeftButton:
            (start, end), (low, high) = self.box.viewRange()
            width, height = float(self.box.width()), float(self.box.height())
            times = [start + edge / width * (end - start) for edge in (box.left(), box.right())]
            whole = box.height() >= height
            values = (
                [0.0, 0.0] if whole else [high - edge / height * (high - low) for edge in (box.bottom(), box.top())]
            )
            self.box_chosen.emit(*times, *values)

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        """Reset the zoom."""
        self.reset.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom, with Shift pan; where the plots scroll, only with Ctrl."""
        turned = event.angleDelta().y() or event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.panned.emit(-turned / 1200)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier or not self._scrolls():
            self.zoomed.emit(self.time_at(event.position()), 0.8 ** (turned / 120))
        else:
            event.ignore()
            return
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the plot's menu."""
        self.menu_wanted.emit(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the crosshair (arrows; with Shift select, with Ctrl pan), zoom (plus, minus) or reset it (Home)."""
        key, held = Qt.Key(event.key()), event.modifiers()
        centre = sum(self.box.viewRange()[0]) / 2
        if held & Qt.KeyboardModifier.AltModifier:
            QWidget.keyPressEvent(self, event)
        elif key in _PANS and held & Qt.KeyboardModifier.ControlModifier:
            self.panned.emit(_PANS[key])
        elif key in _KEYS:
            self.stepped.emit(_KEYS[key], bool(held & Qt.KeyboardModifier.ShiftModifier))
        elif key in {Qt.Key.Key_Plus, Qt.Key.Key_Equal}:
            self.zoomed.emit(centre, 0.8)
        elif key is Qt.Key.Key_Minus:
            self.zoomed.emit(centre, 1.25)
        elif key is Qt.Key.Key_Home:
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

    def _box_to(self, position: QPointF) -> QRectF:
        """Return the box drawn to `position`; a flat one spans all values."""
        area = self.box.sceneBoundingRect()
        start = self._pressed or position
        left, right = sorted(min(max(place.x() - area.left(), 0.0), area.width()) for place in (start, position))
        top, bottom = sorted(min(max(place.y() - area.top(), 0.0), area.height()) for place in (start, position))
        if bottom - top < _FLAT:
            top, bottom = 0.0, area.height()
        return QRectF(left, top, right - left, bottom - top)

    def _scrolls(self) -> bool:
        """Return whether the plots around this one do not fit and scroll."""
        widget = self.parentWidget()
        while widget is not None and not isinstance(widget, QScrollArea):
            widget = widget.parentWidget()
        return widget is not None and widget.verticalScrollBar().maximum() > 0

    def _is_drag(self, position: QPointF) -> bool:
        return self._pressed is not None and abs(position.x() - self._pressed.x()) >= _DRAG
