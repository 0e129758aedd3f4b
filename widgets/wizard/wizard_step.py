"""Base class and helpers of the wizard's pages."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from widgets.parts.boxes import column_in
from widgets.theme import SPACE
from widgets.wizard.draft import PlanDraft


class WizardStep(QWidget):
    """One page: a view of the draft, without data of its own."""

    title = ""
    changed = Signal()  # the draft was edited here

    def __init__(self, draft: PlanDraft) -> None:
        super().__init__()
        self.draft = draft
        self.column = column_in(self, SPACE[1], (SPACE[4], SPACE[2], SPACE[4], SPACE[1]))

    def refresh(self) -> None:
        """Show the draft as it is now."""

    def problem(self) -> str:
        """Return why the next page is not reachable, or an empty string."""
        return ""

    def focus_first(self) -> None:
        """Focus the first field of the page."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)


def clear(layout: QVBoxLayout) -> None:
    """Remove every widget from `layout`; hide it first, since deleteLater() keeps it in the Tab order until then."""
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
