"""CSV tables of results, read through a mapping that gives each column its role, unit and direction."""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from suites.errors import BenchwrightError, UnitError
from suites.outputs import ParsedTrial, ToolOutput
from suites.parameters import Parameter, Type, Values
from suites.programs import Program
from suites.read_only.base import ReadOnlySuite, name_of
from suites.units import Unit, convert, typed_unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

MOST_COLUMNS, MOST_ROWS, LONGEST_CELL = 200, 20_000, 10_000
"""Columns and rows of a table, and characters of a cell, that are read; a larger table is refused."""

MOST_ERRORS = 5
"""Rows that a message names; the rest are counted."""

SUITE = "csv"
"""The id of the suite."""

_MISSING = frozenset({"", "-", "–", "na", "n/a", "nan", "null", "none"})
_METRIC_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_PERCENTILE = re.compile(r"(?:.*_)?p(\d{1,2}(?:_\d{1,3})?)$")
_POINT = re.compile(r"([-+]?(?:\d{1,3}(?:[, \u00a0\u2009\u202f']\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?)\s*(\S*)$")
_COMMA = re.compile(r"([-+]?(?:\d{1,3}(?:[. \u00a0\u2009\u202f']\d{3})+|\d+)(?:,\d+)?(?:[eE][-+]?\d{1,3})?)\s*(\S*)$")
_GROUPING = re.compile(r"[ \u00a0\u2009\u202f']")
_FORMULA = re.compile(r"[=@\t\r]|[-+].*[(|!]")
_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9}
_TIMES = frozenset({Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND})


class TableError(BenchwrightError):
    """A table or its mapping cannot be used."""


class Role(StrEnum):
    """What a column has, unless it has the values of a metric."""

    HOST = "host"
    DATE = "date"
    TEST = "test"
    CONFIGURATION = "config"
    METRIC = "metric"
    VALUE = "value"
    UNIT = "unit"
    IGNORED = "ignore"


class Decimal(StrEnum):
    """The decimal separator."""

    POINT = "point"
    COMMA = "comma"


ROLE_SYNTAX = "NAME:UNIT:higher, NAME:UNIT:lower, host, date, date:FORMAT, test, config, metric, value, unit or ignore"


@dataclass(frozen=True, slots=True)
class _Measured:
    """The metric of a column, and the multiple of its unit in which the cells are."""

    metric: Metric
    multiple: float


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The role of each column by its name: see ROLE_SYNTAX; where a column has names of metrics, also that of these.

    `header` are the names of the columns, in any order. `decimal` is the decimal separator, None if it was not given.
    """

    header: frozenset[str]
    columns: Mapping[str, str]
    decimal: Decimal | None = None

    def text(self) -> str:
        """Return the mapping as JSON, the same for the same mapping."""
        content = {"header": sorted(self.header), "columns": dict(self.columns), "decimal": self.decimal or ""}
        return json.dumps(content, sort_keys=True, ensure_ascii=False)

    def named(self, role: Role) -> list[str]:
        """Return the columns with a role."""
        return [name for name, given in self.columns.items() if given.partition(":")[0] == role]

    def measured(self) -> dict[str, _Measured]:
        """Return what is measured by the name of its column; raise TableError for a role that is not one."""
        found = {name: _measured(name, role) for name, role in self.columns.items() if not _is_role(role)}
        by_name: dict[str, Metric] = {}
        for one in found.values():
            if (
                by_name.setdefault(one.metric.name, one.metric)
                and list(each.metric.name for each in found.values()).count(one.metric.name) > 1
            ):
                raise TableError(
                    f"Two columns are the metric {one.metric.name}.", "Give each metric a name of its own."
                )
        return found

    def check(self) -> None:
        """Raise TableError unless each column has a role, and the roles can be used together."""
        known = self.header | (set(self.columns) if self.named(Role.METRIC) else set())
        for name in self.columns:
            if name not in known:
                raise TableError(
                    f"The table has no column “{name[:60]}”.", f"Its columns: {', '.join(sorted(self.header))[:400]}."
                )
        for name in sorted(self.header - self.columns.keys()):
            raise TableError(
                f"Column “{name[:60]}” has no role.", f"Give one: --map {name[:60]!r}=ROLE, {ROLE_SYNTAX}."
            )
        for role in (Role.HOST, Role.DATE, Role.TEST, Role.METRIC, Role.VALUE, Role.UNIT):
            if len(self.named(role)) > 1:
                raise TableError(f"{len(self.named(role))} columns are the {role}.", "Give this role to one column.")
        if bool(self.named(Role.METRIC)) != bool(self.named(Role.VALUE)):
            raise TableError("The roles metric and value go together.", "Give both, or neither.")
        if self.named(Role.UNIT) and not self.named(Role.METRIC):
            raise TableError("The role unit belongs to a column with the role value.", "Ignore the column.")
        measured = self.measured()
        if not measured:
            raise TableError("No metric is given.", "Give one: --map COLUMN=NAME:UNIT:higher or lower.")
        if self.named(Role.METRIC) and (beside := sorted(measured.keys() & self.header)):
            raise TableError(f"Column “{beside[0][:60]}” is a metric beside metric and value.", "Ignore the column.")


def mapping_of(text: str) -> TableMapping:
    """Return the mapping that text() wrote; raise TableError for another text."""
    try:
        content = json.loads(text)
        decimal = Decimal(content["decimal"]) if content["decimal"] else None
        columns = {str(name): str(role) for name, role in content["columns"].items()}
        return TableMapping(frozenset(map(str, content["header"])), columns, decimal)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableError("Not a mapping of a table.", "Give it anew.") from error


def _is_role(text: str) -> bool:
    return text in set(Role) or text.startswith(f"{Role.DATE}:")


def _measured(column: str, text: str) -> _Measured:
    parts = text.split(":")
    example = f"--map '{column[:60]}=latency_p99:ms:lower'"
    if len(parts) == 1 or (len(parts) == 2 and parts[1] in {"higher", "lower"}):
        raise TableError(
            f"Column “{column[:60]}”: “{text[:60]}” has no unit.", f"Give name, unit and direction, as in {example}."
        )
    if len(parts) != 3 or parts[2] not in {"higher", "lower"}:
        raise TableError(
            f"Column “{column[:60]}”: “{text[:60]}” does not say whether higher or lower is better.",
            f"Give name, unit and direction, as in {example}.",
        )
    name, unit, better = parts
    if not _METRIC_NAME.fullmatch(name):
        raise TableError(f"“{name[:60]}” is not a name of a metric.", "Use a-z, 0-9 and _, as in latency_p99.")
    known = typed_unit(unit)
    if known is None:
        raise TableError(
            f"Column “{column[:60]}”: “{unit[:30]}” is not a unit.", f"Use one of {', '.join(Unit)}, IOPS."
        )
    kind = MetricKind.TIME if known[1] in _TIMES else MetricKind.SHARE if known[1] is Unit.PERCENT else MetricKind.RATE
    match = _PERCENTILE.match(name) if kind is MetricKind.TIME else None
    percentile = float(match[1].replace("_", ".")) if match else None
    title = name.replace("_", " ").capitalize()
    return _Measured(Metric(name, title, known[1], Better(better), kind, percentile, least=None), known[0])


@dataclass(frozen=True, slots=True)
class Table:
    """The header and the rows of a table, each with the number of its line."""

    header: tuple[str, ...]
    rows: Sequence[tuple[int, tuple[str, ...]]]
    delimiter: str


def header_of(text: str) -> tuple[str, ...]:
    """Return the names of the columns of a table; () if the first line is none of one."""
    line = next(
        (each for each in text[: MOST_COLUMNS * LONGEST_CELL].lstrip("\ufeff").splitlines() if each.strip()), ""
    )
    delimiter = _delimiter(line)
    if delimiter not in line or len(line) > MOST_COLUMNS * 100:
        return ()
    try:
        return tuple(cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, strict=True)))
    except (csv.Error, StopIteration):
        return ()


def _delimiter(line: str) -> str:
    """Return the separator of a header: the one of tab, semicolon and comma that it has most often."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    return max("\t;,", key=unquoted.count)


def read_table(text: str) -> Table:
    """Return the table in `text`; raise TableError for one that is none, or is too large."""
    text = text.lstrip("\ufeff")
    if "\0" in text:
        raise TableError("The table has NUL characters.", "Save it as CSV in UTF-8.")
    first = text.find("\n")
    line = text[: first if first >= 0 else len(text)]
    if len(line) > MOST_COLUMNS * LONGEST_CELL:
        raise TableError(f"The header has {len(line):,} characters.", "Give a table with a header.")
    delimiter = _delimiter(line)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, tuple[str, ...]]] = []
    header: tuple[str, ...] = ()
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > MOST_COLUMNS:
                raise TableError(f"Line {reader.line_num} has {len(cells):,} columns.", f"At most: {MOST_COLUMNS}.")
            if any(len(cell) > LONGEST_CELL for cell in cells):
                raise TableError(f"Line {reader.line_num} has a cell of more than {LONGEST_CELL:,} characters.")
            row = tuple(cell.strip() for cell in cells)
            if not header:
                header = row
            elif len(rows) >= MOST_ROWS:
                raise TableError(f"The table has more than {MOST_ROWS:,} rows.", "Divide it.")
            else:
                rows.append((reader.line_num, row))
    except csv.Error as error:
        raise TableError(f"Line {reader.line_num} is not CSV: {error}.", "Save the table as CSV again.") from error
    if not header or not rows:
        raise TableError("The table has no rows below its header." if header else "The table is empty.")
    if "" in header:
        raise TableError(f"Column {header.index('') + 1} has no name in the header.", "Name it.")
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise TableError(f"Two columns are named “{twice[0][:60]}”.", "Give each column a name of its own.")
    return Table(header, rows, delimiter)


@dataclass(frozen=True, slots=True)
class TableResult:
    """A trial in a table: its host and date, None without such a column, its first line, its cells and its result."""

    host: str | None
    date: datetime | None
    line: int
    text: str
    output: ToolOutput


@dataclass(slots=True)
class _Trial:
    line: int
    cells: list[str]
    figures: dict[str, Figure]
    missing: list[str]


class _RowError(Exception):
    """A row cannot be read."""


def table_results(table: Table, mapping: TableMapping) -> list[TableResult]:
    """Return the trials in a table: of a row, or of one value of each metric where a row has one value.

    Empty cells and NA, NaN, null and - are missing. Raises TableError, which names the rows, if one cannot be read.
    """
    if frozenset(table.header) != mapping.header:
        raise TableError("The table has other columns than its mapping.", "Give a mapping of its columns.")
    mapping.check()
    measured = mapping.measured()
    groups: dict[tuple[str | None, datetime | None, str, str], list[_Trial]] = {}
    errors: list[str] = []
    for line, cells in table.rows:
        try:
            _take_row(table, mapping, measured, line, cells, groups)
        except (_RowError, UnitError) as error:
            errors.append(f"line {line}: {error}")
    if errors:
        more = len(errors) - MOST_ERRORS
        text = "; ".join(errors[:MOST_ERRORS]) + (f"; and {more:,} more" if more > 0 else "")
        raise TableError(
            f"{len(errors):,} of {len(table.rows):,} rows cannot be read: {text}.", "Nothing was imported."
        )
    found = []
    for (host, date, test, configuration), trials in groups.items():
        for trial in trials:
            if trial.figures:
                output = _output(trial, test, configuration, mapping, dated=date is not None)
                text = "\n".join([f"line: {trial.line}", *trial.cells]) + "\n"
                found.append(TableResult(host, date, trial.line, text, output))
    if not found:
        raise TableError("No row has a value of a metric.", "Fill in the table, or map other columns.")
    return sorted(found, key=lambda one: one.line)


def _output(trial: _Trial, test: str, configuration: str, mapping: TableMapping, *, dated: bool) -> ToolOutput:
    notes = []
    if trial.missing:
        notes.append(f"Missing in line {trial.line}: {', '.join(trial.missing)[:200]}.")
    if not dated:
        notes.append("The table has no date: the run begins at its import.")
    parsed = ParsedTrial(tuple(trial.figures.values()), (), tuple(notes))
    return ToolOutput(SUITE, parsed, {"configuration": configuration, "mapping": mapping.text()}, name=test)


def _take_row(
    table: Table,
    mapping: TableMapping,
    measured: Mapping[str, _Measured],
    line: int,
    cells: Sequence[str],
    groups: dict[tuple[str | None, datetime | None, str, str], list[_Trial]],
) -> None:
    """Add a row to the trials of its group: a trial of its own, or a value of the first one that lacks it."""
    if len(cells) != len(table.header):
        raise _RowError(f"it has {len(cells)} cells, the header {len(table.header)}")
    row = dict(zip(table.header, cells, strict=True))
    (host,), (date,), (test,) = (
        [row[name] for name in mapping.named(role)] or [None] for role in (Role.HOST, Role.DATE, Role.TEST)
    )
    if host == "" or date == "":
        raise _RowError("it has no host" if host == "" else "it has no date")
    configured = [f"{name}={_safe(row[name])}" for name in sorted(mapping.named(Role.CONFIGURATION)) if row[name]]
    key = (
        None if host is None else name_of(_safe(host)),
        None if date is None else _date(date, mapping.columns[mapping.named(Role.DATE)[0]]),
        name_of(_safe(test or "")),
        "\n".join(map(name_of, configured)),
    )
    shown = [f"{name}: {name_of(cell)}" for name, cell in row.items()]
    if not mapping.named(Role.METRIC):
        trial = _Trial(line, shown, {}, [])
        for name, of in measured.items():
            _take_value(trial, of, row[name], "", mapping, table.delimiter)
        groups.setdefault(key, []).append(trial)
        return
    name = row[mapping.named(Role.METRIC)[0]]
    if mapping.columns.get(name) == Role.IGNORED and name not in mapping.header:
        return
    if name not in measured:
        raise _RowError(f"metric “{name[:60]}” has no mapping; give --map '{name[:60]}=NAME:UNIT:higher' or =ignore")
    of, units = measured[name], mapping.named(Role.UNIT)
    trials = groups.setdefault(key, [])
    trial = next(
        (one for one in trials if of.metric.name not in {*one.figures, *one.missing}), _Trial(line, [], {}, [])
    )
    if trial not in trials:
        trials.append(trial)
    trial.cells += shown
    unit = row[units[0]] if units else ""
    if units and not unit and row[mapping.named(Role.VALUE)[0]].lower() not in _MISSING:
        raise _RowError("its unit is empty")
    _take_value(trial, of, row[mapping.named(Role.VALUE)[0]], unit, mapping, table.delimiter)


def _take_value(trial: _Trial, of: _Measured, cell: str, unit: str, mapping: TableMapping, delimiter: str) -> None:
    value = _number(cell, unit, of, mapping.decimal, delimiter)
    if value is None:
        trial.missing.append(of.metric.name)
    else:
        trial.figures[of.metric.name] = Figure(of.metric, value)


def _number(cell: str, unit: str, of: _Measured, decimal: Decimal | None, delimiter: str) -> float | None:
    """Return the value of a cell in the unit of its metric; None if it is missing; raise _RowError for no number."""
    if cell.lower() in _MISSING:
        return None
    if decimal is None and ("," in cell or (delimiter == ";" and "." in cell)):
        raise _RowError(f"“{cell[:40]}” may have a decimal comma; give --decimal comma or point")
    match = (_COMMA if decimal is Decimal.COMMA else _POINT).match(cell)
    if match is None:
        raise _RowError(f"“{cell[:40]}” of {of.metric.name} is not a number")
    digits = _GROUPING.sub("", match[1])
    digits = digits.replace(".", "").replace(",", ".") if decimal is Decimal.COMMA else digits.replace(",", "")
    value, suffix = float(digits), match[2]
    if suffix in _PREFIXES:
        if of.metric.unit is Unit.BYTE:
            raise _RowError(f"“{cell[:40]}”: {suffix} of bytes is ambiguous; write kB or KiB in full")
        value, suffix = value * _PREFIXES[suffix], ""
    multiple, origin = of.multiple, of.metric.unit
    for given in filter(None, (unit, suffix)):
        known = typed_unit(given)
        if known is None:
            raise _RowError(f"“{given[:30]}” is not a unit")
        multiple, origin = known
    value = convert(value * multiple, origin, of.metric.unit)
    if not math.isfinite(value):
        raise _RowError(f"“{cell[:40]}” of {of.metric.name} is too large")
    return value


def _safe(cell: str) -> str:
    """Return a text; raise _RowError for a formula, which a spreadsheet would run when it is exported again."""
    if _FORMULA.match(cell):
        raise _RowError(f"“{cell[:40]}” is a formula; save the values")
    return cell


def _date(cell: str, role: str) -> datetime:
    """Return the date of a cell, UTC unless it has an offset; raise _RowError for none."""
    form = role.partition(":")[2]
    try:
        date = datetime.strptime(cell, form) if form else datetime.fromisoformat(cell)  # noqa: DTZ007 (set below)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _RowError(f"“{cell[:40]}” is not a date; write 2026-11-28, or give the column date:%d.%m.%Y") from None


class CsvTable(ReadOnlySuite):
    """Results of a table that the user made."""

    id = SUITE
    title = "CSV table"
    summary = "Results in a table, whose columns the user has mapped to metrics."
    resource = Resource.CPU
    program = Program("CSV table", ("csv",))
    parameters = (
        Parameter(
            name="configuration",
            title="Configuration",
            type=Type.LINES,
            default="",
            help="The columns with the role config, and their values.",
        ),
        Parameter(
            name="mapping",
            title="Mapping",
            type=Type.LINES,
            default="",
            help="The roles of the columns, with which the table is read again.",
            identity=False,
        ),
    )
    metrics = (Metric("value", "Value", Unit.ONE, Better.HIGHER, MetricKind.RATE),)

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics of the mapping, in its order."""
        return (
            tuple(one.metric for one in mapping_of(str(values["mapping"])).measured().values())
            if values.get("mapping")
            else self.metrics
        )
