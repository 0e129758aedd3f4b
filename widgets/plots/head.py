"""The line above a plot: what it shows in which unit, what the crosshair reads, and its menu."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from widgets.plots.axis import VALUE_WIDTH
from widgets.text import visible
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font


class OneLine(QWidget):
    """One line of plain text that is cut with … where it does not fit, and never widens what it stands in."""

    def __init__(
        self, font: QFont, colour: str = "text", alignment: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft
    ) -> None:
        super().__init__()
        self.setFont(font)
        self._colour, self._alignment = colour, alignment
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """Return the whole text."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show `text`."""
        shown = visible(text).replace("\n", " ")
        if shown != self._text:
            self._text = shown
            self.setAccessibleName(shown)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """Return the size that shows all of it."""
        metrics = QFontMetricsF(self.font())
        return QSize(round(metrics.horizontalAdvance(self._text)) + 2, round(metrics.height()))

    def minimumSizeHint(self) -> QSize:
        """Return next to no width: the text is cut."""
        return QSize(24, self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw what fits."""
        painter = QPainter(self)
        painter.setPen(QColor(getattr(palette(), self._colour)))
        shown = QFontMetricsF(self.font()).elidedText(self._text, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), int(self._alignment | Qt.AlignmentFlag.AlignVCenter), shown)


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
