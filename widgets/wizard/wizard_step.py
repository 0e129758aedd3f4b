"""Base class and helpers of the wizard's steps."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from widgets.parts.boxes import column_in, fill
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.draft import PlanDraft


class WizardStep(QWidget):
    """One step: a view of the draft, without data of its own."""

    title = ""
    changed = Signal()  # the draft was edited here

    def __init__(self, draft: PlanDraft, heading: str, explanation: str) -> None:
        super().__init__()
        self.draft = draft
        self.column = column_in(self, SPACE[1], (SPACE[4], SPACE[3], SPACE[4], SPACE[1]))
        self.heading = Text(heading, font=text_font(TextSize.HEADING, bold=True))
        self.explanation = Text(explanation, Tone.MUTED)
        fill(self.column, self.heading, self.explanation)

    def refresh(self) -> None:
        """Show the draft as it is now."""

    def problem(self) -> str:
        """Return why the next step is not reachable, or an empty string."""
        return ""

    def focus_first(self) -> None:
        """Focus the first field of the step."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)


def clear(layout: QVBoxLayout) -> None:
    """Remove every widget from `layout`; hide it first, since deleteLater() keeps it in the Tab order until then."""
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
