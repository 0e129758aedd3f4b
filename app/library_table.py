"""Tables of runs: columns, sort keys, groups, and differences of parameters; for the window and the command line."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.events import State
from app.library_rows import LibraryRow, LibraryRows
from app.natural_order import natural_key
from app.plans.plan import host_label
from app.records import RunSummary
from app.run_matching import MetricReader, configurations_of, parameter_names
from suites.errors import BenchwrightError
from suites.quantities import decimals, duration_text, figure_text, range_text, scale
from suites.verdict import NOT_JUDGED, Trust
from suites.vocab import Metric

Key = tuple[bool, Any]
"""A sort key: whether there is no value, then the value; None sorts last."""


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column of a table of runs. `unit` is that of all its cells."""

    name: str
    title: str
    text: Callable[[LibraryRow], str]
    key: Callable[[LibraryRow], Key]
    number: bool = False
    unit: str = ""


def _textual(name: str, title: str, read: Callable[[LibraryRow], Iterable[str]]) -> ListColumn:
    def text(row: LibraryRow) -> str:
        return ", ".join(read(row))

    return ListColumn(name, title, text, lambda row: _key(natural_key(text(row)) if text(row) else None))


def _numeric(
    name: str, title: str, read: Callable[[LibraryRow], float | None], show: Callable[[float], str]
) -> ListColumn:
    def text(row: LibraryRow) -> str:
        value = read(row)
        return "" if value is None else show(value)

    return ListColumn(name, title, text, lambda row: _key(read(row)), number=True)


def _key(value: object) -> Key:
    return value is None, 0 if value is None else value


def _count(value: float) -> str:
    return str(int(value)) if value else ""


def _verdict(row: LibraryRow) -> str:
    """Return the trust in a run. A verdict that is not stored is computed when the run is opened or compared."""
    ended = row.summary.state is not State.RUNNING and not row.summary.detached
    return row.summary.trust or (NOT_JUDGED if ended else "")


def _trust(row: LibraryRow) -> Key:
    trust = row.summary.trust
    return _key(Trust(trust).rank if trust in set(Trust) else None)


def local_moment(moment: str) -> str:
    """Return a timestamp in local time to the minute, or unchanged if it cannot be read."""
    try:
        return datetime.fromisoformat(moment).astimezone().isoformat(" ", "minutes")[:16]
    except ValueError:
        return moment


def start_of(run: RunSummary) -> str:
    """Return the start of a run in local time; that of an import is marked."""
    return run.start_text(local_moment(run.started))


def _session(row: LibraryRow) -> Iterable[str]:
    session = row.summary.session
    if session is not None:
        yield f"{session.number} of {session.total}" if session.total else str(session.number)


def _headline_key(row: LibraryRow) -> Key:
    return _key(None if row.metric is None or row.value is None else (row.metric.name, row.value))


def _half_key(row: LibraryRow) -> Key:
    return _key(row.half / row.value if row.half and row.value else None)


COLUMNS: tuple[ListColumn, ...] = (
    ListColumn("started", "Started", lambda row: start_of(row.summary), lambda row: (False, row.summary.started)),
    _textual("name", "Name", lambda row: (row.summary.name,)),
    _textual("host", "Hosts", lambda row: map(host_label, row.summary.hosts)),
    _textual("type", "Type", lambda row: filter(None, (row.platform,))),
    _textual("suite", "Tests", lambda row: row.summary.suites),
    _textual("step", "Steps", lambda row: row.summary.steps),
    ListColumn("headline", "Headline", lambda row: row.headline, _headline_key, number=True),
    ListColumn("half", "±", lambda row: row.half_text, _half_key, number=True),
    _numeric("trials", "Trials", lambda row: row.trials, _count),
    ListColumn("verdict", "Verdict", _verdict, _trust),
    _textual("limit", "Limited by", lambda row: filter(None, (row.summary.limited_by,))),
    _numeric("issues", "Issues", lambda row: row.errors + row.warnings, _count),
    _textual("state", "State", lambda row: (row.summary.status_text,)),
    _textual("baseline", "Baseline", lambda row: row.baselines),
    _textual("tag", "Tags", lambda row: row.annotation.tags),
    _textual("note", "Note", lambda row: filter(None, (row.annotation.note,))),
    _textual("lock", "Locked", lambda row: filter(None, (row.lock,))),
    _textual("session", "Session", _session),
    _numeric("duration", "Duration", lambda row: row.duration, duration_text),
    _textual("kernel", "Kernel", lambda row: filter(None, (row.kernel,))),
    _textual("question", "Goal", lambda row: filter(None, (row.summary.question,))),
    _textual("plan", "Plan", lambda row: (row.plan_hash[:8],)),
    _textual("id", "Run", lambda row: (row.id,)),
)
"""The columns of every library; those of parameters and metrics come in addition."""

DEFAULT_COLUMNS = ("started", "name", "host", "type", "headline", "half", "trials", "verdict", "baseline", "tag")


def columns_of(names: Sequence[str], library: LibraryRows, values_of: MetricReader) -> list[ListColumn]:
    """Return the columns called `names`: of the library, a parameter or a metric. Raises BenchwrightError."""
    known = {one.name: one for one in COLUMNS}
    parameters = parameter_names(library.configurations)
    found = []
    for name in names:
        if name in known:
            found.append(known[name])
        elif name in parameters:
            found.append(parameter_column(parameters[name], name))
        elif name in library.metrics:
            found.append(metric_column(library.metrics[name], values_of(name)))
        else:
            every = ", ".join(known)
            raise BenchwrightError(f"There is no column “{name[:60]}”.", f"Use {every}, a parameter or a metric.")
    return found


def parameter_column(name: str, token: str = "") -> ListColumn:
    """Return the column of a parameter: its values in the steps of a run, each once."""

    def key(row: LibraryRow) -> Key:
        value = next((one.values[name] for one in row.configurations if name in one.values), None)
        return _key(value and (value.number is None, value.number or 0.0, natural_key(value.text)))

    return ListColumn(token or name, token or name, lambda row: parameter_text(row, name), key, number=True)


def parameter_text(row: LibraryRow, name: str) -> str:
    """Return the values of a parameter in the steps of a run, each once."""
    return ", ".join(dict.fromkeys(one.values[name].text for one in row.configurations if name in one.values))


def metric_column(metric: Metric, values: Mapping[str, tuple[float, ...]]) -> ListColumn:
    """Return the column of a metric: the value of its first step; its unit is that of the largest value.

    All cells have as many decimals, so that they align: those of the smallest value, at most two more than the largest.
    """
    sizes = [abs(found[0]) for found in values.values() if found[0]]
    largest, smallest = (max(sizes), min(sizes)) if sizes else (1.0, 1.0)
    display = scale(metric, largest)
    places = min(decimals(smallest / display.divisor), decimals(largest / display.divisor) + 2)

    def text(row: LibraryRow) -> str:
        found = values.get(row.id)
        return f"{found[0] / display.divisor:.{places}f}" if found else ""

    def key(row: LibraryRow) -> Key:
        found = values.get(row.id)
        return _key(found[0] if found else None)

    return ListColumn(metric.name, metric.title, text, key, number=True, unit=display.suffix)


# Groups


GROUPINGS: Mapping[str, Callable[[LibraryRow], str]] = {
    "host": lambda row: ", ".join(map(host_label, row.summary.hosts)),
    "type": lambda row: row.platform or "unknown",
    "suite": lambda row: ", ".join(row.summary.suites) or "unknown",
    "plan": lambda row: f"{row.summary.name} ({row.plan_hash[:8]})",
    "day": lambda row: row.summary.start_text(local_moment(row.summary.started)[:10]),
    "series": lambda row: "no series" if row.summary.session is None else row.summary.session.series,
}
"""The groups that rows can be put in, with the title of a row's group."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows with a common title, and the span of their headline values."""

    title: str
    rows: tuple[LibraryRow, ...]

    @property
    def span(self) -> str:
        """The lowest and the highest headline value; the number of metrics if they differ."""
        metrics = {row.metric for row in self.rows if row.metric is not None}
        if len(metrics) != 1:
            return f"{len(metrics)} metrics" if metrics else ""
        (metric,), (low, high) = metrics, self.ends
        return figure_text(metric, low) if low == high else range_text(metric, low, high)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest headline value; NaN without one."""
        values = [row.value for row in self.rows if row.value is not None]
        return min(values, default=math.nan), max(values, default=math.nan)


def grouped(rows: Iterable[LibraryRow], by: str) -> list[RowGroup]:
    """Return the groups of rows in the order of their first rows."""
    found: dict[str, list[LibraryRow]] = {}
    for row in rows:
        found.setdefault(GROUPINGS[by](row), []).append(row)
    return [RowGroup(title, tuple(members)) for title, members in found.items()]


def sorted_rows(rows: Iterable[LibraryRow], column: ListColumn, *, descending: bool) -> list[LibraryRow]:
    """Return rows, given newest first, by a column; those without a value come last."""
    every = list(rows)
    if column.name == "started":
        return every if descending else every[::-1]
    keys = [column.key(row) for row in every]
    present = [place for place, key in enumerate(keys) if not key[0]]
    present.sort(key=lambda place: keys[place][1], reverse=descending)
    return [every[place] for place in present] + [row for row, key in zip(every, keys, strict=True) if key[0]]


def differing_parameters(rows: Sequence[LibraryRow]) -> list[tuple[str, str]]:
    """Return the names and tokens of the parameters whose values differ between rows."""
    tokens: dict[str, str] = {}
    for one in configurations_of(rows):
        tokens.update({name: value.token for name, value in one.values.items()})
    return [(name, token) for name, token in tokens.items() if len({parameter_text(row, name) for row in rows}) > 1]
