"""What can be done with a study, by who runs it and in which state its hosts are; each refusal has a reason."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.fleet_study import HostRunState
from tests.widgets.fleet_boards import BEGAN, made_board
from widgets.fleet.board_text import BoardHead
from widgets.fleet.fleet_actions import REPLACED, FleetActions

HOSTS = ("open_run", "retry", "skip", "stop_hosts", "replace")


@pytest.fixture
def actions(qtbot: QtBot) -> Iterator[FleetActions]:
    owner = QWidget()
    qtbot.addWidget(owner)
    yield FleetActions(owner)
    assert owner.objectName() == ""  # it lives as long as its actions


@pytest.mark.parametrize(("runs", "shown"), [("here", "pause"), ("nowhere", "resume"), ("elsewhere", "pause resume")])
def test_pause_and_resume_go_by_who_runs_the_study(actions: FleetActions, runs: str, shown: str) -> None:
    board = made_board(3, state=HostRunState.WAITING)
    head = BoardHead(board.study, own=runs == "here", idle_since=BEGAN if runs == "nowhere" else None)
    actions.show_study(head, board.rows[:1], stopping=False)
    assert [name for name in ("pause", "resume") if getattr(actions, name).isVisible()] == shown.split()
    assert actions.stop.isEnabled() is (runs == "here")
    assert actions.skip.isEnabled()


def test_a_study_that_was_ended_is_resumed_while_a_host_run_is_left_that_no_process_carries(
    actions: FleetActions,
) -> None:
    board = made_board(3, state=HostRunState.RUNNING)
    study = replace(board.study, ended=BEGAN, stopped=BEGAN)
    for since in (BEGAN, None):
        actions.show_study(BoardHead(study, idle_since=since), board.rows[:1], stopping=since is None)
        assert actions.resume.isVisible() is actions.resume.isEnabled() is (since is not None)
        assert actions.pause.isVisible() is (since is None)
        assert not actions.delete.isEnabled()


def test_a_host_whose_run_was_deleted_is_run_again(actions: FleetActions) -> None:
    board = made_board(3, state=HostRunState.DONE)
    deleted = [replace(row, progress=None) for row in board.rows]
    for rows, offered in ((board.rows[:1], False), (deleted[:1], True)):
        actions.show_study(BoardHead(board.study), rows, stopping=False)
        assert actions.retry.isEnabled() is offered


def test_a_replaced_host_is_neither_retried_nor_replaced(actions: FleetActions) -> None:
    board = made_board(3, state=HostRunState.SKIPPED)
    plan = replace(board.study.plan, hosts=board.study.plan.hosts[1:])
    study = replace(board.study, plan=plan)
    gone = [row for row in board.rows if row.title not in plan.by_name]
    actions.show_study(BoardHead(study, own=True), gone, stopping=False)
    assert not actions.retry.isEnabled()
    assert not actions.replace.isEnabled()
    assert actions.retry.toolTip() == actions.replace.toolTip() == REPLACED
    actions.show_study(BoardHead(study, own=True), board.rows, stopping=False)
    assert actions.retry.isEnabled()


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (HostRunState.WAITING, {"skip", "replace"}),
        (HostRunState.RUNNING, {"open_run", "stop_hosts", "replace"}),
        (HostRunState.DONE, {"open_run", "replace"}),
        (HostRunState.FAILED, {"open_run", "retry", "replace"}),
        (HostRunState.SKIPPED, {"open_run", "retry", "replace"}),
    ],
)
def test_actions_on_hosts_go_by_their_states(actions: FleetActions, state: HostRunState, offered: set[str]) -> None:
    board = made_board(3, state=state)
    actions.show_study(BoardHead(board.study, own=True), board.rows[:1], stopping=False)
    assert {name for name in HOSTS if getattr(actions, name).isEnabled()} == offered
    assert all(getattr(actions, name).toolTip() for name in HOSTS)
    assert [getattr(actions, name) for name in HOSTS] == list(actions.of_hosts())
    actions.show_study(BoardHead(board.study), board.rows[:1], stopping=False)
    assert not actions.stop_hosts.isEnabled()  # another process carries them
