"""Pictures of the wizard with tests of databases and of the user's own programs."""

from PySide6.QtWidgets import QWidget

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from tests.shot_stage import Shot, Stage, opened
from widgets import jobs
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.wizard.measure_page import PARAMETERS, PLAN, MeasurePage

OWN = {"command": "make -j 8 | tail -n 1", "figure": "pattern", "pattern": "built in ([0-9.]+) s", "unit": "s"}


def _settle(stage: Stage, page: MeasurePage) -> None:
    stage.settle(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting)


def _planned(stage: Stage, suite: str, texts: dict[str, str]) -> tuple[MainWindow, MeasurePage]:
    """Return the wizard with one step of `suite`, its parameters written as a person writes them."""
    window = stage.window()
    page = opened(window, MeasurePage)
    page.begin([LOCAL])
    _settle(stage, page)
    page.plan_step.tests.add(suite)
    page.plan_step.changed.emit()
    _settle(stage, page)
    page.go(PARAMETERS)
    for name, text in texts.items():
        editor = page.parameters.row(name).editor
        editor.set_text(text)
        editor.edited.emit(text)
    _settle(stage, page)
    return window, page


def _tests(stage: Stage) -> QWidget:
    window, page = _planned(stage, "pgbench", {})
    page.go(PLAN)
    page.plan_step.tests.field.setText("application")
    return window


def _command(stage: Stage) -> QWidget:
    return _planned(stage, "command", OWN | {"metric": "Build time"})[0]


def _command_findings(stage: Stage) -> QWidget:
    window, page = _planned(stage, "command", OWN | {"environment": "PGPASSWORD=x"})
    page.issues.set_folded(folded=False)
    return window


def _pgbench(stage: Stage) -> QWidget:
    return _planned(stage, "pgbench", {})[0]


def _oltp_named(stage: Stage) -> QWidget:
    return _planned(stage, "sysbench-oltp", {"server": "named", "address": "db-1"})[0]


def _own_figure(stage: Stage) -> QWidget:
    """Return the live page after a run whose figure the user named; it leads."""
    window = stage.window()
    page = opened(window, LivePage)
    own = {"command": "sh -c 'echo built in 0.$$ s; sleep 0.4'", "figure": "pattern", "metric": "Build time"}
    step = make_step("command", {**own, "pattern": "built in ([0-9.]+) s", "unit": "s", "better": "lower"})
    plan = Plan("Build", (LOCAL,), (step,), repetition=Repetition(trials=3))
    page.start_run(plan, made=lambda: stage.workstation.consents.remember_made(plan))
    stage.settle(lambda: not page.running)
    return window


SHOTS: list[Shot] = [
    ("application-1-tests", _tests),
    ("application-2-command", _command),
    ("application-3-command-findings", _command_findings),
    ("application-4-pgbench", _pgbench),
    ("application-5-oltp-named", _oltp_named),
    ("application-6-own-figure", _own_figure),
]
