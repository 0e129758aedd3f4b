"""The dialog of a new study: hosts and estimate as they are entered, faults as messages, nothing lost."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.fleet_study import FleetStudy, HostOrder
from app.hosts.hosts import HostEntry
from app.plans.plan import Plan, make_step
from app.plans.recent import RecentPlan
from app.services import Workstation
from tests.lab_sshd import AnsweringAsker
from tests.widgets.fleet_studies import held_hosts
from widgets import jobs
from widgets.fleet.study_dialog import StudyDialog
from widgets.fleet.study_draft import StudyDraft

pytestmark = pytest.mark.usefixtures("idle")

CPU = Plan("short", (), (make_step("sysbench-cpu", {"time": 1, "threads": 1}),))
NAMES = ("web-1", "web-2", "db-1", "db-2")


@pytest.fixture
def dialog(qtbot: QtBot, workstation: Workstation) -> StudyDialog:
    workstation.save_hosts(*(HostEntry(name, host_name="192.0.2.1") for name in NAMES))
    made = StudyDialog(workstation, AnsweringAsker(), None, StudyDraft(CPU))
    qtbot.addWidget(made)
    made.show()
    settle(qtbot, made)
    return made


def settle(qtbot: QtBot, dialog: StudyDialog) -> None:
    """Wait until the preview is that of the entries."""
    qtbot.waitUntil(lambda: dialog.preview is not None and not jobs.running())


def enter(qtbot: QtBot, dialog: StudyDialog, words: str) -> None:
    """Enter the hosts and wait for their preview."""
    dialog.form.words.setText(words)
    settle(qtbot, dialog)


def test_groups_and_estimate_are_shown_while_hosts_are_entered(qtbot: QtBot, dialog: StudyDialog) -> None:
    assert not dialog.start_button.isEnabled()
    enter(qtbot, dialog, "web-* db-1")
    assert dialog.form.groups.text() == "web-*: 2 hosts (web-1, web-2)\nhosts: 1 host (db-1)"
    assert dialog.estimate.text().startswith("3 hosts, 3 host-runs")
    assert dialog.start_button.isEnabled()


def test_a_preview_of_earlier_hosts_starts_nothing(
    qtbot: QtBot, dialog: StudyDialog, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, read = held_hosts(workstation, monkeypatch)
    dialog.form.words.setText("web-1")
    qtbot.waitUntil(asked.is_set)
    dialog.form.words.setText("web-2")
    read.set()
    qtbot.waitUntil(lambda: not jobs.running())
    assert not dialog.start_button.isEnabled()
    settle(qtbot, dialog)
    assert dialog.preview is not None
    assert dialog.preview.plan is not None
    assert [host.name for host in dialog.preview.plan.hosts] == ["web-2"]


@pytest.mark.parametrize(("words", "every"), [("mail-*", "1 d"), ("web-* web-1", "1 d"), ("web-*", "sometimes")])
def test_a_fault_is_a_message_and_keeps_the_entries(qtbot: QtBot, dialog: StudyDialog, words: str, every: str) -> None:
    dialog.form.sessions.setValue(3)
    dialog.form.every.setText(every)
    enter(qtbot, dialog, words)
    assert dialog.fault.isVisible()
    assert dialog.fault.label.text()
    assert not dialog.start_button.isEnabled()
    assert (dialog.form.words.text(), dialog.form.every.text()) == (words, every)
    dialog.form.every.setText("1 h")
    enter(qtbot, dialog, "web-*")
    assert not dialog.fault.isVisible()
    assert dialog.start_button.isEnabled()


def test_a_chosen_plan_that_cannot_be_read_starts_no_other_one(
    qtbot: QtBot, dialog: StudyDialog, tmp_path: Path
) -> None:
    enter(qtbot, dialog, "web-*")
    assert dialog.start_button.isEnabled()
    broken = tmp_path / "disk.toml"
    broken.write_text("no plan")
    dialog._offer([CPU, RecentPlan("disk", (), (), "2026-11-30", path=str(broken))], 1)
    dialog.form.plan_chosen.emit(1)
    assert not dialog.start_button.isEnabled()
    qtbot.waitUntil(dialog.fault.isVisible)
    assert "disk.toml" in dialog.fault.label.text()
    qtbot.waitUntil(lambda: not jobs.running() and not dialog._settle.isActive())
    assert not dialog.start_button.isEnabled()
    assert "disk.toml" in dialog.fault.label.text()
    dialog.form.plan_chosen.emit(0)
    settle(qtbot, dialog)
    assert dialog.start_button.isEnabled()


def test_the_last_chosen_plan_is_that_of_the_study(
    qtbot: QtBot, dialog: StudyDialog, workstation: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = replace(CPU, steps=(make_step("sysbench-cpu", {"time": 2, "threads": 1}),))
    paths = [tmp_path / "slow.toml", tmp_path / "quick.toml"]
    for plan, path in zip((CPU, later), paths, strict=True):
        workstation.save_plan(replace(plan, hosts=("web-1",)), path)
        path.write_text(path.read_text().replace('hosts = ["web-1"]', ""))  # the study has its own
    read, load = threading.Event(), workstation.load_plan

    def late(path: Path, *, usable_goals: bool, hosts: Sequence[str]) -> Plan:
        assert path != paths[0] or read.wait(10)
        return load(path, usable_goals=usable_goals, hosts=hosts)

    monkeypatch.setattr(workstation, "load_plan", late)
    dialog._offer([RecentPlan(CPU.name, (), (), "2026-11-30", path=str(path)) for path in paths], -1)
    for number in (0, 1):
        dialog.form.plans.setCurrentIndex(number)
        dialog.form.plan_chosen.emit(number)
    qtbot.waitUntil(lambda: dialog.draft.plan is not None)
    read.set()
    qtbot.waitUntil(lambda: not jobs.running())
    assert dialog.draft.plan is not None
    assert dialog.draft.plan.steps == later.steps


def test_what_is_entered_is_the_plan_of_the_study(qtbot: QtBot, dialog: StudyDialog, workstation: Workstation) -> None:
    form = dialog.form
    form.sessions.setValue(3)
    form.every.setText("2 h")
    form.per_group.setValue(1)
    form.order.setCurrentIndex(form.order.findData(HostOrder.GROUPED))
    form.order.activated.emit(form.order.currentIndex())
    enter(qtbot, dialog, "web-* db-*")
    with qtbot.waitSignal(dialog.begun) as begun:
        dialog.start_button.click()
    (study,) = begun.args
    assert isinstance(study, FleetStudy)
    plan = workstation.fleet_study(study.id).plan
    assert {group: len(names) for group, names in plan.groups.items()} == {"web-*": 2, "db-*": 2}
    assert (plan.sessions, plan.plan.repetition.every) == (3, 7200.0)
    assert (plan.limits.per_group, plan.limits.per_zone, plan.limits.per_storage) == (1, None, 1)
    assert plan.order is HostOrder.GROUPED
    assert study.total == 12


def test_network_tests_offer_pairs_and_a_mesh(qtbot: QtBot, dialog: StudyDialog) -> None:
    assert not dialog.form.topology.isVisible()
    dialog.form.show_plan(Plan("net", (), (make_step("iperf3", {}),)))
    assert dialog.form.topology.isVisible()
    settle(qtbot, dialog)


def test_a_plan_with_sessions_fills_them_in(qtbot: QtBot, dialog: StudyDialog) -> None:
    dialog.form.show_plan(replace(CPU, repetition=replace(CPU.repetition, sessions=4, every=21600.0)))
    assert (dialog.form.sessions.value(), dialog.form.every.text()) == (4, "6 h")
    assert dialog.form.every.isEnabled()
    dialog.form.show_plan(CPU)
    assert dialog.form.sessions.value() == 4
    settle(qtbot, dialog)


def test_varied_parameters_are_tests_of_the_study(qtbot: QtBot, dialog: StudyDialog) -> None:
    dialog.form.vary.setText("threads=1,2,4 sysbench-cpu.time=1,5")
    enter(qtbot, dialog, "web-*")
    assert dialog.preview is not None
    assert dialog.preview.plan is not None
    assert len(dialog.preview.plan.plan.steps) == 6
    assert all(f"threads={number}" in dialog.form.tests.text() for number in (1, 2, 4))
    dialog.form.vary.setText("threads")
    settle(qtbot, dialog)
    assert dialog.fault.isVisible()
    assert not dialog.start_button.isEnabled()
