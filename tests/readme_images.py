"""Takes the README's pictures from real measurements of this computer: ``python -m tests.readme_images FOLDER``.

Six trials of random reads and of the processor are pinned as the baseline, then the same plan runs again in the window.
Then a duet runs in the window, the cloud check, a search with three trials, and a fleet study of two sessions. It takes
about half an hour, as root: the hosts of the study have quotas.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.distributions.studies import StudyKind
from app.fleet_study import FleetHost, FleetLimits, FleetPlan
from app.host_attributes import HostAttributes
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.plans.presets import fill, preset
from app.questions import RefusingAsker
from app.runs.control import Control
from tests.lab.fleet_hosts import fleet
from tests.lab_sshd import AnsweringAsker
from tests.perf.host import make_keys
from tests.shot_stage import VARIANTS, Stage, opened, stage
from tests.shots_duet import duet
from tests.shots_investigations import several as investigation
from tests.shots_outputs import several
from widgets import jobs, theme
from widgets.fleet.fleet_page import FleetPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.plots.studies import StudyPane
from widgets.wizard.measure_page import PARAMETERS, MeasurePage

TRIALS = 6
SECONDS = 12.0
PICTURED = 4
"""The trial during which the live view is taken: there are others behind it then."""


def main(folder: Path) -> None:
    """Measure, and write the pictures into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    application = QApplication([])
    theme.apply(application)
    with tempfile.TemporaryDirectory() as home, stage(Path(home), VARIANTS[0]) as made:
        plan = _plan(made)
        _measure(made, plan)
        made.workstation.pin("last", "before the upgrade")
        window = made.window()
        _picture_live(window, plan, folder / "live.png")
        _until(lambda: not jobs.running())
        second, first = (run.id for run in made.workstation.runs())
        window.pages.compare([first, second])
        _until(lambda: not jobs.running())
        _take(window, folder / "compare.png")
        _picture_plan(window, folder / "plan.png")
        _picture_live(window, duet(TRIALS, round(SECONDS)), folder / "duet.png")
        _until(lambda: not jobs.running())
        facts = made.workstation.facts(LOCAL, RefusingAsker())
        _measure(made, fill(preset("cloud-check"), [LOCAL], {}).tuned({LOCAL: facts}))
        sys.stdout.write(f"{made.workstation.export_card('last', folder / 'card.png')}\n")
        _picture_search(made, folder / "search.png")
    with tempfile.TemporaryDirectory() as home, stage(Path(home), VARIANTS[0]) as made:
        _picture_fleet(made, Path(home), folder)
    with tempfile.TemporaryDirectory() as home, stage(Path(home), VARIANTS[0]) as made:
        _take(several(made), folder / "judge.png")
        _take(investigation(made), folder / "investigation.png")


def _measure(made: Stage, plan: Plan) -> None:
    for _event in made.workstation.run(plan, RefusingAsker(), Control()):
        pass  # the store has it


def _plan(made: Stage) -> Plan:
    facts = made.workstation.facts(LOCAL, RefusingAsker())
    disk: dict[str, object] = {"rw": "randread", "size": 2**30, "runtime": SECONDS, "ramp_time": 2.0}
    suites: dict[str, dict[str, object]] = {"fio": disk, "sysbench-cpu": {"time": SECONDS}}
    tuned = made.workstation.new_plan([LOCAL], list(suites), {LOCAL: facts}, "upgrade of the volume")
    return _with(tuned, suites)


def _with(tuned: Plan, chosen: dict[str, dict[str, object]]) -> Plan:
    steps = tuple(
        make_step(step.suite_id, {**step.values, **chosen[step.suite_id]}, name=step.name) for step in tuned.steps
    )
    question = "Are random reads faster after the upgrade?"
    return replace(tuned, steps=steps, question=question, repetition=Repetition(trials=TRIALS))


def _picture_live(window: MainWindow, plan: Plan, path: Path) -> None:
    window.pages.run(plan, None)
    live = window.pages.live
    assert live is not None

    def far_enough() -> bool:
        view = live.view.front if live.view is not None else None
        return view is not None and view.trial.number >= PICTURED and view.latest() > 0.8 * SECONDS

    _until(far_enough)
    _take(window, path)


def _picture_plan(window: MainWindow, path: Path) -> None:
    page = window.show_page(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    os.environ["HOME"] = "/var/tmp"  # the stage's own home, which is gone by tomorrow, would be the tuned directory
    page.begin([LOCAL])
    _until(lambda: not jobs.running() and not page.reader.waiting)
    for suite in ("fio", "sysbench-cpu"):
        page.plan_step.tests.add(suite)
    page.forward()
    assert page.current == PARAMETERS
    _until(lambda: not jobs.running() and not page.assessor.busy)
    _take(window, path)


def _picture_search(made: Stage, path: Path) -> None:
    """Take the curves of a search for the random reads whose p99 stays below 5 ms."""
    values = {"directory": "/var/tmp", "size": 2**30, "limit": 0.005, "start": 1000, "runtime": 5}
    _measure(
        made, Plan("search", (LOCAL,), (make_step("fio-slo", values, name="random reads"),), repetition=Repetition(3))
    )
    pane = StudyPane(StudyKind.SCALING, made.workstation)
    pane.show_runs(["last"])
    pane.resize(1140, 720)
    pane.show()
    _until(lambda: pane.content is not None)
    pane.grab().save(str(path))
    sys.stdout.write(f"{path}\n")


def _picture_fleet(made: Stage, home: Path, folder: Path) -> None:
    """Take the board and the results of a study of three types of hosts, of which one has two thirds of its quota."""
    types = {"c7i": 0.08, "c7a": 0.09, "m7g": 0.07}  # shares of a CPU
    quotas = {f"{name}-{number:02}": share for name, share in types.items() for number in range(1, 9)}
    hosts = tuple(
        FleetHost(name, name[:3], HostAttributes(f"{name[:3]}.large", "eu-1a", 0.09, "USD")) for name in quotas
    )
    step = make_step("sysbench-cpu", {"time": 2, "threads": 1})
    repetition = Repetition(pause=0.0, sessions=2, every=600.0)
    plan = FleetPlan(Plan("price per core", (), (step,), repetition=repetition), hosts, limits=FleetLimits(12))
    with fleet(home / "fleet", make_keys(home), list(quotas), quotas=quotas | {"c7i-07": 2 / 3 * types["c7i"]}):
        study = made.workstation.begin_fleet_study(plan, AnsweringAsker())
        window = made.window()
        page = opened(window, FleetPage)
        page.runs.start(study)
        page.show_study(study.id)

        def over() -> int:
            return sum(count for state, count in made.workstation.fleet_study(study.id).counts.items() if state.over)

        _until(lambda: over() >= len(hosts) + PICTURED)
        page.refresh()
        _wait(3000)
        _take(window, folder / "fleet.png")
        _until(lambda: over() == 2 * len(hosts) and not page.runs.running)
    page.views.show_results()
    _until(lambda: bool(page.results.charts) and not jobs.running())
    _take(window, folder / "lemons.png")


def _until(holds: Callable[[], bool]) -> None:
    """Let Qt work until `holds`, and everything is painted."""
    while not holds():
        _wait(100)
    _wait(300)  # the last redraw that was asked for


def _wait(milliseconds: int) -> None:
    """Let Qt work for a while, asleep where nothing is to be done: what is measured meanwhile has the processors."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop, loop.quit)
    loop.exec()


def _take(window: MainWindow, path: Path) -> None:
    window.grab().save(str(path))
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "resources/pictures").resolve())
