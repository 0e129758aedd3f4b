"""A host that a run left changed is told of, looked at, and put back; nothing happens before it is agreed to."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import HostChange
from app.hosts.leftovers import recorded_text
from app.plans.plan import LOCAL
from app.questions import Asker, RefusingAsker
from app.records import ChangeRecord
from app.services import Workstation
from remote.privilege import PrivilegeError
from remote.tuning import RestoredSetting, SettingNote
from tests.messages import messages
from widgets import jobs
from widgets.hosts.cleanup_dialogs import RestoreDialog
from widgets.hosts.host_bars import ChangedBar
from widgets.hosts.hosts_page import HostsPage

MESSAGES = messages("widgets", "test_restore")

RUN = "20261119-141530-k3f9"
GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor"
SCHEDULER = "/sys/block/vdb/queue/scheduler"


def change(number: int, host: str = "web-1") -> ChangeRecord:
    path = GOVERNOR.format(number)
    made = HostChange(host, f"CPU governor of CPU {number}", path, "powersave", "performance")
    return ChangeRecord(RUN, made, "2026-11-19T14:15:31+00:00")


class Changed(Workstation):
    """A workstation with one changed host; it counts how often that is put back."""

    def __init__(self, folder: Path, *outcomes: RestoredSetting, error: PrivilegeError | None = None) -> None:
        super().__init__(folder / "runs.sqlite3", folder / "hosts.toml")
        self.outcomes, self.error = outcomes, error
        self.left: list[ChangeRecord] = [change(number) for number in range(5)]
        self.restored: list[str] = []

    def pending_changes(self, name: str | None = None) -> list[ChangeRecord]:
        del name
        return self.left

    def host_notes(self, name: str, asker: Asker) -> tuple[SettingNote, ...]:
        del name, asker
        paths = [each.path for each in self.outcomes]
        return tuple(SettingNote(path, "powersave", "performance", RUN, "ann@desk", 720.0) for path in paths)

    def restore(self, name: str, asker: Asker) -> tuple[RestoredSetting, ...]:
        del asker
        self.restored.append(name)
        if self.error is not None:
            raise self.error
        self.left = []
        return self.outcomes


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


def opened(qtbot: QtBot, window: QWidget, workstation: Workstation) -> RestoreDialog:
    dialog = RestoreDialog(workstation, RefusingAsker(), "web-1", window)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.waitUntil(lambda: not jobs.running())
    return dialog


def test_what_is_changed_is_shown_and_left_alone(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    workstation = Changed(tmp_path, RestoredSetting(GOVERNOR.format(0), RUN))
    dialog = opened(qtbot, window, workstation)
    assert dialog.settings.text() == recorded_text(workstation.host_notes("web-1", RefusingAsker())[0])
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    assert workstation.restored == []


def test_it_is_put_back_by_its_button(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    other = RestoredSetting(SCHEDULER, RUN, "not restored: changed to none since")
    workstation = Changed(tmp_path, RestoredSetting(GOVERNOR.format(0), RUN), other)
    dialog = opened(qtbot, window, workstation)
    with qtbot.waitSignal(dialog.restored) as shown:
        qtbot.mouseClick(dialog.restore_button, Qt.MouseButton.LeftButton)
    assert shown.args == ["web-1"]
    assert dialog.settings.text().splitlines() == [
        MESSAGES["cpu_governor_of_cpu_0_restored"],
        "I/O scheduler of vdb: not restored: changed to none since",
    ]
    assert "Settings restored." in dialog.notice.text()
    assert not dialog.restore_button.isEnabled()
    qtbot.waitUntil(lambda: not jobs.running())


def test_what_could_not_be_put_back_is_said(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    kept = RestoredSetting(SCHEDULER, RUN, "permission denied", kept=True)
    dialog = opened(qtbot, window, Changed(tmp_path, kept))
    with qtbot.waitSignal(dialog.restored):
        dialog.restore_button.click()
    assert "were not restored" in dialog.notice.text()
    qtbot.waitUntil(lambda: not jobs.running())


def test_without_root_it_says_why_and_can_be_closed(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    error = PrivilegeError("ann cannot become root on web-1.", "Sign in as root.")
    dialog = opened(qtbot, window, Changed(tmp_path, RestoredSetting(SCHEDULER, RUN), error=error))
    dialog.restore_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    assert dialog.notice.text() == MESSAGES["ann_cannot_become_root_on"]
    assert dialog.close_button.text() == "Close"


def test_a_host_that_has_restarted_leaves_nothing_to_do(qtbot: QtBot, window: QWidget, tmp_path: Path) -> None:
    workstation = Changed(tmp_path)
    dialog = opened(qtbot, window, workstation)
    qtbot.waitUntil(lambda: not jobs.running())
    assert "No changed settings" in dialog.notice.text()
    assert not dialog.restore_button.isEnabled()
    assert workstation.restored == ["web-1"]  # the library learns that nothing is left to put back


def test_the_bar_names_the_host_and_what_is_changed(qtbot: QtBot, tmp_path: Path) -> None:
    bar = ChangedBar(Changed(tmp_path))
    qtbot.addWidget(bar)
    bar.show_changes([change(0), change(1), change(2), change(3), change(0, "web-2")])
    assert bar.message.text() == MESSAGES["settings_not_restored_on_web_1"]
    assert bar.detail.text().startswith(MESSAGES["cpu_governor_of_cpu_0"])
    assert bar.detail.text().endswith(f"; and 2 more (run {RUN}).")
    bar.show_changes([])
    assert bar.isHidden()


def test_the_hosts_page_offers_to_put_back_until_it_is_done(qtbot: QtBot, tmp_path: Path) -> None:
    workstation = Changed(tmp_path, RestoredSetting(GOVERNOR.format(0), RUN))
    page = HostsPage(workstation, RefusingAsker())
    qtbot.addWidget(page)
    qtbot.addWidget(page.facts_view)
    page.show()
    page.activated()
    qtbot.waitUntil(lambda: not jobs.running())
    assert page.changed.isVisible()
    page.changed.restore_button.click()
    dialog = page.findChild(RestoreDialog)
    assert isinstance(dialog, RestoreDialog)
    qtbot.waitUntil(dialog.restore_button.isEnabled)
    dialog.restore_button.click()
    qtbot.waitUntil(lambda: page.changed.isHidden() and not jobs.running())
    dialog.close()
    page.table.select(LOCAL)
