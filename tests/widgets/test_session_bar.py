"""The bar of due sessions: it starts them by itself, later, by hand only, or ends their series."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.services import Workstation
from app.session_series import SessionSeries
from suites import registry
from tests.app import run_events
from tests.lab.counting import Counting, counting_plan
from tests.messages import messages
from widgets import jobs, session_bar
from widgets.library.library_page import LibraryPage
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.dialogs import QuestionDialog
from widgets.session_bar import LATER, SessionBar

MESSAGES = messages("widgets", "test_session_bar")
PATIENCE = 60_000


def plan(sessions: int, every: float = 1.0, count: int = 1) -> Plan:
    return replace(counting_plan(count, host=LOCAL), repetition=Repetition(1, sessions=sessions, every=every))


def series(late: timedelta = timedelta(hours=2), of: Plan | None = None) -> SessionSeries:
    """Return a series whose first session is due since `late`."""
    made = of or replace(run_events.plan(name="volume check"), repetition=Repetition(sessions=5))
    return SessionSeries("s7kqm2", made, (datetime.now(UTC) - late).isoformat())


@pytest.fixture
def bar(qtbot: QtBot, workstation: Workstation) -> SessionBar:
    made = SessionBar(workstation)
    qtbot.addWidget(made)
    return made


def press(qtbot: QtBot, button: QAbstractButton) -> None:
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_due_session_is_shown_with_its_lateness_and_a_countdown(bar: SessionBar) -> None:
    bar.show_series([series()])
    assert bar.isVisible()
    assert bar.message.text() == MESSAGES["due_late"]
    assert bar.detail.text() == "It starts in 30 s."
    bar.show_series([series(-timedelta(hours=1))])  # not due
    assert not bar.isVisible()
    bar.show_series([replace(series(), ended="2026-11-20T14:15:30+00:00")])
    assert not bar.isVisible()


def test_the_series_that_is_due_for_longest_is_shown_first(bar: SessionBar) -> None:
    first = replace(series(timedelta(hours=3)), id="first", plan=run_events.plan(name="first"))
    bar.show_series([series(), replace(first, plan=replace(first.plan, repetition=Repetition(sessions=2)))])
    assert "“first”" in bar.message.text()


def test_a_series_that_is_under_way_or_queued_is_not_offered(bar: SessionBar) -> None:
    bar.is_under_way = lambda one: one.id == series().id
    bar.show_series([series()])
    assert not bar.isVisible()
    bar.show_series([series(), replace(series(), id="another")])
    assert bar.isVisible()


def test_the_countdown_starts_the_session_once(qtbot: QtBot, workstation: Workstation) -> None:
    bar = SessionBar(workstation, countdown=0.2)
    qtbot.addWidget(bar)
    due, started = series(), []
    bar.start_requested.connect(lambda which, asked: started.append((which.id, asked)))
    bar.show_series([due])
    qtbot.waitUntil(lambda: bool(started))
    bar.show_series([due])  # its host was in use: not offered again at once
    assert started == [(due.id, False)]
    assert not bar.isVisible()


def test_start_and_later_are_the_users(qtbot: QtBot, bar: SessionBar, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bool] = []
    bar.start_requested.connect(lambda _series, asked: started.append(asked))
    bar.show_series([series()])
    press(qtbot, bar.later_button)
    assert not bar.isVisible()
    after = datetime.now(UTC) + LATER + timedelta(seconds=1)

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]  # noqa: ARG003
            return after

    monkeypatch.setattr(session_bar, "datetime", Later)
    bar.show_series([series()])
    press(qtbot, bar.start_button)
    assert started == [True]


def test_a_plan_that_needs_a_person_has_no_countdown(qtbot: QtBot, workstation: Workstation) -> None:
    bar = SessionBar(workstation, countdown=0.0)
    qtbot.addWidget(bar)
    write = make_step("fio", {"rw": "randwrite", "device": "/dev/sdb"}, name="fill")
    by_hand = replace(run_events.plan(write), repetition=Repetition(sessions=5))
    with qtbot.assertNotEmitted(bar.start_requested, wait=session_bar.TICK + 500):
        bar.show_series([series(of=by_hand)])
    assert bar.detail.text() == MESSAGES["by_hand"]
    with qtbot.waitSignal(bar.start_requested):
        press(qtbot, bar.start_button)


def test_the_countdown_waits_for_an_open_question(qtbot: QtBot, workstation: Workstation) -> None:
    bar = SessionBar(workstation, countdown=0.5)
    qtbot.addWidget(bar)
    with qtbot.assertNotEmitted(bar.start_requested, wait=session_bar.TICK + 700):
        bar.show_series([series()])
        press(qtbot, bar.end_button)
    assert not bar.detail.text()
    (question,) = (found for found in bar.findChildren(QuestionDialog) if found.isVisible())
    with qtbot.waitSignal(bar.start_requested):
        question.reject()


@pytest.fixture
def window(qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    """Return a window whose sessions start after half a second."""
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))
    monkeypatch.setattr("widgets.main_window.SessionBar", lambda bench: SessionBar(bench, countdown=0.5))
    made = MainWindow(workstation)
    yield made
    made.closing.stop_and_close()
    qtbot.waitUntil(lambda: made.isHidden() and not jobs.running(), timeout=PATIENCE)
    made.deleteLater()


@pytest.mark.slow
@pytest.mark.usefixtures("few_programs")
def test_the_window_runs_a_series_by_itself_after_its_restart(
    qtbot: QtBot, workstation: Workstation, window: MainWindow
) -> None:
    started = workstation._store.begin_series(plan(2))  # the program ended before its first session
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: len(workstation.runs()) == 2 and not jobs.running(), timeout=PATIENCE)
    found = workstation.find_series(started.id)
    assert [(run.number, run.state) for run in found.runs] == [(1, "done"), (2, "done")]
    assert found.over
    before, after = found.runs
    assert after.started > str(before.ended)
    assert window.pages.live is not None
    assert window.front is not window.pages.live  # the page in use stays
    assert not window.session_bar.isVisible()
    page = window.show_page(PageName.LIBRARY)
    assert isinstance(page, LibraryPage)
    qtbot.waitUntil(lambda: len(page.table.content.rows) == 2 and not jobs.running())
    page.actions_of_runs.sessions.trigger()
    qtbot.waitUntil(lambda: len(page.table.chosen()) == 2)
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.mark.slow
@pytest.mark.usefixtures("few_programs")
def test_a_series_begun_on_the_live_page_can_be_ended(
    qtbot: QtBot, workstation: Workstation, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.plans.validation.LEAST_EVERY", 1.0)
    with qtbot.waitExposed(window):
        window.show()
    page = window.show_page(PageName.LIVE)
    assert isinstance(page, LivePage)
    window.session_bar._countdown = 600.0
    page.start_run(plan(2))
    qtbot.waitUntil(window.session_bar.isVisible, timeout=PATIENCE)
    assert MESSAGES["next_offered"] in page._outcome.detail.text()
    press(qtbot, window.session_bar.end_button)
    (question,) = (found for found in window.findChildren(QuestionDialog) if found.isVisible())
    press(qtbot, question.accept_button)
    qtbot.waitUntil(lambda: workstation.session_series()[0].over)
    qtbot.waitUntil(lambda: not window.session_bar.isVisible() and not jobs.running())
    assert len(workstation.runs()) == 1
