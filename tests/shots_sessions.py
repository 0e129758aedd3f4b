"""Pictures of session series: a due session, its runs in the library, and the plan that asks for it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from PySide6.QtWidgets import QWidget

from app.events import PlannedSession, RunStarted
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.services import Workstation
from app.session_series import SessionSeries
from app.store.store import Store
from tests.app import run_events
from tests.app.stores import record
from tests.shot_stage import Shot, Stage
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.wizard.measure_page import MeasurePage


def _due(stage: Stage, *, by_hand: bool = False) -> QWidget:
    path = stage.workstation.library_path.with_name(f"sessions-{stage.variant.name}-{by_hand}.sqlite3")
    store = Store(path)
    plan = replace(run_events.plan(name="volume check"), repetition=Repetition(6, sessions=5))
    series = store.begin_series(plan)
    for day in (1, 2):
        run_id, started = f"2026112{day}-081500-k3f{day}", f"2026-11-2{day}T08:{13 + 2 * day}:00+00:00"
        session = PlannedSession(series.id, day, 5, f"2026-11-2{day}T08:15:00+00:00")
        for_day = (
            replace(event, plan=series.session_plan(), session=session) if isinstance(event, RunStarted) else event
            for event in run_events.run_events(run_id, [1000.0 + 10 * day, 1005.0], started=started)
        )
        record(store, run_id, for_day)
    window = stage.keep(MainWindow(Workstation(path)))
    window.resize(*stage.variant.size)
    window.show()
    page = window.show_page(PageName.LIBRARY)
    assert isinstance(page, LibraryPage)
    stage.settle(page.actions_of_runs.sessions.isEnabled)
    page.actions_of_runs.sessions.trigger()
    stage.settle()
    if by_hand:
        plan = replace(plan, steps=(make_step("fio", {"rw": "randwrite", "device": "/dev/sdb"}, name="fill"),))
    began = datetime.now(UTC) - timedelta(days=2, hours=2)
    ran = tuple(
        replace(run, started=(began + timedelta(days=day)).isoformat(), ended=(began + timedelta(days=day)).isoformat())
        for day, run in enumerate(store.find_series(series.id).runs)
    )
    window.session_bar.show_series([SessionSeries(series.id, plan, began.isoformat(), None, ran)])
    stage.settle()
    return window


def _planned(stage: Stage) -> QWidget:
    window = stage.window()
    page = window.show_page(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    step = make_step("sysbench-cpu", {"time": 30})
    page.load(Plan("volume check", (LOCAL,), (step,), repetition=Repetition(sessions=5)))
    stage.settle()
    return window


SHOTS: list[Shot] = [
    ("session-due", _due),
    ("session-by-hand", partial(_due, by_hand=True)),
    ("session-plan", _planned),
]
