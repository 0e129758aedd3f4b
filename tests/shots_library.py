"""Pictures of the library: empty, with runs of every kind, with what is asked, with plots and facts."""

from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from app.events import Event, RunEnded, RunStarted, State, TelemetryRead, TrialEnded, TrialStarted
from app.library_location import location_of
from app.run_filter import parse_filter
from app.services import Workstation
from app.store.store import Store
from remote.telemetry.telemetry_metrics import POWER
from suites.outputs import ParsedTrial
from suites.verdict import Trust
from suites.vocab import Figure, Sample, labels
from tests.app import run_events
from tests.app.test_store_newer import make_newer
from tests.shot_stage import Shot, Stage, opened
from tests.widgets.library_runs import library, recalled
from tests.widgets.test_library_newer import spoil_summaries
from widgets.library.library_bar import LibraryBar
from widgets.library.library_page import LibraryPage
from widgets.library.open_dialog import OpenLibraryDialog
from widgets.library.run_dialogs import DeleteQuestion, PinDialog
from widgets.main_window import MainWindow
from widgets.page import PageName

ENERGY_RUN = "20261120-141530-e9w1"


def _fill(stage: Stage) -> None:
    if not stage.workstation.runs():
        library(stage.workstation)


def _opened(stage: Stage, *, filled: bool = True) -> tuple[MainWindow, LibraryPage]:
    if filled:
        _fill(stage)
    window = stage.window()
    page = opened(window, LibraryPage)
    stage.settle()
    return window, page


def _empty(stage: Stage) -> QWidget:
    return _opened(stage, filled=False)[0]


def _figures(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.show_run("20260113-141230-e5f6")
    return window


def _recall(stage: Stage) -> QWidget:
    _fill(stage)
    recalled(
        stage.workstation, ["20260112-081502-a1b2", "20260113-141230-e5f6"], Trust.DOUBTFUL,
        "Page cache served part of the I/O",
    )  # fmt: skip
    window, page = _opened(stage)
    page.show_run("20260112-081502-a1b2")
    return window


def _plots(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.show_run("20260113-141230-e5f6")
    stage.settle()
    page.panel.tabs.setCurrentWidget(page.panel._plots)
    return window


def _alone(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.show_run("20260113-141230-e5f6")
    stage.settle()
    page.panel.tabs.setCurrentWidget(page.panel._plots)
    page.actions_of_runs.open.trigger()
    return window


def _acknowledged(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    run = next(run.id for run in stage.workstation.runs() if stage.workstation.load(run.id).findings)
    page.show_run(run)
    stage.settle()
    page.issues.set_folded(folded=False)
    page.issues.acknowledge_requested.emit(
        page.issues.issues[0].findings, "three trials are all there was time for; to be run again at night"
    )
    return window


def _facts(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.show_run("20260113-141230-e5f6")
    stage.settle()
    page.panel.tabs.setCurrentWidget(page.panel.facts)
    return window


def _several(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.search.setText("web-1")
    stage.settle()
    page.table.select(*(line.id for line in page.table.lines.matched[1:4]))
    page.table.settle()
    stage.settle(lambda: page.preview.comparison.compared is not None)
    return window


def _nothing_found(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.search.setText("db-7")
    return window


def _failed(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.show_run("20260114-101500-k1l2")
    return window


def _other_library(stage: Stage, name: str, spoil: Callable[[Path], object]) -> MainWindow:
    """Show a library of its own, after `spoil` has been at it."""
    other = Workstation(stage.workstation.library_path.with_name(f"{name}-{stage.variant.name}.sqlite3"))
    library(other)
    other.close()
    spoil(other.library_path)
    window = stage.keep(MainWindow(other))
    window.resize(*stage.variant.size)
    window.show()
    stage.settle()
    window.show_page(PageName.LIBRARY)
    stage.settle()
    return window


def _newer(stage: Stage) -> QWidget:
    return _other_library(stage, "newer", lambda path: make_newer(path, 6))


def _damaged(stage: Stage) -> QWidget:
    return _other_library(stage, "damaged", spoil_summaries)


def _saved(stage: Stage) -> QWidget:
    window = _other_library(stage, "lost", spoil_summaries)
    damaged = next(bar for bar in window.findChildren(LibraryBar))
    damaged.save_button.click()
    chooser = next(found for found in window.findChildren(QFileDialog))
    chooser.selectFile(str(stage.workstation.library_path.with_name(f"saved-{stage.variant.name}.sqlite3")))
    chooser.accept()
    stage.settle()
    return window


def _sign_in(stage: Stage) -> QWidget:
    url = location_of("postgresql+psycopg://ann@db.example.org/bench?sslmode=verify-full")
    dialog = stage.keep(OpenLibraryDialog(stage.workstation, url))
    dialog.show()
    stage.settle()
    dialog._offer_keyring(usable=True)
    dialog.ask_password(refused=False)
    return dialog


def _pin(stage: Stage) -> QWidget:
    page = _opened(stage)[1]
    page.show_run("20260113-141230-e5f6")
    stage.settle()
    page.actions_of_runs.pin.trigger()
    return page.findChildren(PinDialog)[0]


def _delete(stage: Stage) -> QWidget:
    page = _opened(stage)[1]
    page.table.selectAll()
    page.table.settle()
    page.actions_of_runs.erase.trigger()
    return page.findChildren(DeleteQuestion)[0]


def _delete_locked(stage: Stage) -> QWidget:
    _fill(stage)
    stage.workstation.lock(["20260113-141230-e5f6"], "Shown to the vendor")
    return _delete(stage)


def _groups(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.filter_bar.set_filter(parse_filter("rw=randread bs=4k -state:failed"))
    page.filter_bar.set_grouping("type")
    page.columns.toggle("latency_p99")
    return window


def _undo(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.table.select("20260114-101500-k1l2")
    page.actions_of_runs.delete.trigger()
    return window


def _energy_events() -> Iterator[Event]:
    yield RunStarted(ENERGY_RUN, run_events.plan(trials=3), "2026-11-20T14:15:30+00:00")
    watts = {("package-0", "intel-rapl:0"): 48.0, ("dram", "intel-rapl:0:1"): 6.0, ("server", "hwmon3"): 131.0}
    for number in (1, 2, 3):
        one, begun = run_events.trial(number), 1000.0 * number
        for (domain, zone), mean in watts.items():
            at = labels(zone=zone, domain=domain)
            step = 5 if domain == "server" else 1
            points = (Sample(begun + second, POWER, mean + number + second % 3, at) for second in range(-5, 70, step))
            yield TelemetryRead("web-1", tuple(points))
        yield TrialStarted(one, 60.0)
        samples = tuple(
            Sample(second, run_events.IOPS, 41e3 + 10 * second % 70, run_events.READ) for second in range(1, 61)
        )
        figures = (Figure(run_events.IOPS, 41e3 + 30 * number, run_events.READ),)
        yield TrialEnded(number, State.DONE, 0, ParsedTrial(figures, samples), ended_clock=begun + 60.0)
    yield RunEnded(ENERGY_RUN, State.DONE, "", {"web-1": 0.002})


def _record_energy(path: Path) -> None:
    store = Store(path)
    with store.recorder(ENERGY_RUN) as recorder:
        for event in _energy_events():
            recorder.record(event)
    store.close()


def _energy(stage: Stage) -> QWidget:
    window = _other_library(stage, "energy", _record_energy)
    page = opened(window, LibraryPage)
    page.show_run(ENERGY_RUN)
    stage.settle()
    page.issues.set_folded(folded=False)
    page.issues.lines[-1].set_open(is_open=True)
    return window


SHOTS: list[Shot] = [
    ("library-empty", _empty),
    ("library-figures", _figures),
    ("library-plots", _plots),
    ("library-plots-alone", _alone),
    ("library-acknowledged", _acknowledged),
    ("library-facts", _facts),
    ("library-several", _several),
    ("library-nothing-found", _nothing_found),
    ("library-failed", _failed),
    ("library-energy", _energy),
    ("library-newer", _newer),
    ("library-damaged", _damaged),
    ("library-saved", _saved),
    ("library-sign-in", _sign_in),
    ("library-pin", _pin),
    ("library-delete", _delete),
    ("library-delete-locked", _delete_locked),
    ("library-groups", _groups),
    ("library-undo", _undo),
    ("library-recall", _recall),
]
