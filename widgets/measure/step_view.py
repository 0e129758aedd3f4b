"""What the five steps of the wizard have in common."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from widgets.measure.draft import PlanDraft
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font


class StepView(QWidget):
    """One step: it shows the draft and writes into it, and holds no data itself."""

    title = ""
    changed = Signal()  # the draft was edited here

    def __init__(self, draft: PlanDraft, heading: str, explanation: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.draft = draft
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(SPACE[4], SPACE[3], SPACE[4], SPACE[1])
        self.column.setSpacing(SPACE[1])
        self.heading = Text(heading, font=text_font(TextSize.HEADING, bold=True))
        self.explanation = Text(explanation, Tone.MUTED)
        self.column.addWidget(self.heading)
        self.column.addWidget(self.explanation)

    def refresh(self) -> None:
        """Show the draft as it is now."""

    def problem(self) -> str:
        """Return what keeps the user from going on, or an empty string."""
        return ""

    def focus_first(self) -> None:
        """Put the keyboard where the step begins."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)


def scrolled(inner: QWidget) -> QScrollArea:
    """Return a frameless area in which `inner` scrolls up and down only."""
    area = QScrollArea()
    area.setWidget(inner)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


def clear(layout: QVBoxLayout) -> None:
    """Remove every widget from `layout`, at once out of sight and out of the Tab order."""
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
