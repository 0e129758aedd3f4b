"""Widgets beside each other go on in the next row where the place ends."""

from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from widgets.parts.flow_layout import flowing


def _place(qtbot: QtBot, width: int, count: int = 4) -> tuple[QWidget, list[QPushButton]]:
    buttons = [QPushButton(f"number {number}") for number in range(count)]
    for button in buttons:
        button.setFixedSize(100, 20)
    place = flowing(*buttons, spacing=10)
    qtbot.addWidget(place)
    place.resize(width, 200)
    place.show()
    return place, buttons


def test_what_fits_stands_in_one_row(qtbot: QtBot) -> None:
    place, buttons = _place(qtbot, 430)
    assert [button.x() for button in buttons] == [0, 110, 220, 330]
    assert {button.y() for button in buttons} == {0}
    assert place.heightForWidth(430) == 20


def test_what_does_not_fit_goes_on_in_the_next_row(qtbot: QtBot) -> None:
    place, buttons = _place(qtbot, 429)
    assert [(button.x(), button.y()) for button in buttons[2:]] == [(220, 0), (0, 30)]
    assert place.heightForWidth(429) == 50


def test_rows_may_stand_at_the_end(qtbot: QtBot) -> None:
    buttons = [QPushButton("one"), QPushButton("two")]
    for button in buttons:
        button.setFixedSize(100, 20)
    place = flowing(*buttons, spacing=10, at_end=True)
    qtbot.addWidget(place)
    place.resize(300, 50)
    place.show()
    assert [button.x() for button in buttons] == [90, 200]
    place.resize(150, 50)
    qtbot.waitUntil(lambda: [button.x() for button in buttons] == [50, 50])


def test_one_that_is_wider_than_the_place_gets_all_of_it(qtbot: QtBot) -> None:
    place, buttons = _place(qtbot, 60, count=2)
    assert [button.y() for button in buttons] == [0, 30]
    assert place.heightForWidth(60) == 50


def test_lower_ones_stand_in_the_middle_of_their_row_and_hidden_ones_take_no_place(qtbot: QtBot) -> None:
    place, buttons = _place(qtbot, 430)
    buttons[0].setFixedHeight(40)
    buttons[1].hide()
    qtbot.waitUntil(lambda: buttons[2].x() == 110)
    assert buttons[2].y() == 10
    assert place.minimumSizeHint().width() == 100
