"""In a narrow window nothing that matters is cut: the side gives way, the foot takes two rows, pictures shrink."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QDialog, QWidget
from pytestqt.qtbot import QtBot

from app.questions import RefusingAsker
from app.services import Workstation
from widgets.help_page import HelpPage
from widgets.parts.dialogs import fit
from widgets.parts.text import Text, _unbreakable
from widgets.wizard.footer import Footer

Keep = Callable[[QWidget], QWidget]

pytestmark = pytest.mark.usefixtures("dressed")


def test_what_stands_in_the_way_gets_a_row_of_its_own_where_the_buttons_leave_no_room(keep: Keep) -> None:
    foot = Footer()
    keep(foot)
    foot.show_step("Facts not read: bastion. Retry or deselect.", first=True, last=False)
    arrangement = foot.layout()
    assert arrangement is not None
    foot.resize(1000, 60)
    foot.show()
    arrangement.activate()
    assert foot.hint.geometry().center().y() == pytest.approx(foot.next.geometry().center().y(), abs=2)
    foot.resize(470, 80)
    arrangement.activate()
    assert foot.hint.geometry().bottom() < foot.next.geometry().top()
    foot.show_step("", first=True, last=False)
    assert not foot.hint.isVisible()


def test_pictures_of_the_help_are_as_wide_as_a_line_and_its_text_stays_as_it_was(
    qtbot: QtBot, keep: Keep, workstation: Workstation
) -> None:
    help_page = HelpPage(workstation, RefusingAsker())
    keep(help_page)
    help_page.resize(900, 600)
    help_page.show()
    read = help_page.browser.toMarkdown()
    help_page.resize(620, 600)
    qtbot.waitUntil(lambda: help_page.browser.horizontalScrollBar().maximum() == 0)
    assert help_page.browser.toMarkdown() == read


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("margin ±5 %.", ["±5\u00a0%."]),
        ("At most 5 % of it", ["5\u00a0%", " of it"]),
        ("--runtime, --time_based", ["-\u2060-\u2060runtime,", " -\u2060-\u2060time_based"]),
        ("16 GiB memory and 3 things", ["16\u00a0GiB memory", "3 things"]),
    ],
)
def test_no_line_ends_between_a_figure_and_its_unit(keep: Keep, text: str, parts: list[str]) -> None:
    assert all(part in _unbreakable(text) for part in parts)
    label = Text(text)
    keep(label)
    assert label.text() == text, "what is copied is the text itself"


def test_a_dialog_is_no_larger_than_its_screen_or_the_window_it_stands_over(keep: Keep) -> None:
    window = QWidget()
    keep(window)
    screen = window.screen().availableGeometry().size()
    dialog = QDialog(window)
    fit(dialog, (9000, 200))
    assert dialog.width() <= max(screen.width(), window.width())
    assert dialog.height() == 200
