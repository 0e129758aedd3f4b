"""One line of plain text that gives way: cut with … where it does not fit."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from widgets.parts.text import tool_tip, visible
from widgets.theme import palette


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

    def fits(self) -> bool:
        """Return whether all of the text is shown."""
        return QFontMetricsF(self.font()).horizontalAdvance(self._text) <= self.width()

    def event(self, event: QEvent) -> bool:
        """Show a text that is cut as a tool tip, where there is no other."""
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and not self.toolTip():
            QToolTip.showText(event.globalPos(), "" if self.fits() else tool_tip(self._text), self)
            return True
        return super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw what fits."""
        painter = QPainter(self)
        painter.setPen(QColor(getattr(palette(), self._colour)))
        shown = QFontMetricsF(self.font()).elidedText(self._text, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), int(self._alignment | Qt.AlignmentFlag.AlignVCenter), shown)
