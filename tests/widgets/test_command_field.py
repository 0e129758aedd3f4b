"""The command of a step is edited and pasted, and what cannot be read stays and is named."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from suites.base import complete_values
from suites.registry import suite
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle, type_into, with_tests
from widgets.wizard.measure_page import MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets", "test_command_field")


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "fio")
    made.forward()
    return made


def paste(page: MeasurePage, text: str) -> None:
    mime = QMimeData()
    mime.setText(text)
    edit = page.parameters.command.edit
    edit.setFocus()
    edit.selectAll()
    edit.insertFromMimeData(mime)


def test_it_follows_the_rows_and_is_copied(qtbot: QtBot, page: MeasurePage) -> None:
    command = page.parameters.command
    type_into(qtbot, page.parameters.row("block_size"), "12k")
    assert " --bs=12k " in command.text()
    command.copy_button.click()
    assert QGuiApplication.clipboard().text() == command.text()


def test_what_is_typed_changes_the_rows_and_is_written_out_when_left(qtbot: QtBot, page: MeasurePage) -> None:
    command = page.parameters.command
    command.edit.setFocus()
    text = command.text().replace("--iodepth=32", "--iodepth=7").replace("--bs=4k", "--bs=8192")
    paste(page, text)
    assert page.draft.steps[0].form.text("iodepth") == "7"
    assert page.parameters.row("block_size").editor.field.property("text") == "8 KiB"
    assert command.text() == text
    page.parameters.row("rw").editor.field.setFocus()
    assert command.text() == text.replace("--bs=8192", "--bs=8k")
    assert command.note.isHidden()


def test_an_unknown_word_is_named_and_kept(qtbot: QtBot, page: MeasurePage) -> None:
    command = page.parameters.command
    paste(page, "fio --name=x --rw=randread --zonemode=zbd --iodepth=8")
    assert command.note.text().startswith("--zonemode=zbd: no parameter for this.")
    assert page.draft.steps[0].form.text("iodepth") == "8"
    type_into(qtbot, page.parameters.row("block_size"), "64k")
    assert "--bs=64k" in command.text()
    assert command.text().endswith(" --zonemode=zbd")
    command.alternative.click()
    assert page.draft.steps[0].suite.id == "fio-job"
    assert "zonemode=zbd" in str(page.draft.steps[0].form.values()["job"])
    assert command.note.isHidden()


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("own", "text", "complete"),
    [
        ("fio", "openssl speed", "command"),
        ("fio", "sysbench cpu --speed=4", "command"),
        ("command", "fio --name=x --rw=read", "fio"),
        ("command", "sysbench cpu --threads=3 run", "sysbench-cpu"),
    ],
)
def test_another_suite_can_be_used_for_any_command(page: MeasurePage, own: str, text: str, complete: str) -> None:
    step = page.draft.steps[0]
    page.draft.use_command(step, suite(own), complete_values(suite(own), {}))
    page.parameters.refresh()
    command = page.parameters.command
    command.edit.setFocus()
    command.edit.setPlainText(text)
    assert command.alternative.isVisible()
    command.alternative.click()
    assert (step.suite.id, command.note.isHidden(), command.alternative.isHidden()) == (complete, True, True)


def test_what_the_step_adds_is_named_and_does_not_block(page: MeasurePage) -> None:
    command = page.parameters.command
    paste(page, "# random reads\nfio --name=x --rw=randread --size=1g")
    assert command.note.text().startswith("--thread: ")
    page.parameters.row("rw").editor.field.setFocus()
    assert command.text().startswith("fio --name=benchwright --rw=randread ")
    assert "--thread=1" in command.text()
    assert not command.text().endswith("--thread")
    assert command.note.isVisible()
    assert not page.parameters.problem()


def test_what_is_stated_is_not_tuned(qtbot: QtBot, page: MeasurePage) -> None:
    paste(page, "sysbench cpu --threads=1 --time=10 run")
    settle(qtbot, page)
    values = page.draft.steps[0].form.values()
    assert (values["threads"], values["time"], values["cpu_max_prime"]) == (1, 10, 10_000)


def test_an_unread_word_stands_in_the_way_until_it_is_removed(qtbot: QtBot, page: MeasurePage) -> None:
    page.plan_step.tests.add("sysbench-cpu")
    settle(qtbot, page)
    command = page.parameters.command
    paste(page, "fio --name=x --rw=randread --zonemode=zbd --iodepth=8")
    settle(qtbot, page)
    assert "--zonemode=zbd" in page._obstacle()
    page.parameters.tabs.setCurrentIndex(1)
    assert command.note.isHidden()
    assert "--zonemode=zbd" in page._obstacle()
    page.parameters.tabs.setCurrentIndex(0)
    assert command.note.text().startswith("--zonemode=zbd: no parameter for this.")
    assert command.text().endswith(" --zonemode=zbd")
    command.edit.setFocus()
    qtbot.keyClick(command.edit, Qt.Key.Key_Escape)
    settle(qtbot, page)
    assert "--zonemode=zbd" not in page._obstacle()


def test_a_name_of_the_users_stays(qtbot: QtBot, page: MeasurePage) -> None:
    page.draft.steps[0].name = "fio randread"
    paste(page, "sysbench cpu --threads=4 run")
    assert page.draft.steps[0].name == "fio randread"


def test_esc_reverts(qtbot: QtBot, page: MeasurePage) -> None:
    command = page.parameters.command
    before = command.text()
    paste(page, "fio '")
    assert "quotation" in command.note.text()
    type_into(qtbot, page.parameters.row("block_size"), "64k")
    assert command.text() == "fio '"
    qtbot.keyClick(command.edit, Qt.Key.Key_Escape)
    assert command.text() == before.replace("--bs=4k", "--bs=64k")
    assert command.note.isHidden()


def test_esc_restores_the_test_from_before_the_edit(qtbot: QtBot, page: MeasurePage) -> None:
    command = page.parameters.command
    type_into(qtbot, page.parameters.row("block_size"), "12k")
    (step,), before, text = page.draft.steps, page.draft.plan(), command.text()
    for pasted in ("sysbench cpu --threads=3 run", "fio --name=x --rw=write --iodepth=7", "fio --zonemode=zbd"):
        paste(page, pasted)
        qtbot.keyClick(command.edit, Qt.Key.Key_Escape)
        assert (page.draft.plan(), command.text(), command.note.isHidden()) == (before, text, True)
        assert page.parameters.rows[0].parameter in step.suite.parameters
    paste(page, "fio --iodepth=7")
    page.parameters.row("block_size").editor.field.setFocus()
    qtbot.keyClick(command.edit, Qt.Key.Key_Escape)  # nothing was edited since the field was left
    assert step.form.text("iodepth") == "7"


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "text", ["fio --zonemode=zbd", "fio job.fio", "fio --bs=many", "sysbench cpu --speed=4", "x '"]
)
def test_a_line_of_which_nothing_is_read_changes_nothing(page: MeasurePage, text: str) -> None:
    page.draft.steps[0].form.set_text("iodepth", "7")
    before = page.draft.plan()
    paste(page, text)
    assert page.draft.plan() == before
    assert not page.parameters.command.note.isHidden()
    assert page.parameters.command.text() == text


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("text", "suite", "values"),
    [
        ("env sysbench cpu --threads=4 run", "sysbench-cpu", {"threads": 4}),
        ("$ iperf3 -c h \\\n  -t 30 -P 4", "iperf3", {"address": "h", "streams": 4}),
        ("openssl speed -evp aes-256-gcm", "command", {"command": "openssl speed -evp aes-256-gcm"}),
    ],
)
def test_the_command_of_another_tool_changes_the_test(
    qtbot: QtBot, page: MeasurePage, text: str, suite: str, values: dict[str, object]
) -> None:
    paste(page, text)
    settle(qtbot, page)
    (step,) = page.draft.steps
    assert (step.suite.id, step.name) == (suite, suite)
    assert values.items() <= step.form.values().items()
    assert page.parameters.rows[0].parameter in step.suite.parameters
    assert page.parameters.command.note.text() == MESSAGES["test_changed"].replace("SUITE", step.suite.title)


def test_a_device_in_a_pasted_command_needs_the_usual_consent(qtbot: QtBot, page: MeasurePage) -> None:
    paste(page, "fio --name=x --rw=randwrite --filename=/dev/no-such-device:/dev/null --runtime=30 --time_based")
    settle(qtbot, page)
    assert page.draft.devices() == ("/dev/no-such-device", "/dev/null")
    assert page.assessment is not None
    assert "device-unusable" in {finding.id for finding in page.assessment.findings}
