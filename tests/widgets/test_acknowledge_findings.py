"""A finding is acknowledged in its card, with a reason that stays with the plan; a card leads to its page of help."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan
from app.plans.plan_remarks import Acknowledged
from app.services import Workstation
from suites.vocab import Finding, Severity
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle, with_tests
from widgets.help_page import HelpPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.findings import FindingCard, FindingList
from widgets.wizard.measure_page import FINDINGS, REVIEW, MeasurePage

MESSAGES = messages("widgets", "test_acknowledge_findings")

WARNING = Finding("page-cache", Severity.WARNING, "Memory answers", "1 GiB", "why", "remedy", "source", "fio", LOCAL)
ERROR = Finding("no-space", Severity.ERROR, "No room", "1 GiB", "why", "remedy", "source", "fio", LOCAL)


@pytest.fixture
def shown(qtbot: QtBot) -> FindingList:
    made = FindingList()
    qtbot.addWidget(made)
    made.resize(800, 600)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_the_reason_is_asked_for_in_the_card(qtbot: QtBot, shown: FindingList) -> None:
    shown.set_findings([WARNING])
    (card,) = shown.cards()
    assert not card.reason_field.isVisible()
    qtbot.mouseClick(card.acknowledge, Qt.MouseButton.LeftButton)
    assert card.reason_field.isVisible()
    with qtbot.assertNotEmitted(shown.acknowledge_requested):
        qtbot.keyClick(card.reason_field, Qt.Key.Key_Return)  # no reason is none
    qtbot.keyClicks(card.reason_field, "the cache is the question")
    with qtbot.waitSignal(shown.acknowledge_requested) as asked:
        qtbot.keyClick(card.reason_field, Qt.Key.Key_Return)
    assert asked.args == [(WARNING,), MESSAGES["the_cache_is_the_question"]]


def test_an_error_cannot_be_acknowledged_and_a_run_that_is_watched_is_only_told(
    qtbot: QtBot, shown: FindingList
) -> None:
    shown.set_findings([ERROR])
    assert not shown.cards()[0].acknowledge.isVisible()
    past = FindingList(actions=False)
    qtbot.addWidget(past)
    past.set_findings([WARNING])
    past.show()
    assert not past.cards()[0].acknowledge.isVisible()
    assert past.cards()[0].help.isVisible()


def test_what_is_acknowledged_comes_last_and_can_be_taken_back(qtbot: QtBot, shown: FindingList) -> None:
    note = Finding("few-trials", Severity.INFO, "Few", "3", "why", "remedy", "source")
    shown.set_findings([WARNING, note], lambda finding: "seen" if finding is WARNING else "")
    assert shown.findings() == (note, WARNING)
    card = shown.cards()[1]
    assert card.reason == "seen"
    with qtbot.waitSignal(shown.acknowledge_requested) as asked:
        qtbot.mouseClick(card.acknowledge, Qt.MouseButton.LeftButton)
    assert asked.args == [(WARNING,), ""]


def test_the_keyboard_stays_with_the_finding(qtbot: QtBot, shown: FindingList) -> None:
    shown.set_findings([ERROR, WARNING])
    shown.activateWindow()
    qtbot.waitUntil(shown.isActiveWindow)
    card = shown.cards()[1]
    qtbot.mouseClick(card.acknowledge, Qt.MouseButton.LeftButton)
    assert card.reason_field.hasFocus()
    shown.set_findings([ERROR, WARNING], lambda finding: "seen" if finding is WARNING else "")
    assert shown.cards()[1].hasFocus()


def test_more_asks_for_the_page_of_the_check(qtbot: QtBot, shown: FindingList) -> None:
    shown.set_findings([WARNING])
    with qtbot.waitSignal(shown.more_requested) as asked:
        qtbot.mouseClick(shown.cards()[0].help, Qt.MouseButton.LeftButton)
    assert asked.args == ["check-page-cache"]


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    made = made_page(qtbot, tmp_path)
    made.begin([LOCAL])
    settle(qtbot, made)
    with_tests(qtbot, made, "sysbench-cpu")
    for step in made.draft.steps:
        step.form.use_defaults()
    made.draft.repetition.set_text("trials", "3")
    made.tests.changed.emit()
    settle(qtbot, made)
    made.go(FINDINGS)
    return made


def card_of(page: MeasurePage, finding: str) -> FindingCard:
    return next(card for card in page.findings.list.cards() if card.finding.id == finding)


def started(qtbot: QtBot, page: MeasurePage) -> Plan:
    page.go(REVIEW)
    with qtbot.waitSignal(page.run_requested) as asked:
        qtbot.mouseClick(page.footer.next, Qt.MouseButton.LeftButton)
    plan = asked.args[0]
    assert isinstance(plan, Plan)
    return plan


def test_a_reason_goes_with_the_plan_that_runs(qtbot: QtBot, page: MeasurePage) -> None:
    card = card_of(page, "few-trials")
    card.acknowledge_requested.emit(card.group, "a first look")
    settle(qtbot, page)
    assert card_of(page, "few-trials").reason == "a first look"
    assert "1 acknowledged" in page.findings.explanation.text()
    page.go(REVIEW)
    assert "Acknowledged: few-trials (every step): a first look" in page.review.changed_values.text()
    assert started(qtbot, page).acknowledged == (Acknowledged("few-trials", "a first look"),)


def test_what_a_remedy_changed_stands_in_the_review_until_it_is_taken_back(qtbot: QtBot, page: MeasurePage) -> None:
    qtbot.mouseClick(card_of(page, "sysbench-cpu-defaults").buttons[0], Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert {change.parameter for change in page.draft.plan().changed} >= {"cpu_max_prime"}
    page.go(REVIEW)
    assert "cpu_max_prime 10000 → 20000 (sysbench-cpu-defaults)" in page.review.changed_values.text()
    page.go(FINDINGS)
    page.findings.undo.click()
    settle(qtbot, page)
    assert page.draft.plan().changed == ()
    page.go(REVIEW)
    assert page.review.changed_values.isHidden()


def test_more_leads_to_the_help(qtbot: QtBot, workstation: Workstation) -> None:
    window = MainWindow(workstation)
    qtbot.addWidget(window)
    page = window.show_page(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    page.findings.more_requested.emit("check-few-trials")
    help_page = window.pages.existing(PageName.HELP)
    assert isinstance(help_page, HelpPage)
    assert help_page.browser.toPlainText().startswith("Fewer than 6 trials")
