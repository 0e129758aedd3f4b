"""Pictures of the page Fleet: empty, with the board of 60 hosts, filtered, and with what is asked."""

from PySide6.QtWidgets import QWidget

from tests.shot_stage import Shot, Stage, opened
from tests.widgets.fleet_studies import study_under_way
from widgets.fleet.fleet_page import FleetPage
from widgets.main_window import MainWindow


def _opened(stage: Stage, *, filled: bool = True) -> tuple[MainWindow, FleetPage]:
    if filled and not stage.workstation.fleet_studies():
        study_under_way(stage.workstation)
    window = stage.window()
    page = opened(window, FleetPage)
    stage.settle(lambda: bool(page.board.table.content.rows) or not filled)
    stage.settle()
    return window, page


def _empty(stage: Stage) -> QWidget:
    return _opened(stage, filled=False)[0]


def _board(stage: Stage) -> QWidget:
    return _opened(stage)[0]


def _filtered(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.board.filter.setText("c7i running")
    return window


SHOTS: list[Shot] = [("fleet-empty", _empty), ("fleet-board", _board), ("fleet-filtered", _filtered)]
