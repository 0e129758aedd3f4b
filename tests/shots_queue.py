"""Pictures of several runs at once: the strip, a run that waits, a lost connection, closing, and an earlier queue."""

import time
from collections.abc import Generator, Iterable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.events import (
    Activity,
    Event,
    JobBegan,
    JobPlanned,
    LinkChanged,
    Progress,
    RunEnded,
    RunStarted,
    State,
)
from app.plans.plan import Plan, Repetition, make_step
from app.questions import Asker
from app.queue.entries import QueueEntry
from app.runs.control import Control
from remote.connection_state import LinkState
from remote.jobs.job_record import JobStart
from remote.jobs.workspace import Workspace
from suites.base import Purpose
from suites.errors import BenchwrightError
from tests.shot_stage import Shot, Stage
from tests.shots_live import _frozen, _page
from tests.widgets.live_events import begin, end, sample
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.parts.dialogs import QuestionDialog
from widgets.run_strip import QueueAction

WORKSPACE = Workspace("/root/benchwright-0123456789abcdef", "0123456789abcdef")


def _plan(name: str, *hosts: str) -> Plan:
    return Plan(name, hosts, (make_step("fio", {}, name="disk"),), repetition=Repetition(trials=6))


def _measuring(plan: Plan, number: int) -> Iterable[Event]:
    yield RunStarted(f"20261122-14153{number}-k3f{number}", plan, "2026-11-22T14:15:30+00:00")
    yield Activity(f"measuring disk on {plan.hosts[0]}", plan.hosts[0])
    yield begin(1, 1)
    for second in range(1, 9):
        yield sample(41_200.0 + 130 * (second % 3) + 9000 * number, float(second))
    yield end(41_330.0)
    yield Progress(1, 6, 250.0 + 61 * number, exact=True)
    yield begin(2, 2)
    yield JobPlanned(2, Purpose.MEASURE, 0, plan.hosts[0], WORKSPACE, "job-1", {})
    yield JobBegan("job-1", JobStart(1, 1, 1, "boot", 0.0, 0.0))
    for second in range(1, 6):
        yield sample(41_100.0 + 90 * (second % 4) + 9000 * number, float(second), 2)


def _start(stage: Stage, more: Iterable[Event] = ()) -> tuple[MainWindow, LivePage]:
    """Start three runs side by side, one that ends, and two that wait; the first ends with the events `more`."""
    window = stage.window()
    page = _page(window)

    def script(entry: QueueEntry, asker: Asker, control: Control) -> Generator[Event]:
        try:
            yield from unrecorded(entry, asker, control)
        finally:
            stage.workstation.queue.drop(entry.id)

    def unrecorded(entry: QueueEntry, _asker: Asker, control: Control) -> Generator[Event]:
        number = int(entry.plan.hosts[0].rpartition("-")[2])
        yield from _measuring(entry.plan, number)
        yield from more if number == 1 else ()
        if entry.plan.name == "STREAM":
            yield RunEnded("ended", State.DONE)
            return
        while not control.stopped:
            time.sleep(0.02)
        yield RunEnded("ended", State.PARTIAL, "Stopped by you.")

    page.workstation.run_entry = script  # type: ignore[method-assign]
    plans = [
        _plan("fio randread 4k QD32", "web-1"),
        _plan("Nightly of all volumes", "web-2"),
        _plan("sysbench", "db-3"),
        _plan("STREAM", "db-4"),
        _plan("fio randread 4k QD32", "web-1", "web-2"),
        _plan("iperf3", "web-1"),
    ]
    for number, plan in enumerate(plans):
        page.start_run(plan, show=not number)
        stage.settle(lambda: len(page.runs.controllers[-1].model.trials) == 2 or not page.runs.controllers[-1].starting)
    page.act_on_key(page.runs.controllers[-1].key, QueueAction.PAUSE)
    until = time.monotonic() + 1.2
    stage.settle(lambda: time.monotonic() >= until)
    return window, page


def _picture(stage: Stage, window: MainWindow, page: LivePage) -> QWidget:
    picture = _frozen(stage, window)
    for run in page.runs.active:
        page.runs.stop(run)
    stage.settle(lambda: not page.runs.active)
    return picture


def _side_by_side(stage: Stage) -> QWidget:
    window, page = _start(stage)
    return _picture(stage, window, page)


def _waiting(stage: Stage) -> QWidget:
    window, page = _start(stage)
    page.show_run(page.runs.controllers[4])
    stage.settle()
    return _picture(stage, window, page)


def _paused(stage: Stage) -> QWidget:
    window, page = _start(stage)
    page.show_run(page.runs.controllers[5])
    stage.settle()
    return _picture(stage, window, page)


def _lost(stage: Stage) -> QWidget:
    window, page = _start(stage, [LinkChanged("web-1", LinkState.RECONNECTING, time.monotonic() - 41, 5)])
    return _picture(stage, window, page)


def _closing(stage: Stage) -> QWidget:
    window, page = _start(stage)
    window.close()
    stage.settle()
    picture = _frozen(stage, next(found for found in window.findChildren(QuestionDialog) if found.isVisible()))
    for run in page.runs.active:
        page.runs.stop(run)
    stage.settle(lambda: not page.runs.active)
    return picture


def _not_started(stage: Stage) -> QWidget:
    window = stage.window()
    page = _page(window)

    def refuse(_entry: QueueEntry, _asker: Asker, _control: Control) -> Generator[Event]:
        raise BenchwrightError("The plan “Nightly” does more than run benchmark tools. Consent was refused.")
        yield  # a generator, as run_entry() is

    page.workstation.run_entry = refuse  # type: ignore[method-assign,assignment]
    page.start_run(_plan("Nightly", "web-1"))
    stage.settle(lambda: not page.running)
    return window


def _earlier(stage: Stage) -> QWidget:
    queue, library = stage.workstation.queue, Path(stage.workstation.library_path)
    for plan in (_plan("Nightly", "web-1"), _plan("sysbench", "db-3")):
        queue.add(plan, library, owned=False)
    window = stage.window()
    stage.settle()
    for place in queue.places():
        queue.discard(place.entry.id)
    return window


SHOTS: list[Shot] = [
    ("queue-side-by-side", _side_by_side),
    ("queue-waiting", _waiting),
    ("queue-paused", _paused),
    ("queue-lost", _lost),
    ("queue-closing", _closing),
    ("queue-not-started", _not_started),
    ("queue-earlier", _earlier),
]
