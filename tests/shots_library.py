"""Pictures of the library: empty, with runs of every kind, with what is asked, with plots and facts."""

from PySide6.QtWidgets import QWidget

from tests.shot_stage import Shot, Stage
from tests.widgets.library_runs import library
from widgets.library.delete_question import DeleteQuestion
from widgets.library.library_page import LibraryPage
from widgets.library.pin_dialog import PinDialog
from widgets.main_window import MainWindow
from widgets.rail import Room


def _opened(stage: Stage, *, filled: bool = True) -> tuple[MainWindow, LibraryPage]:
    if filled and not stage.workstation.runs():
        library(stage.workstation)
    window = stage.window()
    page = window.show_room(Room.LIBRARY)
    if not isinstance(page, LibraryPage):
        raise TypeError("the library could not be opened")
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
    page.panel.show_plots()
    return window


def _alone(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.show_run("20260113-141230-e5f6")
    stage.settle()
    page.panel.show_plots()
    page.actions_of_runs.open.trigger()
    return window


def _acknowledged(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    run = next(run.id for run in stage.workstation.runs() if stage.workstation.load(run.id).findings)
    page.show_run(run)
    stage.settle()
    page.run_side.findings.acknowledge_requested.emit(
        page.run_side.findings.findings()[0], "three trials are all there was time for; to be run again at night"
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
    page.table.select([line.id for line in page.table.runs.shown[1:4]])
    page.table.settle()
    return window


def _nothing_found(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.search.setText("db-7")
    return window


def _failed(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.show_run("20260114-101500-k1l2")
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
    page.actions_of_runs.delete.trigger()
    return page.findChildren(DeleteQuestion)[0]


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
    ("library-pin", _pin),
    ("library-delete", _delete),
]
