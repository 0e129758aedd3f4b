"""Pictures of a calibration, of a second opinion that is proposed, and of one that was had."""

from PySide6.QtWidgets import QWidget

from app.calibration.sessions import SessionNoise
from app.crosscheck.agreement import agreements
from app.margins import DEFAULTS
from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from tests.app.run_events import IOPS, P99, READ
from tests.app.test_calibration import calibration
from tests.app.test_crosscheck import FIO, of_disk
from tests.shot_stage import Shot, Stage, opened
from tests.widgets.library_runs import library
from widgets.compare.compare_page import ComparePage
from widgets.crosscheck import AgreementPanel, open_crosscheck
from widgets.hosts.calibrate_dialog import CalibrateDialog, Found
from widgets.library.library_page import LibraryPage
from widgets.page import PageName

RUN, OTHER = "20260112-081502-a1b2", "20260113-141230-e5f6"


def _calibrate(stage: Stage) -> QWidget:
    made = calibration(LOCAL, suite="fio")
    stage.workstation._store.keep_calibration(made)
    dialog = CalibrateDialog(stage.workstation, RefusingAsker(), LOCAL, stage.window())
    dialog.open()
    stage.settle()
    noise = (SessionNoise(IOPS, READ, 5, 50, 0.012, 0.021), SessionNoise(P99, READ, 5, 50, 0.06, 0.04))
    dialog.show_found(Found(made, noise, DEFAULTS))
    stage.settle()
    return dialog


def _propose(stage: Stage) -> QWidget:
    if RUN not in {run.id for run in stage.workstation.runs()}:
        library(stage.workstation)
    dialog = open_crosscheck(stage.workstation, RUN, stage.window())
    stage.settle()
    return dialog


def _agree(stage: Stage) -> QWidget:
    deep = {**FIO.values, "iodepth": 8, "ioengine": "libaio", "direct": False}
    panel = AgreementPanel()
    panel.resize(760, 320)
    panel.show_agreements(agreements(of_disk(0.3, type(FIO)("fio", "fio", deep))))
    panel.show()
    stage.settle()
    return panel


def _own_margin(stage: Stage) -> QWidget:
    if RUN not in {run.id for run in stage.workstation.runs()}:
        library(stage.workstation)
    stage.workstation.saved_margins.keep("iops", 0.08)
    window = stage.window()
    page = opened(window, ComparePage)
    page.compare((RUN, OTHER))
    stage.settle()
    return window


def _library(stage: Stage) -> QWidget:
    if RUN not in {run.id for run in stage.workstation.runs()}:
        library(stage.workstation)
    window = stage.window()
    page = opened(window, LibraryPage)
    page.show_run(RUN)
    stage.settle()
    return window


def _hosts(stage: Stage) -> QWidget:
    window = stage.window()
    window.show_page(PageName.HOSTS)
    stage.settle()
    return window


SHOTS: list[Shot] = [
    ("calibrate", _calibrate),
    ("second-opinion", _propose),
    ("agreement", _agree),
    ("compare-own-margin", _own_margin),
    ("library-check-with-another-tool", _library),
    ("hosts-calibrate", _hosts),
]
