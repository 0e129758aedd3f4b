"""Columns of the table of runs: widths, marks and tool tips for those of app.library_table, and group rows."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from PySide6.QtGui import QIcon

from app.library_rows import LibraryRow
from app.library_table import ListColumn, local_moment
from app.session_text import session_text
from suites.quantities import count_text
from widgets.library.run_rows import Trends, lock_text, one_line, trend_obstacle
from widgets.parts.names import MISSING, mark_of
from widgets.parts.table_model import LEFT, RIGHT, TableColumn
from widgets.theme import icon


@dataclass(frozen=True, slots=True)
class GroupLine:
    """The head of a group of runs. `span` is that of their headline values."""

    title: str
    count: int
    span: str
    collapsed: bool

    @property
    def text(self) -> str:
        """The title with the number of runs."""
        return f"{'▸' if self.collapsed else '▾'} {self.title}   {count_text(self.count, 'run')}"


ListLine = LibraryRow | GroupLine

TREND_COLUMN = "Trend"
TREND_NAME = "trend"
TREND_TIP = (
    "Headline of up to 30 runs of the same tests and parameters on the same hosts, in order of time, without invalid "
    "results; the dot is this run"
)

EDITABLE = {"Name": "name", "Note": "note", "Tags": "tag"}
"""The columns that are edited in place, with the field of the annotation."""


def _nothing(_row: LibraryRow) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class _Look:
    """How a column is shown; `more` is the tool tip of its cells."""

    width: int = 90
    hide_order: int = 0
    tip: str = ""
    more: Callable[[LibraryRow], str] | None = None
    tone: str = ""
    bold: bool = False
    mark: Callable[[LibraryRow], QIcon | None] = field(default=lambda _row: None)
    stretch: bool = False
    whole: bool = False


def _started(row: LibraryRow) -> str:
    undated = "Imported then: its output does not state when it was measured." if row.summary.is_undated else ""
    return "\n".join(filter(None, (row.summary.started, undated, row.id)))


def _verdict(row: LibraryRow) -> str:
    limited = f"limited by {row.summary.limited_by}" if row.summary.limited_by else ""
    if not row.summary.trust:
        return "The verdict is not stored. It is computed when the run is opened or compared, or while no run measures."
    return "\n".join(filter(None, (row.summary.trust, limited, "" if row.recall is None else row.recall.past)))


def _verdict_mark(row: LibraryRow) -> QIcon | None:
    return icon(mark_of(row.summary.trust)) if row.summary.trust else None


def _pin(row: LibraryRow) -> QIcon | None:
    return icon("pin", "accent") if row.baselines else None


def _name(row: LibraryRow) -> str:
    return "\n".join(filter(None, (row.summary.name, row.summary.question, lock_text(row))))


def _lock_mark(row: LibraryRow) -> QIcon | None:
    return icon("lock") if row.lock else None


_STATES = {"running": "live", "done": "good", "partial": "warning", "failed": "error", "detached": "live"}


def _state_mark(row: LibraryRow) -> QIcon | None:
    return icon(_STATES[row.summary.status])


def _session(row: LibraryRow) -> str:
    return "" if row.summary.session is None else session_text(row.summary.session, row.summary.started)


_LOOKS = {
    "started": _Look(120, tip="Local time", more=_started, tone="muted", whole=True),
    "name": _Look(170, more=_name, mark=_lock_mark, stretch=True),
    "host": _Look(112, 8, more=lambda row: "\n".join(row.summary.hosts)),
    "type": _Look(88, 4, "Instance type, else the virtualisation", tone="muted"),
    "suite": _Look(80, 3, "Suites of the steps"),
    "step": _Look(140, 2, more=lambda row: "\n".join(row.summary.steps), tone="muted"),
    "headline": _Look(120, 0, "First figure of the first step that has one: mean of its trials", bold=True),
    "half": _Look(58, 7, "Half of the 95 % interval of the headline value", tone="muted"),
    "trials": _Look(46, 5, "Completed trials without warm-ups", _nothing, "muted"),
    "verdict": _Look(
        110, tip="Trust in the result: the worst of its steps", more=_verdict, mark=_verdict_mark, whole=True
    ),
    "limit": _Look(96, 3, tone="muted"),
    "issues": _Look(50, 3, "Errors and warnings that are not acknowledged", _nothing),
    "state": _Look(80, 7, mark=_state_mark, more=_nothing, whole=True),
    "baseline": _Look(104, 6, "Baselines that the run is pinned as", mark=_pin),
    "tag": _Look(92, 5),
    "note": _Look(140, 1, tone="muted"),
    "session": _Look(64, 3, "Session of a series of runs of one plan", _session),
    "duration": _Look(74, 2, tone="muted", more=_nothing),
    "kernel": _Look(130, 2, tone="muted"),
    "question": _Look(200, 1, tone="muted"),
    "plan": _Look(72, 1, "Hash of the plan", _nothing, "muted"),
    "id": _Look(150, 1, tone="muted", more=_nothing),
}  # fmt: skip


OPTIONAL = frozenset({"state", "baseline", "tag"})
"""Columns that are hidden while no run needs them."""


_TOPICS = {
    "verdict": "verdicts", "limit": "verdicts", "baseline": "baselines", "half": "repetition", "trials": "repetition",
    "session": "sessions",
}  # fmt: skip


def table_column(column: ListColumn, needed: Callable[[], Collection[str]] = lambda: OPTIONAL) -> TableColumn[ListLine]:
    """Return a column of the window's table; `needed` returns the optional columns that are needed."""
    look = _LOOKS.get(column.name) or _Look(max(60, 7 * len(f"{column.title} {column.unit}") + 24))

    def text(row: LibraryRow) -> str:
        if column.name == "headline":  # its step is in the tip
            return one_line(row.headline.partition(" (")[0]) or MISSING
        if column.name == "started" and row.summary.is_undated:  # the time of the day is in the tip
            return row.summary.start_text(local_moment(row.summary.started)[:10])
        return one_line(column.text(row))

    def of_run(read: Callable[[LibraryRow], str]) -> Callable[[ListLine], str]:
        return lambda line: read(line) if isinstance(line, LibraryRow) else ""

    return TableColumn(
        column.title,
        of_run(text),
        unit=column.unit,
        align=RIGHT if column.number else LEFT,
        tip=look.tip,
        more=of_run(look.more or column.text),
        key=lambda line: column.key(line) if isinstance(line, LibraryRow) else (True, 0),
        tone=look.tone,
        bold=look.bold,
        mark=lambda line: look.mark(line) if isinstance(line, LibraryRow) else None,
        width=look.width,
        stretch=look.stretch,
        whole=look.whole,
        topic=_TOPICS.get(column.name, ""),
        least=150 if look.stretch else 0,
        hide_order=look.hide_order,
        needed=None if column.name not in OPTIONAL else lambda _lines: column.name in needed(),
    )


def trend_column(trends: Callable[[], Trends]) -> TableColumn[ListLine]:
    """Return the column of sparklines, which the table's delegate draws; the tip of a run without one is the reason."""

    def without(line: ListLine) -> bool:
        return isinstance(line, LibraryRow) and line.id not in trends()

    def reason(line: ListLine) -> str:
        if not isinstance(line, LibraryRow) or not without(line):
            return TREND_TIP
        return f"No trend. {trend_obstacle(line) or 'No other run of these tests and parameters on these hosts.'}"

    return TableColumn(
        TREND_COLUMN, lambda line: MISSING if without(line) else "", tip=TREND_TIP, more=reason, tone="muted", width=72,
        hide_order=2,
    )  # fmt: skip
