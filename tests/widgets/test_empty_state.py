"""An empty state keeps its lines short, and never keeps the window from getting narrower."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from widgets.parts.empty_state import WIDTH, EmptyState

TEXT = "What this place is for, in a sentence or two that wrap where the place ends. " * 2


def test_a_wide_place_can_get_narrow_again(qtbot: QtBot) -> None:
    empty = EmptyState("Nothing yet", TEXT, "Go on", lambda: None)
    place = QWidget()
    QVBoxLayout(place).addWidget(empty)
    qtbot.addWidget(place)
    place.resize(1600, 400)
    place.show()
    margins = empty._rows.contentsMargins()
    assert empty.width() - margins.left() - margins.right() <= WIDTH
    place.resize(400, 400)
    assert place.width() == 400


def test_what_else_is_offered_stands_beneath_and_can_be_pressed(qtbot: QtBot) -> None:
    pressed: list[str] = []
    empty = EmptyState("Nothing yet", TEXT, "Go on", lambda: pressed.append("first"))
    other = empty.add_action("Something else", lambda: pressed.append("second"))
    qtbot.addWidget(empty)
    empty.show()
    assert empty.button is not None
    assert other.y() > empty.button.y()
    for button in (empty.button, other):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert pressed == ["first", "second"]
