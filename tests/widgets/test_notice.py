"""Short messages in place: read by eye and by ear, literal whatever they say; and work that can be left."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout
from pytestqt.qtbot import QtBot

from remote.errors import ConnectError, ConnectOutcome
from suites.errors import BenchwrightError
from tests.messages import messages
from tests.shot_checks import problems_of
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.empty_state import EmptyState
from widgets.parts.notice import Notice, ProgressNotice
from widgets.parts.text import tool_tip

MESSAGES = messages("widgets", "test_notice")

HOSTILE = "<img src=file:///etc/passwd>\u202etxt.exe"


def test_a_notice_is_hidden_until_something_is_said(qtbot: QtBot) -> None:
    notice = Notice()
    qtbot.addWidget(notice)
    assert notice.isHidden()
    notice.show_error(BenchwrightError("The host is down.", "Start it."))
    assert not notice.isHidden()
    assert notice.text() == MESSAGES["the_host_is_down_start_it"]
    assert notice.accessibleName() == "Error: The host is down. Start it."
    assert notice.property("level") == "error"


def test_what_is_said_can_be_copied_by_key(qtbot: QtBot) -> None:
    notice = Notice()
    qtbot.addWidget(notice)
    notice.show_message("error", "The key has changed.", "ssh-keygen -R '[192.0.2.14]:2222' -f ~/.ssh/known_hosts")
    notice.setFocus()
    qtbot.keyClick(notice, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == notice.text()


def test_remote_words_are_shown_literally(qtbot: QtBot) -> None:
    notice = Notice()
    qtbot.addWidget(notice)
    notice.show_message("warning", HOSTILE)
    assert notice.text() == "<img src=file:///etc/passwd>\\u202etxt.exe"
    assert {label.textFormat() for label in notice.findChildren(QLabel) if label.text()} == {Qt.TextFormat.PlainText}
    assert "<img" not in tool_tip(HOSTILE)


def test_work_under_way_says_for_how_long_and_can_be_left(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("widgets.parts.notice.time.monotonic", lambda: now[0])
    working = ProgressNotice()
    qtbot.addWidget(working)
    working.begin("Connecting to web-1…")
    label = working.findChildren(QLabel)[0]
    assert label.text() == "Connecting to web-1…"
    now[0] = 103.5
    working.refresh()
    assert label.text() == "Connecting to web-1… 3 s"
    with qtbot.waitSignal(working.cancelled):
        qtbot.mouseClick(working.cancel_button, Qt.MouseButton.LeftButton)
    working.end()
    assert working.isHidden()


def test_an_empty_place_says_what_it_is_for_and_offers_one_step(qtbot: QtBot) -> None:
    pressed: list[str] = []
    empty = EmptyState("No runs yet", "Every run is kept here.", "New measurement", lambda: pressed.append("once"))
    qtbot.addWidget(empty)
    empty.resize(300, 300)
    empty.show()
    assert empty.button is not None
    qtbot.mouseClick(empty.button, Qt.MouseButton.LeftButton)
    assert pressed == ["once"]
    assert EmptyState("No runs yet", "Every run is kept here.").button is None


def test_what_the_user_cancelled_is_no_error(qtbot: QtBot) -> None:
    notice = Notice()
    qtbot.addWidget(notice)
    notice.show_error(ConnectError(ConnectOutcome.CANCELLED, "Connecting to web-1 was cancelled."))
    assert notice.property("level") == "info"


@pytest.fixture
def large_text(qapp: QApplication) -> Iterator[None]:
    before, large = qapp.font(), qapp.font()
    large.setPointSizeF(1.5 * before.pointSizeF())
    qapp.setFont(large)
    yield
    qapp.setFont(before)


@pytest.mark.usefixtures("large_text")
@pytest.mark.parametrize("number", range(6, 18, 2))
def test_a_dialog_has_room_for_large_texts_and_for_a_notice_that_appears(qtbot: QtBot, number: int) -> None:
    words = number * "words "
    dialog = QuestionDialog("A question", words, "Accept what is asked", None, decline_text="Keep the window open")
    qtbot.addWidget(dialog)
    dialog.add_extra_button("Do something else", lambda: None)
    dialog.add_fact("What there is to read", words)
    column = dialog.layout()
    assert isinstance(column, QVBoxLayout)
    notice = Notice()
    column.insertWidget(2, notice)
    dialog.show()
    assert problems_of(dialog) == []
    notice.show_message("error", words, words)
    qtbot.waitUntil(lambda: problems_of(dialog) == [])
    assert notice.height() == notice.heightForWidth(notice.width())
