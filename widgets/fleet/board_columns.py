"""Columns of the board of a study, and the scales of its sparklines."""

import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from PySide6.QtGui import QIcon

from app.fleet.board import Board, BoardRow
from app.fleet_study import HostRunState
from suites.quantities import count_text, decimals, figure_text, scale
from suites.units import Display
from widgets.fleet.board_text import (
    distance_text,
    distance_tip,
    is_worse,
    marks_text,
    session_text,
    severity_of,
    shown_host_run,
    state_text,
)
from widgets.parts.names import MISSING, MOST_NAME, host_title
from widgets.parts.table_model import RIGHT, TableColumn
from widgets.theme import icon

SESSIONS, VALUES = "Sessions", "Trials"
"""Columns whose cells are drawn; their texts are for what is copied."""

SCALE_TIP = "Hosts of a group share the scale; the line is the median of their trials."

MARK = 14
"""Width in pixels of the mark of a session, at the platform's default text size."""

MOST_MARKS = 12
"""Sessions for which the column has room; more are drawn closer together."""

MORE = 1
"""Decimals beyond three digits of the middle value."""

STATES: Mapping[HostRunState, tuple[str, str]] = {
    HostRunState.WAITING: ("queue", ""),
    HostRunState.READY: ("queue", "accent"),
    HostRunState.RUNNING: ("live", "accent"),
    HostRunState.DONE: ("good", ""),
    HostRunState.FAILED: ("error", ""),
    HostRunState.SKIPPED: ("not-tested", ""),
}
"""Icon of a state, and its colour."""


@dataclass(frozen=True, slots=True)
class BoardScale:
    """Unit of the values of a board, and by group their decimals, the edges of the sparklines and the median."""

    display: Display = field(default_factory=lambda: Display(1.0, ""))
    places: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    medians: Mapping[str, float] = field(default_factory=dict)


def scale_of(board: Board) -> BoardScale:
    """Return the scale of a board: hosts of a group share the edges of their sparklines.

    All groups share the decimals of the middle value, but one that is much slower, whose digits these would cut.
    """
    values: dict[str, list[float]] = defaultdict(list)
    for row in board.rows:
        values[row.group] += row.values
    every = [value for found in values.values() for value in found]
    if board.figure is None or not every:
        return BoardScale()
    middle = statistics.median(every)
    display = scale(board.figure[1], middle)
    edges = {group: _edges(found) for group, found in values.items() if found}
    medians = {group: statistics.median(found) for group, found in values.items() if found}
    places = {
        group: decimals((median if abs(median) < abs(middle) / 10 else middle) / display.divisor) + MORE
        for group, median in medians.items()
    }
    return BoardScale(display, places, edges, medians)


def _edges(values: list[float]) -> tuple[float, float]:
    """Return the edges of the sparklines of a group: twice the span of its middle 80 % of values, around them."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    margin = (high - low) / 2 or abs(high) / 20 or 1.0
    return low - margin, high + margin


def board_columns(
    board: Board | None, scaled: BoardScale, stopping: Collection[int] = ()
) -> tuple[TableColumn[BoardRow], ...]:
    """Return the columns of a board; without one, of an empty table. `stopping` is as in state_text()."""
    sessions = 1 if board is None else board.study.plan.sessions
    return (*_host_columns(sessions, stopping), *_value_columns(board, scaled), _FINDING)


def _host_columns(sessions: int, stopping: Collection[int]) -> tuple[TableColumn[BoardRow], ...]:
    """Return the columns of a host and what it does."""
    return (
        TableColumn(
            "Host", lambda row: host_title(row.title), bold=True, key=lambda row: row.title, width=90, whole=True,
            most=MOST_NAME,
        ),
        TableColumn(
            "Group", lambda row: row.group, key=lambda row: row.group, tone="muted", width=56, whole=True,
            most=MOST_NAME // 2, hide_order=2,
        ),
        TableColumn(
            SESSIONS, marks_text, more=lambda row: "\n".join(map(session_text, row.host_runs)),
            key=lambda row: sorted(one.state.value for one in row.host_runs),
            width=max(70, MARK * min(sessions, MOST_MARKS) + 12),
            tip="A mark for each session: done, running, waiting, failed, skipped",
        ),
        TableColumn(
            "State", lambda row: state_text(row, stopping), mark=_state_mark, key=_state_key, stretch=True, least=120,
            topic="fleet",
        ),
    )  # fmt: skip


def _value_columns(board: Board | None, scaled: BoardScale) -> tuple[TableColumn[BoardRow], ...]:
    """Return the columns of the figure of a board."""
    figure = "No values yet" if board is None or board.figure is None else board.figure_text

    def shown(row: BoardRow, value: float) -> str:
        return f"{value / scaled.display.divisor:.{scaled.places.get(row.group, 0)}f}"

    def value(row: BoardRow) -> str:
        return MISSING if row.value is None else shown(row, row.value)

    def trials(row: BoardRow) -> str:
        return " ".join(shown(row, each) for each in row.values) or MISSING

    def exact(row: BoardRow) -> str:
        if row.value is None or board is None or board.figure is None:
            return "No counted trial yet."
        return f"{figure_text(board.figure[1], row.value)}, median of {count_text(len(row.values), 'trial')}: {figure}"

    def distance_tone(row: BoardRow) -> str:
        if not row.apart:
            return "muted"
        return "error" if is_worse(row, board) else "good"

    return (
        TableColumn(
            VALUES, trials, tone="muted", width=90, hide_order=3, topic="fleet",
            tip=f"{figure}: counted trials of all sessions in order. {SCALE_TIP}", more=exact,
        ),
        TableColumn(
            "Median", value, unit=scaled.display.suffix, align=RIGHT, bold=True, more=exact, width=118,
            key=lambda row: (row.value is None, row.value or 0.0), tip=f"{figure}: median of the counted trials",
        ),
        TableColumn(
            "Off group", lambda row: distance_text(row, board), align=RIGHT, width=100,
            key=lambda row: (row.off is None, row.off or 0.0), tone=distance_tone, bold=lambda row: row.apart,
            more=distance_tip, topic="fleet", tip="Distance from the median of the hosts of the group",
        ),
    )  # fmt: skip


def _state_key(row: BoardRow) -> tuple[int, str]:
    return list(HostRunState).index(shown_host_run(row).state), state_text(row)


def _state_mark(row: BoardRow) -> QIcon | None:
    name, colour = STATES[shown_host_run(row).state]
    return icon(name, colour)


def _severity_key(row: BoardRow) -> tuple[int, str]:
    severity = severity_of(row)
    return (0 if severity is None else -severity.rank), row.finding


def _finding_mark(row: BoardRow) -> QIcon | None:
    severity = severity_of(row)
    return None if severity is None or not row.finding else icon(severity.value)


_FINDING: TableColumn[BoardRow] = TableColumn(
    "Finding", lambda row: row.finding, mark=_finding_mark, key=_severity_key, stretch=True, least=100, hide_order=4,
    topic="verdicts", tip="Most severe finding of the run",
)  # fmt: skip
