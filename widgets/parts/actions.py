"""Actions that are offered with a tip, or not, with the reason; and buttons bound to them."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QMenu, QPushButton, QToolButton

from widgets.parts.text import set_tool_tip
from widgets.theme import set_icon


class ActionButton(QPushButton):
    """Push button bound to an action: text, tooltip, enabled and visible state."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        menu = action.menu()
        if isinstance(menu, QMenu):
            self.setMenu(menu)
        _bind(self, action)


class ActionTool(QToolButton):
    """Button with an icon only, bound to an action."""

    def __init__(self, action: QAction, icon: str) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        set_icon(self, icon)
        _bind(self, action)


def _bind(button: QAbstractButton, action: QAction) -> None:
    if not isinstance(action.menu(), QMenu):
        button.clicked.connect(action.trigger)
    action.changed.connect(lambda: _follow(button, action))
    _follow(button, action)


def _follow(button: QAbstractButton, action: QAction) -> None:
    keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    name = action.text()
    tip = f"{action.property('why')}{f' ({keys})' if keys else ''}"
    if isinstance(button, QToolButton):
        button.setAccessibleName(name)
        tip = f"{name}: {tip}"
    else:
        button.setText(name)
    button.setEnabled(action.isEnabled())
    if button.parent() is not None or not action.isVisible():  # without a parent it would open as a window
        button.setVisible(action.isVisible())
    set_tool_tip(button, tip)


def offer(action: QAction, possible: bool, tip: str, reason: str) -> None:  # noqa: FBT001 (reads as a sentence)
    """Enable an action with `tip` if it is `possible`, else disable it with `reason`."""
    action.setEnabled(possible)
    action.setProperty("why", tip if possible else reason)
    action.setToolTip(tip if possible else reason)
    action.changed.emit()
