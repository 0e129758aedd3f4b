"""Pictures of a run: before, while and after it, on real tools; and the same run as it is stored."""

import subprocess
import sys
import tempfile
from pathlib import Path

from PySide6.QtWidgets import QLabel, QWidget

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from tests.shot_stage import Shot, Stage, opened
from widgets.live import replay
from widgets.live.live_page import LivePage
from widgets.live.step_view import StepView
from widgets.main_window import MainWindow
from widgets.run_view import RunView


def _plan(seconds: int = 4, trials: int = 2) -> Plan:
    folder = Path(tempfile.gettempdir()) / "shots"
    folder.mkdir(exist_ok=True)
    disk = {
        "directory": str(folder), "size": "128 MiB", "runtime": seconds, "rw": "randrw", "iodepth": 4, "direct": True,
        "ramp_time": 1,
    }  # fmt: skip
    steps = (make_step("fio", disk, name="fio randrw 4k QD4"), make_step("sysbench-cpu", {"time": 2, "threads": 2}))
    return Plan("Quick benchmark", (LOCAL,), steps, repetition=Repetition(trials=trials))


def _page(window: MainWindow) -> LivePage:
    return opened(window, LivePage)


def _view(page: LivePage) -> StepView:
    if page.view is None:
        raise TypeError("nothing was run")
    return page.view


def _frozen(stage: Stage, window: QWidget) -> QWidget:
    """Return a picture of `window` as it is now, and end what runs in it: a picture waits for all work to end."""
    picture = stage.keep(QLabel())
    picture.setPixmap(window.grab())
    picture.setFixedSize(window.size())
    picture.show()
    return picture


def _samples(page: LivePage, trial: int) -> int:
    view = page.model.trials.get(trial) if page.model is not None else None
    return max((len(series.buffer) for series in view.series.values()), default=0) if view is not None else 0


def _idle(stage: Stage) -> QWidget:
    window = stage.window()
    _page(window)
    return window


def _starting(stage: Stage) -> QWidget:
    window = stage.window()
    page = _page(window)
    page.start_run(_plan(1, 1))
    picture = _frozen(stage, window)
    stage.settle(lambda: not page.running)
    return picture


def _finished(stage: Stage) -> QWidget:
    window = stage.window()
    page = _page(window)
    page.start_run(_plan())
    stage.settle(lambda: not page.running)
    stage.workstation.pin("last", "before the upgrade")
    page._strip.selectRow(0)
    return window


def _overlaid(stage: Stage) -> QWidget:
    window = _finished(stage)
    if isinstance(window, MainWindow):
        _view(_page(window)).overlay.trigger()
    return window


def _selected(stage: Stage) -> QWidget:
    """Show the statistics of a selected span, and the trials zoomed to it."""
    window = _finished(stage)
    if isinstance(window, MainWindow):
        axis = _view(_page(window)).plots.window_of_time
        axis.select((1.5, 4.0))
        axis.zoom_to(0.0, 6.0)
    return window


def _choosing(stage: Stage) -> QWidget:
    window = _finished(stage)
    if not isinstance(window, MainWindow):
        return window
    view = _view(_page(window))
    view.plots.choose_plots(view.chooser)
    return view.plots.chooser


def _running(stage: Stage) -> QWidget:
    window = stage.window()
    page = _page(window)
    page.start_run(_plan())
    stage.settle(lambda: _samples(page, 2) >= 3)
    _view(page).plots.window_of_time.move_cursor(2.4)
    picture = _frozen(stage, window)
    page.stop()
    stage.settle(lambda: not page.running)
    return picture


def _disturbed(stage: Stage) -> QWidget:
    """Show a run beside which another program is at work, at the moment when that is found."""
    window = stage.window()
    page = _page(window)
    step = make_step("sysbench-cpu", {"time": 30, "threads": 2})
    with subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) as other:
        page.start_run(Plan("Quick benchmark", (LOCAL,), (step,), repetition=Repetition(trials=1)))
        stage.settle(lambda: _found(page, "other-process") or not page.running)
        page.issues.set_folded(folded=False)
        page.issues.lines[0].set_open(is_open=True)
        stage.settle(lambda: True)
        picture = _frozen(stage, window)
        other.kill()
    page.stop()
    stage.settle(lambda: not page.running)
    return picture


def _load_gone(stage: Stage) -> QWidget:
    """Show the background load of a host after a run, which has ended meanwhile."""
    window = stage.window()
    page = _page(window)
    step = make_step("sysbench-cpu", {"time": 2, "threads": 2})
    page.issues.set_folded(folded=False)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) as other:
        page.start_run(Plan("Quick benchmark", (LOCAL,), (step,), repetition=Repetition(trials=1)))
        stage.settle(lambda: not page.running)
        stage.settle(lambda: any(" now" in one.first.measured for one in page.issues.issues))
        other.kill()
    stage.settle(lambda: any(one.gone is not None for one in page.issues.issues))
    return _frozen(stage, window)


def _found(page: LivePage, check: str) -> bool:
    return any(finding.id == check for issue in page.issues.issues for finding in issue.findings)


def _stopped(stage: Stage) -> QWidget:
    window = stage.window()
    page = _page(window)
    page.start_run(_plan())
    stage.settle(lambda: _samples(page, 1) >= 2)
    page.stop()
    stage.settle(lambda: not page.running)
    view = _view(page)
    view.tabs.open_tab(view.log)
    return window


def _failed(stage: Stage) -> QWidget:
    window = stage.window()
    page = _page(window)
    missing_path = make_step("fio", {"directory": "/proc/nowhere", "runtime": 2})
    page.start_run(Plan("Quick benchmark", (LOCAL,), (missing_path,), repetition=Repetition(trials=1)))
    stage.settle(lambda: not page.running)
    return window


def _pinning(stage: Stage) -> QWidget:
    window = _finished(stage)
    if isinstance(window, MainWindow):
        _page(window)._outcome.pin_button.click()
    return window


def _stored(stage: Stage) -> QWidget:
    shown = stage.keep(RunView(stage.workstation))
    record = stage.workstation.load("last")
    run_id = record.summary.id
    bands = stage.workstation.bands(record.plan, {})
    model = replay.stored(record, stage.workstation.samples(run_id), stage.workstation.telemetry(run_id))
    shown.set_model(model, bands)
    shown.resize(stage.variant.size[0] - 420, stage.variant.size[1] - 120)
    shown.show()
    return shown


def _swept(stage: Stage) -> QWidget:
    folder = Path(tempfile.gettempdir()) / "shots"
    folder.mkdir(exist_ok=True)
    sweep = {
        "directory": str(folder), "size": "64 MiB", "depths": "1, 4, 16, 64", "job_counts": "1, 2", "runtime": 1,
    }  # fmt: skip
    window = stage.window()
    page = _page(window)
    page.start_run(Plan("Depth", (LOCAL,), (make_step("fio-sweep", sweep),), repetition=Repetition(trials=1)))
    stage.settle(lambda: not page.running)
    return window


def _searching(stage: Stage) -> QWidget:
    folder = Path(tempfile.gettempdir()) / "shots"
    folder.mkdir(exist_ok=True)
    search = {
        "directory": str(folder), "size": "64 MiB", "limit": 0.005, "start": 1000, "runtime": 3, "confirm": 2,
    }  # fmt: skip
    window = stage.window()
    page = _page(window)
    page.start_run(Plan("IOPS", (LOCAL,), (make_step("fio-slo", search),), repetition=Repetition(trials=1)))
    stage.settle(lambda: _samples(page, 1) >= 7 or not page.running)
    picture = _frozen(stage, window)
    page.stop()
    stage.settle(lambda: not page.running)
    return picture


SHOTS: list[Shot] = [
    ("live-idle", _idle),
    ("live-starting", _starting),
    ("live-finished", _finished),
    ("live-overlaid", _overlaid),
    ("live-selected", _selected),
    ("live-choosing", _choosing),
    ("live-running", _running),
    ("live-disturbed", _disturbed),
    ("live-load-gone", _load_gone),
    ("live-stopped", _stopped),
    ("live-failed", _failed),
    ("live-pinning", _pinning),
    ("run-stored", _stored),
    ("live-swept", _swept),
    ("live-searching", _searching),
]
