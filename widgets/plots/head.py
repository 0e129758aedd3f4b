"""The line above a plot: what it shows in which unit, what the crosshair reads, and its menu."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from widgets.one_line import OneLine
from widgets.plots.axis import VALUE_WIDTH
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font


class Legend(QWidget):
    """Names of more than four curves in one line, each behind a piece of its colour."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: tuple[tuple[str, QColor], ...] = ()
        self.setFont(text_font(TextSize.SMALL))
        self.setFixedHeight(round(QFontMetricsF(self.font()).height()))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_entries(self, entries: Sequence[tuple[str, QColor]]) -> None:
        """Name these curves; nothing is shown for none."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self.setAccessibleName(", ".join(title for title, _ in entries))
            self.update()
        self.setVisible(bool(entries))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the names as far as there is room."""
        painter = QPainter(self)
        metrics = QFontMetricsF(self.font())
        left = float(VALUE_WIDTH)
        for title, colour in self._entries:
            painter.setPen(QPen(colour, 2))
            middle = self.height() / 2
            painter.drawLine(QPointF(left, middle), QPointF(left + 10, middle))
            painter.setPen(QColor(palette().text))
            shown = metrics.elidedText(title, Qt.TextElideMode.ElideRight, max(0.0, self.width() - left - 14))
            painter.drawText(QRectF(left + 14, 0, self.width(), self.height()), Qt.AlignmentFlag.AlignVCenter, shown)
            left += 14 + metrics.horizontalAdvance(title) + SPACE[3]


class PlotHead(QWidget):
    """Title and unit on the left; on the right what the crosshair reads, or else what the grey band is."""

    def __init__(self) -> None:
        super().__init__()
        self.title = OneLine(text_font(TextSize.SMALL, bold=True))
        self.note = OneLine(text_font(TextSize.SMALL), "muted")
        self.reading = OneLine(figure_font(text_font(TextSize.SMALL).pointSizeF()), "text", Qt.AlignmentFlag.AlignRight)
        self.everything = QToolButton()
        self.everything.setText("Show all")
        self.everything.setToolTip("Show the whole time again (0)")
        self.everything.hide()
        self.menu_button = QToolButton()
        self.menu_button.setText("⋯")
        self.menu_button.setToolTip("Copy, save and scale this plot")
        for button in (self.everything, self.menu_button):
            button.setAutoRaise(True)
            button.setFont(text_font(TextSize.SMALL))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        row.addWidget(self.title)
        row.addWidget(self.note)
        row.addWidget(self.reading, 1)
        row.addWidget(self.everything)
        row.addWidget(self.menu_button)
