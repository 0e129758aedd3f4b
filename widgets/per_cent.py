"""A field for a share in per cent."""

from PySide6.QtWidgets import QDoubleSpinBox, QWidget

from widgets.theme import SPACE


class PerCent(QDoubleSpinBox):
    """A share from 0 to 100 %, to two digits, with no more of them than it has."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(0.0, 100.0)
        self.setDecimals(2)
        self.setSingleStep(1.0)
        self.setSuffix(" %")
        self.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # where the text of other fields begins

    def textFromValue(self, value: float) -> str:
        """Return the figure without zeros at its end."""
        return f"{value:g}"
