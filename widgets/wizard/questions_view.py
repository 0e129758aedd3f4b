"""Questions that fill in a plan: full cards, and a short band above the steps."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QPushButton, QVBoxLayout, QWidget

from app.plans.presets import Preset
from suites.quantities import duration_text, first_upper
from widgets.parts.boxes import column_in, fill, in_column, in_row, scrolled
from widgets.parts.controls import push_button
from widgets.parts.dialogs import button_row
from widgets.parts.flow_layout import flowing
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.wizard_step import clear

_RESOURCES = {"cpu": "CPU", "memory": "memory", "disk": "disk", "network": "network", "application": "application"}


def preset_duration(preset: Preset) -> str:
    """Return the duration of the preset and the resources it loads: ``up to 5 min · CPU, memory``."""
    under_load = ", ".join(_RESOURCES[resource] for resource in preset.resources)
    return " · ".join(part for part in (minutes_text(preset), under_load) if part)


def minutes_text(preset: Preset) -> str:
    """Return the durations of the preset: ``up to 6 min, quick look 1 min``; empty where they depend on the answers."""
    if preset.minutes is None:
        return ""
    quick = preset.quick_minutes
    look = "" if quick is None else f", quick look {duration_text(quick * 60)}"
    return f"up to {duration_text(preset.minutes * 60)}{look}"


def questions_text(preset: Preset) -> str:
    """Return the inputs of the preset, or an empty string."""
    inputs = [f"{ask.parameter.title}{' (optional)' if ask.optional else ''}" for ask in preset.asks]
    return f"Inputs: {'; '.join(inputs)}." if inputs else ""


class QuestionCard(QFrame):
    """Card of one preset; its button or a click anywhere selects it."""

    chosen = Signal(object)  # the Preset

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.preset = preset
        self.button = push_button("Choose…" if preset.asks else "Choose", self._choose)
        self.button.setAccessibleName(f"Choose: {preset.title}")
        head = in_row((Text(preset.title, font=text_font(TextSize.BODY, bold=True)), 1), self.button, spacing=SPACE[2])
        column = column_in(self, SPACE[0], (SPACE[2], SPACE[1], SPACE[2], SPACE[1]))
        fill(column, head, Text(preset.answers))
        for text in (preset_duration(preset), questions_text(preset)):
            if text:
                column.addWidget(Text(first_upper(text), Tone.MUTED, font=text_font(TextSize.SMALL)))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the preset if the button is released on the card."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self._choose()

    def _choose(self) -> None:
        self.chosen.emit(self.preset)


class QuestionBand(QFrame):
    """Band shown while the plan is empty: a button for each question, and one for their details."""

    chosen = Signal(object)  # the Preset
    more_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.buttons: list[QPushButton] = []
        self.more = push_button("Details…", self.more_requested)
        head = in_row((Text("Start from a question", font=text_font(TextSize.BODY, bold=True)), 1), self.more)
        self._flow = QVBoxLayout()
        column = column_in(self, SPACE[1], (SPACE[2], SPACE[1], SPACE[2], SPACE[2]))
        column.addLayout(head)
        explanation = "Fills in the tests, tuned to the host. Every value can be changed before the run."
        fill(column, Text(explanation, Tone.MUTED), self._flow)

    def set_presets(self, presets: Sequence[Preset]) -> None:
        """Offer `presets`."""
        clear(self._flow)
        self.buttons = []
        for preset in presets:
            button = QPushButton(preset.title)
            set_tool_tip(button, f"{preset.answers}\n{preset_duration(preset)}")
            button.clicked.connect(lambda _checked, chosen=preset: self.chosen.emit(chosen))
            self.buttons.append(button)
        self._flow.addWidget(flowing(*self.buttons, spacing=SPACE[1]))


class QuestionsView(QWidget):
    """List of a card for each question, with *Back* to the wizard."""

    chosen = Signal(object)  # the Preset
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.cards: list[QuestionCard] = []
        self.back = push_button("Back", self.closed, tip="Select tests manually")
        inner = QWidget()
        inner.setObjectName("page")
        outer = column_in(inner, -1, (0, SPACE[1], SPACE[1], 0))
        self._list = in_column(spacing=SPACE[1])
        fill(outer, self._list, None)
        foot = button_row(self.back, None)
        column = column_in(self, SPACE[1], (SPACE[4], SPACE[3], SPACE[4], SPACE[2]))
        column.addWidget(Text("Start from a question", font=text_font(TextSize.HEADING, bold=True)))
        explanation = "A question fills in the tests, tuned to the host. Nothing runs yet."
        fill(column, Text(explanation, Tone.MUTED), (scrolled(inner), 1), foot)

    def set_presets(self, presets: Sequence[Preset]) -> None:
        """Show a card for each of `presets`."""
        clear(self._list)
        self.cards = [QuestionCard(preset) for preset in presets]
        for card in self.cards:
            card.chosen.connect(self.chosen)
            self._list.addWidget(card)

    def focus_first(self) -> None:
        """Focus the first question."""
        first = self.cards[0].button if self.cards else self.back
        first.setFocus(Qt.FocusReason.TabFocusReason)
