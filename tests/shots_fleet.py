"""Pictures of the page Fleet: empty, the board of 60 and of 200 hosts, filtered, results, and what is asked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.fleet.idle import IdleStudy
from app.fleet_study import HostRunState
from app.host_attributes import HostAttributes
from app.hosts.hosts import HostEntry
from app.plans.plan import Plan, make_step
from app.questions import HostKeyQuestion
from tests.shot_stage import Shot, Stage, opened
from tests.widgets.fleet_boards import LONG_NAME, made_board, reading_of
from tests.widgets.fleet_studies import begin, fleet_plan, study_under_way
from widgets.fleet.fleet_page import FleetPage
from widgets.fleet.hosts_question import HostsQuestion
from widgets.fleet.study_dialog import StudyDialog
from widgets.fleet.study_table import StudyRow
from widgets.host_keys_dialog import HostKeysDialog, HostKeysQuestion
from widgets.hosts.import_inventory_dialog import ImportInventoryDialog
from widgets.main_window import MainWindow
from widgets.parts.dialogs import QuestionDialog

INVENTORY = Path(__file__).parent / "data" / "inventory" / "aws.json"

NAMES = [f"{group}-{number:02}" for group in ("c7i", "c7a") for number in range(1, 21)]


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


def _idle(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.feed.pause()
    study, head = stage.workstation.fleet_study("last"), page.board.head
    window.idle_bar.show_studies([IdleStudy(study, study.created)])
    page.studies.show_rows([StudyRow(study, idle=True), StudyRow(replace(study, id="f2", name=LONG_NAME))])
    if head is not None:
        idle = replace(head, idle_since=study.created)
        page.board.show_head(idle)
        page.actions_of_fleet.show_study(idle, page.board.table.chosen(), stopping=False)
    return window


def _hard(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.feed.pause()
    page.board.show_reading(reading_of(made_board(200)), own=True)
    page.board.table.select((LONG_NAME, "g"))
    return window


def _failed(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.feed.pause()
    page.board.show_reading(reading_of(made_board(1, state=HostRunState.FAILED)), own=False)
    return window


def _filtered(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.board.filter.setText("c7i running")
    return window


def _new_study(stage: Stage) -> QWidget:
    stage.workstation.save_hosts(*(HostEntry(name, host_name="192.0.2.1") for name in NAMES))
    stage.workstation.inventory.put({name: HostAttributes(f"{name[:3]}.2xlarge") for name in NAMES})
    window, page = _opened(stage)
    step = make_step("fio", {"rw": "randread"}, name="fio randread 4k")
    page.new_study(Plan("volume check", (), (step,)), "c7i-* c7a-*")
    dialog = page.findChild(StudyDialog)
    stage.settle(lambda: dialog is not None and dialog.start_button.isEnabled())
    return dialog or window


def _asked(stage: Stage, kind: type[QuestionDialog], ask: Callable[[FleetPage], object]) -> QWidget:
    window, page = _opened(stage)
    ask(page)
    return next((found for found in page.findChildren(kind) if found.isVisible()), window)


def _stop(stage: Stage) -> QWidget:
    return _asked(stage, QuestionDialog, lambda page: page.ask_to_stop(page.feed.study))


def _end(stage: Stage) -> QWidget:
    return _asked(stage, QuestionDialog, lambda page: page.actions_of_fleet.end.trigger())


def _added(stage: Stage) -> QWidget:
    stage.workstation.save_hosts(*(HostEntry(name, host_name="192.0.2.1") for name in (*NAMES, "spare-1")))
    return _with_hosts(stage, "c7i:=c7i-* spare-1", lambda page: page.actions_of_fleet.add.trigger())


def _with_hosts(stage: Stage, words: str, trigger: Callable[[FleetPage], object]) -> QWidget:
    dialog = _asked(stage, HostsQuestion, trigger)
    if isinstance(dialog, HostsQuestion):
        dialog.words.setText(words)
        stage.settle(lambda: bool(dialog.found.label.text()))
    return dialog


def _import(stage: Stage) -> QWidget:
    dialog = stage.keep(ImportInventoryDialog(stage.workstation, stage.window()))
    dialog.read(INVENTORY)
    dialog.show()
    stage.settle(dialog.import_button.isEnabled)
    return dialog


def _replaced(stage: Stage) -> QWidget:
    return _with_hosts(stage, "nowhere-1", lambda page: page.actions_of_fleet.replace.trigger())


def _keys(stage: Stage) -> QWidget:
    keys = [
        HostKeyQuestion(name, f"192.0.2.{at}", 22, "ssh-ed25519", f"SHA256:{name:x<43}", "known_hosts")
        for at, name in enumerate(NAMES, 1)
    ]
    dialog = stage.keep(HostKeysDialog(HostKeysQuestion(tuple(keys))))
    dialog.show()
    return dialog


def _results(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.views.show_results()
    stage.settle(lambda: bool(page.results.charts))
    stage.settle()
    return window


def _no_results(stage: Stage) -> QWidget:
    begin(stage.workstation, fleet_plan(6))
    window, page = _opened(stage)
    page.views.show_results()
    stage.settle(page.results.empty.isVisible)
    return window


def _next_study(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.views.show_results()
    stage.settle(lambda: bool(page.results.charts))
    page.results.tabs.setCurrentWidget(page.results.next_study)
    stage.settle(lambda: page.results.next_study.proposals is not None)
    stage.settle()
    return window


SHOTS: list[Shot] = [
    ("fleet-empty", _empty),
    ("fleet-board", _board),
    ("fleet-hard", _hard),
    ("fleet-idle", _idle),
    ("fleet-failed", _failed),
    ("fleet-filtered", _filtered),
    ("fleet-new", _new_study),
    ("fleet-stop", _stop),
    ("fleet-end", _end),
    ("fleet-add", _added),
    ("fleet-replace", _replaced),
    ("fleet-import", _import),
    ("fleet-host-keys", _keys),
    ("fleet-results", _results),
    ("fleet-next-study", _next_study),
    ("fleet-no-results", _no_results),  # the last: it begins another study
]
