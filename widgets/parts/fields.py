"""Small input fields: a percentage and a check box with an elided title."""

from PySide6.QtCore import QLocale, QSize, Qt
from PySide6.QtGui import QResizeEvent, QValidator
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QSizePolicy

from widgets.parts.text import set_tool_tip, visible
from widgets.theme import SPACE, TextSize, text_font


class PerCent(QDoubleSpinBox):
    """Spin box for 0 to 100 % with up to two decimals."""

    def __init__(self) -> None:
        super().__init__()
        self.setRange(0.0, 100.0)
        self.setDecimals(2)
        self.setSingleStep(1.0)
        self.setSuffix(" %")
        self.setLocale(QLocale.c())  # textFromValue() writes a point
        self.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # aligned with the text of other fields

    def textFromValue(self, value: float) -> str:
        """Return `value` without trailing zeros."""
        return f"{value:g}"

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept a decimal comma as a point; as a group separator it would be dropped: 25 for “2,5”."""
        return super().validate(text.replace(",", "."), position)


class TitleBox(QCheckBox):
    """Check box with a bold title, elided in the middle if too long; the tool tip shows all of it."""

    def __init__(self, title: str) -> None:
        super().__init__()
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
        """Return the least readable width."""
        return QSize(min(self.sizeHint().width(), 96), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Elide the title to the width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        spare = self.sizeHint().width() - self.fontMetrics().horizontalAdvance(self._title)
        space = max(16, self.width() - spare + SPACE[0])
        self.setText(self.fontMetrics().elidedText(self._title, Qt.TextElideMode.ElideMiddle, space).replace("&", "&&"))
