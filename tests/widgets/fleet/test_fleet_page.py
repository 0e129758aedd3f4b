"""The page Fleet: the board of a study, its filter, and what the user changes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QPushButton
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.fleet_study import FleetStudy, HostRunState
from app.hosts.hosts import HostEntry
from app.questions import RefusingAsker
from app.services import Workstation
from suites.errors import BenchwrightError
from tests.app.fleet.studies import ended_process
from tests.widgets.fleet_studies import BROKEN, FAST, SLOW, begin, copied_study, fleet_plan, held_hosts
from widgets import jobs
from widgets.fleet.fleet_page import FleetPage
from widgets.fleet.hosts_question import HostsQuestion
from widgets.fleet.study_table import StudyRow, StudyTable
from widgets.parts.dialogs import QuestionDialog

pytestmark = pytest.mark.usefixtures("idle")

HOSTS = 36

Dialog = TypeVar("Dialog", bound=QDialog)


@pytest.fixture
def study(workstation: Workstation) -> FleetStudy:
    return copied_study(workstation)


@pytest.fixture
def page(qtbot: QtBot, workstation: Workstation, study: FleetStudy) -> Iterator[FleetPage]:
    made = FleetPage(workstation, RefusingAsker())
    qtbot.addWidget(made)
    made.resize(1100, 700)
    with qtbot.waitExposed(made):
        made.show()
    with qtbot.waitSignal(made.feed.read):
        made.activated()
    yield made
    made.feed.pause()
    made.runs.stop_all()
    qtbot.waitUntil(lambda: not jobs.running())


def refreshed(qtbot: QtBot, page: FleetPage) -> None:
    """Wait until the board was read again."""
    qtbot.waitUntil(lambda: not jobs.running())
    with qtbot.waitSignal(page.feed.read):
        page.feed.refresh()


def cell(page: FleetPage, host: str, column: str) -> str:
    """Return the text of a cell of the board."""
    content = page.board.table.content
    row = next(number for number, each in enumerate(content.shown) if each.title == host)
    return str(content.at(row, column).data())


def opened_question(page: FleetPage, kind: type[Dialog]) -> Dialog:
    """Return the question of `kind` that is open over the page."""
    return next(found for found in page.findChildren(kind) if found.isVisible())


def test_an_empty_library_offers_a_new_study(qtbot: QtBot, workstation: Workstation) -> None:
    page = FleetPage(workstation, RefusingAsker())
    qtbot.addWidget(page)
    page.show()
    page.activated()
    qtbot.waitUntil(lambda: not jobs.running())
    assert page.empty.isVisible()
    assert page.empty.button is not None
    assert not page.actions_of_fleet.add.isEnabled()


def test_a_narrow_list_of_studies_has_when_they_began(qtbot: QtBot, workstation: Workstation) -> None:
    table = StudyTable()
    qtbot.addWidget(table)
    table.resize(table.scaled(190), 200)
    table.show()
    today = begin(workstation, fleet_plan(3))
    earlier = replace(today, id="old", created="2026-02-03T04:05:06.000+00:00")
    table.show_rows([StudyRow(today), StudyRow(earlier)])
    texts = table.as_text().splitlines()
    assert texts[0] == "Study\tBegun"
    assert texts[1].partition("\t")[2][2] == ":"
    assert texts[2].partition("\t")[2] == "02-03"


def test_failed_hosts_and_outliers_are_first(page: FleetPage, qtmodeltester: ModelTester) -> None:
    assert [row.title for row in page.board.table.content.shown[:3]] == [BROKEN, SLOW, FAST]
    assert len(page.board.table.content.shown) == HOSTS
    assert cell(page, SLOW, "Off group").startswith("worse −2")
    assert cell(page, FAST, "Off group").startswith("better +1")
    assert cell(page, BROKEN, "Sessions").startswith("✗")
    assert cell(page, BROKEN, "State").startswith("failed: Connection refused")
    assert "1 failed" in page.board.counts.text()
    assert page.board.progress.value() == 48
    qtmodeltester.check(page.board.table.content)


def test_the_third_click_on_a_head_shows_the_odd_hosts_first_again(page: FleetPage) -> None:
    table, head = page.board.table, page.board.table.horizontalHeader()
    order = [row.title for row in table.content.shown]
    column = next(number for number, each in enumerate(table.content.columns) if each.name == "Median")
    at = QPoint(head.sectionViewportPosition(column) + 20, head.height() // 2)
    shown = []
    for _ in range(3):
        QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
        shown.append([row.title for row in table.content.shown])
    values = {row.title: row.value or 0.0 for row in table.content.shown}
    assert shown[0] == sorted(shown[0], key=values.__getitem__)
    assert shown[1] == sorted(shown[1], key=values.__getitem__, reverse=True)
    assert shown[2] == order


def test_the_filter_takes_words_of_state_group_and_outlier(page: FleetPage) -> None:
    counts = {}
    for words in ("outlier", "c7i failed", "m7g failed", "c7a", "connection refused", ""):
        page.board.filter.setText(words)
        counts[words] = len(page.board.table.content.shown)
    assert counts == {
        "outlier": 2, "c7i failed": 0, "m7g failed": 1, "c7a": HOSTS // 3, "connection refused": 1, "": HOSTS,
    }  # fmt: skip
    page.board.filter.setText("outlier")
    QTest.keyClick(page.board.filter, Qt.Key.Key_Escape)
    assert len(page.board.table.content.shown) == HOSTS


def test_a_refresh_keeps_the_selection_and_replaces_only_changed_rows(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy
) -> None:
    table = page.board.table
    table.select((SLOW, "c7i"))
    before = {row.title: row for row in table.content.shown}
    resets = []
    table.content.modelReset.connect(lambda: resets.append(True))
    workstation.skip_host_runs(study.id, ["c7i-05"])
    refreshed(qtbot, page)
    after = {row.title: row for row in table.content.shown}
    assert [name for name in after if after[name] is not before[name]] == ["c7i-05"]
    assert not resets
    assert [row.title for row in table.chosen()] == [SLOW]


def test_a_study_that_takes_longer_than_estimated_has_no_end(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = begin(workstation, fleet_plan(3))
    known = []
    for elapsed in (0.0, 1e6):
        monkeypatch.setattr("widgets.fleet.board_feed.seconds_since", lambda _moment, elapsed=elapsed: elapsed)
        with qtbot.waitSignal(page.feed.read, check_params_cb=lambda read: read.board.study.id == new.id) as read:
            page.feed.show(new.id)
        known.append(read.args[0].head.remaining is not None)
        qtbot.waitUntil(lambda: not jobs.running())
    assert known == [True, False]


def test_skipping_is_undone(qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy) -> None:
    page.board.table.select((SLOW, "c7i"), (FAST, "c7a"))
    before = workstation.fleet_study(study.id).counts
    waiting = [one for one in workstation.host_runs(study.id) if one.host in {SLOW, FAST} and not one.state.active]
    waiting = [one for one in waiting if not one.state.over]
    page.actions_of_fleet.skip.trigger()
    qtbot.waitUntil(lambda: not jobs.running())
    assert workstation.fleet_study(study.id).counts[HostRunState.SKIPPED] == len(waiting) > 3
    page.undo.undo()
    qtbot.waitUntil(lambda: not jobs.running())
    assert workstation.fleet_study(study.id).counts == before


def test_skipping_is_not_undone_once_the_study_was_ended(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy
) -> None:
    page.board.table.select((SLOW, "c7i"))
    page.actions_of_fleet.skip.trigger()
    qtbot.waitUntil(lambda: not jobs.running())
    ended = workstation.end_fleet_study(study.id)
    page.undo.undo()
    qtbot.waitUntil(page.notice.isVisible)
    assert workstation.fleet_study(study.id).counts == ended.counts
    qtbot.waitUntil(lambda: not jobs.running())


def test_pause_is_shown_and_undone(qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy) -> None:
    page.commands._pause()
    refreshed(qtbot, page)
    assert page.board.end.text() == "paused"
    assert page.actions_of_fleet.resume.isVisible()
    assert not page.actions_of_fleet.pause.isVisible()
    page.undo.undo()
    refreshed(qtbot, page)
    assert workstation.fleet_study(study.id).paused is None
    assert page.board.end.text() != "paused"


def test_a_study_that_is_over_is_deleted_and_its_deletion_undone(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy
) -> None:
    delete = page.actions_of_fleet.delete
    assert not delete.isEnabled()
    runs = len(workstation.runs())
    new = begin(workstation, fleet_plan(3))
    workstation.end_fleet_study(new.id)
    page.show_study(new.id)
    qtbot.waitUntil(delete.isEnabled)
    delete.trigger()
    qtbot.waitUntil(lambda: page.feed.study == study.id)
    assert [one.id for one in workstation.fleet_studies()] == [study.id]
    assert len(workstation.runs()) == runs
    page.undo.undo()
    qtbot.waitUntil(lambda: page.studies.row_of(new.id) >= 0)
    assert {one.id for one in workstation.fleet_studies()} == {study.id, new.id}
    assert not page.notice.isVisible()
    qtbot.waitUntil(lambda: not jobs.running())


def test_the_list_tells_a_study_that_no_process_runs(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = begin(workstation, fleet_plan(3))
    store = workstation._store
    (one,) = store.start_host_runs(left, lambda waiting, _under_way, _plan: [next(waiting)], ended_process())
    store.settle_host_run(left.id, one, HostRunState.DONE, reason="")
    page.show_study(left.id)
    qtbot.waitUntil(lambda: page.studies.row_of(left.id) >= 0)
    states = [row.state for row in page.studies.content.shown]
    assert states[0].startswith("not running, ")
    assert not states[1].startswith("not running")
    monkeypatch.setattr(page.runs, "runs", lambda study: study == left.id)
    page.refresh()
    qtbot.waitUntil(lambda: "not running" not in page.studies.content.shown[0].state)
    qtbot.waitUntil(lambda: not jobs.running())


def test_a_replaced_host_leaves_its_sessions_to_the_new_one(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.runs, "start", lambda _study: None)  # nothing listens at the hosts
    workstation.save_hosts(HostEntry("spare-1", host_name="127.0.0.1", port=1))
    page.board.table.select((BROKEN, "m7g"))
    page.actions_of_fleet.replace.trigger()
    question = opened_question(page, HostsQuestion)
    question.words.setText("spare-1")
    qtbot.waitUntil(question.accept_button.isEnabled)
    qtbot.mouseClick(question.accept_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not jobs.running())
    found = [one for one in workstation.host_runs(study.id) if one.host == "spare-1"]
    assert {one.session for one in found} == {1, 3, 4}
    assert {one.group for one in found} == {"m7g"}


def test_a_retry_leaves_the_study_to_the_process_that_runs_it(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy
) -> None:
    page.board.table.select((BROKEN, "m7g"))
    page.actions_of_fleet.retry.trigger()
    qtbot.waitUntil(lambda: not jobs.running())
    assert not workstation.fleet_study(study.id).counts.get(HostRunState.FAILED)
    assert not page.runs.running


def test_only_hosts_that_the_study_lacks_are_added(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy
) -> None:
    entries = [HostEntry(f"c7i-{at:02}", host_name="127.0.0.1", port=1) for at in range(1, HOSTS // 3 + 3)]
    workstation.save_hosts(*entries)
    page.actions_of_fleet.add.trigger()
    question = opened_question(page, HostsQuestion)
    for words, added, hint in (
        ("c7i:=c7i-*", ["c7i-13", "c7i-14"], ""),
        ("c7i-13", ["c7i-13"], "c7i:=c7i-13"),
        ("c7i-01", [], ""),
    ):
        question.words.setText(words)
        qtbot.waitUntil(lambda: bool(question.found.label.text()) and not question._settle.isActive())
        qtbot.waitUntil(lambda: not jobs.running())
        assert [host.name for host in question.hosts] == added
        assert question.accept_button.isEnabled() is bool(added)
        assert hint in question.found.label.text()
        assert "c7i-01" in question.found.label.text() or words == "c7i-13"
    question.reject()
    new = workstation.add_fleet_hosts(study.id, workstation.fleet_hosts(["c7i:=c7i-*"]))
    assert {one.host for one in new} == {"c7i-13", "c7i-14"}


def test_an_error_of_a_read_is_gone_after_the_next_one(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise BenchwrightError("The library is busy.", "Try again.")

    with monkeypatch.context() as patch:
        patch.setattr(workstation, "fleet_board", fail)
        page.feed.refresh()
        qtbot.waitUntil(page.notice.isVisible)
    refreshed(qtbot, page)
    assert not page.notice.isVisible()
    page.commands.failed.emit(BenchwrightError("Not skipped.", ""))
    refreshed(qtbot, page)
    assert page.notice.isVisible()  # of what the user did
    page.actions_of_fleet.pause.trigger()
    assert not page.notice.isVisible()
    qtbot.waitUntil(lambda: not jobs.running())


def test_unknown_hosts_cannot_be_added(qtbot: QtBot, page: FleetPage) -> None:
    page.actions_of_fleet.add.trigger()
    question = opened_question(page, HostsQuestion)
    question.words.setText("nowhere-*")
    qtbot.waitUntil(lambda: bool(question.found.label.text()))
    assert not question.accept_button.isEnabled()
    question.reject()


def test_a_host_that_was_found_by_an_earlier_name_replaces_nothing(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    workstation.save_hosts(*(HostEntry(name, host_name="127.0.0.1", port=1) for name in ("spare-1", "spare-10")))
    asked, read = held_hosts(workstation, monkeypatch)
    page.board.table.select((BROKEN, "m7g"))
    page.actions_of_fleet.replace.trigger()
    question = opened_question(page, HostsQuestion)
    question.words.setText("spare-1")
    qtbot.waitUntil(asked.is_set)
    question.words.setText("spare-10")
    read.set()
    qtbot.waitUntil(lambda: not jobs.running())
    assert not question.accept_button.isEnabled()
    qtbot.waitUntil(question.accept_button.isEnabled)
    assert [host.name for host in question.hosts] == ["spare-10"]
    question.reject()
    qtbot.waitUntil(lambda: not jobs.running())


def test_enter_opens_the_run_of_a_host(qtbot: QtBot, page: FleetPage) -> None:
    table = page.board.table
    table.select((SLOW, "c7i"))
    page.activateWindow()
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    with qtbot.waitSignal(page.show_run_requested) as asked:
        qtbot.keyClick(table, Qt.Key.Key_Return)
    row = table.current()
    assert row is not None
    assert asked.args == [row.current.run]


def test_stop_asks_and_offers_to_detach(qtbot: QtBot, page: FleetPage, study: FleetStudy) -> None:
    page.ask_to_stop(study.id)
    question = opened_question(page, QuestionDialog)
    texts = {button.text() for button in question.findChildren(QPushButton)}
    assert texts >= {"Stop", "Detach", "Keep running"}
    question.reject()
    qtbot.waitUntil(lambda: not jobs.running())


def test_every_figure_can_be_shown(qtbot: QtBot, page: FleetPage) -> None:
    figure = page.board.figure
    assert figure.count() == 5
    heads = []
    for at in range(figure.count()):
        figure.setCurrentIndex(at)
        with qtbot.waitSignal(page.feed.read):
            figure.activated.emit(at)
        column = next(one for one in page.board.table.content.columns if one.name == "Median")
        heads.append(column.unit)
        qtbot.waitUntil(lambda: not jobs.running())
    assert heads[0] == "k IOPS"
    assert len(set(heads)) > 2


def test_every_action_has_a_reason_when_it_is_not_offered(page: FleetPage) -> None:
    page.board.table.clearSelection()
    page._offer()
    for action in (*page.actions_of_fleet.of_study(), *page.actions_of_fleet.of_hosts()):
        assert action.toolTip(), action.text()
