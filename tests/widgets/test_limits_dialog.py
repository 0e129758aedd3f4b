"""The dialog of a host's stated limits: it lists, adds from a file and removes."""

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.questions import RefusingAsker
from app.services import Workstation
from tests.messages import messages
from widgets import jobs
from widgets.hosts.hosts_page import HostsPage
from widgets.hosts.limits_dialog import LimitsDialog

MESSAGES = messages("widgets", "test_limits_dialog")


def test_limits_are_listed_added_and_removed(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation, tmp_path: Path
) -> None:
    parent = QWidget()
    keep(parent)
    dialog = LimitsDialog(workstation, "web-1", parent)

    def settle() -> None:
        qtbot.waitUntil(lambda: not jobs.running())

    settle()
    assert MESSAGES["none"] in dialog.notice.text()
    assert not dialog.remove_button.isEnabled()
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps([{"name": "data", "diskIOPSReadWrite": 5000, "diskMBpsReadWrite": 200}]))
    dialog.add(file)
    settle()
    assert MESSAGES["no_disk"] in dialog.notice.text()
    assert "--" not in dialog.notice.text()  # the window has fields, not options
    dialog.device.setText("sdb")
    dialog.add(file)
    settle()
    assert dialog.notice.isHidden()
    assert "IOPS of data" in dialog.table.as_text()
    assert len(workstation.cloud_limits.of("web-1")) == 2
    file.write_text(json.dumps({"name": "Standard_D2s_v3", "resourceType": "virtualMachines", "capabilities": [
        {"name": "UncachedDiskIOPS", "value": "3200"}]}))  # fmt: skip
    dialog.kind.setText("standard_d2s_V3")
    dialog.add(file)
    settle()
    added = dialog.table.current()
    assert added is not None
    assert added.instance_type == "Standard_D2s_v3"  # in view below those before
    workstation.cloud_limits.remove("web-1", [added])
    dialog.table.select(workstation.cloud_limits.of("web-1")[0])
    dialog.remove_button.click()
    settle()
    (left,) = workstation.cloud_limits.of("web-1")
    assert left.name == "throughput of data"


def test_the_card_opens_the_limits_of_the_host(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation
) -> None:
    page = HostsPage(workstation, RefusingAsker())
    keep(page)
    page.show()
    qtbot.waitUntil(lambda: not jobs.running())
    page.actions_of_hosts.limits.trigger()
    qtbot.waitUntil(lambda: not jobs.running())
    dialog = page.findChild(LimitsDialog)
    assert dialog is not None
    dialog.reject()
