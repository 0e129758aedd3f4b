"""Small input fields read what was typed, whatever the locale."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale
from pytestqt.qtbot import QtBot

from widgets.parts.fields import PerCent


@pytest.fixture
def german() -> Iterator[None]:
    """Use the decimal comma."""
    before = QLocale()
    QLocale.setDefault(QLocale("de_DE"))
    yield
    QLocale.setDefault(before)


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize("typed", ["2.5", "2,5"])
def test_a_percentage_is_read_in_a_locale_with_a_decimal_comma(qtbot: QtBot, typed: str) -> None:
    field = PerCent()
    qtbot.addWidget(field)
    field.show()
    field.lineEdit().selectAll()
    qtbot.keyClicks(field, typed)
    assert field.value() == 2.5
    field.lineEdit().setText(field.text())  # as written by the field itself
    field.interpretText()
    assert field.value() == 2.5
