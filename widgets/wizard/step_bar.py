"""Bar of the wizard's steps: marks the current one and leads to the reachable ones."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from widgets.parts.boxes import FittedWidget, row_in
from widgets.parts.text import set_tool_tip
from widgets.theme import SPACE, TextSize, palette, text_font

CIRCLE = 20
HEIGHT = 44


class StepButton(QAbstractButton):
    """Numbered circle (a tick when done), the step's title and a short detail."""

    def __init__(self, number: int, title: str) -> None:
        super().__init__()
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
        """Show `detail` after the title: a count, or the number of errors."""
        self._detail = detail
        self.setAccessibleName(f"Step {self._number}: {self._title}{f', {detail}' if detail else ''}")
        set_tool_tip(self, f"{self._title}{f': {detail}' if detail else ''}")
        self.updateGeometry()
        self.update()

    def wide(self) -> int:
        """Return the width of the button with its title, in pixels."""
        title = QFontMetrics(text_font(TextSize.BODY, bold=True)).horizontalAdvance(self._title)
        detail = QFontMetrics(text_font(TextSize.SMALL)).horizontalAdvance(self._detail)
        return CIRCLE + SPACE[1] * 3 + title + (detail + SPACE[1] if self._detail else 0)

    def sizeHint(self) -> QSize:
        """Return the full width, or that of the circle alone in the short form."""
        return QSize(self.wide() if not self.short or self.isChecked() else CIRCLE + 2 * SPACE[1], HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Return the size hint: a button does not shrink."""
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw circle and title, and a line under the current step."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = palette()
        current = self.isChecked()
        ink = QColor(colours.text if self.isEnabled() else colours.baseline)
        if self.underMouse() and self.isEnabled() and not current:
            painter.fillRect(self.rect(), QColor(colours.raised))
        self._draw_circle(painter, QColor(colours.accent), QColor(colours.on_accent), ink)
        if current or not self.short:
            self._draw_title(painter, ink, QColor(colours.muted))
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

    def _draw_title(self, painter: QPainter, ink: QColor, muted: QColor) -> None:
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


class StepBar(FittedWidget):
    """The steps in a row; unreachable ones are disabled."""

    chosen = Signal(int)

    def __init__(self, titles: tuple[str, ...]) -> None:
        super().__init__()
        self.setAccessibleName("Steps")
        self.setFixedHeight(HEIGHT + 1)
        row = row_in(self, SPACE[1], (SPACE[3], 0, SPACE[3], 1))
        self.buttons = tuple(StepButton(number, title) for number, title in enumerate(titles, 1))
        for index, button in enumerate(self.buttons):
            button.clicked.connect(lambda _checked=False, index=index: self.chosen.emit(index))
            row.addWidget(button)
        row.addStretch(1)

    def show_step(self, current: int, reachable: int, details: tuple[str, ...]) -> None:
        """Mark step `current`, enable the steps up to `reachable`, and show `details` after the titles."""
        for index, (button, detail) in enumerate(zip(self.buttons, details, strict=True)):
            button.setEnabled(index <= reachable)
            button.done = index < current
            button.setChecked(index == current)
            button.set_detail(detail)
        self.fit()

    def fit(self) -> None:
        """Hide the titles of the other steps where they do not fit."""
        margins = 2 * SPACE[3] + SPACE[1] * len(self.buttons)
        short = sum(button.wide() for button in self.buttons) + margins > self.width()
        for button in self.buttons:
            button.short = short
            button.updateGeometry()
            button.update()

    def minimumSizeHint(self) -> QSize:
        """Return the width of the circles and one title."""
        return QSize(len(self.buttons) * (CIRCLE + 3 * SPACE[1]) + 120, HEIGHT + 1)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the line under the row."""
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, QColor(palette().line))
