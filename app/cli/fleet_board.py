"""The board of a fleet study on a terminal."""

import shlex

import click

from app.cli.common import FAILED, plain, print_json, print_note, print_table
from app.fleet.board import BoardRow, off_text, study_state
from app.fleet.fleet_json import board_to_json
from app.fleet.runner import worker_name
from app.fleet_study import HostRunState
from app.services import Workstation
from suites.quantities import count_text, figure_text

MOST_ROWS = 40
"""Rows of a board that are printed by default: the odd hosts are first."""


def print_study(
    workstation: Workstation, study: str, *, as_json: bool, carried: bool = False, top: int = MOST_ROWS
) -> None:
    """Print the first `top` rows of the board of a study; exit with status 1 if a host-run failed.

    So it does if this process has `carried` the study and was stopped before its end.
    """
    board = workstation.fleet_board(study)
    since = workstation.idle_since(board.study, board.host_runs)
    if as_json:
        print_json(board_to_json(board, since))
    else:
        state = study_state(board.study, idle=since is not None)
        click.echo(plain(f"Study {board.study.id}, {board.study.name}: {state}"))
        if board.figure is not None:
            click.echo(plain(f"Values: {board.figure_text}"))
        metric = None if board.figure is None else board.figure[1]
        rows = [
            [
                row.title,
                row.group,
                _states(row),
                "" if row.value is None or metric is None else figure_text(metric, row.value),
                off_text(row),
                remark_of(row),
            ]
            for row in board.rows[:top]
        ]
        print_table(["Host", "Group", "Sessions", "Median", "Off", "Remark"], rows, right=[3, 4])
        if len(board.rows) > top:
            every = f"benchwright fleet show {board.study.id} --top {len(board.rows)}"
            print_note(f"{count_text(len(board.rows) - top, 'more row')}: {every}")
    if board.study.by_workers and not board.study.over and not workstation.workers_alive():
        print_note(f"No worker takes host-runs. Start one: {worker_command(workstation)}")
    stopped = carried and not board.study.by_workers and not board.study.over
    elsewhere = any(one.state.active and one.worker not in {"", worker_name()} for one in board.host_runs)
    if since is not None or (stopped and not elsewhere):
        print_note(f"The study is not over. Continue it with: benchwright fleet resume {board.study.id}")
    elif stopped:
        print_note(f"The study is not over. Another process runs it: benchwright fleet show {board.study.id}")
    if stopped or board.study.counts.get(HostRunState.FAILED):
        raise SystemExit(FAILED)


def remark_of(row: BoardRow) -> str:
    """Return what a host does or why it failed, also in an earlier session, else its finding."""
    failed = next((one for one in row.host_runs if one.state is HostRunState.FAILED), None)
    if failed is not None and failed is not row.current:
        return f"session {failed.session}: {failed.reason}"
    return row.doing or row.finding


def worker_command(workstation: Workstation) -> str:
    """Return the command that starts a worker of the library."""
    return f"benchwright --store {shlex.quote(str(workstation.library_location))} worker"


_MARKS = {
    HostRunState.WAITING: "·",
    HostRunState.READY: "·",
    HostRunState.RUNNING: "▸",
    HostRunState.DONE: "✓",
    HostRunState.FAILED: "✗",
    HostRunState.SKIPPED: "–",
}


def _states(row: BoardRow) -> str:
    """Return the state of each session, ``✓✓▸·``; blank for one that the host was not in."""
    marks = {one.session: _MARKS[one.state] for one in row.host_runs}
    return "".join(marks.get(session, " ") for session in range(1, max(marks) + 1))
