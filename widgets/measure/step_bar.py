"""Where the user is among the wizard's steps, and the way back to the earlier ones."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QWidget

from widgets.parts.text import set_tool_tip
from widgets.theme import SPACE, TextSize, palette, text_font

CIRCLE = 20
HEIGHT = 44


class StepButton(QAbstractButton):
    """A numbered circle, ticked when done, the step's title and a word about it."""

    def __init__(self, number: int, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = number
        self._title = title
        self._detail = ""
        self.done = False
        self.short = False
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.set_detail("")

    def set_detail(self, detail: str) -> None:
        """Show `detail` beside the title: how many there are, or what is wrong."""
        self._detail = detail
        self.setAccessibleName(f"Step {self._number}: {self._title}{f', {detail}' if detail else ''}")
        set_tool_tip(self, f"{self._title}{f': {detail}' if detail else ''}")
        self.updateGeometry()
        self.update()

    def wide(self) -> int:
        """Return the pixels the whole button takes."""
        title = QFontMetrics(text_font(TextSize.BODY, bold=True)).horizontalAdvance(self._title)
        detail = QFontMetrics(text_font(TextSize.SMALL)).horizontalAdvance(self._detail)
        return CIRCLE + SPACE[1] * 3 + title + (detail + SPACE[1] if self._detail else 0)

    def sizeHint(self) -> QSize:
        """Return the whole width, or the circle's alone where there is no room."""
        return QSize(self.wide() if not self.short or self.isChecked() else CIRCLE + 2 * SPACE[1], HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Return the width below which it makes no sense."""
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw circle, words, and the line under the step that is shown."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = palette()
        current = self.isChecked()
        ink = QColor(colours.text if self.isEnabled() else colours.baseline)
        if self.underMouse() and self.isEnabled() and not current:
            painter.fillRect(self.rect(), QColor(colours.raised))
        self._draw_circle(painter, QColor(colours.accent), QColor(colours.on_accent), ink)
        if current or not self.short:
            self._draw_words(painter, ink, QColor(colours.muted))
        if current:
            painter.fillRect(0, self.height() - 3, self.width(), 3, QColor(colours.accent))
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colours.accent), 1.5))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 5, -1, -6), 4, 4)

    def _draw_circle(self, painter: QPainter, accent: QColor, on_accent: QColor, ink: QColor) -> None:
        circle = QRectF(SPACE[1], (self.height() - CIRCLE) / 2, CIRCLE, CIRCLE)
        filled = self.isChecked()
        painter.setPen(QPen(accent if filled or self.done else ink, 1.2))
        painter.setBrush(accent if filled else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(circle)
        if self.done and not filled:
            centre = circle.center()
            points = (QPointF(-4.5, 0.2), QPointF(-1.3, 3.4), QPointF(4.6, -3.4))
            painter.setPen(QPen(accent, 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
            painter.drawPolyline([centre + point for point in points])
            return
        painter.setPen(on_accent if filled else ink)
        painter.setFont(text_font(TextSize.SMALL, bold=filled))
        painter.drawText(circle, Qt.AlignmentFlag.AlignCenter, str(self._number))

    def _draw_words(self, painter: QPainter, ink: QColor, muted: QColor) -> None:
        left = CIRCLE + 2 * SPACE[1]
        font = text_font(TextSize.BODY, bold=self.isChecked())
        painter.setFont(font)
        painter.setPen(ink)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.rect().adjusted(left, 0, 0, 0), middle, self._title)
        if self._detail:
            left += QFontMetrics(font).horizontalAdvance(self._title) + SPACE[1]
            painter.setFont(text_font(TextSize.SMALL))
            painter.setPen(muted)
            painter.drawText(self.rect().adjusted(left, 1, 0, 0), middle, self._detail)


class StepBar(QWidget):
    """The steps in a row. Those that make no sense yet cannot be pressed."""

    chosen = Signal(int)

    def __init__(self, titles: tuple[str, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Steps")
        self.setFixedHeight(HEIGHT + 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE[3], 0, SPACE[3], 1)
        row.setSpacing(SPACE[1])
        self.buttons = tuple(StepButton(number, title) for number, title in enumerate(titles, 1))
        for index, button in enumerate(self.buttons):
            button.clicked.connect(lambda _checked=False, index=index: self.chosen.emit(index))
            row.addWidget(button)
        row.addStretch(1)

    def show_step(self, current: int, reachable: int, details: tuple[str, ...]) -> None:
        """Mark step `current`; steps up to `reachable` can be pressed, and `details` stand beside the titles."""
        for index, (button, detail) in enumerate(zip(self.buttons, details, strict=True)):
            button.setEnabled(index <= reachable)
            button.done = index < current
            button.setChecked(index == current)
            button.set_detail(detail)
        self._fit()

    def _fit(self) -> None:
        margins = 2 * SPACE[3] + SPACE[1] * len(self.buttons)
        short = sum(button.wide() for button in self.buttons) + margins > self.width()
        for button in self.buttons:
            button.short = short
            button.updateGeometry()
            button.update()

    def minimumSizeHint(self) -> QSize:
        """Return the width of the circles and one title."""
        return QSize(5 * (CIRCLE + 3 * SPACE[1]) + 120, HEIGHT + 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the titles of the other steps out where there is no room."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the line under the row."""
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, QColor(palette().line))
