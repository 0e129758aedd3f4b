"""The questions to start from, on a page of their own over the wizard."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.plans.preset import Preset
from widgets.measure.question_card import QuestionCard
from widgets.measure.step_view import clear, scrolled
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font


class QuestionsView(QWidget):
    """One card for each question, and the way back to choosing the tests oneself."""

    chosen = Signal(object)  # the Preset
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cards: list[QuestionCard] = []
        self.back = QPushButton("Back")
        set_tool_tip(self.back, "Choose the tests yourself")
        self.back.clicked.connect(self.left)
        inner = QWidget()
        inner.setObjectName("page")
        outer = QVBoxLayout(inner)
        outer.setContentsMargins(0, SPACE[1], SPACE[1], 0)
        self._list = QVBoxLayout()
        self._list.setSpacing(SPACE[1])
        outer.addLayout(self._list)
        outer.addStretch(1)
        foot = QHBoxLayout()
        foot.addWidget(self.back)
        foot.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[4], SPACE[3], SPACE[4], SPACE[2])
        column.setSpacing(SPACE[1])
        column.addWidget(Text("What do you want to know?", font=text_font(TextSize.HEADING, bold=True)))
        said = "A question fills in the tests, tuned to the host. What only you can say, it asks; nothing runs yet."
        column.addWidget(Text(said, Tone.MUTED))
        column.addWidget(scrolled(inner), 1)
        column.addLayout(foot)

    def set_presets(self, presets: Sequence[Preset]) -> None:
        """Show a card for each of `presets`."""
        clear(self._list)
        self.cards = [QuestionCard(preset) for preset in presets]
        for card in self.cards:
            card.chosen.connect(self.chosen)
            self._list.addWidget(card)

    def focus_first(self) -> None:
        """Put the keyboard on the first question."""
        first = self.cards[0].button if self.cards else self.back
        first.setFocus(Qt.FocusReason.TabFocusReason)
