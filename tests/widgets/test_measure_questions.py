"""Questions to start from, in the window: offered while nothing is planned, asked what they need, filled in."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from app.hosts.hosts import HostEntry
from app.plans.plan import LOCAL
from app.plans.presets import preset_names, presets
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle
from widgets.wizard.draft import ValueSource
from widgets.wizard.editors import Editor
from widgets.wizard.measure_page import HOSTS, REVIEW, MeasurePage
from widgets.wizard.plan_start import AnswersDialog

MESSAGES = messages("widgets-measure", "test_measure_questions")


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    return made_page(qtbot, tmp_path)


def dialog_of(page: MeasurePage) -> AnswersDialog:
    (found,) = [each for each in page.findChildren(AnswersDialog) if each.isVisible()]
    return found


def choose(qtbot: QtBot, page: MeasurePage, name: str) -> None:
    (card,) = [card for card in page.plan_start.view.cards if card.preset.name == name]
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)


def write(dialog: AnswersDialog, name: str, text: str) -> None:
    editor = dialog.fields[name]
    assert isinstance(editor, Editor)
    editor.set_text(text)
    editor.edited.emit(text)


def accept(qtbot: QtBot, page: MeasurePage, dialog: AnswersDialog) -> None:
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    settle(qtbot, page)


def test_the_empty_wizard_offers_every_question_until_a_test_is_chosen(qtbot: QtBot, page: MeasurePage) -> None:
    assert page.current == HOSTS
    assert page.hosts.band.isVisible()
    titles = [each.title for each in presets()]
    assert [button.text() for button in page.hosts.band.buttons] == titles
    qtbot.mouseClick(page.hosts.band.more, Qt.MouseButton.LeftButton)
    assert [card.preset.title for card in page.plan_start.view.cards] == titles
    assert page.plan_start.view.isVisible()
    assert page.plan_start.view.cards[0].button.hasFocus()
    qtbot.mouseClick(page.plan_start.view.back, Qt.MouseButton.LeftButton)
    assert page.hosts.isVisible()
    page.begin([LOCAL])
    settle(qtbot, page)
    page.draft.add_step(page.tests.cards["sysbench-cpu"].suite)
    page.tests.changed.emit()
    settle(qtbot, page)
    assert page.hosts.band.isHidden()


def test_a_question_that_asks_nothing_is_filled_in_at_once(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin([LOCAL])
    settle(qtbot, page)
    page.plan_start.show_questions()
    choose(qtbot, page, "integer-load")
    settle(qtbot, page)
    assert page.current == REVIEW
    assert page.review.isVisible()
    assert page.draft.name == "integer load"
    assert "rank" in page.notice.text()
    form = page.draft.steps[1].form
    assert form.source("time") is ValueSource.CUSTOM
    assert form.source("threads") is not ValueSource.CUSTOM  # tuned to the host, or its default where they agree


def test_what_only_the_user_knows_is_asked_and_refused_where_it_does_not_fit(qtbot: QtBot, page: MeasurePage) -> None:
    page.plan_start.show_questions()
    choose(qtbot, page, "provisioned-iops")
    dialog = dialog_of(page)
    assert not dialog.accept_button.isEnabled()
    assert dialog.message.text() == ""
    write(dialog, "iops", "lots")
    assert dialog.message.text().startswith(MESSAGES["provisioned_iops_lots_is_not"])
    assert not dialog.accept_button.isEnabled()
    write(dialog, "iops", "4000")
    assert dialog.message.text() == ""
    accept(qtbot, page, dialog)
    assert page.draft.hosts == [LOCAL]
    assert [step.form.parsed("rate_iops") for step in page.draft.steps] == [4080, 4080]
    assert page.draft.goals == "random reads:iops >= 3960; random writes:iops >= 3960"
    assert MESSAGES["the_throughput_is_left_out"] in page.notice.text()
    assert page.draft.question.startswith(MESSAGES["does_this_volume_deliver_its"])


def test_a_question_about_two_hosts_asks_for_the_other(qtbot: QtBot, page: MeasurePage) -> None:
    page.workstation.save_hosts(HostEntry("far", host_name="192.0.2.7"))
    page.activated()
    settle(qtbot, page)
    page.begin([LOCAL])
    settle(qtbot, page)
    choose(qtbot, page, "healthy-instance")
    dialog = dialog_of(page)
    assert dialog.fields.keys() == {"peer"}
    box = dialog.fields["peer"]
    assert isinstance(box, QComboBox)
    assert [box.itemText(index) for index in range(box.count())][:2] == ["None", "This computer"]
    box.setCurrentIndex(box.findData(LOCAL))
    accept(qtbot, page, dialog)
    assert [step.peer for step in page.draft.steps] == [None, None, None, None, LOCAL, LOCAL]
    assert "not tested" not in page.notice.text()


def test_a_question_that_is_given_up_changes_nothing(qtbot: QtBot, page: MeasurePage) -> None:
    choose(qtbot, page, "memory-bandwidth")
    dialog = dialog_of(page)
    qtbot.mouseClick(dialog.decline_button, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert page.draft.steps == []


def test_every_question_is_a_card(qtbot: QtBot, page: MeasurePage) -> None:
    assert {card.preset.name for card in page.plan_start.view.cards} == set(preset_names())
    for card in page.plan_start.view.cards:
        assert card.button.accessibleName() == f"Choose: {card.preset.title}"
