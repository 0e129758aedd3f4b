"""Flame graph: frames as rectangles below their callers; a click zooms, a search marks names."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent

from app.flame_graph import FlameFrame, frame_colour, largest_change
from widgets.parts.text import visible
from widgets.plots.drawn_plot import DrawnPlot, SheetRow
from widgets.theme import TextSize, palette, text_font

ROW = 18
LEAST = 0.5
"""Height of a frame, and width below which it is not drawn; pixels."""

_FOUND, _TEXT = "#c77dff", "#111111"


class FlameGraph(DrawnPlot):
    """The root is at the top. Home, or a click on the root, shows the whole again."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: Sequence[FlameFrame] = ()
        self.zoomed: FlameFrame | None = None
        self._searched = ""
        self._largest = 0.0

    def show_frames(self, frames: Sequence[FlameFrame], title: str) -> None:
        """Show other frames."""
        self.frames, self.zoomed, self._largest = frames, None, largest_change(frames)
        self.setAccessibleName(f"Flame graph: {visible(title)}")
        self.setMinimumHeight(ROW * (1 + max((frame.depth for frame in frames), default=0)))
        self.update()

    def search(self, text: str) -> None:
        """Mark the frames with `text` in their names."""
        self._searched = text
        self.update()

    def zoom(self, frame: FlameFrame | None) -> None:
        """Show `frame` as wide as the graph, and what it calls; None or the root: the whole."""
        self.zoomed = frame if frame is not None and frame.depth else None
        self.update()

    def plot_description(self) -> str:
        """Return the widest frames."""
        widest = sorted(self.frames, key=lambda frame: -frame.width)[:10]
        return "; ".join(frame.text for frame in widest)

    def data_rows(self) -> Sequence[SheetRow]:
        """Return a row for each frame."""
        rows = [(frame.name, frame.depth, frame.width, frame.change) for frame in self.frames]
        return [("frame", "depth", "share", "change"), *rows] if rows else []

    def text_at(self, position: QPointF) -> str:
        """Return name and share of the frame at `position`."""
        frame = self.frame_at(position)
        return "" if frame is None else frame.text

    def frame_at(self, position: QPointF) -> FlameFrame | None:
        """Return the frame at `position`, None beside all."""
        return next((frame for frame in self.frames if self.place(frame).contains(position)), None)

    def place(self, frame: FlameFrame) -> QRectF:
        """Return where a frame is drawn."""
        left, width = (0.0, 1.0) if self.zoomed is None else (self.zoomed.left, self.zoomed.width)
        if self.zoomed is not None and frame.depth <= self.zoomed.depth:  # its callers span the whole
            inside = frame.left <= left + 1e-9 and frame.left + frame.width >= left + width - 1e-9
            return QRectF(0, frame.depth * ROW, self.width() if inside else 0, ROW - 1)
        scale = self.width() / width
        box = QRectF((frame.left - left) * scale, frame.depth * ROW, frame.width * scale, ROW - 1)
        return box.intersected(QRectF(0, 0, self.width(), self.height()))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the frames that are wide enough to be seen."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(palette().surface))
        painter.setFont(text_font(TextSize.SMALL))
        metrics = painter.fontMetrics()
        for frame in self.frames:
            place = self.place(frame)
            if place.width() < LEAST:
                continue
            found = frame.matches(self._searched)
            painter.fillRect(
                place.adjusted(0, 0, -min(1.0, place.width() / 4), 0),
                QColor(_FOUND) if found else QColor(*frame_colour(frame, self._largest)),
            )
            if place.width() > 3 * metrics.averageCharWidth():
                painter.setPen(QColor(_TEXT))
                inner = place.adjusted(3, 0, -3, 0)
                text = metrics.elidedText(visible(frame.name), Qt.TextElideMode.ElideRight, int(inner.width()))
                painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter), text)
        self.draw_focus(painter)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Zoom to the frame under the pointer."""
        super().mousePressEvent(event)
        if event.button() is Qt.MouseButton.LeftButton and (frame := self.frame_at(event.position())) is not None:
            self.zoom(frame)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Show the whole with Home."""
        if event.key() == Qt.Key.Key_Home:
            self.zoom(None)
        else:
            super().keyPressEvent(event)
