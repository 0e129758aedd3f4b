"""From nothing to the facts of a real SSH host, through the window alone: add, compare the key, accept, read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL
from app.services import Workstation
from remote.ssh.known_hosts import fingerprint, read
from tests.lab_sshd import PASSPHRASE, LabHost, LabKeys
from tests.messages import messages
from widgets import jobs
from widgets.hosts.add_host_dialog import AddHostDialog
from widgets.hosts.hosts_page import HostsPage
from widgets.main_window import MainWindow
from widgets.question_dialogs import HostKeyDialog, LocalProgramDialog, SecretDialog

MESSAGES = messages("lab", "test_add_host_window")

PATIENCE = 20_000


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    made = MainWindow(workstation)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    _settle(qtbot)
    yield made
    made.close()
    _settle(qtbot)
    workstation.close()


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)


def _page(window: MainWindow) -> HostsPage:
    page = window.front
    assert isinstance(page, HostsPage)
    return page


def _add_dialog(qtbot: QtBot, window: MainWindow, host: LabHost, key: Path) -> AddHostDialog:
    """Open the dialog by its button and fill it in by keys."""
    page = _page(window)
    qtbot.mouseClick(page.add_button, Qt.MouseButton.LeftButton)
    dialog = page.findChild(AddHostDialog)
    assert dialog is not None
    texts = {"name": "lab", "host_name": "127.0.0.1", "port": str(host.port), "user": host.user}
    for field, text in texts.items():
        qtbot.keyClicks(dialog.fields[field].edit, text)
    dialog.fields["identity_file"].edit.setText(str(key))
    return dialog


def _asked(qtbot: QtBot, window: MainWindow, press: Callable[[], object]) -> QDialog:
    """Do `press`, and return the question that comes of it."""
    with qtbot.waitSignal(window.asker.asked, timeout=PATIENCE) as asked:
        press()
    dialog = asked.args[0]
    assert isinstance(dialog, QDialog)
    return dialog


def test_a_host_is_added_after_its_key_was_compared_and_accepted(
    qtbot: QtBot, window: MainWindow, lab_host: LabHost, lab_keys: LabKeys
) -> None:
    dialog = _add_dialog(qtbot, window, lab_host, lab_keys.client)
    question = _asked(qtbot, window, lambda: qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton))
    assert isinstance(question, HostKeyDialog)
    assert question.parent() is dialog
    question.expected.setText(lab_host.fingerprint)
    assert question.verdict.label.text() == "The fingerprints match."
    qtbot.mouseClick(question.accept_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert "Connected" in dialog.outcome.text()
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    page = _page(window)
    assert page.table.current_host().name == "lab"
    assert page.connections.of("lab").text == "connected"
    assert page.facts_view.facts is not None
    assert page.facts_view.facts.host == "lab"
    lines = read([Path.home() / ".ssh" / "known_hosts"])  # its name is hashed where the system says so
    known = [line for line in lines if line.is_for(f"[127.0.0.1]:{lab_host.port}")]
    assert [fingerprint(line.key) for line in known] == [lab_host.fingerprint]


def test_a_key_that_is_not_accepted_is_said_and_nothing_is_remembered(
    qtbot: QtBot, window: MainWindow, lab_host: LabHost, lab_keys: LabKeys
) -> None:
    dialog = _add_dialog(qtbot, window, lab_host, lab_keys.client)
    question = _asked(qtbot, window, lambda: qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton))
    qtbot.keyClick(question, Qt.Key.Key_Escape)
    _settle(qtbot)
    assert dialog.outcome.isVisible()
    assert "key" in dialog.outcome.text().lower()
    assert not (Path.home() / ".ssh" / "known_hosts").exists()
    dialog.reject()
    assert [entry.name for entry in window.workstation.hosts()] == [LOCAL]


def test_a_passphrase_is_asked_for_once_for_connection_and_facts(
    qtbot: QtBot, window: MainWindow, lab_host: LabHost, lab_keys: LabKeys
) -> None:
    lab_host.add_to_home("known")  # its key is known; the host itself is added below
    dialog = _add_dialog(qtbot, window, lab_host, lab_keys.encrypted)
    question = _asked(qtbot, window, lambda: qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton))
    assert isinstance(question, SecretDialog)
    asked: list[object] = []
    window.asker.asked.connect(asked.append)
    qtbot.keyClicks(question.field, PASSPHRASE)
    qtbot.keyClick(question.field, Qt.Key.Key_Return)
    _settle(qtbot)
    assert asked == []
    assert _page(window).connections.of("lab").text == "connected"
    assert _page(window).facts_view.facts is not None


def test_a_changed_key_is_blocked_with_its_line_and_the_command(
    qtbot: QtBot, window: MainWindow, lab_host: LabHost, lab_keys: LabKeys
) -> None:
    lab_host.add_to_home("known")
    lab_host.restart(host_key=lab_keys.other_host)
    dialog = _add_dialog(qtbot, window, lab_host, lab_keys.client)
    asked: list[object] = []
    window.asker.asked.connect(asked.append)
    qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    shown = dialog.outcome.text()
    known_hosts = Path.home() / ".ssh" / "known_hosts"
    assert f"{known_hosts}, line 1" in shown
    assert MESSAGES["cloud_address_now_belongs_to"] in shown
    assert f"ssh-keygen -R '[127.0.0.1]:{lab_host.port}' -f {known_hosts}" in shown
    assert asked == []  # there is nothing to click away
    assert len(known_hosts.read_text().splitlines()) == 1


def test_a_proxy_command_runs_after_its_question(
    qtbot: QtBot, window: MainWindow, lab_host: LabHost, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    lab_host.add_to_home()
    with (Path.home() / ".ssh" / "config").open("a") as config:
        config.write(f"  ProxyCommand sh -c 'touch {ran}; exit 7'\n")
    page = _page(window)
    page.activated()
    _settle(qtbot)
    page.table.select("lab")
    question = _asked(qtbot, window, page.card.test_button.click)
    assert isinstance(question, LocalProgramDialog)
    assert f"touch {ran}" in question.command.text()
    assert not ran.exists()
    qtbot.keyClick(question, Qt.Key.Key_Escape)
    _settle(qtbot)
    assert "not allowed" in page.card.notice.text()
    assert not ran.exists()
    question = _asked(qtbot, window, page.card.test_button.click)
    assert isinstance(question, LocalProgramDialog)
    qtbot.mouseClick(question.accept_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert ran.exists()
    assert "exit status 7" in page.card.notice.text()
    asked: list[object] = []
    window.asker.asked.connect(asked.append)
    page.card.test_button.click()
    _settle(qtbot)
    assert asked == []
