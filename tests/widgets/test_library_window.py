"""The library and the comparison in the whole window: a run really made, found, exported, repeated, compared."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import FactsRead, Moment, RunEnded, RunStarted, State
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.services import Workstation
from suites.vocab import Figure
from tests.app import run_events
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.export_dialog import ExportDialog
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.wizard.measure_page import MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")

Keep = Callable[[QWidget], QWidget]

BEFORE, AFTER = "20260112-081502-a1b2", "20260113-141230-e5f6"


@pytest.fixture
def window(qtbot: QtBot, keep: Keep, workstation: Workstation) -> Iterator[MainWindow]:
    """Return the window over a filled library."""
    copied_library(workstation)
    made = MainWindow(workstation)
    keep(made)
    made.show()
    made.activateWindow()
    _settle(qtbot)
    yield made
    made.close()
    _settle(qtbot)


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def _library(qtbot: QtBot, window: MainWindow) -> LibraryPage:
    page = window.show_page(PageName.LIBRARY)
    assert isinstance(page, LibraryPage)
    _settle(qtbot)
    return page


def _compare(qtbot: QtBot, window: MainWindow) -> ComparePage:
    page = _library(qtbot, window)
    page.table.select(AFTER, BEFORE)
    page.table.settle()
    page.actions_of_runs.compare.trigger()
    _settle(qtbot)
    front = window.front
    assert isinstance(front, ComparePage)
    return front


def _exported(qtbot: QtBot, window: MainWindow, place: Path) -> list[Path]:
    dialog = next(found for found in window.findChildren(ExportDialog) if found.isVisible())
    dialog.path.setText(str(place))
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    dialog.reject()
    return sorted(place.parent.iterdir())


@pytest.mark.lab
@pytest.mark.slow
def test_a_run_that_was_just_made_is_in_the_library_with_its_figures(qtbot: QtBot, window: MainWindow) -> None:
    page = _library(qtbot, window)
    step = make_step("sysbench-cpu", {"time": 1}, name="one second")
    window.pages.run(Plan("really made", (LOCAL,), (step,), repetition=Repetition(trials=1)), None)
    live = window.pages.live
    assert live is not None
    qtbot.waitUntil(lambda: not live.running)
    _settle(qtbot)
    window.show_page(PageName.LIBRARY)
    _settle(qtbot)
    made = page.table.lines.matched[0]
    assert (made.summary.name, made.summary.trials, made.summary.suites) == ("really made", 1, ("sysbench-cpu",))
    assert made.summary.headline
    window.pages.show_run(made.id)
    _settle(qtbot)
    assert page.panel.opened is not None
    assert page.panel.opened.record.summary.id == made.id
    assert page.panel.figures.content.rowCount() > 1
    page.panel.show_trials(("one second", LOCAL))
    assert page.panel.run_view is not None
    assert "sysbench" in page.panel.run_view.view.commands.toPlainText()


@pytest.mark.slow
def test_the_run_in_front_is_exported_from_the_menu(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    page = _library(qtbot, window)
    page.show_run(AFTER)
    _settle(qtbot)
    window.export()
    written = _exported(qtbot, window, tmp_path / "reports" / "after")
    assert [path.name for path in written] == ["after-samples.csv", "after.csv", "after.png"]
    first = written[1].read_text().splitlines()[1]
    assert first.startswith(f"{AFTER},")
    assert ",3749" in first
    assert written[2].read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_repeating_opens_the_wizard_with_the_runs_own_plan(qtbot: QtBot, window: MainWindow) -> None:
    page = _library(qtbot, window)
    page.show_run(BEFORE)
    _settle(qtbot)
    page.actions_of_runs.edit_plan.trigger()
    qtbot.waitUntil(lambda: isinstance(window.front, MeasurePage))
    _settle(qtbot)
    measure = window.front
    assert isinstance(measure, MeasurePage)
    assert [step.name for step in measure.draft.steps] == ["disk random read", "cpu"]


@pytest.mark.slow
def test_selected_runs_are_compared_and_the_comparison_is_exported(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    page = _compare(qtbot, window)
    assert page.compared is not None
    assert [run.id for run in page.compared.comparison.runs] == [BEFORE, AFTER]
    window.export()
    written = _exported(qtbot, window, tmp_path / "reports" / "both")
    assert [path.name for path in written] == ["both-samples.csv", "both.csv", "both.png"]
    assert {BEFORE, AFTER} <= {line.split(",")[0] for line in written[1].read_text().splitlines()}


def test_a_run_of_the_comparison_is_shown_in_the_library(qtbot: QtBot, window: MainWindow) -> None:
    page = _compare(qtbot, window)
    page.chips.chips[1].menu.actions()[1].trigger()
    _settle(qtbot)
    library = window.front
    assert isinstance(library, LibraryPage)
    assert library.panel.opened is not None
    assert library.panel.opened.record.summary.id == AFTER


@pytest.mark.slow
def test_the_steps_of_one_run_are_put_side_by_side(
    qtbot: QtBot, window: MainWindow, workstation: Workstation, tmp_path: Path
) -> None:
    _two_steps(workstation, "20260120-100000-abba")
    page = _library(qtbot, window)
    page.show_run("20260120-100000-abba")
    _settle(qtbot)
    page.actions_of_runs.compare.trigger()
    _settle(qtbot)
    front = window.front
    assert isinstance(front, ComparePage)
    assert front.compared is not None
    against = front.compared.comparison.rows[0].against[0]
    assert against.text.partition(" (95 % CI")[0].endswith(": 20.1 % faster")
    assert [chip.label.text().partition(" · ")[0] for chip in front.chips.chips] == ["step one", "step other"]
    window.export()
    assert "sides.csv" in [path.name for path in _exported(qtbot, window, tmp_path / "reports" / "sides")]
    front.chips.chips[1].menu.actions()[1].trigger()
    _settle(qtbot)
    assert isinstance(window.front, LibraryPage)
    assert page.panel.opened is not None
    assert page.panel.opened.record.summary.id == "20260120-100000-abba"


def _two_steps(workstation: Workstation, run_id: str) -> None:
    """Write down a run of two steps in turns, the second a fifth faster."""
    steps = tuple(replace(run_events.STEP, name=name) for name in ("one", "other"))
    with workstation._store.recorder(run_id) as writing:
        writing.record(RunStarted(run_id, run_events.plan(*steps, trials=6), "2026-01-20T10:00:00+00:00"))
        writing.record(FactsRead("web-1", Moment.BEFORE, run_events.facts("web-1")))
        for number in range(12):
            value = (1000.0 + number) * (1.2 if number % 2 else 1.0)
            one = run_events.trial(number + 1, step=steps[number % 2].name)
            for event in run_events.trial_events(one, [Figure(run_events.IOPS, value, run_events.READ)]):
                writing.record(event)
        writing.record(RunEnded(run_id, State.DONE))
