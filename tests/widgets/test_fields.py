"""Small input fields read what was typed, whatever the locale."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from widgets.live.fold_tabs import FoldTabs
from widgets.parts.fields import PerCent
from widgets.plots.accessible import install_accessible_roles
from widgets.plots.stack import PlotStack


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


def test_the_line_of_a_percentage_has_the_name_of_its_field(qtbot: QtBot) -> None:
    field = PerCent()
    qtbot.addWidget(field)
    field.setAccessibleName("Power")
    assert QAccessible.queryAccessibleInterface(field.lineEdit()).text(QAccessible.Text.Name) == "Power"


def test_tabs_and_scroll_areas_have_a_role(qtbot: QtBot) -> None:
    install_accessible_roles()
    tabs, stack = FoldTabs(), PlotStack()
    for whole in (tabs, stack):
        qtbot.addWidget(whole)
    for part in (tabs, *stack.findChildren(QScrollArea)):
        found = QAccessible.queryAccessibleInterface(part)
        assert found.role() is QAccessible.Role.Pane
        assert found.text(QAccessible.Text.Name)
