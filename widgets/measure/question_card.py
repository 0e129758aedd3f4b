"""A question to start from: what one knows afterwards, how long it takes, and what it asks."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.plans.preset import Preset
from app.wording import duration_text
from widgets.measure.step_view import clear
from widgets.parts.flow_layout import flowing
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

_RESOURCES = {"cpu": "CPU", "memory": "memory", "disk": "disk", "network": "network", "application": "application"}


def took_words(preset: Preset) -> str:
    """Return how long the preset takes and what it puts under load: ``up to 5 min · CPU, memory``."""
    under_load = ", ".join(_RESOURCES[resource] for resource in preset.resources)
    return " · ".join(part for part in (minutes_words(preset), under_load) if part)


def minutes_words(preset: Preset) -> str:
    """Return how long the preset takes: ``up to 5 min``; nothing where that depends."""
    return "" if preset.minutes is None else f"up to {duration_text(preset.minutes * 60)}"


def asks_words(preset: Preset) -> str:
    """Return what the preset asks, or an empty string."""
    asked = [f"{ask.parameter.title}{' (if you like)' if ask.optional else ''}" for ask in preset.asks]
    return f"Asks: {'; '.join(asked)}." if asked else ""


class QuestionCard(QFrame):
    """A card that is chosen by its button, or by a click anywhere on it."""

    chosen = Signal(object)  # the Preset

    def __init__(self, preset: Preset, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.preset = preset
        self.button = QPushButton("Choose…" if preset.asks else "Choose")
        self.button.setAccessibleName(f"Choose: {preset.title}")
        self.button.clicked.connect(self._choose)
        head = QHBoxLayout()
        head.setSpacing(SPACE[2])
        head.addWidget(Text(preset.title, font=text_font(TextSize.BODY, bold=True)), 1)
        head.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        column.setSpacing(SPACE[0])
        column.addLayout(head)
        column.addWidget(Text(preset.answers))
        for words in (took_words(preset), asks_words(preset)):
            if words:
                column.addWidget(Text(words[0].upper() + words[1:], Tone.MUTED, font=text_font(TextSize.SMALL)))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose the question where the click ends on it."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self._choose()

    def _choose(self) -> None:
        self.chosen.emit(self.preset)


class QuestionBand(QFrame):
    """The questions in short, where nothing is planned yet: each a button, and one that leads to all that is known."""

    chosen = Signal(object)  # the Preset
    more_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.buttons: list[QPushButton] = []
        self.more = QPushButton("What each answers…")
        self.more.clicked.connect(self.more_requested)
        head = QHBoxLayout()
        head.addWidget(Text("Start from a question", font=text_font(TextSize.BODY, bold=True)), 1)
        head.addWidget(self.more)
        self._place = QVBoxLayout()
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[2])
        column.setSpacing(SPACE[1])
        column.addLayout(head)
        said = "It fills in the tests, tuned to the host; everything can be changed before it runs."
        column.addWidget(Text(said, Tone.MUTED))
        column.addLayout(self._place)

    def set_presets(self, presets: Sequence[Preset]) -> None:
        """Offer `presets`."""
        clear(self._place)
        self.buttons = []
        for preset in presets:
            button = QPushButton(preset.title)
            set_tool_tip(button, f"{preset.answers}\n{took_words(preset)}")
            button.clicked.connect(lambda _checked, chosen=preset: self.chosen.emit(chosen))
            self.buttons.append(button)
        self._place.addWidget(flowing(*self.buttons, spacing=SPACE[1]))
