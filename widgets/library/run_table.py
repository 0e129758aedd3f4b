"""Table of runs; keeps cursor and selection on the same runs across sorting, searching and refresh."""

from collections.abc import Iterable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView

from app.events import State
from app.session_text import session_text
from widgets.library.run_rows import RunLine, headline_key, local_time, one_line, run_duration, verdict_key
from widgets.parts.names import MISSING, host_title, mark_of
from widgets.parts.table import RIGHT, Table, TableColumn, TableModel
from widgets.theme import icon

SETTLED = 120
"""Delay after the last cursor move before the run is opened, in ms: held arrow keys must not open every run."""

STATE_ICONS = {State.RUNNING: "live", State.DONE: "good", State.PARTIAL: "warning", State.FAILED: "error"}
"""Icon of each state."""


def _no_tip(_line: RunLine) -> str:
    return ""


def _started(line: RunLine) -> str:
    duration = run_duration(line.summary)
    return f"{line.summary.started}\n{line.id}{f', duration {duration}' if duration else ''}"


def _verdict(line: RunLine) -> str:
    return f"{line.summary.trust}\n{f'limited by {line.summary.limited_by}' if line.summary.limited_by else ''}".strip()


def _baseline(line: RunLine) -> str:
    return f"Pinned as the baseline “{line.summary.baseline}”" if line.summary.baseline else ""


def _session(line: RunLine) -> str:
    session = line.summary.session
    if session is None:
        return ""
    return f"{session.number} of {session.total}" if session.total else str(session.number)


def _session_key(line: RunLine) -> tuple[str, int]:
    session = line.summary.session
    return ("", 0) if session is None else (session.series, session.number)


def _session_tip(line: RunLine) -> str:
    return session_text(line.summary.session, line.summary.started) if line.summary.session is not None else ""


RUN_COLUMNS: tuple[TableColumn[RunLine], ...] = (
    TableColumn(
        "Started", lambda line: local_time(line.summary.started), tip="Local time", more=_started,
        key=lambda line: line.summary.started, tone="muted", width=128,
    ),
    TableColumn(
        "Name", lambda line: one_line(line.summary.name),
        more=lambda line: f"{line.summary.name}\n{line.summary.question}".strip(),
        key=lambda line: line.summary.name.casefold(), width=180, stretch=True, least=120,
    ),
    TableColumn(
        "Hosts", lambda line: one_line(", ".join(map(host_title, line.summary.hosts))),
        more=lambda line: "\n".join(line.summary.hosts),
        key=lambda line: ", ".join(map(host_title, line.summary.hosts)).casefold(), width=108, hide_order=5,
    ),
    TableColumn(
        "Headline", lambda line: one_line(line.summary.headline or MISSING), align=RIGHT, bold=True, more=_no_tip,
        tip="Headline metric of the first step: median of its trials", key=headline_key, width=108,
    ),
    TableColumn(
        "State", lambda line: line.summary.status, more=_no_tip, key=lambda line: line.summary.status, width=78,
        mark=lambda line: icon(STATE_ICONS[line.summary.state]), hide_order=6,
    ),
    TableColumn(
        "Verdict", lambda line: one_line(line.summary.trust), tip="Trust in the result: the worst of its steps",
        more=_verdict, key=verdict_key, width=152,
        mark=lambda line: icon(mark_of(line.summary.trust)) if line.summary.trust else None,
    ),
    TableColumn(
        "Trials", lambda line: str(line.summary.trials), align=RIGHT, more=_no_tip,
        tip="Completed trials without warm-ups", key=lambda line: line.summary.trials, width=50, hide_order=4,
    ),
    TableColumn(
        "Session", _session, tip="Session of a series of runs of one plan", more=_session_tip,
        key=_session_key,
        width=64, hide_order=6, needed=lambda lines: any(line.summary.session for line in lines),
    ),
    TableColumn(
        "Baseline", lambda line: one_line(line.summary.baseline or ""), tip="Baseline that the run is pinned as",
        more=_baseline, key=lambda line: (line.summary.baseline or "").casefold(), width=112, hide_order=3,
        mark=lambda line: icon("pin", "accent") if line.summary.baseline else None,
        needed=lambda lines: any(line.summary.baseline for line in lines),
    ),
    TableColumn(
        "Steps", lambda line: one_line(", ".join(line.summary.steps)), more=lambda line: "\n".join(line.summary.steps),
        key=lambda line: ", ".join(line.summary.steps).casefold(), tone="muted", width=140, hide_order=2,
    ),
    TableColumn(
        "Question", lambda line: one_line(line.summary.question), more=lambda line: line.summary.question,
        key=lambda line: line.summary.question.casefold(), tone="muted", width=240, hide_order=1,
    ),
)  # fmt: skip


class RunTable(Table[RunLine]):
    """Table of runs, newest first by default; multiple selection."""

    rested = Signal()  # the cursor has not moved for SETTLED ms

    def __init__(self) -> None:
        super().__init__(
            "Runs",
            TableModel(RUN_COLUMNS, searched=lambda line: line.searched),
            identity=lambda line: line.id,
            selection=QAbstractItemView.SelectionMode.ExtendedSelection,
        )
        self._resting = QTimer(self, singleShot=True, interval=SETTLED)
        self._resting.timeout.connect(self.rested)
        self.moved.connect(self._resting.start)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.content.sort(0, Qt.SortOrder.DescendingOrder)
        self.horizontalHeader().setSortIndicator(0, Qt.SortOrder.DescendingOrder)

    def show_lines(self, lines: Iterable[RunLine]) -> None:
        """Show `lines`; ties of the sort key are ordered newest first."""
        made = sorted(lines, key=lambda line: (line.summary.started, line.id), reverse=True)
        if made != list(self.content.rows):
            self.show_rows(made)

    def settle(self) -> None:
        """Open the current run without delay."""
        self.moved.emit()
        self._resting.stop()
        self.rested.emit()
