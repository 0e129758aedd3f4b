"""Widgets beside each other go on in the next row where the place ends."""

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from widgets.parts.flow_layout import flowing


def _place(qtbot: QtBot, width: int, count: int = 4) -> tuple[QWidget, list[QWidget]]:
    boxes = [QWidget() for _ in range(count)]  # no style has a margin for these
    for box in boxes:
        box.setFixedSize(100, 20)
    place = flowing(*boxes, spacing=10)
    qtbot.addWidget(place)
    place.resize(width, 200)
    place.show()
    return place, boxes


def test_what_fits_stands_in_one_row(qtbot: QtBot) -> None:
    place, boxes = _place(qtbot, 430)
    assert [box.x() for box in boxes] == [0, 110, 220, 330]
    assert {box.y() for box in boxes} == {0}
    assert place.heightForWidth(430) == 20


def test_what_does_not_fit_goes_on_in_the_next_row(qtbot: QtBot) -> None:
    place, boxes = _place(qtbot, 429)
    assert [(box.x(), box.y()) for box in boxes[2:]] == [(220, 0), (0, 30)]
    assert place.heightForWidth(429) == 50


def test_rows_may_stand_at_the_end(qtbot: QtBot) -> None:
    boxes = [QWidget(), QWidget()]
    for box in boxes:
        box.setFixedSize(100, 20)
    place = flowing(*boxes, spacing=10, at_end=True)
    qtbot.addWidget(place)
    place.resize(300, 50)
    place.show()
    assert [box.x() for box in boxes] == [90, 200]
    place.resize(150, 50)
    qtbot.waitUntil(lambda: [box.x() for box in boxes] == [50, 50])


def test_one_that_is_wider_than_the_place_gets_all_of_it(qtbot: QtBot) -> None:
    place, boxes = _place(qtbot, 60, count=2)
    assert [box.y() for box in boxes] == [0, 30]
    assert place.heightForWidth(60) == 50


def test_lower_ones_stand_in_the_middle_of_their_row_and_hidden_ones_take_no_place(qtbot: QtBot) -> None:
    place, boxes = _place(qtbot, 430)
    boxes[0].setFixedHeight(40)
    boxes[1].hide()
    qtbot.waitUntil(lambda: boxes[2].x() == 110)
    assert boxes[2].y() == 10
    assert place.minimumSizeHint().width() == 100
