"""The unknown keys of the hosts of a study are one question; without trust nothing starts."""

from collections.abc import Sequence

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.fleet_study import HostRunState
from app.questions import HostKeyQuestion, RefusingAsker
from app.services import Workstation
from tests.widgets.fleet_studies import begin, fleet_plan
from widgets import jobs
from widgets.fleet.fleet_runs import FleetRuns
from widgets.host_keys_dialog import HostKeysDialog, HostKeysQuestion
from widgets.jobs import BackgroundJob
from widgets.questions import WindowAsker

pytestmark = pytest.mark.usefixtures("idle")


def keys(hosts: Sequence[str]) -> list[HostKeyQuestion]:
    """Return a question about the key of each host."""
    return [
        HostKeyQuestion(host, f"192.0.2.{number}", 22, "ssh-ed25519", f"SHA256:{host:A<43}", "known_hosts")
        for number, host in enumerate(hosts, 1)
    ]


def test_the_host_of_a_key_has_room_in_large_text(qtbot: QtBot) -> None:
    dialog = HostKeysDialog(HostKeysQuestion(tuple(keys(["web-1", "web-2"]))))
    qtbot.addWidget(dialog)
    font = dialog.font()
    font.setPointSizeF(1.5 * font.pointSizeF())
    dialog.table.setFont(font)
    dialog.show()
    dialog.table.fit()
    names = [each.name for each in dialog.table.content.columns]
    assert dialog.table.columnWidth(names.index("Host")) >= dialog.table.scaled(120)
    assert not dialog.table.isColumnHidden(names.index("Fingerprint"))


@pytest.mark.parametrize("accepted", [True, False])
def test_all_keys_are_one_question(qtbot: QtBot, *, accepted: bool) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    asker = WindowAsker(window)
    answers = list[bool]()
    with qtbot.waitSignal(asker.asked) as asked:
        BackgroundJob(lambda: asker.host_keys(keys(["web-1", "web-2", "web-3"])), window).start(answers.append)
    (dialog,) = asked.args
    assert isinstance(dialog, HostKeysDialog)
    assert [key.host for key in dialog.table.content.shown] == ["web-1", "web-2", "web-3"]
    assert asker.asking == {"web-1", "web-2", "web-3"}
    dialog.accept() if accepted else dialog.reject()
    qtbot.waitUntil(lambda: bool(answers))
    assert answers == [accepted]
    assert not asker.asking


def test_without_trust_nothing_starts(qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    study = begin(workstation, fleet_plan(6))
    monkeypatch.setattr(workstation, "unknown_host_keys", lambda hosts, _trusted: keys(hosts))
    asked = list[int]()

    def refuse(found: Sequence[HostKeyQuestion]) -> bool:
        asked.append(len(found))
        return False

    parent = QWidget()
    qtbot.addWidget(parent)
    runs = FleetRuns(workstation, RefusingAsker(), parent, refuse)
    with qtbot.waitSignal(runs.failed) as failed:
        runs.start(study)
    qtbot.waitUntil(lambda: not runs.running and not jobs.running())
    assert asked == [6]
    assert failed.args[0].remedy
    assert set(workstation.fleet_study(study.id).counts) == {HostRunState.WAITING}
