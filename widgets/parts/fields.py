"""Small input fields: a percentage and a check box with an elided title."""

from PySide6.QtCore import QLocale
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QDoubleSpinBox

from widgets.theme import SPACE


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

    def setAccessibleName(self, name: str) -> None:
        """Name the field, and the line in it, which takes the focus."""
        super().setAccessibleName(name)
        self.lineEdit().setAccessibleName(name)

    def textFromValue(self, value: float) -> str:
        """Return `value` without trailing zeros."""
        return f"{value:g}"

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept a decimal comma as a point; as a group separator it would be dropped: 25 for “2,5”."""
        return super().validate(text.replace(",", "."), position)
