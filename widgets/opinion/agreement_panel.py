"""Whether the tools of a run agree, and why: one sentence for each figure that two of them have, its reasons below."""

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.opinion.agreement import Agreement, Outcome
from app.opinion.words import agreement_line, why_lines
from widgets.parts.names import host_title
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, strong
from widgets.theme import SPACE

_ICONS = {
    Outcome.AGREE: "good",
    Outcome.DIFFER: "warning",
    Outcome.UNDECIDED: "info",
    Outcome.OTHER_QUANTITY: "info",
}


class AgreementPanel(QScrollArea):
    """Shows what the tools of one run say of each other."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setAccessibleName("Second opinion")
        self.lines: list[str] = []

    def show_agreements(self, found: Sequence[Agreement]) -> None:
        """Show `found` in place of what was shown."""
        sheet = QWidget()
        column = QVBoxLayout(sheet)
        column.setContentsMargins(0, SPACE[2], SPACE[1], SPACE[2])
        column.setSpacing(SPACE[1])
        self.lines = []
        for one in found:
            self._add(column, one)
        column.addStretch(1)
        self.setWidget(sheet)

    def _add(self, column: QVBoxLayout, one: Agreement) -> None:
        icon = Picture(_ICONS[one.outcome])
        icon.setAccessibleName(one.outcome.value)
        head = QHBoxLayout()
        head.setSpacing(SPACE[1])
        head.addWidget(icon)
        head.addWidget(Text(f"{host_title(one.host)}: {agreement_line(one)}", font=strong()), 1)
        column.addLayout(head)
        why = list(why_lines(one))
        self.lines += [agreement_line(one), *why]
        for line in why:
            column.addWidget(Text(line, Tone.MUTED))
        column.addSpacing(SPACE[2])
