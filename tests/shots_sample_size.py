"""Pictures of the sample size: of sessions in the library, of a single session, of two sides in the comparison."""

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from unittest.mock import patch

from PySide6.QtWidgets import QWidget

from app.sample_size.designs import Effort
from tests.app.test_sample_size import library_of_pilot, names
from tests.shot_stage import Shot, Stage
from widgets.compare.compare_page import ComparePage
from widgets.compare.sample_size_pane import SampleSizePane
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.page import PageName


def _filled(stage: Stage, pane: SampleSizePane, *, paired: bool = False) -> None:
    stage.settle()
    pane.form.paired.setChecked(paired)
    pane.form.price.setText("0.34 USD")
    pane.form.wanted.setValue(12)
    pane.calculate()
    stage.settle()


def _window(stage: Stage) -> MainWindow:
    """Return the window over a pilot of minutes: the library of the tests is recorded at once."""
    stage.workstation.open_library(library_of_pilot(Path(mkdtemp())))
    read = stage.workstation.sample_pilot
    patch.object(
        stage.workstation, "sample_pilot", lambda *given: replace(read(*given), effort=Effort(62.0, 45.0))
    ).start()
    return stage.window()


def _library(stage: Stage, runs: int) -> QWidget:
    window = _window(stage)
    page = window.show_page(PageName.LIBRARY)
    stage.settle()
    if isinstance(page, LibraryPage):
        page.table.select(*names(runs).split(","))
        page.table.settle()
        stage.settle()
        page.actions_of_runs.sample_size.trigger()
        _filled(stage, (page.comparison if runs > 1 else page.panel).sample_size)
    return window


def _sessions(stage: Stage) -> QWidget:
    return _library(stage, 9)


def _one_session(stage: Stage) -> QWidget:
    return _library(stage, 1)


def _paired(stage: Stage) -> QWidget:
    window = _window(stage)
    page = window.show_page(PageName.COMPARE)
    if isinstance(page, ComparePage):
        page.compare(names(2).split(","))
        stage.settle()
        page.tabs.setCurrentWidget(page.sample_size)
        _filled(stage, page.sample_size, paired=True)
    return window


SHOTS: list[Shot] = [
    ("sample-size", _sessions),
    ("sample-size-paired", _paired),
    ("sample-size-one-session", _one_session),
]
