"""A finding of a plan is acknowledged with a reason that stays with the plan, and leads to its page of help."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.plans.plan import Plan
from app.plans.plan_remarks import Acknowledged
from app.services import Workstation
from tests.widgets.measure_stage import made_page, settle, with_tests
from widgets.help_page import HelpPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.issue_line import IssueLine
from widgets.wizard.measure_page import REVIEW, MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "sysbench-cpu")
    for step in made.draft.steps:
        step.form.use_defaults()
    made.draft.repetition.set_text("trials", "3")
    made.plan_step.changed.emit()
    settle(qtbot, made)
    made.issues.set_folded(folded=False)
    return made


def line_of(page: MeasurePage, finding: str) -> IssueLine:
    return next(line for line in page.issues.lines if line.issue.first.id == finding)


def started(qtbot: QtBot, page: MeasurePage) -> Plan:
    page.go(REVIEW)
    with qtbot.waitSignal(page.run_requested) as asked:
        qtbot.mouseClick(page.footer.next, Qt.MouseButton.LeftButton)
    plan = asked.args[0]
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.slow
def test_a_reason_goes_with_the_plan_that_runs(qtbot: QtBot, page: MeasurePage) -> None:
    line = line_of(page, "few-trials")
    line.acknowledge_requested.emit(line.issue.findings, "a first look")
    settle(qtbot, page)
    assert line_of(page, "few-trials").issue.reason == "a first look"
    assert "1 acknowledged" in page.issues.counts.text
    page.go(REVIEW)
    assert "Acknowledged: few-trials (every step): a first look" in page.review.changed_values.text()
    assert started(qtbot, page).acknowledged == (Acknowledged("few-trials", "a first look"),)


def test_what_a_remedy_changed_stands_in_the_review_until_it_is_taken_back(qtbot: QtBot, page: MeasurePage) -> None:
    page.issues.fix_requested.emit(line_of(page, "sysbench-cpu-defaults").issue.fixable)
    settle(qtbot, page)
    assert {change.parameter for change in page.draft.plan().changed} >= {"cpu_max_prime"}
    page.go(REVIEW)
    assert "cpu_max_prime 10000 → 20000 (sysbench-cpu-defaults)" in page.review.changed_values.text()
    page.issues.undo.click()
    settle(qtbot, page)
    assert page.draft.plan().changed == ()
    page.go(REVIEW)
    assert page.review.changed_values.isHidden()


def test_more_leads_to_the_help(qtbot: QtBot, workstation: Workstation) -> None:
    window = MainWindow(workstation)
    qtbot.addWidget(window)
    page = window.show_page(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    page.issues.help_requested.emit("check-few-trials")
    help_page = window.pages.existing(PageName.HELP)
    assert isinstance(help_page, HelpPage)
    assert help_page.browser.toPlainText().startswith("Fewer than 6 trials")
