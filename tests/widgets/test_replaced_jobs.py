"""A result that arrives after its request was replaced, and dialogs whose job failed."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.hosts.leftovers import Leftover, LeftoverOwner
from app.plans.plan import LOCAL, Plan, make_step
from app.questions import RefusingAsker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from tests.app import run_events
from widgets import jobs
from widgets.compare.rank_pane import RankPane
from widgets.crosscheck import CrossCheckDialog
from widgets.hosts.cleanup_dialogs import LeftoversDialog, RestoreDialog
from widgets.library.history_panel import HistoryPanel
from widgets.wizard import assessor, host_reader
from widgets.wizard.assessor import Assessor
from widgets.wizard.host_reader import HostReader, Reading

RUN = "20261120-141530-k3f9"
PATIENCE = 5000


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Return an event that blocked work waits for; set at the end."""
    made = threading.Event()
    yield made
    made.set()


@pytest.fixture
def recorded(workstation: Workstation) -> Workstation:
    """Return a workstation with a run of fio in its library."""
    with workstation._store.recorder(RUN) as recorder:
        for event in run_events.run_events(RUN):
            recorder.record(event)
    return workstation


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)


def test_a_stale_plan_cannot_be_opened_and_a_stale_failure_is_not_shown(
    qtbot: QtBot, recorded: Workstation, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    dialog = CrossCheckDialog(recorded, RUN)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(dialog.open_button.isEnabled)
    settle(qtbot)
    propose = recorded.cross_check

    def fail(*_given: object) -> None:
        gate.wait(60)
        raise BenchwrightError("Too late.")

    monkeypatch.setattr(recorded, "cross_check", fail)
    dialog._propose()
    assert dialog.proposal is None
    assert not dialog.open_button.isEnabled()
    monkeypatch.setattr(recorded, "cross_check", propose)
    dialog._propose()
    qtbot.waitUntil(dialog.open_button.isEnabled, timeout=PATIENCE)
    gate.set()
    settle(qtbot)
    assert dialog.open_button.isEnabled()
    assert "Too late." not in dialog.notice.text()


def test_a_stale_ranking_does_not_replace_an_error(
    qtbot: QtBot, recorded: Workstation, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    dialog = RankPane(recorded)
    qtbot.addWidget(dialog)
    dialog.show_runs([RUN])
    dialog.show()
    settle(qtbot)
    shown: list[object] = []
    monkeypatch.setattr(recorded, "rank", lambda *_given: gate.wait(60))
    monkeypatch.setattr(dialog, "_show", shown.append)
    dialog.rank()
    dialog.form.limit.setText("latency")
    dialog.rank()
    assert "is not a limit" in dialog.notice.text()
    gate.set()
    settle(qtbot)
    assert shown == []


def test_a_stale_history_does_not_replace_the_text_of_a_run_without_trials(
    qtbot: QtBot, recorded: Workstation, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    panel = HistoryPanel()
    qtbot.addWidget(panel)
    shown: list[object] = []
    monkeypatch.setattr(panel, "_show", shown.append)
    panel.show()
    record = recorded.load(RUN)
    panel.show_run(record, lambda _query: gate.wait(60))  # type: ignore[arg-type,return-value]  # never shown
    panel.notice.show_message("error", "An older failure.")
    panel.show_run(replace(record, trials=()), lambda _query: None)  # type: ignore[arg-type,return-value]  # not called
    gate.set()
    settle(qtbot)
    assert shown == []
    assert "no counted trials" in panel.changes.text()
    assert not panel.notice.isVisible()


def leftover(nonce: str) -> Leftover:
    return Leftover(LOCAL, f"/tmp/{nonce}", nonce, "ann", 1.0, 1, 0, LeftoverOwner.ENDED_RUN, RUN)


@pytest.mark.parametrize(("removed", "level"), [(0, "error"), (1, "warning"), (3, "good")])
def test_only_a_complete_removal_is_good(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch, removed: int, level: str
) -> None:
    found = [leftover(nonce) for nonce in "abc"]
    monkeypatch.setattr(workstation, "leftovers", lambda *_given: found)
    monkeypatch.setattr(workstation, "remove_leftovers", lambda *_given: found[removed:])
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = LeftoversDialog(workstation, RefusingAsker(), LOCAL, parent)
    settle(qtbot)
    levels: list[str] = []
    monkeypatch.setattr(dialog.notice, "show_message", lambda shown, *_texts: levels.append(shown))
    dialog.remove_button.click()
    settle(qtbot)
    assert levels == [level]


def test_a_failed_removal_can_be_tried_again(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise BenchwrightError("The link is down.")

    monkeypatch.setattr(workstation, "leftovers", lambda *_given: [leftover("a")])
    monkeypatch.setattr(workstation, "remove_leftovers", fail)
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = LeftoversDialog(workstation, RefusingAsker(), LOCAL, parent)
    settle(qtbot)
    dialog.remove_button.click()
    settle(qtbot)
    assert "The link is down." in dialog.notice.text()
    assert dialog.remove_button.isEnabled()


def test_the_progress_of_a_restore_is_not_hidden_by_the_end_of_the_reading(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    def restore(*_given: object) -> tuple[()]:
        gate.wait(60)
        return ()

    monkeypatch.setattr(workstation, "host_notes", lambda *_given: ())
    monkeypatch.setattr(workstation, "restore", restore)
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = RestoreDialog(workstation, RefusingAsker(), LOCAL, parent)
    reading = dialog._job
    qtbot.waitUntil(lambda: reading not in jobs.running(), timeout=PATIENCE)
    assert dialog._job is not reading
    assert dialog.working.isVisibleTo(dialog)
    gate.set()
    settle(qtbot)
    assert not dialog.working.isVisibleTo(dialog)


def test_a_plan_is_assessed_again_after_another_one_failed(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = (Plan(name, (LOCAL,), (make_step("fio", {}),)) for name in ("good", "bad"))

    def assess(_workstation: object, plan: Plan, _facts: object) -> SimpleNamespace:
        if plan is bad:
            raise BenchwrightError("It cannot be checked.")
        return SimpleNamespace(plan=plan)

    monkeypatch.setattr(assessor, "_assess", assess)
    owner = QObject()
    checking = Assessor(workstation, owner)
    shown: list[str] = []
    checking.assessed.connect(lambda found: shown.append(found.plan.name))
    checking.failed.connect(lambda error: shown.append(error.message))
    for plan in (good, bad, good):
        checking.request(plan, {})
        qtbot.waitUntil(lambda: not checking.busy and not jobs.running(), timeout=PATIENCE)
    assert shown == ["good", "It cannot be checked.", "good"]


def test_a_path_typed_while_its_host_is_read_is_looked_up_afterwards(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    looked_up: list[str] = []
    gate.set()

    def facts(_host: str, _asker: object, directories: tuple[str, ...] = (), _devices: object = ()) -> Facts:
        gate.wait(60)
        looked_up.extend(directories)
        return Facts(host=LOCAL, read_at="2026-11-20T00:00:00+00:00")

    monkeypatch.setattr(host_reader, "DELAY", 20)
    monkeypatch.setattr(workstation, "facts", facts)
    owner = QObject()
    reader = HostReader(workstation, RefusingAsker(), owner)
    reader.need([LOCAL])
    qtbot.waitUntil(lambda: reader.of(LOCAL).reading is Reading.READ, timeout=PATIENCE)
    settle(qtbot)
    gate.clear()
    reader.reread(LOCAL)
    reader.need([LOCAL], ("/srv/new",))
    qtbot.wait(100)  # the debounce ends while the host is being read
    gate.set()
    qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)
    reader.need([LOCAL], ("/srv/new",))
    qtbot.waitUntil(lambda: "/srv/new" in looked_up, timeout=PATIENCE)
    settle(qtbot)
