"""The wizard from the first host to the frozen plan: real facts of this computer, real suites, real checks."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, make_step
from suites.facts import Absent, Facts, Tool
from suites.registry import programs
from suites.vocab import Severity
from tests.widgets.measure_stage import made_page, settle, type_into, with_tests
from widgets.parts.text import Text
from widgets.wizard.install_dialog import InstallDialog
from widgets.wizard.measure_page import FINDINGS, HOSTS, PARAMETERS, REVIEW, TESTS, MeasurePage


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
    page.hosts.rows[LOCAL].box.click()
    settle(qtbot, page)
    assert "vCPU" in page.hosts.rows[LOCAL].state.text()
    page.forward()
    assert page.current == TESTS
    page.tests.cards["sysbench-cpu"].box.click()
    page.tests.cards["fio"].box.click()
    page.tests.cards["fio"].another.click()
    page.forward()
    assert page.current == PARAMETERS
    type_into(qtbot, page.parameters.row("time"), "12")
    page.parameters.tabs.setCurrentIndex(1)
    type_into(qtbot, page.parameters.row("block_size"), "8k")
    settle(qtbot, page)
    page.forward()
    assert page.current == FINDINGS
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
    assert "4 potatoes" in row.message.text()
    assert not page.footer.next.isEnabled()
    assert "fio: 1 invalid value." in page.footer.hint.text()
    page.forward()
    assert page.current == PARAMETERS
    page.back()
    page.forward()
    assert page.parameters.row("size").editor.field.property("text") == "4 potatoes"
    type_into(qtbot, page.parameters.row("size"), "2 GiB")
    assert page.footer.next.isEnabled()


def test_the_exact_command_follows_every_key(qtbot: QtBot, page: MeasurePage) -> None:
    with_tests(qtbot, page, "sysbench-cpu")
    page.forward()
    type_into(qtbot, page.parameters.row("cpu_max_prime"), "12345")
    settle(qtbot, page)
    assert "--cpu-max-prime=12345" in page.panel.command.text()
    page.panel.command.copy_button.click()
    assert QGuiApplication.clipboard().text() == page.panel.command.text()


def test_a_finding_is_remedied_by_a_click_and_taken_back(qtbot: QtBot, page: MeasurePage) -> None:
    with_tests(qtbot, page, "sysbench-cpu")
    page.forward()
    page.parameters.defaults_button.click()
    settle(qtbot, page)
    page.forward()
    before = page.draft.plan()
    card = next(card for card in page.findings.list.cards() if card.finding.changes)
    changes = dict(card.finding.changes)
    qtbot.mouseClick(card.buttons[0], Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert {name: page.draft.plan().steps[0].values[name] for name in changes} == changes
    assert card.finding not in page.findings.list.findings()
    qtbot.mouseClick(page.findings.undo, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert page.draft.plan() == before
    assert card.finding.id in {finding.id for finding in page.findings.list.findings()}


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
    assert page.current == HOSTS
    press(Qt.Key.Key_Space)
    settle(qtbot, page)
    press(Qt.Key.Key_Return)
    assert page.current == TESTS
    press(Qt.Key.Key_Space)
    settle(qtbot, page)
    press(Qt.Key.Key_Return)
    assert page.current == PARAMETERS
    first = page.parameters.rows[0]
    assert QApplication.focusWidget() is first.editor.field
    press(Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert page.current == FINDINGS
    press(Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert page.current == PARAMETERS
    press(Qt.Key.Key_Return)
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
    page.tests.changed.emit()
    settle(qtbot, page)
    page.tests.refresh()
    assert len(page.tests.cards["sysbench-cpu"].install_buttons) == 1
    page.go(REVIEW)
    assert not page.footer.next.isEnabled()
    assert "not installed" in page.footer.hint.text()
    assert any(finding.severity is Severity.ERROR for finding in page.panel.findings.findings())


@pytest.mark.parametrize(
    ("suite", "program", "words"),
    [
        ("pgbench", "postgres", "PostgreSQL server: not installed on"),
        pytest.param("unixbench", "make", "make: not installed on", marks=pytest.mark.slow),
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
    page.tests.changed.emit()
    settle(qtbot, page)
    page.tests.refresh()
    card = page.tests.cards[suite]
    assert any(words in label.text() for label in card.findChildren(Text))
    assert len(card.install_buttons) == 1
    page.go(FINDINGS)
    settle(qtbot, page)
    (found,) = (each for each in page.panel.findings.cards() if each.finding.id == "tool-missing")
    button = next(each for each in found.buttons if "Install" in each.text())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    (dialog,) = page.findChildren(InstallDialog)
    shown = [label.text() for label in dialog.findChildren(Text)]
    command = found.finding.install
    assert command is not None
    assert command in shown
    assert shlex.split(shlex.split(command)[-1])[-1] == {"postgres": "postgresql", "make": "make"}[program]
    dialog.reject()


def _without(facts: Facts, tool: str) -> Facts:
    missing = Tool(name=tool, version=Absent("not installed"), path=Absent("not installed"))
    return replace(facts, tools=(*(known for known in facts.tools if known.name != tool), missing))


def test_the_directory_that_is_typed_is_looked_at(qtbot: QtBot, page: MeasurePage, tmp_path: Path) -> None:
    with_tests(qtbot, page, "fio")
    page.forward()
    type_into(qtbot, page.parameters.row("directory"), str(tmp_path / "nowhere"))
    settle(qtbot, page)
    found = {finding.id for finding in page.panel.findings.findings()}
    assert "directory-not-writable" in found
    type_into(qtbot, page.parameters.row("directory"), str(tmp_path))
    settle(qtbot, page)
    assert page.draft.facts[LOCAL].directory(str(tmp_path)) is not None
    assert "directory-not-writable" not in {finding.id for finding in page.panel.findings.findings()}
