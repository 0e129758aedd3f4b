"""Buttons and text fields with their properties, tool tip and slot given at once."""

from typing import Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QToolButton, QWidget

from widgets.jobs import Slot
from widgets.parts.text import set_tool_tip
from widgets.theme import set_icon

ButtonT = TypeVar("ButtonT", QPushButton, QToolButton)


class ClearedField(QLineEdit):
    """A text field, such as a filter, that Esc clears."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Clear the text with Esc; without one leave the key to the window."""
        if event.key() == Qt.Key.Key_Escape and self.text() and not self.isReadOnly():
            self.clear()
        else:
            super().keyPressEvent(event)


def push_button(
    text: str, clicked: Slot | None = None, *, tip: str = "", icon: str = "", primary: bool = False, **properties: Any
) -> QPushButton:
    """Return a push button. `properties` are those of Qt; an unknown one raises AttributeError."""
    made = QPushButton(text, **properties)
    if primary:
        made.setProperty("primary", True)
    return _finish(made, clicked, tip, icon)


def tool_button(
    text: str = "", clicked: Slot | None = None, *, tip: str = "", icon: str = "", **properties: Any
) -> QToolButton:
    """Return a tool button; see push_button()."""
    made = QToolButton(**properties)
    made.setText(text)
    return _finish(made, clicked, tip, icon)


def pop_up(menu: QMenu, button: QWidget) -> None:
    """Open `menu` below `button`; Qt keeps it within the screen. Unlike setMenu(), this adds no arrow."""
    menu.popup(button.mapToGlobal(button.rect().bottomLeft()))


def line_edit(name: str = "", changed: Slot | None = None, *, tip: str = "", **properties: Any) -> QLineEdit:
    """Return a text field; `changed` is connected to textChanged, the accessible `name` not needed beside a label.

    `properties` are as in push_button(). Esc clears a text that a button clears.
    """
    field = ClearedField(**properties) if properties.get("clearButtonEnabled") else QLineEdit(**properties)
    if name:
        field.setAccessibleName(name)
    if changed is not None:
        field.textChanged.connect(changed)
    if tip:
        set_tool_tip(field, tip)
    return field


def _finish(made: ButtonT, clicked: Slot | None, tip: str, icon: str) -> ButtonT:
    if clicked is not None:
        made.clicked.connect(clicked)
        made.setProperty("slot", getattr(clicked, "__qualname__", ""))  # a test finds two names of one command
    if tip:
        set_tool_tip(made, tip)
    if icon:
        set_icon(made, icon)
    return made
