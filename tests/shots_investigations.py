"""Pictures of the page Investigations: empty, with entries of every kind, its dialogs."""

from PySide6.QtWidgets import QApplication, QWidget

from app.investigation import CONCLUSION, text_entry
from tests.shot_stage import Shot, Stage, opened
from tests.widgets.library_runs import library
from widgets.investigations.add_dialog import AddDialog
from widgets.investigations.investigation_page import InvestigationPage
from widgets.investigations.text_guard import UnstoredDialog
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow


def _empty(stage: Stage) -> QWidget:
    window = stage.window()
    opened(window, InvestigationPage)
    stage.settle()
    return window


def several(stage: Stage) -> MainWindow:
    """Return the window with an investigation of runs, a comparison, a text and a deleted run."""
    library(stage.workstation)
    runs = [row.id for row in stage.workstation.library().rows]
    made = stage.workstation.begin_investigation(
        "Kernel 6.1.0-28 on db hosts", "Did the kernel upgrade of 12 November slow down random reads?"
    )
    entries = [
        stage.workstation.entry_of(runs[:1], "After the upgrade, idle host."),
        stage.workstation.entry_of(runs[1::-1], "Same plan before and after the upgrade."),
        text_entry("The firmware was not changed in between (see the maintenance log)."),
        stage.workstation.entry_of(runs[2:3]),
    ]
    stage.workstation.change_investigation(
        made.id,
        lambda one: one.added(entries).written(
            CONCLUSION, "Undecided: the interval is wider than the margin of 5 %. Run ten trials of each."
        ),
    )
    stage.workstation.begin_investigation("Which volume type for the log disk?")
    window = stage.window()
    page = opened(window, InvestigationPage)
    page.show_investigation(made.id)
    stage.settle()
    page.entries.selectRow(1)
    stage.settle()
    return window


def _add(stage: Stage) -> QWidget:
    if not stage.workstation.runs():
        library(stage.workstation)
    window = stage.window()
    page = opened(window, LibraryPage)
    stage.settle()
    page.table.selectAll()
    page.actions_of_runs.investigate.trigger()
    stage.settle()
    return next(one for one in QApplication.topLevelWidgets() if isinstance(one, AddDialog))


def _unstored(stage: Stage) -> QWidget:
    window = stage.window() if stage.workstation.investigations() else several(stage)
    page = opened(window, InvestigationPage)
    stage.settle()
    current = page.list.content.shown[0]
    page.list.select(current.id)
    page.conclusion.setPlainText("Yes: the p99 has doubled.\nThe rate is the same.")
    stage.workstation.change_investigation(current.id, lambda one: one.written(CONCLUSION, "Perhaps."))
    window.close()
    stage.settle()
    return next(one for one in window.findChildren(UnstoredDialog) if one.isVisible())


SHOTS: list[Shot] = [
    ("investigations-1-empty", _empty),
    ("investigations-2-several", several),
    ("investigations-3-add", _add),
    ("investigations-4-unstored", _unstored),
]
