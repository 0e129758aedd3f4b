"""Changes of the hosts in the wizard: none by themselves, each command of root shown before it can run."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.plans.plan import Plan
from app.plans.tuning import Tuning
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle, with_tests
from widgets.wizard.measure_page import REVIEW, MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets-measure", "test_measure_tuning")


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "sysbench-cpu")
    made.go(REVIEW)
    settle(qtbot, made)
    return made


def write(qtbot: QtBot, page: MeasurePage, **texts: str) -> None:
    for name, text in texts.items():
        editor = page.review.tuning.fields[name].editor
        editor.set_text(text)
        editor.edited.emit(text)
    settle(qtbot, page)


def planned(page: MeasurePage) -> Plan:
    plan = page.draft.sketch()
    assert plan is not None
    return plan


def test_nothing_is_changed_and_nothing_is_shown_by_itself(page: MeasurePage) -> None:
    tuning = page.review.tuning
    assert planned(page).tuning == Tuning()
    assert not tuning.unfold.isChecked()
    assert not tuning.fields["governor"].isVisible()
    assert not tuning.commands.isVisible()


def test_what_is_ticked_and_typed_becomes_part_of_the_plan(qtbot: QtBot, page: MeasurePage) -> None:
    page.review.tuning.unfold.click()
    assert page.review.tuning.fields["governor"].isVisible()
    write(qtbot, page, drop_caches="yes", governor="performance", device="/dev/nvme1n1", readahead="128 KiB")
    assert planned(page).tuning == Tuning(
        drop_caches=True, governor="performance", device="/dev/nvme1n1", readahead=128 * 1024
    )


def test_every_command_of_root_is_shown(qtbot: QtBot, page: MeasurePage) -> None:
    write(qtbot, page, drop_caches="yes", governor="performance")
    commands = page.review.tuning.commands
    assert commands.isVisible()
    assert commands.caption.text() == "Runs as root: 2 commands"
    assert commands.text().splitlines() == [
        MESSAGES["on_this_computer_before_the"],
        MESSAGES["echo_performance_tee_sys"],
        MESSAGES["on_this_computer_before_each"],
        MESSAGES["sync_echo_3_proc_sys_vm_drop"],
    ]


@pytest.mark.parametrize(
    ("texts", "shown_text"),
    [
        ({"governor": "$(reboot)"}, "A governor of the kernel"),
        pytest.param({"scheduler": "none"}, "has no block device", marks=pytest.mark.slow),
        pytest.param({"readahead": "130 KiB", "device": "/dev/sdb"}, "multiple of 4 KiB", marks=pytest.mark.slow),
    ],
)
def test_what_makes_no_sense_is_said_and_keeps_the_plan_from_running(
    qtbot: QtBot, page: MeasurePage, texts: dict[str, str], shown_text: str
) -> None:
    page.review.tuning.unfold.click()
    write(qtbot, page, **texts)
    tuning = page.review.tuning
    shown = [tuning.problem.text(), *(field.message.text() for field in tuning.fields.values())]
    assert any(shown_text in words for words in shown)
    assert page.draft.sketch() is None
    assert not page.footer.next.isEnabled()
    assert not page.review.save_button.isEnabled()


@pytest.mark.slow
def test_a_plan_that_changes_hosts_is_shown_unfolded(qtbot: QtBot, page: MeasurePage) -> None:
    write(qtbot, page, governor="performance")
    plan = planned(page)
    page.begin(())
    page.load(plan)
    settle(qtbot, page)
    assert page.review.tuning.unfold.isChecked()
    assert planned(page).tuning.governor == "performance"
    page.begin(plan.hosts)
    assert planned_nothing(page)


def planned_nothing(page: MeasurePage) -> bool:
    """Return whether a new plan has forgotten what the last one changed."""
    return page.draft.tuning.text("governor") == ""


@pytest.mark.slow
def test_a_raw_device_is_read_and_its_loss_told_before_the_run(qtbot: QtBot, page: MeasurePage) -> None:
    page.plan_step.tests.add("fio")
    form = page.draft.steps[-1].form
    form.set_text("device", "/dev/no-such-device:/dev/null:")
    form.set_text("rw", "randwrite")
    page.plan_step.changed.emit()
    settle(qtbot, page)
    assert page.draft.devices() == ("/dev/no-such-device", "/dev/null")
    assert page.assessment is not None
    (finding,) = [found for found in page.assessment.findings if found.id == "device-unusable"]
    assert "there is no such device" in finding.measured
    assert "/dev/null: it is no block device" in finding.measured
    assert not page.footer.next.isEnabled()  # it cannot run, and the foot says why
