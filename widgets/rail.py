"""Navigation rail with a button per page and the number of runs under way."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QButtonGroup, QLabel, QPushButton, QWidget

from widgets.parts.boxes import column_in, fill, row_in
from widgets.parts.text import set_tool_tip, strong
from widgets.theme import SPACE, set_icon

WIDTH = 136
"""Width in pixels at the platform's default text size; larger text widens it."""

EXTRA_WIDTH = 76
"""Width in pixels of icon, badge and margins."""


class PageName(StrEnum):
    """Pages of the window; the value is the title."""

    HOSTS = "Hosts"
    MEASURE = "Measure"
    LIVE = "Live"
    LIBRARY = "Library"
    COMPARE = "Compare"
    HELP = "Help"


class PageBadge(NamedTuple):
    """Icon, purpose and shortcut of a page."""

    icon: str
    purpose: str
    keys: str


SIGNS: Mapping[PageName, PageBadge] = {
    name: PageBadge(icon, purpose, f"Ctrl+{number}")
    for number, (name, icon, purpose) in enumerate(
        (
            (PageName.HOSTS, "hosts", "Hosts and their facts"),
            (PageName.MEASURE, "measure", "Choose, tune and check tests"),
            (PageName.LIVE, "live", "Watch the run under way"),
            (PageName.LIBRARY, "library", "Stored runs"),
            (PageName.COMPARE, "compare", "Compare runs with a baseline"),
            (PageName.HELP, "help", "Tour, glossary, rules and keyboard"),
        ),
        start=1,
    )
}


class Rail(QWidget):
    """One button per page. Arrow keys move between buttons, Tab leaves the rail."""

    chosen = Signal(object)  # a PageName

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("rail")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        widest = max(QFontMetrics(strong()).horizontalAdvance(name.value) for name in PageName)
        self.setFixedWidth(max(WIDTH, widest + EXTRA_WIDTH))
        self.setAccessibleName("Pages")
        self.buttons: dict[PageName, QPushButton] = {}
        self._group = QButtonGroup(self)
        rows = column_in(self, 0, (0, SPACE[1], 0, SPACE[1]))
        for name, badge in SIGNS.items():
            if name is PageName.HELP:
                rows.addStretch(1)
            rows.addWidget(self._button(name, badge))
        self._badge = self._build_badge(self.buttons[PageName.LIVE])

    def show_page(self, name: PageName) -> None:
        """Mark `name` as the current page."""
        self.buttons[name].setChecked(True)

    def show_running(self, count: int) -> None:
        """Show the number of runs under way."""
        self._badge.setText(str(count))
        self._badge.setVisible(count > 0)
        self.buttons[PageName.LIVE].setAccessibleName(f"Live, {count} running" if count else "Live")

    def hasFocus(self) -> bool:
        """Whether one of the buttons has the focus."""
        return any(button.hasFocus() for button in self.buttons.values())

    def _button(self, name: PageName, badge: PageBadge) -> QPushButton:
        button = QPushButton(name.value)
        set_icon(button, badge.icon, "text")
        button.setIconSize(QSize(20, 20))
        button.setCheckable(True)
        set_tool_tip(button, f"{badge.purpose} ({badge.keys})")
        button.clicked.connect(lambda: self.chosen.emit(name))
        self._group.addButton(button)
        self.buttons[name] = button
        return button

    def _build_badge(self, button: QPushButton) -> QLabel:
        badge = QLabel("0")
        badge.setObjectName("badge")
        badge.setTextFormat(Qt.TextFormat.PlainText)
        badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
        badge.setMinimumWidth(16)
        badge.setFixedHeight(16)
        badge.hide()
        fill(row_in(button, -1, (0, 0, SPACE[2], 0)), None, (badge, 0, Qt.AlignmentFlag.AlignVCenter))
        return badge
