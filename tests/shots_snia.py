"""Pictures of tests to steady state: the wizard's page, its findings, a simulated drive that came there, its rounds."""

import math

from PySide6.QtWidgets import QWidget

from app.distributions.studies import StudyKind
from app.events import RunEnded, RunStarted, State
from app.plans.plan import LOCAL, Step
from app.timestamps import now
from suites.base import complete_values
from suites.outputs import ParsedTrial
from suites.snia.parameters import SniaPoint, points
from suites.snia.suite import FioSnia
from tests.app import run_events
from tests.shot_stage import Shot, Stage, opened
from tests.suites.test_snia_output import point
from widgets import jobs
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.plots.studies import StudyPane
from widgets.wizard.measure_page import PARAMETERS, REVIEW, MeasurePage

RUN = "20260116-090000-ssd1"
SNIA = FioSnia()
VALUES = complete_values(SNIA, {"directory": "/srv", "size": "64 GiB"})
WORDS = {"read": b'"read": {', "write": b'"write": {'}


def _iops(at: SniaPoint, number: int) -> float:
    """Return what a simulated drive does in a round: reads are steady, writes fall as its empty blocks run out."""
    fresh = 1 + 1.6 * math.exp(-number / 2.5) * (1 - at.reads / 100)
    bandwidth = 2.4e9 if at.reads == 100 else 0.9e9 + 8e6 * at.reads
    ceiling = 420_000 if at.reads == 100 else 60_000 + 2_000 * at.reads
    noise = 1 + 0.015 * math.sin(7.0 * number + at.reads)
    return min(ceiling, bandwidth / at.block) * fresh * noise


def _simulated(rounds: int = 16) -> ParsedTrial:
    parser, found = SNIA.parser(VALUES), points(VALUES)
    uptime = 1000.0
    for number in range(1, rounds + 1):
        for place, at in enumerate(found, 1):
            size = f"{at.block // 1024}k" if at.block >= 1024 else str(at.block)
            shown = point(number, place, _iops(at, number), uptime=uptime, places=len(found), rw=at.rw, bs=size)
            if 0 < at.reads < 100:
                shown = shown.replace(b" --bs=", f" --rwmixread={at.reads} --bs=".encode())
            parser.feed(shown.replace(WORDS["write"], WORDS[at.operation]))
            uptime += 60.5
    parser.feed(f"benchwright: ended after round {rounds}: steady\n".encode())
    return parser.finish(0)


def _stored(stage: Stage) -> None:
    if any(one.id == RUN for one in stage.workstation.runs()):
        return
    parsed = _simulated()
    step = Step("IOPS to steady state", "fio-snia", VALUES)
    with stage.workstation._store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(step), now()))
        for event in run_events.trial_events(run_events.trial(1, step=step.name), parsed.figures, parsed.samples):
            recorder.record(event)
        recorder.record(RunEnded(RUN, State.DONE, "", {}))


def _result(stage: Stage) -> QWidget:
    _stored(stage)
    window = stage.window()
    page = opened(window, LibraryPage)
    page.show_run(RUN)
    stage.settle()
    page.panel.tabs.setCurrentWidget(page.panel._plots)
    page.actions_of_runs.open.trigger()
    return window


def _rounds(stage: Stage) -> QWidget:
    _stored(stage)
    pane = stage.keep(StudyPane(StudyKind.ROUNDS, stage.workstation))
    pane.show_runs([RUN])
    pane.resize(1140, 450)
    pane.show()
    stage.settle()
    return pane


def _wizard(stage: Stage, place: int) -> MainWindow:
    window = stage.window()
    page = opened(window, MeasurePage)
    page.begin([LOCAL])
    _settle(stage, page)
    page.plan_step.tests.add("fio-snia")
    page.plan_step.changed.emit()
    _settle(stage, page)
    page.go(place)
    return window


def _settle(stage: Stage, page: MeasurePage) -> None:
    stage.settle(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting)


SHOTS: list[Shot] = [
    ("snia-parameters", lambda stage: _wizard(stage, PARAMETERS)),
    ("snia-review", lambda stage: _wizard(stage, REVIEW)),
    ("snia-result", _result),
    ("snia-rounds", _rounds),
]
