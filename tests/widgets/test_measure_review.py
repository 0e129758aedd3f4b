"""The wizard's last step: what runs where, what it takes, and the commands to copy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Order, Plan, make_step
from app.plans.totals import Totals
from suites.verdict import Goal
from tests.widgets.measure_stage import made_page, settle, with_tests
from widgets.wizard.command_view import CommandView
from widgets.wizard.editors import Editor
from widgets.wizard.measure_page import REVIEW, MeasurePage
from widgets.wizard.review_step import _trials as trials_text

pytestmark = pytest.mark.usefixtures("few_programs")

PLAN = Plan("disk", ("local",), (make_step("fio", {}),))


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "sysbench-cpu", "fio")
    made.go(REVIEW)
    settle(qtbot, made)
    return made


def _write(editor: Editor, text: str) -> None:
    editor.set_text(text)
    editor.edited.emit(text)


def test_a_row_for_each_step_and_only_columns_that_say_something(page: MeasurePage) -> None:
    table = page.review.table
    model = table.model()
    assert [model.index(row, 0).data() for row in range(model.rowCount())] == ["sysbench-cpu", "fio"]
    across = Qt.Orientation.Horizontal
    shown = [model.headerData(column, across) for column in range(6) if not table.isColumnHidden(column)]
    assert shown == ["Step", "One trial", "Written", "Space"]


def test_what_is_unknown_of_every_step_has_no_column(qtbot: QtBot, tmp_path: Path) -> None:
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "command")
    made.draft.steps[0].form.set_text("command", "true")
    made.plan_step.changed.emit()
    made.go(REVIEW)
    settle(qtbot, made)
    table = made.review.table
    assert [table.isColumnHidden(column) for column in range(6)] == [False, True, False, True, True, True]
    assert "network: unknown" in made.review.totals.text()


def test_the_telemetry_interval_is_part_of_the_plan(page: MeasurePage, qtbot: QtBot) -> None:
    box = page.review.interval
    assert box.currentText() == "1 s"
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Home)
    assert box.currentText() == "0.1 s"
    plan = page.draft.plan()
    assert plan.telemetry_interval == 0.1
    page.draft.reset(plan.hosts)
    page.review.refresh()
    assert box.currentText() == "1 s"
    page.draft.adopt(replace(plan, telemetry_interval=0.3))
    page.review.refresh()
    assert box.currentText() == "0.3 s"


def test_the_selected_row_shows_its_exact_command(page: MeasurePage) -> None:
    page.review.table.selectRow(1)
    command = page.review.command
    assert "fio" in command.caption.text()
    command.copy_button.click()
    assert QGuiApplication.clipboard().text().splitlines()[-1].startswith("fio --name=")


def test_all_commands_are_copied_as_a_script(page: MeasurePage) -> None:
    page.review.script_button.click()
    script = QGuiApplication.clipboard().text()
    assert script.startswith("#!/bin/sh\n")
    assert "\nsysbench cpu " in script
    assert "\nfio --name=" in script


def test_repetition_changes_the_plan_and_its_totals(qtbot: QtBot, page: MeasurePage) -> None:
    before = page.review.totals.text()
    fields = page.review.repetition.fields
    for name, text in (("trials", "8"), ("warm_ups", "2"), ("pause", "1 min"), ("order", "interleaved")):
        _write(fields[name].editor, text)
    settle(qtbot, page)
    plan = page.draft.plan()
    assert (plan.repetition.trials, plan.repetition.warm_ups, plan.repetition.pause) == (8, 2, 60.0)
    assert plan.order is Order.INTERLEAVED
    assert page.review.totals.text() != before
    assert "20 trials" in page.review.explanation.text()


def test_a_repetition_that_is_not_accepted_keeps_the_plan_here(page: MeasurePage) -> None:
    trials = page.review.repetition.fields["trials"]
    _write(trials.editor, "none")
    assert trials.message.isVisible()
    assert not page.footer.next.isEnabled()
    assert not page.review.save_button.isEnabled()


@pytest.mark.parametrize(
    ("sums", "shown"),
    [
        (Totals(1, 1.0, 0, 0, 0, frozenset()), "1 trial"),
        (Totals(2, 1.0, 0, 0, 0, frozenset()), "2 trials"),
        (Totals(1, 1.0, 0, 0, 0, frozenset(), grows=True), "At least 1 trial"),
        (Totals(6, 1.0, 0, 0, 0, frozenset(), most=40, grows=True), "6 to 40 trials"),
    ],
)
def test_the_number_of_trials_agrees_with_its_noun(sums: Totals, shown: str) -> None:
    assert trials_text(sums) == shown


def test_name_and_question_are_the_plans(page: MeasurePage) -> None:
    page.review.name_field.setText("nightly")
    page.review.name_field.textEdited.emit("nightly")
    page.review.question_field.textEdited.emit("Is it slower?")
    assert (page.draft.plan().name, page.draft.plan().question) == ("nightly", "Is it slower?")


def test_what_could_not_be_told_is_said_beside_the_findings(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin(["nowhere"])
    page.plan_step.tests.add("fio")
    page.plan_step.changed.emit()
    settle(qtbot, page)
    page.go(REVIEW)
    assert page.assessment is not None
    assert page.assessment.skipped
    assert page.review.skipped.text().startswith("Not checked: ")


def test_the_age_of_what_was_seen_on_the_host_is_that_of_the_moment_it_is_shown(
    qtbot: QtBot, page: MeasurePage
) -> None:
    """The findings were made with the facts; the user may come back to them after an hour."""
    plan, facts = page.draft.plan(), page.draft.facts[LOCAL]
    old = replace(facts, read_at=(datetime.now(UTC) - timedelta(minutes=7)).isoformat())
    busy = replace(old, measured=replace(old.measured, foreign_cpu=0.5, watched=3.0))
    page.assessor.request(plan, {LOCAL: replace(busy, read_at=datetime.now(UTC).isoformat())})
    settle(qtbot, page)
    assert page.assessment is not None
    assert not any("7 min ago" in found.measured for found in page.assessment.findings)
    page.assessor._assessed = (plan, {LOCAL: busy})
    page.go(REVIEW)
    settle(qtbot, page)
    found = next(one for one in page.assessment.findings if one.id == "host-busy")
    assert "7 min ago" in found.measured


def test_a_goal_goes_into_the_plan_and_a_wrong_one_keeps_it_here(qtbot: QtBot, page: MeasurePage) -> None:
    field, message = page.review.goal_field, page.review.goal_message
    assert "events_per_second >= 20k" in field.placeholderText()
    field.setText("fio:iops >= 20000")
    field.textEdited.emit(field.text())
    settle(qtbot, page)
    assert page.draft.plan().goals == (Goal("iops", at_least=20_000.0, step="fio"),)
    assert message.isHidden()
    field.setText("triad >= 3")
    field.textEdited.emit(field.text())
    settle(qtbot, page)
    assert "No step measures" in message.label.text()
    assert not page.review.save_button.isEnabled()
    page.draft.adopt(replace(PLAN, goals=(Goal("latency_p99", at_most=3e6),)))
    assert page.draft.goals == "latency_p99 <= 3 ms"


def test_of_a_command_with_files_the_command_is_in_view(qtbot: QtBot) -> None:
    view = CommandView("Exact command", lines=3)
    qtbot.addWidget(view)
    view.resize(600, 200)
    view.show()
    view.set_text("cat > run.sh <<'EOF'\n" + "echo\n" * 9 + "EOF\nsh run.sh")
    assert view._view.verticalScrollBar().value() > 0
    assert view._view.viewport().rect().contains(view._view.cursorRect())
    view.set_text("\n".join(["fio --name=a"] * 9))
    assert view._view.verticalScrollBar().value() == 0
