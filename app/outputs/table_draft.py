"""Drafts of mappings: the roles that a user has chosen so far, proposed from the header and checked with every row."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from suites.read_only.csv_table import MISSING, TableContent, check_table, parsed_date
from suites.read_only.table_mapping import METRIC_NAME, Decimal, Role, TableError, TableMapping
from suites.units import Unit, is_spelling, same_dimension, typed_unit
from suites.vocab import Better

MEASURED = "measured"
"""The role of a column with the values of a metric."""

MOST_NAMES = 50
"""Names of metrics in a column that can be mapped."""

SAMPLED = 20
"""Rows from which a role is proposed."""

_HOSTS = frozenset({"host", "hostname", "host name", "server", "machine", "instance", "node"})
_DATES = frozenset({"date", "datetime", "timestamp", "time", "start", "started", "datum"})
_TESTS = frozenset({"test", "benchmark", "test name"})
_TIDY = {Role.METRIC: "metric", Role.VALUE: "value", Role.UNIT: "unit"}
_IN_BRACKETS = re.compile(r"(.*?)\s*[(\[]\s*([^()\[\]]{1,20})\s*[)\]]\s*")
_AT_END = re.compile(r"(.*\S)(?:\s*,\s*|[\s_]+)(\S{1,12})")
_NUMBER = re.compile(r"[-+]?\d[\d.,'\s\u00a0\u2009\u202f]*(?:[eE][-+]?\d+)?\s*((?:[^\d\s-]\S*)?)")
_PREFERRED = ("ms", "us", "µs", "ns", "s", "MB/s", "GB/s", "MiB/s", "Mbit/s", "Gbit/s", "IOPS", "1/s", "%", "W", "B")

UNITS = tuple(dict.fromkeys((*_PREFERRED, *Unit)))
"""Units to choose from, frequent ones first."""

DATE_FORMATS = ("%d.%m.%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d %H:%M:%S")
"""Formats of dates to choose from beside ISO 8601."""


@dataclass(frozen=True, slots=True)
class ColumnDraft:
    """What was chosen for a column: MEASURED or a Role, empty for none; name, unit and direction of a metric, or the
    format of dates, empty for ISO 8601."""

    role: str = ""
    name: str = ""
    unit: str = ""
    better: str = ""
    form: str = ""

    def text(self) -> str:
        """Return the role as a mapping has it, see ROLE_SYNTAX."""
        if self.role == MEASURED:
            return f"{self.metric_name()}:{self.unit.strip()}:{self.better}"
        return f"{self.role}:{self.form.strip()}" if self.role == Role.DATE and self.form.strip() else self.role

    def metric_name(self) -> str:
        """Return the name of the metric, with underscores for spaces."""
        return "_".join(self.name.split())

    def problem(self) -> str:
        """Return what is missing or wrong; empty for nothing."""
        if not self.role:
            return "Choose a role."
        if self.role != MEASURED:
            return ""
        if not METRIC_NAME.fullmatch(self.metric_name()):
            return "Name the metric: letters, digits and _." if self.name.strip() else "Name the metric."
        if not self.unit.strip():
            return "Give the unit."
        if typed_unit(self.unit.strip()) is None:
            return f"“{self.unit.strip()[:20]}” is not a unit."
        return "" if self.better else "Choose whether higher or lower is better."


@dataclass(frozen=True, slots=True)
class MappingDraft:
    """What was chosen for the columns of a table, for the names in its column of metrics, and for all of it."""

    columns: Mapping[str, ColumnDraft]
    names: Mapping[str, ColumnDraft] = field(default_factory=dict)
    decimal: Decimal | None = None

    def having(self, name: str, draft: ColumnDraft, *, in_rows: bool = False) -> "MappingDraft":
        """Return this draft with another one for a column, or for a name in rows.

        A column of units states those of the names that have none: they are proposed anew.
        """
        if in_rows:
            return replace(self, names={**self.names, name: draft})
        kept = {name: one for name, one in self.names.items() if draft.role != Role.UNIT or one.unit}
        return replace(self, columns={**self.columns, name: draft}, names=kept)

    def ignoring_rest(self) -> "MappingDraft":
        """Return this draft with each column ignored that has no role."""
        ignored = ColumnDraft(Role.IGNORED)
        return replace(self, columns={name: one if one.role else ignored for name, one in self.columns.items()})

    def mapping(self, name: str = "") -> TableMapping:
        """Return the mapping, named `name`."""
        each = {**self.names, **self.columns}
        return TableMapping(
            frozenset(self.columns), {column: one.text() for column, one in each.items()}, self.decimal, name
        )


@dataclass(frozen=True, slots=True)
class DraftCheck:
    """What a draft does with the rows of a table.

    `problems` are those of columns and of names in rows by name, `problem` that of all of them. Only without these the
    rows are read: `errors` are by line, `runs` and `trials` are counted. `draft` has a draft for each name in the
    column of metrics.
    """

    draft: MappingDraft
    problems: Mapping[str, str]
    problem: str = ""
    errors: Mapping[int, str] = field(default_factory=dict)
    runs: int = 0
    trials: int = 0

    @property
    def usable(self) -> bool:
        """Whether the whole table can be read."""
        return not self.problems and not self.problem and not self.errors and self.trials > 0


def proposed_draft(table: TableContent) -> MappingDraft:
    """Return a draft with what the header and the first rows state: unit, name and role of a column, none if unclear.

    A direction is proposed for times and rates only.
    """
    columns = {name: _proposed(name, first_cells(table, name)) for name in table.header}
    plain = {name.lower(): name for name in table.header}
    if _TIDY[Role.METRIC] in plain and _TIDY[Role.VALUE] in plain:
        columns |= {plain[title]: ColumnDraft(role) for role, title in _TIDY.items() if title in plain}
    return MappingDraft(columns)


def known_draft(mapping: TableMapping) -> MappingDraft:
    """Return the draft of a mapping."""
    drafts = {name: _known(text) for name, text in mapping.columns.items()}
    columns = {name: drafts.get(name, ColumnDraft()) for name in mapping.header}
    return MappingDraft(columns, {name: one for name, one in drafts.items() if name not in columns}, mapping.decimal)


def check_draft(table: TableContent, draft: MappingDraft) -> DraftCheck:
    """Return what a draft does with the rows of a table."""
    names, problem = _names_in(table, draft)
    draft = replace(draft, columns={name: draft.columns[name] for name in table.header}, names=names)
    problems = {
        name: text for each in (draft.names, draft.columns) for name, one in each.items() if (text := one.problem())
    }
    if problems or problem:
        return DraftCheck(draft, problems, problem)
    if all(one.role != MEASURED for one in (*draft.columns.values(), *draft.names.values())):
        return DraftCheck(draft, {}, "No metric: choose the role Metric for a column.")
    try:
        found = check_table(table, draft.mapping())
    except TableError as error:
        return DraftCheck(draft, {}, f"{error.message} {error.remedy}")
    if not found.trials and not found.errors:
        return DraftCheck(draft, {}, "No row has a value of a metric.")
    return DraftCheck(draft, {}, "", found.errors, found.runs, found.trials)


def _names_in(table: TableContent, draft: MappingDraft) -> tuple[dict[str, ColumnDraft], str]:
    """Return a draft of each name in the column of metrics, and the problem with them."""
    column = next((name for name, one in draft.columns.items() if one.role == Role.METRIC), None)
    if column is None:
        return {}, ""
    at = table.header.index(column)
    found: dict[str, ColumnDraft] = {}
    for _, cells in table.rows:
        name = cells[at] if at < len(cells) else ""
        if not name or name in found:
            continue
        if len(found) == MOST_NAMES:
            return found, f"“{column[:60]}” has more than {MOST_NAMES} names of metrics."
        found[name] = draft.names.get(name) or _proposed_name(table, draft, at, name)
    if beside := sorted(found.keys() & set(table.header)):
        return found, f"“{beside[0][:60]}” is a column and a name in “{column[:60]}”. Rename one."
    return found, ""


def _proposed_name(table: TableContent, draft: MappingDraft, at: int, name: str) -> ColumnDraft:
    """Return the draft of a name in rows, with the first unit beside it."""
    units = next((column for column, one in draft.columns.items() if one.role == Role.UNIT), None)
    title, unit = _split(name)
    if not unit and units is not None:
        place = table.header.index(units)
        rows = (cells for _, cells in table.rows if len(cells) == len(table.header) and cells[at] == name)
        unit = next((known for cells in rows if (known := _unit(cells[place]))), "")
    return ColumnDraft(MEASURED, _metric_name(title), unit, _direction(unit))


def as_metric(name: str, draft: ColumnDraft) -> ColumnDraft:
    """Return the draft of the column `name`; if its role is MEASURED, with what its name states where nothing is."""
    if draft.role != MEASURED:
        return draft
    title, unit = _split(name)
    unit = draft.unit or unit
    named = draft.name or _metric_name(title)
    return replace(draft, name=named, unit=unit, better=draft.better or _direction(unit))


def _known(text: str) -> ColumnDraft:
    name, _, rest = text.partition(":")
    unit, _, better = rest.rpartition(":")
    if better in set(Better) and unit:
        return ColumnDraft(MEASURED, name, unit, better)
    return ColumnDraft(name, form=rest)


def first_cells(table: TableContent, name: str) -> list[str]:
    """Return the first cells of a column that are not missing."""
    at = table.header.index(name)
    rows = table.rows[:SAMPLED]
    return [cells[at] for _, cells in rows if at < len(cells) and cells[at].lower() not in MISSING]


def is_numeric(table: TableContent, name: str) -> bool:
    """Return whether most of the first cells of a column are numbers."""
    cells = first_cells(table, name)
    return sum(_NUMBER.fullmatch(cell) is not None for cell in cells) * 2 > len(cells)


def _proposed(name: str, cells: Sequence[str]) -> ColumnDraft:
    plain = " ".join(name.replace("_", " ").lower().split())
    if plain in _HOSTS:
        return ColumnDraft(Role.HOST)
    if plain in _TESTS:
        return ColumnDraft(Role.TEST)
    if plain in _DATES and cells and (form := _date_format(cells)) is not None:
        return ColumnDraft(Role.DATE, form=form)
    numbers = [found for cell in cells if (found := _NUMBER.fullmatch(cell)) is not None]
    if len(numbers) * 2 <= len(cells):
        return ColumnDraft()
    title, unit = _split(name)
    if not unit:
        suffixes = {found[1] for found in numbers}
        unit = _unit(next(iter(suffixes))) if len(suffixes) == 1 else ""
    return ColumnDraft(MEASURED, _metric_name(title), unit, _direction(unit)) if unit else ColumnDraft()


def _split(name: str) -> tuple[str, str]:
    """Return the name of a metric in that of a column and its unit, empty if none is obvious: p99, ms for p99 (ms)."""
    if unit := _unit(name):
        return name, unit
    for form in (_IN_BRACKETS, _AT_END):
        if (found := form.fullmatch(name)) and (unit := _unit(found[2])):
            return found[1] or name, unit
    return name, ""


def _unit(text: str) -> str:
    """Return a unit as a mapping has it; empty for a text that is none, and for a number."""
    if text in {Unit.ONE, ""} or text in {"k", "M"}:
        return ""
    if typed_unit(text) is not None:
        return text
    return next((unit for unit in Unit if unit is not Unit.ONE and is_spelling(text, unit)), "")


def _direction(unit: str) -> str:
    """Return the direction in which times and rates are better; empty for others."""
    known = typed_unit(unit)
    if known is None:
        return ""
    if same_dimension(known[1], Unit.SECOND):
        return Better.LOWER
    rates = (Unit.PER_SECOND, Unit.BYTES_PER_SECOND)
    return Better.HIGHER if any(same_dimension(known[1], rate) for rate in rates) else ""


def _metric_name(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:60]


def _date_format(cells: Sequence[str]) -> str | None:
    """Return the one format in which all cells are dates, empty for ISO 8601; None for none or several."""
    forms = [form for form in ("", *DATE_FORMATS) if all(_is_date(cell, form) for cell in cells)]
    return forms[0] if len(forms) == 1 else None


def _is_date(cell: str, form: str) -> bool:
    try:
        parsed_date(cell, form)
    except (ValueError, OverflowError):
        return False
    return True
