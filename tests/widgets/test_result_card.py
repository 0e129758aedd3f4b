"""The quick benchmark: at once, or to the wizard if it cannot run; its end is a card to copy."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.events import State
from app.plans.plan import LOCAL
from app.plans.presets import filled_preset
from app.questions import RefusingAsker
from app.report_image.card import result_card
from app.services import Workstation
from app.step_results import results_text
from suites.facts import Absent, Facts, Tool
from suites.verdict import Trust, Verdict
from tests.app.test_false_warnings import server
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.live.live_page import LivePage
from widgets.live.messages import outcome
from widgets.live.quick_start import QuickStart
from widgets.live.replay import stored
from widgets.live.result_card import ResultCardView
from widgets.live.run_controller import RunController, RunStart
from widgets.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("idle")

Keep = Callable[[QWidget], QWidget]

RUN = "20260112-081502-a1b2"


def test_a_card_shows_and_copies_every_result(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    copied_library(workstation)
    card = ResultCardView()
    keep(card)
    card.show()
    card.show_run(workstation, RUN)
    qtbot.waitUntil(lambda: card.card is not None)
    assert card.card is not None
    result = card.card.results[0]
    assert "IOPS" in result.figure
    card.activateWindow()
    card.copy_text_button.setFocus()
    qtbot.waitUntil(card.copy_text_button.hasFocus)
    qtbot.keyClick(card.copy_text_button, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: RUN in QGuiApplication.clipboard().text())
    assert result.figure in QGuiApplication.clipboard().text()
    card.copy_picture_button.click()
    size = QGuiApplication.clipboard().image().size()
    assert (size.width(), size.height()) == (1200, 630)
    with qtbot.waitSignal(card.copied) as copied:
        card.copy_ticket_button.click()
    assert "redacted" in copied.args[0]
    text = QGuiApplication.clipboard().text()
    assert result.figure in text
    assert "```sh" in text
    hosts = workstation.load(RUN).plan.hosts
    assert not any(f"| {host} |" in text for host in hosts if host != LOCAL)


@pytest.mark.parametrize(("state", "ending"), [(State.FAILED, "Failed."), (State.PARTIAL, "Ended early.")])
def test_every_view_of_a_run_that_is_not_done_has_its_end_and_its_verdict(
    keep: Keep, workstation: Workstation, state: State, ending: str
) -> None:
    copied_library(workstation)
    found = workstation.load(RUN)
    whole = Verdict(Trust.INVALID, None, "Invalid: no figure.")
    each = replace(whole, step=found.plan.steps[0].name, host=found.plan.hosts[0])
    summary = replace(found.summary, state=state)
    record = replace(found, summary=summary, reason="The disk is full.", verdicts=(each, whole))
    card = ResultCardView()
    keep(card)
    card.show_card(result_card(record))
    assert {f"{ending} The disk is full.", "Invalid"} <= {label.text() for label in card.findChildren(QLabel)}
    assert f"{ending} The disk is full." in results_text(record)
    run = RunController(RunStart(record.plan), workstation, RefusingAsker(), card)
    run.model, run.over = stored(record, {}, {}), True
    assert run.line(0.0).detail == f"{ending[:-1].lower()} · invalid"
    assert run.line(0.0).figure == "Invalid: no figure."
    assert ending[:-1] in outcome(run.model)[1]


class StartedError(Exception):
    """Instead of a run."""


def test_a_cloud_check_started_in_the_window_ends_with_the_card(
    keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = LivePage(workstation, RefusingAsker())
    keep(page)
    started: list[RunStart] = []

    def start(request: RunStart) -> None:
        started.append(request)
        raise StartedError

    monkeypatch.setattr(page.runs, "start", start)
    for name in ("cloud-check", "healthy-instance"):
        with pytest.raises(StartedError):
            page.start_run(filled_preset(name).plan)
    assert [request.card for request in started] == [True, False]


def _quick(
    keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch, facts: Facts
) -> tuple[QuickStart, list[tuple[str, list[str]]]]:
    """Return a start whose host has `facts`, and what it emits: the signal and the suites of the plan."""
    monkeypatch.setattr(workstation, "facts", lambda *_given: facts)
    quick = QuickStart(workstation, RefusingAsker())
    keep(quick)
    emitted: list[tuple[str, list[str]]] = []
    for name in ("ready", "blocked"):
        signal = getattr(quick, name)
        signal.connect(lambda plan, name=name: emitted.append((name, [step.suite_id for step in plan.steps])))
    return quick, emitted


def test_a_host_with_the_tools_runs_at_once(
    qtbot: QtBot, keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, emitted = _quick(keep, workstation, monkeypatch, server())
    quick.start("web-1")
    qtbot.waitUntil(lambda: bool(emitted))
    suites = ["sysbench-cpu"] * 2 + ["sysbench-memory"] + ["fio"] * 4
    assert emitted == [("ready", suites)]
    assert not quick.isVisible()


def test_without_a_tool_the_plan_goes_to_the_wizard(
    qtbot: QtBot, keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = server()
    tools = tuple(Tool(name=tool.name, version=Absent("not found")) for tool in facts.tools)
    quick, emitted = _quick(keep, workstation, monkeypatch, replace(facts, tools=tools))
    quick.start("web-1")
    qtbot.waitUntil(lambda: bool(emitted))
    assert [name for name, _ in emitted] == ["blocked"]


def test_a_quick_benchmark_that_is_cancelled_does_not_start(
    qtbot: QtBot, keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, emitted = _quick(keep, workstation, monkeypatch, server())
    quick.start("web-1")
    quick.working.cancel_button.click()
    qtbot.waitUntil(lambda: not jobs.running())
    assert emitted == []


@pytest.mark.slow
@pytest.mark.lab
def test_two_steps_lead_from_the_window_to_a_result_in_the_clipboard(
    qtbot: QtBot, keep: Keep, workstation: Workstation
) -> None:
    window = MainWindow(workstation)
    keep(window)
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    qtbot.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    page = window.pages.live
    assert isinstance(page, LivePage)
    qtbot.waitUntil(page.card.isVisible, timeout=150_000)
    qtbot.waitUntil(lambda: page.card.card is not None)
    qtbot.keyClick(page.card.copy_text_button, Qt.Key.Key_Space)
    text = QGuiApplication.clipboard().text()
    assert all(name in text for name in ("cpu 1 thread", "memory write", "disk randread 4k", "disk randwrite 4k"))
    assert LOCAL not in text.splitlines()[1].split(":")[0]
    window.close()
