"""Pictures of the network tests: their pages in the wizard, and runs of them on this computer."""

from functools import partial

from PySide6.QtWidgets import QWidget

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from tests.shot_stage import Shot, Stage, opened
from widgets import jobs
from widgets.live.live_page import LivePage
from widgets.wizard.measure_page import PARAMETERS, MeasurePage

RUNS: dict[str, dict[str, object]] = {
    "iperf3": {"time": 4, "port": 0},
    "net-blocks": {"time": 1, "buffers": "1 KiB, 64 KiB"},
    "latency-under-load": {"time": 5, "interval": 0.05},
}


def _parameters(suite: str, stage: Stage) -> QWidget:
    window = stage.window()
    page = opened(window, MeasurePage)
    page.begin([LOCAL])
    stage.settle(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting)
    page.plan_step.tests.add(suite)
    page.plan_step.changed.emit()
    stage.settle(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting)
    page.go(PARAMETERS)
    return window


def _finished(suite: str, stage: Stage) -> QWidget:
    window = stage.window()
    page = opened(window, LivePage)
    step = make_step(suite, RUNS[suite])
    page.start_run(Plan("Between these two", (LOCAL,), (step,), repetition=Repetition(trials=1)))
    stage.settle(lambda: not page.running)
    return window


SHOTS: list[Shot] = [
    *((f"network-{suite}-parameters", partial(_parameters, suite)) for suite in RUNS),
    *((f"network-{suite}-run", partial(_finished, suite)) for suite in RUNS),
]
