"""Pictures of the charts of studies: noise, a sweep with its model, a token bucket, latencies as a heat map."""

import tempfile
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.distributions.studies import StudyKind
from app.events import RunEnded, RunStarted, State
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, labels
from tests.app import run_events
from tests.app.test_bursts import RUN as BURST_RUN
from tests.app.test_bursts import record_drains
from tests.shot_stage import Shot, Stage
from tests.suites.captured_outputs import capture
from tests.widgets.library_runs import library
from tests.widgets.test_profile_pane import LARGE, SMALL
from tests.widgets.test_profile_pane import stored as record_profiles
from widgets.plots.profile_pane import ProfilePane
from widgets.plots.studies import BurstPane, StudyPane

RUNS = ("20260112-081502-a1b2", "20260113-141230-e5f6", "20260113-160544-g7h8")
TRIAD = Metric("triad", "Triad", Unit.BYTES_PER_SECOND, Better.HIGHER, MetricKind.RATE)
SWEEP = "20260116-090000-swep"
SEARCH = "20260117-090000-srch"
NOISE = (1.0, 0.985, 1.02)
"""What the trials of the sweep are off by."""


def _study(stage: Stage, study: StudyKind, *runs: str) -> QWidget:
    return _shown(stage, stage.keep(StudyPane(study, stage.workstation)), *runs)


def _shown(stage: Stage, pane: StudyPane, *runs: str) -> QWidget:
    pane.show_runs(runs)
    pane.resize(1140, 450)
    pane.show()
    stage.settle()
    return pane


def _noise(stage: Stage) -> QWidget:
    if RUNS[0] not in {run.id for run in stage.workstation.runs()}:
        library(stage.workstation)
    return _study(stage, StudyKind.NOISE, *RUNS)


def _scaling(stage: Stage) -> QWidget:
    if SWEEP not in {run.id for run in stage.workstation.runs()}:
        _record_sweep(stage)
    return _study(stage, StudyKind.SCALING, SWEEP)


def _profile(stage: Stage, *runs: str) -> QWidget:
    if SMALL not in {run.id for run in stage.workstation.runs()}:
        record_profiles(stage.workstation)
    pane = stage.keep(ProfilePane(stage.workstation))
    pane.show_runs(runs)
    pane.resize(1140, 600)
    pane.show()
    stage.settle()
    return pane


def _record_sweep(stage: Stage) -> None:
    """Write down a sweep of 1 to 24 threads that turns at 12."""
    with stage.workstation._store.recorder(SWEEP) as recorder:
        recorder.record(RunStarted(SWEEP, run_events.plan(trials=len(NOISE)), "2026-01-16T09:00:00+00:00"))
        for number, off in enumerate(NOISE, 1):
            figures = [
                Figure(TRIAD, off * 11e9 * n / (1 + 0.06 * (n - 1) + 0.0065 * n * (n - 1)), labels(threads=str(n)))
                for n in (1, 2, 4, 6, 8, 12, 16, 24)
            ]
            for event in run_events.trial_events(run_events.trial(number), figures):
                recorder.record(event)
        recorder.record(RunEnded(SWEEP, State.DONE, "", {}))


def _search(stage: Stage) -> QWidget:
    """Show the search of a captured output."""
    if SEARCH not in {run.id for run in stage.workstation.runs()}:
        step = make_step("fio-slo", {"limit": 0.005})
        parser = step.suite.parser(step.whole_values())
        parser.feed(capture("fio-slo/3.33/random_reads").stdout)
        with stage.workstation._store.recorder(SEARCH) as recorder:
            recorder.record(RunStarted(SEARCH, run_events.plan(step, trials=1), "2026-01-17T09:00:00+00:00"))
            for event in run_events.trial_events(run_events.trial(1, step=step.name), parser.finish(0).figures):
                recorder.record(event)
            recorder.record(RunEnded(SEARCH, State.DONE, "", {}))
    return _study(stage, StudyKind.SCALING, SEARCH)


def _burst(stage: Stage) -> QWidget:
    if BURST_RUN not in {run.id for run in stage.workstation.runs()}:
        record_drains(stage.workstation._store)
    pane = stage.keep(BurstPane(stage.workstation))
    pane.load.setText("1500")
    return _shown(stage, pane, BURST_RUN)


def _heat(stage: Stage) -> QWidget:
    folder = Path(tempfile.gettempdir()) / "shots"
    folder.mkdir(exist_ok=True)
    disk = {"directory": str(folder), "size": "64 MiB", "rw": "randrw", "runtime": 8, "direct": True}
    step = make_step("fio", {**disk, "ioengine": "libaio", "iodepth": 8})
    for _event in stage.workstation.run(
        Plan("disk", (LOCAL,), (step,), repetition=Repetition(1)), RefusingAsker(), Control()
    ):
        pass  # the store has it
    return _study(stage, StudyKind.HEAT, "last")


SHOTS: list[Shot] = [
    ("charts-noise", _noise),
    ("charts-scaling", _scaling),
    ("charts-search", _search),
    ("charts-burst", _burst),
    ("charts-heat", _heat),
    ("charts-profile", lambda stage: _profile(stage, SMALL)),
    ("charts-profile-change", lambda stage: _profile(stage, SMALL, LARGE)),
]
