"""The wizard's first step: hosts that answer, hosts that do not, and the other end of a network test."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.hosts.hosts import HostEntry
from app.plans.plan import LOCAL
from tests.lab_sshd import LabHost
from tests.widgets.measure_stage import made_page, settle
from widgets.wizard.measure_page import TESTS, MeasurePage


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path, lab_host: LabHost) -> MeasurePage:
    lab_host.add_to_home("lab")
    return made_page(qtbot, tmp_path)


def test_a_host_that_does_not_answer_says_why_and_is_tried_again(
    qtbot: QtBot, page: MeasurePage, lab_host: LabHost
) -> None:
    lab_host.stop()
    page.begin(["lab"])
    settle(qtbot, page)
    row = page.hosts.rows["lab"]
    assert "refused" in row.state.text()
    assert row.retry.isVisible()
    assert not page.footer.next.isEnabled()
    assert "Facts not read: lab" in page.footer.hint.text()
    lab_host.start()
    qtbot.mouseClick(row.retry, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert "vCPU" in row.state.text()
    assert row.retry.isHidden()
    page.forward()
    assert page.current == TESTS


def test_a_host_that_does_not_answer_can_be_left_out(qtbot: QtBot, page: MeasurePage, lab_host: LabHost) -> None:
    lab_host.stop()
    page.begin([LOCAL, "lab"])
    settle(qtbot, page)
    assert not page.footer.next.isEnabled()
    page.hosts.rows["lab"].box.click()
    assert page.footer.next.isEnabled()
    assert page.draft.hosts == [LOCAL]


def test_the_other_end_of_a_network_test_is_another_host(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin([LOCAL])
    settle(qtbot, page)
    page.forward()
    page.tests.cards["iperf3"].box.click()
    peer = page.tests.cards["iperf3"].lines[0].peer
    assert [peer.itemText(index) for index in range(peer.count())] == ["This computer", "lab"]
    peer.setFocus()
    qtbot.keyClick(peer, Qt.Key.Key_Down)
    settle(qtbot, page)
    assert page.draft.plan().steps[0].peer == "lab"
    assert "lab" in page.draft.facts


def test_a_host_of_the_plan_that_nobody_knows_is_shown(qtbot: QtBot, page: MeasurePage) -> None:
    page.begin(["nowhere"])
    settle(qtbot, page)
    assert page.hosts.rows["nowhere"].box.isChecked()
    assert "nowhere" in page.hosts.rows["nowhere"].state.text()


def test_many_hosts_can_be_filtered(qtbot: QtBot, page: MeasurePage) -> None:
    assert page.hosts.filter.isHidden()
    page.hosts.set_hosts(HostEntry(f"web-{number}") for number in range(20))
    assert page.hosts.filter.isVisible()
    qtbot.keyClicks(page.hosts.filter, "web-13")
    assert [name for name, row in page.hosts.rows.items() if row.isVisible()] == ["web-13"]


def test_a_long_name_widens_nothing(page: MeasurePage) -> None:
    page.resize(460, 600)
    page.hosts.set_hosts([HostEntry("h" * 300)])
    row = page.hosts.rows["h" * 300]
    assert row.minimumSizeHint().width() <= 400
    assert row.box.accessibleName() == "h" * 300
