"""The dialog before a device is overwritten: no key, no click and no near miss gets past it."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QWidget
from pytestqt.qtbot import QtBot

from app.questions import LossQuestion
from widgets.jobs import BackgroundJob
from widgets.question_dialogs import LossDialog
from widgets.questions import WindowAsker

QUESTION = LossQuestion(
    host="web-1",
    device="/dev/disk/by-id/ata-Samsung_SSD_870_S6P1",
    facts=(
        ("Device", "/dev/disk/by-id/ata-Samsung_SSD_870_S6P1 (/dev/sdb)"),
        ("Model", "Samsung SSD 870"),
        ("Serial number", "S6P1"),
        ("Size", "931 GiB"),
        ("Overwritten by", "fio (randwrite)"),
    ),
    confirmation="S6P1",
    confirmed_by="serial number",
)


@pytest.fixture
def dialog(qtbot: QtBot) -> LossDialog:
    made = LossDialog(QUESTION)
    qtbot.addWidget(made)
    made.open()
    return made


@pytest.fixture
def asker(qtbot: QtBot) -> Iterator[WindowAsker]:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    made = WindowAsker(window)
    yield made
    made.close()


def test_it_tells_everything_that_is_known_of_the_device(dialog: LossDialog) -> None:
    reported = {label.accessibleName() for label in dialog.findChildren(QWidget)}
    assert {"Host: web-1", *(f"{name}: {value}" for name, value in QUESTION.facts)} <= reported
    assert dialog.windowTitle() == f"Overwrite {QUESTION.device}?"


@pytest.mark.parametrize("typed", ["", "S6P", "s6p1", "S6P12", "S6P2", "yes", "/dev/sdb"])
def test_only_the_whole_confirmation_lets_go_on(qtbot: QtBot, dialog: LossDialog, typed: str) -> None:
    qtbot.keyClicks(dialog.field, typed)
    assert not dialog.accept_button.isEnabled()
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert dialog.result() == QDialog.DialogCode.Rejected


def test_what_is_another_device_is_said_at_once(qtbot: QtBot, dialog: LossDialog) -> None:
    qtbot.keyClicks(dialog.field, "S6")
    assert dialog.message.label.text() == ""
    qtbot.keyClicks(dialog.field, "X")
    assert "of this device" in dialog.message.label.text()


def test_enter_declines_even_after_the_right_words(qtbot: QtBot, dialog: LossDialog) -> None:
    """Losing a disk takes a deliberate press of its own button."""
    qtbot.keyClicks(dialog.field, "S6P1")
    assert dialog.accept_button.isEnabled()
    assert "will be lost" in dialog.message.label.text()
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert dialog.result() == QDialog.DialogCode.Rejected


def test_what_was_typed_goes_to_the_run_that_asked(qtbot: QtBot, asker: WindowAsker) -> None:
    answers: list[object] = []
    job = BackgroundJob(lambda: asker.confirm_loss(QUESTION))
    job.returned.connect(answers.append)
    with qtbot.waitSignal(asker.asked) as opened:
        job.start()
    shown = opened.args[0]
    assert isinstance(shown, LossDialog)
    qtbot.keyClicks(shown.field, " S6P1 ")
    qtbot.mouseClick(shown.accept_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(answers))
    assert answers == ["S6P1"]


def test_closing_the_dialog_loses_nothing(qtbot: QtBot, asker: WindowAsker) -> None:
    answers: list[object] = []
    job = BackgroundJob(lambda: asker.confirm_loss(QUESTION))
    job.returned.connect(answers.append)
    with qtbot.waitSignal(asker.asked) as opened:
        job.start()
    shown = opened.args[0]
    assert isinstance(shown, LossDialog)
    qtbot.keyClicks(shown.field, "S6P1")
    shown.reject()
    qtbot.waitUntil(lambda: bool(answers))
    assert answers == [None]
