"""Names and files from elsewhere before a real window: nothing is written, read or run that nobody asked for."""

import csv
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import Event, RunStarted, TrialStarted
from app.plans.plan import LOCAL
from app.services import Workstation
from remote import privilege
from suites.base import Command
from suites.errors import BenchwrightError
from tests.app import run_events
from tests.lab_sshd import AnsweringAsker
from tests.widgets.heartbeat import beating
from widgets import jobs
from widgets.export_dialog import ExportDialog
from widgets.wizard.install_dialog import InstallDialog
from widgets.wizard.plan_files import PlanFiles

pytestmark = pytest.mark.usefixtures("idle")

RUN = "20260114-140831-k3vd"
FORMULA = '=HYPERLINK("http://x")'
LEADS_ELSEWHERE = "../../../../tmp/evil\n\u202egnp.exe"


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


def settle(qtbot: QtBot, window: QWidget) -> None:
    with beating(window):
        qtbot.waitUntil(lambda: not jobs.running())
        qtbot.wait(50)


def hostile_run() -> Iterable[Event]:
    """Yield a run whose plan, tool and command are named by somebody who means no good."""
    one = replace(run_events.trial(1), tool_version=FORMULA, commands=(Command((FORMULA, "@x")),))
    for event in run_events.run_events(RUN):
        if isinstance(event, RunStarted):
            yield replace(event, plan=run_events.plan(name=FORMULA))
        elif isinstance(event, TrialStarted):
            yield replace(event, trial=one)
        else:
            yield event


def test_an_export_writes_to_the_given_path_and_no_spreadsheet_formula(
    qtbot: QtBot, workstation: Workstation, window: QWidget, tmp_path: Path
) -> None:
    with workstation._store.recorder(RUN) as recorder:
        for event in hostile_run():
            recorder.record(event)
    dialog = ExportDialog(workstation, [RUN], LEADS_ELSEWHERE, window)
    suggested = Path(dialog.path.text())
    assert suggested.parent.name == "Benchwright"
    assert "evil" in suggested.name
    assert suggested.name.isprintable()

    folder = tmp_path / "out"
    dialog.path.setText(str(folder / "report"))
    dialog.png_box.setChecked(False)  # a picture runs nothing
    dialog.show()
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    settle(qtbot, window)
    assert sorted(path.name for path in folder.iterdir()) == ["report-samples.csv", "report.csv"]
    for path in folder.iterdir():
        with path.open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell[:1] in set("=@\t\r")]
    assert "'" + FORMULA in (folder / "report.csv").read_text().replace('""', '"')


def fifo(path: Path) -> None:
    os.mkfifo(path)


def archive(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)) * 100)


def nested(path: Path) -> None:
    path.write_text("a = " + "[" * 100_000)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**32)


FILES: dict[str, Callable[[Path], None]] = {
    "a pipe that nobody writes to": fifo,
    "four gigabytes": huge,
    "an archive": archive,
    "endless nesting": nested,
    "a folder": lambda path: path.mkdir(),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("make", list(FILES.values()), ids=list(FILES))
def test_a_file_that_is_no_plan_is_refused_by_name(
    qtbot: QtBot, workstation: Workstation, window: QWidget, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "plan.toml"
    make(path)
    files = PlanFiles(workstation, window)
    failures: list[BenchwrightError] = []
    files.failed.connect(failures.append)
    files.open_from(path)
    settle(qtbot, window)
    assert len(failures) == 1
    assert str(path) in failures[0].message


SECRET = "pl4nted-sud0"

FAKE_SUDO = """#!/bin/sh
[ "$1" != -n ] || { echo 'sudo: a password is required' >&2; exit 1; }
printf '[sudo] password for ann: ' >&2
printf 'Password: '
head -c 100 >HEARD &
exec yes 'Sorry, try again. Password:' >&2
"""


def test_a_false_prompt_gets_no_password(
    qtbot: QtBot, workstation: Workstation, window: QWidget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = tmp_path / "heard"
    folder = tmp_path / "bin"
    folder.mkdir()
    scripts = {
        "sudo": FAKE_SUDO.replace("HEARD", str(received)),
        "id": '#!/bin/sh\n[ "$1" = -u ] && echo 1000 || echo ann\n',
    }
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(privilege, "PATIENCE", 1.0)
    asker = AnsweringAsker(secrets=[SECRET] * 3)
    dialog = InstallDialog(workstation, asker, LOCAL, "sudo apt-get install -y fio", window)
    qtbot.addWidget(dialog)
    dialog.open()
    qtbot.mouseClick(dialog.run_button, Qt.MouseButton.LeftButton)
    settle(qtbot, window)
    assert SECRET not in (received.read_text() if received.exists() else "")
    assert "sudo" in dialog.notice.text()
    assert SECRET not in dialog.notice.text() + dialog.output.toPlainText()
