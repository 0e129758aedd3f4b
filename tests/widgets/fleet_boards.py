"""Boards of studies without a library: as many hosts as wanted, with long names, long findings and long reasons."""

import random
from collections import Counter
from collections.abc import Sequence

from app.fleet.board import Board, board_of
from app.fleet_study import FleetHost, FleetPlan, FleetStudy, HostRun, HostRunState, RunProgress
from app.plans.plan import Plan, Repetition, make_step
from suites.fio.metrics import IOPS
from suites.vocab import Severity, labels
from widgets.fleet.board_feed import BoardReading
from widgets.fleet.board_text import BoardHead

BEGAN = "2026-11-20T10:00:00.000+00:00"
LONG_NAME = "ip-10-216-144-203.eu-central-1.compute.internal.example.corp"
LONG_FINDING = "Page cache serves the reads: 38 % of the data set, on the device that other tenants share"
THREE_LINES = "Connection refused by 192.0.2.24 port 22.\nThe proxy printed: no route to host\nTry again later."

_STEP = make_step("fio", {"rw": "randread", "block_size": 4096, "runtime": 10}, name="disk random read")
_FIGURE = ("disk random read", IOPS, labels(operation="read"))


def names_of(count: int) -> Sequence[str]:
    """Return the names of so many hosts; the second is long."""
    return [LONG_NAME if number == 1 else f"host-{number:03}" for number in range(count)]


def made_board(count: int, *, state: HostRunState = HostRunState.DONE, seed: int = 1) -> Board:
    """Return the board of a study of `count` hosts in one group, whose host-runs are all in one `state`.

    The first host that is done is 30 % slower, the second has a long finding; failed ones have a reason of three lines.
    """
    chance = random.Random(seed)
    plan = FleetPlan(Plan("check", (), (_STEP,), repetition=Repetition(6)), tuple(_hosts(count)))
    host_runs, progress = [], {}
    for number, name in enumerate(names_of(count)):
        run = f"r{number}" if state is not HostRunState.WAITING else ""
        reason = THREE_LINES if state is HostRunState.FAILED else ""
        host_runs.append(
            HostRun(number + 1, 1, name, "g", due=BEGAN, state=state, run=run, changed=BEGAN, reason=reason)
        )
        if state in {HostRunState.DONE, HostRunState.RUNNING}:
            centre = 412e3 * (0.7 if number == 0 else 1.0)
            values = tuple(centre * chance.gauss(1.0, 0.006) for _ in range(6))
            finding = (LONG_FINDING, Severity.WARNING) if number == 1 else ("", None)
            progress[run] = RunProgress(6, 6, figures={_FIGURE: values}, finding=finding[0], severity=finding[1])
    study = FleetStudy("f1", "check", plan, BEGAN, counts=Counter({state: count}))
    return board_of(study, host_runs, progress)


def _hosts(count: int) -> Sequence[FleetHost]:
    return [FleetHost(name, "g") for name in names_of(count)]


def reading_of(board: Board) -> BoardReading:
    """Return what the page shows of a board."""
    return BoardReading(board, BoardHead(board.study), 0.0)
