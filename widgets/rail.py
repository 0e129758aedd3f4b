"""The rail on the left: the rooms of the window, one key each, and how many runs are under way."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from widgets.parts.icons import set_icon
from widgets.parts.text import set_tool_tip, strong
from widgets.theme import SPACE

WIDTH = 136
"""Pixels at the platform's usual size of text; a larger one makes it wider."""

BESIDE = 76
"""Pixels that the icon, the badge and the margins take."""


class Room(StrEnum):
    """A page of the window; the value is its title."""

    HOSTS = "Hosts"
    MEASURE = "Measure"
    LIVE = "Live"
    LIBRARY = "Library"
    COMPARE = "Compare"
    HELP = "Help"


class Sign(NamedTuple):
    """What is said about a room before it is entered."""

    icon: str
    purpose: str
    keys: str


SIGNS: Mapping[Room, Sign] = {
    room: Sign(icon, purpose, f"Ctrl+{number}")
    for number, (room, icon, purpose) in enumerate(
        (
            (Room.HOSTS, "hosts", "Where measurements run"),
            (Room.MEASURE, "measure", "Choose tests, tune them and check them before they run"),
            (Room.LIVE, "live", "Watch what is being measured"),
            (Room.LIBRARY, "library", "Every run that was kept"),
            (Room.COMPARE, "compare", "Runs side by side, and whether they differ"),
            (Room.HELP, "help", "A tour, the words, the rules and the keys"),
        ),
        start=1,
    )
}


class Rail(QWidget):
    """One button a room. The arrow keys move within it, Tab leaves it."""

    chosen = Signal(object)  # a Room

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("rail")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        widest = max(QFontMetrics(strong()).horizontalAdvance(room.value) for room in Room)
        self.setFixedWidth(max(WIDTH, widest + BESIDE))
        self.setAccessibleName("Pages")
        self.buttons: dict[Room, QPushButton] = {}
        self._group = QButtonGroup(self)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, SPACE[1], 0, SPACE[1])
        rows.setSpacing(0)
        for room, sign in SIGNS.items():
            if room is Room.HELP:
                rows.addStretch(1)
            rows.addWidget(self._button(room, sign))
        self._badge = self._build_badge(self.buttons[Room.LIVE])

    def show_room(self, room: Room) -> None:
        """Mark `room` as the one in front."""
        self.buttons[room].setChecked(True)

    def show_running(self, count: int) -> None:
        """Show how many runs are under way."""
        self._badge.setText(str(count))
        self._badge.setVisible(count > 0)
        self.buttons[Room.LIVE].setAccessibleName(f"Live, {count} running" if count else "Live")

    def hasFocus(self) -> bool:
        """Whether one of the buttons has the focus: the arrow keys then move within the rail."""
        return any(button.hasFocus() for button in self.buttons.values())

    def _button(self, room: Room, sign: Sign) -> QPushButton:
        button = QPushButton(room.value)
        set_icon(button, sign.icon, "text")
        button.setIconSize(QSize(20, 20))
        button.setCheckable(True)
        set_tool_tip(button, f"{sign.purpose} ({sign.keys})")
        button.clicked.connect(lambda: self.chosen.emit(room))
        self._group.addButton(button)
        self.buttons[room] = button
        return button

    def _build_badge(self, button: QPushButton) -> QLabel:
        badge = QLabel("0")
        badge.setObjectName("badge")
        badge.setTextFormat(Qt.TextFormat.PlainText)
        badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
        badge.setMinimumWidth(16)
        badge.setFixedHeight(16)
        badge.hide()
        row = QHBoxLayout(button)
        row.setContentsMargins(0, 0, SPACE[2], 0)
        row.addStretch(1)
        row.addWidget(badge, 0, Qt.AlignmentFlag.AlignVCenter)
        return badge
