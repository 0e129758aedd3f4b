"""The hosts of the wizard's first page: hosts that answer, hosts that do not, and the server of a network test."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.hosts.hosts import HostEntry
from app.plans.plan import LOCAL
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle
from widgets.wizard.measure_page import PARAMETERS, REVIEW, MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets-measure", "test_measure_hosts")


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path, lab_host: LabHost) -> MeasurePage:
    lab_host.add_to_home("lab")
    return made_page(qtbot, tmp_path)


def test_a_host_that_does_not_answer_shows_why_and_is_read_again(
    qtbot: QtBot, page: MeasurePage, lab_host: LabHost
) -> None:
    lab_host.stop()
    hosts = page.plan_step.hosts
    page.begin(["lab"])
    page.plan_step.tests.add("sysbench-cpu")
    settle(qtbot, page)
    assert "refused" in hosts.list.entry("lab").texts[1]
    assert hosts.retry.isVisible()
    assert "Facts not read: lab" in page.footer.hint.text()
    assert not page.footer.next.isEnabled()
    lab_host.start()
    qtbot.mouseClick(hosts.retry, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert "vCPU" in hosts.list.entry("lab").texts[1]
    assert hosts.retry.isHidden()
    page.forward()
    assert page.current == PARAMETERS


def test_a_host_that_does_not_answer_can_be_deselected(qtbot: QtBot, page: MeasurePage, lab_host: LabHost) -> None:
    lab_host.stop()
    page.begin([LOCAL, "lab"])
    page.plan_step.tests.add("sysbench-cpu")
    settle(qtbot, page)
    assert not page.footer.next.isEnabled()
    page.plan_step.hosts.list.toggle("lab")
    assert page.footer.next.isEnabled()
    assert page.draft.hosts == [LOCAL]


def test_of_several_hosts_the_directories_are_among_the_first_rows(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin([LOCAL, "lab"])
    page.plan_step.tests.add("fio")
    settle(qtbot, page)
    page.go(PARAMETERS)
    settle(qtbot, page)
    rows = [row for row in page.parameters.rows if row.isVisible()]
    assert [row.parameter.name for row in rows[-3:]] == ["directory", f"directory@{LOCAL}", "directory@lab"]
    assert [row.hint.text() for row in rows[-2:]] == [MESSAGES["as_on_the_others"]] * 2
    page.plan_step.hosts.list.toggle("lab")
    settle(qtbot, page)
    assert not page.parameters.row("directory").isVisible()


@pytest.mark.slow
def test_the_server_of_a_network_test_is_another_host(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin([LOCAL])
    page.plan_step.tests.add("iperf3")
    settle(qtbot, page)
    peer = page.plan_step.tests.lines[0].peer
    assert [peer.itemText(index) for index in range(peer.count())] == ["This computer", "lab"]
    peer.setFocus()
    qtbot.keyClick(peer, Qt.Key.Key_Down)
    settle(qtbot, page)
    assert page.draft.plan().steps[0].peer == "lab"
    assert "lab" in page.draft.facts


def test_many_hosts_can_be_filtered_and_a_long_name_widens_nothing(qtbot: QtBot, page: MeasurePage) -> None:
    hosts = page.plan_step.hosts
    assert hosts.filter.isHidden()
    hosts.set_hosts([*(HostEntry(f"web-{number}") for number in range(20)), HostEntry("h" * 300)])
    assert hosts.filter.isVisible()
    qtbot.keyClicks(hosts.filter, "web-13")
    assert hosts.list.visible_keys() == ["web-13"]
    assert hosts.minimumSizeHint().width() <= 400


def test_the_plan_follows_its_hosts(qtbot: QtBot, page: MeasurePage, lab_host: LabHost) -> None:
    """One is saved, renamed, removed, and the removal is undone."""
    workstation = page.workstation
    identity = str(lab_host.keys.client)
    entry = HostEntry("web-1", host_name=lab_host.address, port=lab_host.port, identity_file=identity)
    workstation.save_hosts(entry)
    page.activated()
    page.begin(["web-1"])
    page.plan_step.tests.add("sysbench-cpu")
    page.draft.steps[0].peer = "web-1"
    settle(qtbot, page)
    workstation.save_hosts(replace(entry, name="web-2"), instead=["web-1"])
    page.list_hosts()
    settle(qtbot, page)
    assert (page.draft.hosts, page.draft.steps[0].peer) == (["web-2"], "web-2")
    assert page.plan_step.hosts.list.entry("web-2").ticked
    assert "vCPU" in page.plan_step.hosts.list.entry("web-2").texts[1]
    assert not page._obstacle()
    before = workstation.remove_host("web-2")
    page.list_hosts()
    settle(qtbot, page)
    page.go(REVIEW)
    page.forward()
    assert page.footer.hint.text() == MESSAGES["removed"]
    assert not page.footer.next.isEnabled()
    assert page.plan_step.hosts.list.entry("web-2").failed
    workstation.restore_hosts(*before)
    page.list_hosts()
    settle(qtbot, page)
    assert page.footer.next.isEnabled()
    workstation.save_hosts(replace(before[0], host_name="no-such-host.invalid"), instead=["web-2"])
    page.list_hosts()
    settle(qtbot, page)
    assert "web-2" not in page.draft.facts
