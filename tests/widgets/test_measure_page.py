"""The wizard from the first host to the frozen plan: real facts of this computer, real suites, real checks."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, make_step
from suites.facts import Absent, Facts, Tool
from suites.registry import programs
from suites.vocab import Finding, Severity
from tests.widgets.measure_stage import made_page, settle, type_into, with_tests
from widgets.parts.text import Text
from widgets.wizard.install_dialog import InstallDialog
from widgets.wizard.measure_page import PARAMETERS, PLAN, REVIEW, MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    return made_page(qtbot, tmp_path)


def _started(qtbot: QtBot, page: MeasurePage) -> Plan:
    with qtbot.waitSignal(page.run_requested) as asked:
        qtbot.mouseClick(page.footer.next, Qt.MouseButton.LeftButton)
    plan = asked.args[0]
    assert isinstance(plan, Plan)
    return plan


def test_from_host_to_run(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin([])
    assert not page.footer.next.isEnabled()
    page.plan_step.hosts.list.toggle(LOCAL)
    settle(qtbot, page)
    assert "vCPU" in page.plan_step.hosts.list.entry(LOCAL).texts[1]
    tests = page.plan_step.tests
    for suite in ("sysbench-cpu", "fio"):
        tests.list.toggle(suite)
    tests.lines[1].another.click()
    page.forward()
    assert page.current == PARAMETERS
    type_into(qtbot, page.parameters.row("time"), "12")
    page.parameters.tabs.setCurrentIndex(1)
    type_into(qtbot, page.parameters.row("block_size"), "8k")
    settle(qtbot, page)
    page.forward()
    assert page.current == REVIEW
    plan = _started(qtbot, page)
    assert plan.hosts == (LOCAL,)
    assert [step.name for step in plan.steps] == ["sysbench-cpu", "fio", "fio 2"]
    assert plan.step("sysbench-cpu").values["time"] == 12.0
    assert plan.step("fio").values["block_size"] == 8192
    assert plan.step("fio 2").values["block_size"] == 4096


def test_what_is_not_accepted_stays_and_keeps_the_user_here(qtbot: QtBot, page: MeasurePage) -> None:
    with_tests(qtbot, page, "fio")
    page.forward()
    row = page.parameters.row("size")
    type_into(qtbot, row, "4 potatoes")
    assert page.draft.steps[0].form.text("size") == "4 potatoes"
    assert "4 potatoes" in row.hint.text()
    assert not page.footer.next.isEnabled()
    assert "fio: 1 invalid value." in page.footer.hint.text()
    page.forward()
    assert page.current == PARAMETERS
    page.back()
    page.forward()
    assert page.parameters.row("size").editor.field.property("text") == "4 potatoes"
    type_into(qtbot, page.parameters.row("size"), "2 GiB")
    assert page.footer.next.isEnabled()


def test_a_remedy_is_applied_and_undone(qtbot: QtBot, page: MeasurePage) -> None:
    with_tests(qtbot, page, "sysbench-cpu")
    page.forward()
    page.parameters.defaults_button.click()
    settle(qtbot, page)
    before = page.draft.plan()
    issue = next(issue for issue in page.issues.issues if issue.fixable)
    changes = dict(issue.first.changes)
    page.issues.fix_requested.emit(issue.fixable)
    settle(qtbot, page)
    assert {name: page.draft.plan().steps[0].values[name] for name in changes} == changes
    assert issue.first.id not in {one.first.id for one in page.issues.issues if one.gone is None}
    page.issues.undo.click()
    settle(qtbot, page)
    assert page.draft.plan() == before
    assert issue.first.id in {one.first.id for one in page.issues.issues}


def test_each_of_two_remedies_is_undone_the_last_one_first(qtbot: QtBot, page: MeasurePage) -> None:
    with_tests(qtbot, page, "sysbench-cpu")
    form = page.draft.steps[0].form
    form.set_text("threads", "1")
    for threads in (2, 3):
        words = dict.fromkeys(("title", "measured", "why", "remedy", "source"), "words")
        step, changes = "sysbench-cpu", {"threads": threads}
        finding = Finding("x", severity=Severity.WARNING, step=step, changes=changes, **words)
        page.issues.fix_requested.emit((finding,))
        settle(qtbot, page)
    for text in ("2", "1"):
        assert page.issues.undo.isVisible()
        page.issues.undo.click()
        assert form.text("threads") == text
    assert not page.issues.undo.isVisible()


def test_a_plan_is_saved_and_opened_again(qtbot: QtBot, page: MeasurePage, tmp_path: Path) -> None:
    with_tests(qtbot, page, "fio", "iperf3")
    page.draft.question = "Is it fast enough?"
    page.go(REVIEW)
    plan = page.draft.plan()
    path = tmp_path / "plan.toml"
    page.save_to(path)
    settle(qtbot, page)
    assert path.exists()
    page.begin([])
    page.open_from(path)
    settle(qtbot, page)
    assert page.current == REVIEW
    assert page.draft.plan() == plan
    assert page.review.question_field.text() == "Is it fast enough?"


def test_a_file_that_is_no_plan_is_named(qtbot: QtBot, page: MeasurePage, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("hosts = 3", encoding="utf-8")
    page.open_from(path)
    settle(qtbot, page)
    assert page.notice.isVisible()
    assert "broken.toml" in page.notice.text()


def test_a_loaded_plan_is_shown_as_it_is(qtbot: QtBot, page: MeasurePage) -> None:
    plan = Plan("repeat", (LOCAL,), (make_step("dd", {}), make_step("sysbench-memory", {"threads": 3})))
    page.load(plan)
    settle(qtbot, page)
    assert page.current == REVIEW
    assert _started(qtbot, page) == plan


def test_it_can_be_walked_by_keyboard_alone(qtbot: QtBot, page: MeasurePage) -> None:
    def press(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        qtbot.keyClick(QApplication.focusWidget() or page, key, modifier)

    page.begin([])
    assert page.current == PLAN
    press(Qt.Key.Key_Space)
    settle(qtbot, page)
    press(Qt.Key.Key_Tab)
    qtbot.keyClicks(page.plan_step.tests.field, "sysbench cpu")
    press(Qt.Key.Key_Return)
    settle(qtbot, page)
    press(Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert page.current == PARAMETERS
    first = page.parameters.rows[0]
    assert QApplication.focusWidget() is first.editor.field
    press(Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert page.current == REVIEW
    press(Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert page.current == PARAMETERS
    press(Qt.Key.Key_Return)
    assert page.current == REVIEW
    settle(qtbot, page)
    with qtbot.waitSignal(page.run_requested) as asked:
        press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert asked.args[0].steps[0].suite_id == "sysbench-cpu"


def test_a_missing_tool_keeps_the_plan_from_being_started(qtbot: QtBot, page: MeasurePage) -> None:
    with_tests(qtbot, page, "sysbench-cpu")
    read = page.draft.facts[LOCAL]
    page.draft.set_facts(_without(read, "sysbench"))
    page.plan_step.changed.emit()
    settle(qtbot, page)
    assert "no sysbench" in page.plan_step.tests.list.entry("sysbench-cpu").texts[2]
    page.go(REVIEW)
    assert not page.footer.next.isEnabled()
    assert "not installed" in page.footer.hint.text()
    assert any(issue.first.severity is Severity.ERROR for issue in page.issues.issues)


@pytest.mark.parametrize(
    ("suite", "program", "words"),
    [
        ("pgbench", "postgres", "no PostgreSQL server on"),
        pytest.param("unixbench", "make", "no make on", marks=pytest.mark.slow),
    ],
)
def test_a_missing_server_or_compiler_is_installed_from_its_finding(
    qtbot: QtBot, page: MeasurePage, suite: str, program: str, words: str
) -> None:
    with_tests(qtbot, page, suite)
    facts = page.draft.facts[LOCAL]
    system = replace(facts.system, distribution_id="debian", user="root")
    every = tuple(
        Tool(name=name, version="1.0", path=f"/usr/bin/{name}") for program in programs() for name in program.names
    )
    page.draft.set_facts(_without(replace(facts, system=system, tools=every), program))
    page.plan_step.changed.emit()
    settle(qtbot, page)
    assert words in page.plan_step.tests.list.entry(suite).texts[2]
    (found,) = (issue.first for issue in page.issues.issues if issue.first.id == "tool-missing")
    page.issues.install_requested.emit(found)
    (dialog,) = page.findChildren(InstallDialog)
    shown = [label.text() for label in dialog.findChildren(Text)]
    command = found.install
    assert command is not None
    assert command in shown
    assert shlex.split(shlex.split(command)[-1])[-1] == {"postgres": "postgresql", "make": "make"}[program]
    dialog.reject()


def _without(facts: Facts, tool: str) -> Facts:
    missing = Tool(name=tool, version=Absent("not installed"), path=Absent("not installed"))
    return replace(facts, tools=(*(known for known in facts.tools if known.name != tool), missing))


@pytest.mark.slow
def test_the_directory_that_is_typed_is_looked_at(qtbot: QtBot, page: MeasurePage, tmp_path: Path) -> None:
    with_tests(qtbot, page, "fio")
    page.forward()
    page.parameters.all.click()
    type_into(qtbot, page.parameters.row("directory"), str(tmp_path / "nowhere"))
    settle(qtbot, page)
    assert "directory-not-writable" in found_ids(page)
    type_into(qtbot, page.parameters.row("directory"), str(tmp_path))
    settle(qtbot, page)
    assert page.draft.facts[LOCAL].directory(str(tmp_path)) is not None
    assert "directory-not-writable" not in found_ids(page)


def found_ids(page: MeasurePage) -> set[str]:
    assert page.assessment is not None
    return {finding.id for finding in page.assessment.findings}
