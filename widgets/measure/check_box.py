"""A box to tick whose words give way: a long host name does not widen the page."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QWidget

from widgets.parts.text import set_tool_tip, visible
from widgets.theme import SPACE, TextSize, text_font


class TitleBox(QCheckBox):
    """A check box with a bold title, cut in the middle where there is no room; the tool tip has it whole."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = visible(title)
        self.setFont(text_font(TextSize.BODY, bold=True))
        self.setAccessibleName(self._title)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        set_tool_tip(self, self._title)
        self._fit()

    def sizeHint(self) -> QSize:
        """Return the width of the whole title."""
        box = self.style().pixelMetric(self.style().PixelMetric.PM_IndicatorWidth, None, self) + SPACE[2]
        return QSize(self.fontMetrics().horizontalAdvance(self._title) + box + SPACE[0], super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Return the width below which nothing can be read."""
        return QSize(min(self.sizeHint().width(), 96), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the title to the width there is."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        spare = self.sizeHint().width() - self.fontMetrics().horizontalAdvance(self._title)
        space = max(16, self.width() - spare + SPACE[0])
        self.setText(self.fontMetrics().elidedText(self._title, Qt.TextElideMode.ElideMiddle, space).replace("&", "&&"))
