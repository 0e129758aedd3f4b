"""The dialog that imports an inventory: it previews the hosts of a file, and stores them only on Import."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.fleet.inventory_sources.sources import Source
from app.questions import RefusingAsker
from app.services import Workstation
from widgets import jobs
from widgets.hosts.hosts_page import HostsPage
from widgets.hosts.import_inventory_dialog import ImportInventoryDialog

DATA = Path(__file__).parents[1] / "data" / "inventory"
Keep = Callable[[QWidget], QWidget]


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def names(workstation: Workstation) -> list[str]:
    return [entry.name for entry in workstation.hosts()]


def test_hosts_are_previewed_and_stored(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    parent = QWidget()
    keep(parent)
    dialog = ImportInventoryDialog(workstation, parent)
    assert not dialog.import_button.isEnabled()
    before = names(workstation)
    dialog.group.setText("bench")
    dialog.read(DATA / "aws.json")
    settle(qtbot)
    assert "not running: stopped" in dialog.table.as_text()
    assert dialog.import_button.text() == "Import 5 hosts"
    dialog.private.setChecked(True)
    settle(qtbot)
    assert "10.0.1.1" in dialog.table.as_text()
    assert names(workstation) == before
    with qtbot.waitSignal(dialog.accepted):
        dialog.import_button.click()
    settle(qtbot)
    assert set(names(workstation)) > {"web-1", "web-2"}
    assert workstation.inventory.attributes()["web-1"].groups == ("c5.large", "bench")


def test_the_first_click_after_a_text_was_edited_imports(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    parent = QWidget()
    keep(parent)
    dialog = ImportInventoryDialog(workstation, parent)
    dialog.read(DATA / "aws.json")
    settle(qtbot)
    dialog.show()
    dialog.activateWindow()
    dialog.group.setFocus()
    qtbot.waitUntil(dialog.group.hasFocus)
    qtbot.keyClicks(dialog.group, "bench")
    assert not dialog.import_button.isEnabled()  # the preview is of another group
    qtbot.waitUntil(dialog.import_button.isEnabled)
    with qtbot.waitSignal(dialog.accepted):
        qtbot.mouseClick(dialog.import_button, Qt.MouseButton.LeftButton)
    settle(qtbot)
    assert workstation.inventory.attributes()["web-1"].groups == ("c5.large", "bench")


def test_a_file_of_an_unknown_source_is_explained(
    qtbot: QtBot, keep: Keep, workstation: Workstation, tmp_path: Path
) -> None:
    parent = QWidget()
    keep(parent)
    dialog = ImportInventoryDialog(workstation, parent)
    file = tmp_path / "hosts.json"
    file.write_text("[]")
    dialog.read(file)
    settle(qtbot)
    assert "hosts.json" in dialog.notice.text()
    assert "--" not in dialog.notice.text()  # the window has fields, not options
    assert not dialog.import_button.isEnabled()
    dialog.source.setCurrentIndex(dialog.source.findData(Source.TERRAFORM))
    settle(qtbot)
    assert "terraform" in dialog.notice.text()
    dialog.read(DATA / "ansible.json")
    dialog.source.setCurrentIndex(0)
    settle(qtbot)
    assert "web2 and db1" in dialog.notice.text()  # passwords
    dialog.reject()


def test_imported_hosts_are_listed(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    page = HostsPage(workstation, RefusingAsker())
    keep(page)
    page.import_button.click()
    (dialog,) = page.findChildren(ImportInventoryDialog)
    dialog.read(DATA / "gcloud.json")
    settle(qtbot)
    with qtbot.waitSignal(dialog.accepted):
        dialog.import_button.click()
    qtbot.waitUntil(lambda: "bench-a" in {entry.name for entry in page.table.content.rows})
    settle(qtbot)
    page.table.select("bench-a")
    page.resize(1900, 900)
    page.show()  # columns fit a table that is shown
    assert "n2-standard-4\teurope-west1-b" in page.table.as_text()
    assert "Price" not in page.table.as_text()  # no host has one
