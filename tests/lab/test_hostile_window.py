"""A real window in front of hostile hosts: it stays quick, says what is wrong, and shows their words as words."""

import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.questions import ConnectOutcome
from app.services import Workstation
from tests.lab.hostile_program import MARKUP
from tests.lab.scripted_server import Script, ScriptedServer
from tests.lab_sshd import LabHost
from tests.widgets.heartbeat import beating
from widgets import jobs
from widgets.hosts.host_connections import HostStatus
from widgets.hosts.hosts_page import HostsPage
from widgets.main_window import MainWindow
from widgets.page import PageName

HERE = Path(__file__).parent
CAPTURE = HERE.parent / "data" / "facts" / "debian12-vm.txt"
PATIENCE = 60_000

Start = Callable[..., LabHost]
Listen = Callable[[Callable[[socket.socket], None]], int]
Serve = Callable[[Script], ScriptedServer]


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> Iterator[HostsPage]:
    """Return the hosts page of a window that has just been opened."""
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    window = MainWindow(workstation)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    _settle(qtbot)
    found = window.pages.page(PageName.HOSTS)
    assert isinstance(found, HostsPage)
    yield found
    window.close()
    _settle(qtbot)
    workstation.close()


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)


def _visit(qtbot: QtBot, page: HostsPage) -> HostStatus:
    """Connect to the host "lab" and read its facts, as by the button, with a hand on the window's pulse."""
    page.activated()
    _settle(qtbot)
    page.table.select("lab")
    with beating(page):
        page.card.test_button.click()
        _settle(qtbot)
        qtbot.wait(100)  # what has arrived is drawn
    return page.connections.of("lab")


def _hostile(start: Start, mode: str) -> None:
    words = [sys.executable, "-S", "-E", str(HERE / "hostile_program.py"), mode, str(CAPTURE)]
    start(ForceCommand=shlex.join(words)).add_to_home()


def _shown(widget: QWidget) -> str:
    """Return every word that is on the page."""
    page = [widget, *widget.findChildren(QWidget)]
    return "\n".join(
        [each.text() for each in page if isinstance(each, QLabel)] + [each.accessibleName() for each in page]
    )


def _at(port: int, known_hosts: str = "") -> None:
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700)
    (folder / "config").write_text(f"Host lab\n  HostName 127.0.0.1\n  Port {port}\n  User ada\n  IdentityFile none\n")
    (folder / "known_hosts").write_text(known_hosts)


def test_an_endless_greeting(qtbot: QtBot, page: HostsPage, listen: Listen) -> None:
    def talk(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"lines and lines\r\n" * 200)

    _at(listen(talk))
    status_of = _visit(qtbot, page)
    assert status_of.report is not None
    assert status_of.report.outcome is ConnectOutcome.PROTOCOL
    assert "is not an SSH server" in page.card.notice.text()


@pytest.mark.slow
def test_a_window_that_is_ignored(qtbot: QtBot, page: HostsPage, serve: Serve) -> None:
    def flood(channel: paramiko.Channel) -> None:
        channel.out_window_size = 2**40
        while True:
            channel.sendall(b"x" * 32000)

    server = serve(Script(behaviour=flood))
    _at(server.port, server.known_hosts_line)
    status_of = _visit(qtbot, page)
    assert status_of.facts is None
    assert status_of.problem is not None


@pytest.mark.parametrize(
    "mode",
    [
        "endless output",
        *(
            pytest.param(mode, marks=pytest.mark.slow)
            for mode in ("endless errors", "a million directories", "a million disks in one answer")
        ),
    ],
)
def test_output_without_end_is_cut(qtbot: QtBot, page: HostsPage, start_lab_host: Start, mode: str) -> None:
    _hostile(start_lab_host, mode)
    status_of = _visit(qtbot, page)
    assert status_of.facts is None
    assert status_of.problem is not None
    assert "printed more than" in page.card.notice.text()


def test_a_noisy_login_shell_and_forged_markers(qtbot: QtBot, page: HostsPage, start_lab_host: Start) -> None:
    _hostile(start_lab_host, "noisy login shell")
    status_of = _visit(qtbot, page)
    assert status_of.facts is not None
    assert status_of.facts.system.host_name == socket.gethostname()


@pytest.mark.slow
def test_markup_and_invisible_characters_are_words(qtbot: QtBot, page: HostsPage, start_lab_host: Start) -> None:
    _hostile(start_lab_host, "markup")
    status_of = _visit(qtbot, page)
    assert status_of.facts is not None
    shown = page.facts_view.as_text() + _shown(page) + _shown(page.facts_view)
    assert "<img src=file:///etc/passwd><b>EPYC</b>" in shown
    assert "<b>h</b>" in shown
    assert not any(letter in shown for letter in ("\u202e", "\u200b", "\x1b", "\x07"))
    assert MARKUP not in shown


@pytest.mark.slow
def test_bytes_that_are_no_text(qtbot: QtBot, page: HostsPage, start_lab_host: Start) -> None:
    _hostile(start_lab_host, "bad UTF-8")
    status_of = _visit(qtbot, page)
    assert status_of.facts is not None
    assert str(status_of.facts.system.distribution).startswith("Deb\ufffd\ufffd(ian")
    assert "Deb\ufffd" in page.facts_view.as_text()


@pytest.mark.slow
def test_an_answer_is_whole_by_its_end_not_by_an_exit_status(
    qtbot: QtBot, page: HostsPage, start_lab_host: Start
) -> None:
    _hostile(start_lab_host, "no exit status")
    status_of = _visit(qtbot, page)
    assert status_of.facts is not None
    assert status_of.facts.system.kernel == "6.18.44"


@pytest.mark.slow
def test_a_million_disks(qtbot: QtBot, page: HostsPage, start_lab_host: Start) -> None:
    _hostile(start_lab_host, "a million disks")
    status_of = _visit(qtbot, page)
    assert status_of.facts is not None
    assert 0 < len(status_of.facts.block_devices) <= 256
