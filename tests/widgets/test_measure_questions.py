"""Questions and recent plans in the list of the wizard's first page: found, asked what they need, filled in."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from app.hosts.hosts import HostEntry
from app.plans.plan import LOCAL
from app.plans.presets import default_plan, preset, preset_names
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle, with_tests
from widgets.wizard.draft import ValueSource
from widgets.wizard.editors import Editor
from widgets.wizard.measure_page import PLAN, REVIEW, MeasurePage
from widgets.wizard.plan_start import AnswersDialog

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets-measure", "test_measure_questions")


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    return made_page(qtbot, tmp_path)


def dialog_of(page: MeasurePage) -> AnswersDialog:
    (found,) = [each for each in page.findChildren(AnswersDialog) if each.isVisible()]
    return found


def choose(qtbot: QtBot, page: MeasurePage, text: str) -> None:
    """Take the best match of `text` with the keyboard alone."""
    field = page.plan_step.tests.field
    field.setFocus()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def write(dialog: AnswersDialog, name: str, text: str) -> None:
    editor = dialog.fields[name]
    assert isinstance(editor, Editor)
    editor.set_text(text)
    editor.edited.emit(text)


def accept(qtbot: QtBot, page: MeasurePage, dialog: AnswersDialog) -> None:
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    settle(qtbot, page)


def test_every_question_is_found_with_its_time_and_cost(qtbot: QtBot, page: MeasurePage) -> None:
    tests = page.plan_step.tests
    assert {key.removeprefix("preset ") for key in tests.presets} == set(preset_names())
    qtbot.keyClicks(tests.field, "provisioned")
    assert tests.list.visible_keys() == ["preset provisioned-iops"]
    _, answers, time_and_cost = tests.list.entry("preset provisioned-iops").texts
    qtbot.keyClick(tests.field, Qt.Key.Key_Down)
    assert tests.answer.text() == answers != ""
    assert time_and_cost == "≤ 30 min, writes 10.1 GiB"


def test_a_question_is_found_by_its_name_steps_and_tools(qtbot: QtBot, page: MeasurePage) -> None:
    tests = page.plan_step.tests
    found = {}
    for text in ("cloud check", "cloud-check", "7zip", "ffmpeg", "rrul", "fio-slo", "hackbench", "h2load"):
        tests.field.setText(text)
        found[text] = {key.removeprefix("preset ") for key in tests.list.visible_keys() if key.startswith("preset ")}
    cpu = {"cpu-applications"}
    assert found == {
        "cloud check": {"cloud-check"}, "cloud-check": {"cloud-check"}, "7zip": cpu, "ffmpeg": cpu,
        "rrul": {"bufferbloat"}, "fio-slo": {"slo-disk"}, "hackbench": {"system-latency"}, "h2load": set(),
    }  # fmt: skip


def test_a_question_without_inputs_is_filled_in_at_once(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin([LOCAL])
    settle(qtbot, page)
    choose(qtbot, page, "integer load")
    settle(qtbot, page)
    assert page.current == REVIEW
    assert page.draft.name == "integer load"
    assert "rank" in page.notice.text()
    form = page.draft.steps[1].form
    assert form.source("time") is ValueSource.CUSTOM
    assert form.source("threads") is not ValueSource.CUSTOM  # tuned to the host, or its default where they agree


def test_what_only_the_user_knows_is_asked_and_refused_if_invalid(qtbot: QtBot, page: MeasurePage) -> None:
    choose(qtbot, page, "provisioned")
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
    choose(qtbot, page, "healthy")
    dialog = dialog_of(page)
    assert dialog.fields.keys() == {"peer"}
    box = dialog.fields["peer"]
    assert isinstance(box, QComboBox)
    assert [box.itemText(index) for index in range(box.count())][:2] == ["None", "This computer"]
    box.setCurrentIndex(box.findData(LOCAL))
    accept(qtbot, page, dialog)
    assert [step.peer for step in page.draft.steps] == [None, None, None, None, LOCAL, LOCAL]
    assert "not tested" not in page.notice.text()


@pytest.mark.parametrize(
    ("name", "answer", "title", "wrong"),
    [
        ("sqlite", "directory", "Directory on the volume", "relative/dir"),
        ("path-mtu", "target", "Destination", "$(reboot)"),
        ("cpu-applications", "encoder", "Video encoder of ffmpeg", "libx264; reboot"),
        ("path-quality", "target", "Destination", "-4"),
    ],
)
def test_a_text_that_no_step_accepts_is_refused_while_the_others_can_be_kept(
    qtbot: QtBot, name: str, answer: str, title: str, wrong: str
) -> None:
    dialog = AnswersDialog(preset(name), [LOCAL], [LOCAL])
    qtbot.addWidget(dialog)
    write(dialog, answer, wrong)
    assert dialog.message.text().startswith(f"{title}: {wrong!r} is not accepted.")
    assert not dialog.accept_button.isEnabled()


def test_the_peer_is_another_host_than_the_one_measured(qtbot: QtBot) -> None:
    for hosts, measured, peer in (
        (["local", "far"], ["local"], "far"), (["local", "far"], [], "far"), (["local", "far"], ["far"], "local"),
        (["local"], ["local"], "local"),
    ):  # fmt: skip
        dialog = AnswersDialog(preset("udp-rate"), hosts, measured)
        qtbot.addWidget(dialog)
        assert dialog.answers()["peer"] == peer


def test_a_cancelled_question_changes_nothing(qtbot: QtBot, page: MeasurePage) -> None:
    choose(qtbot, page, "memory bandwidth enough")
    qtbot.mouseClick(dialog_of(page).decline_button, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert page.draft.steps == []


@pytest.mark.slow
def test_a_new_test_is_fresh_and_the_plan_before_it_is_a_recent_one(
    qtbot: QtBot, page: MeasurePage, tmp_path: Path
) -> None:
    with_tests(qtbot, page, "dd")
    page.save_to(tmp_path / "saved.toml")
    settle(qtbot, page)
    page.plan_step.tests.add("fio")
    left = page.draft.plan()
    page.begin([])
    page.activated()
    settle(qtbot, page)
    assert (page.current, page.draft.steps, page.draft.hosts) == (PLAN, [], [])
    shown = [plan.steps for plan in page.plan_step.tests.recent.values()]
    assert shown == [("dd", "fio"), ("dd",)]
    choose(qtbot, page, left.name)
    settle(qtbot, page)
    assert page.draft.plan() == left
    page.begin([])
    page.activated()
    settle(qtbot, page)
    (tmp_path / "saved.toml").unlink()
    page.activated()
    settle(qtbot, page)
    assert [plan.steps for plan in page.plan_step.tests.recent.values()] == [("dd", "fio")]


@pytest.mark.quick(1)
@pytest.mark.parametrize("way", ["plan", "job file", "question"])
def test_the_plan_that_another_one_replaces_is_a_recent_one(
    qtbot: QtBot, page: MeasurePage, tmp_path: Path, way: str
) -> None:
    with_tests(qtbot, page, "dd")
    left = page.draft.plan()
    other = default_plan([LOCAL], ["sysbench-cpu"], "other")
    job = tmp_path / "read.fio"
    job.write_text("[read]\nsize=1m\n")
    if way == "plan":
        page.load(other)
        page.load(left)  # an unchanged plan of a file is not kept
    elif way == "job file":
        page.load_job_file(job)
    else:
        choose(qtbot, page, "integer load")
    settle(qtbot, page)
    assert page.draft.steps[0].suite.id == {"plan": "dd", "job file": "fio-job", "question": "sysbench-cpu"}[way]
    assert [(plan.name, plan.steps) for plan in page.plan_step.tests.recent.values()] == [(left.name, ("dd",))]


def test_several_unsaved_plans_are_recent_ones_though_alike(qtbot: QtBot, page: MeasurePage) -> None:
    for size in ("2 KiB", "3 KiB"):
        page.load(default_plan([LOCAL], ["dd"], "first"))
        page.draft.steps[0].form.set_text("block_size", size)
        page.begin([])
    settle(qtbot, page)
    recent = list(page.plan_step.tests.recent.values())
    for plan, size in zip(recent, ("3 KiB", "2 KiB"), strict=True):
        page.plan_step.tests.plan_chosen.emit(plan)
        assert page.draft.steps[0].form.text("block_size") == size
