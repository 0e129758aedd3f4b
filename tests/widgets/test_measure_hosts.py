"""The hosts of the wizard's first page: hosts that answer, hosts that do not, and the server of a network test."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.hosts.hosts import HostEntry
from app.plans.plan import LOCAL
from tests.lab_sshd import LabHost
from tests.widgets.measure_stage import made_page, settle
from widgets.wizard.measure_page import PARAMETERS, MeasurePage


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
