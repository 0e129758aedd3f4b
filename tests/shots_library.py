"""Pictures of the library: empty, with runs of every kind, with what is asked, with plots and facts."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from app.run_filter import parse_filter
from app.services import Workstation
from tests.app.test_store_newer import make_newer
from tests.shot_stage import Shot, Stage, opened
from tests.widgets.library_runs import library
from tests.widgets.test_library_newer import spoil_summaries
from widgets.library.library_bar import LibraryBar
from widgets.library.library_page import LibraryPage
from widgets.library.run_dialogs import DeleteQuestion, PinDialog
from widgets.main_window import MainWindow
from widgets.page import PageName


def _opened(stage: Stage, *, filled: bool = True) -> tuple[MainWindow, LibraryPage]:
    if filled and not stage.workstation.runs():
        library(stage.workstation)
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


def _other_library(stage: Stage, name: str, spoil: Callable[[Path], object]) -> QWidget:
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
    ("library-newer", _newer),
    ("library-damaged", _damaged),
    ("library-saved", _saved),
    ("library-pin", _pin),
    ("library-delete", _delete),
    ("library-groups", _groups),
    ("library-undo", _undo),
]
