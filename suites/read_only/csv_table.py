"""CSV tables of results, read through a mapping that gives each column its role, unit and direction."""

import csv
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from suites.errors import UnitError
from suites.output_times import is_possible
from suites.outputs import ParsedTrial, ToolOutput
from suites.parameters import Parameter, Type, Values
from suites.programs import Program
from suites.read_only.base import ReadOnlySuite, name_of
from suites.read_only.table_mapping import Decimal, Measured, Role, TableError, TableMapping, mapping_of
from suites.units import Unit, convert, typed_unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

MOST_COLUMNS, MOST_ROWS, LONGEST_CELL = 200, 20_000, 10_000
"""Columns and rows of a table, and characters of a cell, that are read; a larger table is refused."""

LONGEST_NAME = 120
"""Characters of the name of a column."""

ROWS_OF_TABLE = 5
"""Rows from which a table is recognised, its header included."""

MOST_ERRORS = 5
"""Rows that a message names; the rest are counted."""

SUITE = "csv"
"""The id of the suite."""

MISSING = frozenset({"", "-", "–", "na", "n/a", "nan", "null", "none"})
"""Cells without a value, in lower case."""
_SUFFIX = r"(?:[eE][-+]?\d{1,3})?)(?:\s+|(?![.,\d]))(\S*)$"
_POINT = re.compile(r"([-+]?(?:\d{1,3}(?:[, \u00a0\u2009\u202f']\d{3})+|\d+)(?:\.\d+)?" + _SUFFIX)
_COMMA = re.compile(r"([-+]?(?:\d{1,3}(?:[. \u00a0\u2009\u202f']\d{3})+|\d+)(?:,\d+)?" + _SUFFIX)
_GROUPING = re.compile(r"[ \u00a0\u2009\u202f']")
_FORMULA = re.compile(r"[=@\t\r]|[-+].*[(|!]")
_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True, slots=True)
class TableContent:
    """The header and the rows of a table, each with the number of its line."""

    header: tuple[str, ...]
    rows: Sequence[tuple[int, tuple[str, ...]]]
    delimiter: str


def header_of(text: str) -> tuple[str, ...]:
    """Return the names of the columns in the first line of `text`; () if it has none."""
    try:
        return next((tuple(map(_name, cells)) for _, cells in _rows(text)), ())
    except TableError:
        return ()


def is_table(text: str) -> bool:
    """Return whether `text` looks like a table: several columns, rows with as many cells, and a number in each."""
    try:
        found = [cells for _, cells in itertools.islice(_rows(text), ROWS_OF_TABLE)]
    except TableError:
        return False
    return (
        len(found) > 1
        and len(found[0]) > 1
        and all(len(cells) == len(found[0]) for cells in found)
        and all(any(cell[:1].isdigit() for cell in cells) for cells in found[1:])
        and all(found[0])
    )


def _delimiter(line: str) -> str:
    """Return the separator of a header: the one of tab, semicolon and comma that it has most often."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    return max("\t;,", key=unquoted.count)


def _first_line(text: str) -> str:
    """Return the first line that is not empty."""
    first = re.search(rf"[^\r\n]{{1,{MOST_COLUMNS * LONGEST_CELL}}}", text)
    return "" if first is None else first[0]


def _name(cell: str) -> str:
    """Return the name of a column, in one line."""
    return " ".join(cell.split())


def _rows(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each row that is not empty with the number of its last line; raise TableError for what is no table."""
    text = text.lstrip("\ufeff")
    if "\0" in text:
        raise TableError("The table has NUL characters.", "Save it as CSV in UTF-8.")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(_first_line(text)), strict=True)
    try:
        for cells in reader:
            if len(cells) > MOST_COLUMNS:
                raise TableError(f"Line {reader.line_num} has {len(cells):,} columns.", f"At most: {MOST_COLUMNS}.")
            if any(len(cell) > LONGEST_CELL for cell in cells):
                raise TableError(
                    f"Line {reader.line_num} has a cell of more than {LONGEST_CELL:,} characters.", "Shorten it."
                )
            if any(cell.strip() for cell in cells):
                yield reader.line_num, tuple(cell.strip() for cell in cells)
    except csv.Error as error:
        raise TableError(f"Line {reader.line_num} is not CSV: {error}.", "Save the table as CSV again.") from error


def read_table(text: str) -> TableContent:
    """Return the table in `text`; raise TableError for one that is none, or is too large."""
    found = list(itertools.islice(_rows(text), MOST_ROWS + 2))
    if len(found) > MOST_ROWS + 1:
        raise TableError(f"The table has more than {MOST_ROWS:,} rows.", "Divide it.")
    if len(found) < 2:
        raise TableError("The table has no rows below its header." if found else "The table is empty.", "Add rows.")
    header = tuple(map(_name, found[0][1]))
    if "" in header:
        raise TableError(f"Column {header.index('') + 1} has no name in the header.", "Give it one.")
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise TableError(f"Two columns are named “{twice[0][:60]}”.", "Give each column a name of its own.")
    if long := next((name for name in header if len(name) > LONGEST_NAME or not name.isprintable()), ""):
        raise TableError(
            f"Column “{long[:60]}” has a name of more than {LONGEST_NAME} characters, or unprintable ones.",
            "Rename it.",
        )
    return TableContent(header, found[1:], _delimiter(_first_line(text)))


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
    figures: dict[str, Figure] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


class _RowError(Exception):
    """A row cannot be read."""


_Key = tuple[str | None, datetime | None, str, str]
"""What the trials of a group have in common: host, date, test and configuration."""


def table_results(table: TableContent, mapping: TableMapping) -> list[TableResult]:
    """Return the trials in a table: of a row, or of one value of each metric where a row has one value.

    Empty cells and NA, NaN, null and - are missing; a trial without any value is none. Raises TableError, which names
    the rows, if one cannot be read.
    """
    if frozenset(table.header) != mapping.header:
        raise TableError("The table has other columns than its mapping.", "Give a mapping of its columns.")
    mapping.check()
    reader = _Reader(table, mapping)
    if errors := reader.errors:
        more = len(errors) - MOST_ERRORS
        lines = [f"line {line}: {error}" for line, error in errors.items()]
        text = "; ".join(lines[:MOST_ERRORS]) + (f"; and {more:,} more" if more > 0 else "")
        raise TableError(
            f"{len(errors):,} of {len(table.rows):,} rows cannot be read: {text}.", "Nothing was imported."
        )
    found = []
    for (host, date, test, configuration), trials in reader.groups.items():
        for trial in trials:
            if trial.figures:
                output = _output(trial, test, configuration, mapping)
                text = "\n".join([f"line: {trial.line}", *trial.cells]) + "\n"
                found.append(TableResult(host, date, trial.line, text, output))
    if not found:
        raise TableError("No row has a value of a metric.", "Fill in the table, or map other columns.")
    return sorted(found, key=lambda one: one.line)


@dataclass(frozen=True, slots=True)
class TableCheck:
    """How a table is read through a mapping: the errors by the lines of their rows, and the runs and trials in it."""

    errors: Mapping[int, str]
    runs: int
    trials: int


def check_table(table: TableContent, mapping: TableMapping) -> TableCheck:
    """Return how a table is read; raise TableError for a mapping that cannot be used."""
    mapping.check()
    reader = _Reader(table, mapping)
    read = {key: trials for key, trials in reader.groups.items() if any(trial.figures for trial in trials)}
    trials = sum(bool(trial.figures) for each in read.values() for trial in each)
    return TableCheck(reader.errors, len({key[:2] for key in read}), trials)


def _output(trial: _Trial, test: str, configuration: str, mapping: TableMapping) -> ToolOutput:
    notes = []
    if trial.missing:
        notes.append(f"Missing in line {trial.line}: {', '.join(trial.missing)[:200]}.")
    if not mapping.named(Role.DATE):
        notes.append("The table has no date: the run begins at its import.")
    parsed = ParsedTrial(tuple(trial.figures.values()), (), tuple(notes))
    return ToolOutput(SUITE, parsed, {"configuration": configuration, "mapping": mapping.text()}, name=test)


class _Reader:
    """Reads the rows of a table into the trials of groups."""

    def __init__(self, table: TableContent, mapping: TableMapping) -> None:
        self._table, self._mapping = table, mapping
        self._measured = mapping.measured()
        self.groups: dict[_Key, list[_Trial]] = {}
        self.errors: dict[int, str] = {}
        self._values: Counter[tuple[_Key, str]] = Counter()
        for line, cells in table.rows:
            try:
                self._take_row(line, cells)
            except (_RowError, UnitError) as error:
                self.errors[line] = str(error).rstrip(".")

    def _column(self, role: Role) -> str | None:
        return next(iter(self._mapping.named(role)), None)

    def _take_row(self, line: int, cells: Sequence[str]) -> None:
        """Add a row to the trials of its group: a trial of its own, or a value of the first one that lacks it."""
        if len(cells) != len(self._table.header):
            raise _RowError(f"it has {len(cells)} cells, the header {len(self._table.header)}")
        row = dict(zip(self._table.header, cells, strict=True))
        key = self._key(row)
        shown = [f"{name}: {name_of(cell)}" for name, cell in row.items()]
        if (column := self._column(Role.METRIC)) is not None:
            self._take_value(line, row, row[column], key, shown)
            return
        trial = _Trial(line, shown)
        for name, of in self._measured.items():
            self._add(trial, of, row[name])
        self.groups.setdefault(key, []).append(trial)

    def _key(self, row: Mapping[str, str]) -> _Key:
        host, date, test = (
            None if (name := self._column(role)) is None else row[name] for role in (Role.HOST, Role.DATE, Role.TEST)
        )
        if host == "" or date == "":
            raise _RowError("it has no host" if host == "" else "it has no date")
        names = sorted(self._mapping.named(Role.CONFIGURATION))
        return (
            None if host is None else name_of(_safe(host)),
            None if date is None else _date(date, self._mapping.columns[self._column(Role.DATE) or ""]),
            name_of(_safe(test or "")),
            "\n".join(name_of(f"{name}={_safe(row[name])}") for name in names if row[name]),
        )

    def _take_value(self, line: int, row: Mapping[str, str], name: str, key: _Key, shown: Sequence[str]) -> None:
        mapping = self._mapping
        if not name:
            raise _RowError("its metric is empty")
        if name not in mapping.header and mapping.columns.get(name) == Role.IGNORED:
            return
        if name not in self._measured:
            raise _RowError(f"metric “{name[:60]}” has no unit; give --map '{name[:60]}=NAME:UNIT:higher' or =ignore")
        of, cell = self._measured[name], row[self._column(Role.VALUE) or ""]
        units = self._column(Role.UNIT)
        if units is not None and not row[units] and cell.lower() not in MISSING:
            raise _RowError("its unit is empty")
        trials = self.groups.setdefault(key, [])
        number = self._values[key, of.metric.name]
        self._values[key, of.metric.name] += 1
        if number == len(trials):
            trials.append(_Trial(line, []))
        trial = trials[number]
        trial.cells += shown
        self._add(trial, of, cell, "" if units is None else row[units])

    def _add(self, trial: _Trial, of: Measured, cell: str, unit: str = "") -> None:
        value = self._number(cell, unit, of)
        if value is None:
            trial.missing.append(of.metric.name)
        else:
            trial.figures[of.metric.name] = Figure(of.metric, value)

    def _number(self, cell: str, unit: str, of: Measured) -> float | None:
        """Return the value of a cell in the unit of its metric; None if it is missing; raise _RowError."""
        decimal = self._mapping.decimal
        if cell.lower() in MISSING:
            return None
        if decimal is None and ("," in cell or (self._table.delimiter == ";" and "." in cell)):
            raise _RowError(f"“{cell[:40]}” may have a decimal comma; state the separator (--decimal)")
        match = (_COMMA if decimal is Decimal.COMMA else _POINT).match(cell)
        if match is None:
            raise _RowError(f"“{cell[:40]}” of {of.metric.title} is not a number")
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
            raise _RowError(f"“{cell[:40]}” of {of.metric.title} is too large")
        return value


def _safe(cell: str) -> str:
    """Return a text; raise _RowError for a formula, which a spreadsheet would run when it is exported again."""
    if _FORMULA.match(cell):
        raise _RowError(f"“{cell[:40]}” is a formula; save the values")
    return cell


def parsed_date(cell: str, form: str) -> datetime:
    """Return a date in UTC, which it is unless it has an offset; `form` as of strptime, empty for ISO 8601.

    Raises ValueError or OverflowError for a text that is no such date.
    """
    date = datetime.strptime(cell, form) if form else datetime.fromisoformat(cell)  # noqa: DTZ007 (set below)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)


def _date(cell: str, role: str) -> datetime:
    """Return the date of a cell, UTC unless it has an offset; raise _RowError for none."""
    try:
        found = parsed_date(cell, role.partition(":")[2])
    except (ValueError, OverflowError):
        raise _RowError(f"“{cell[:40]}” is not a date; write 2026-11-28, or state its format (date:%d.%m.%Y)") from None
    if not is_possible(found):
        raise _RowError(f"“{cell[:40]}” is before 1990 or in the future")
    return found


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
        """Return the metrics of the mapping, in its order; those of no table for a mapping that was redacted."""
        try:
            return _metrics(str(values["mapping"]))
        except (KeyError, TableError):
            return self.metrics


@lru_cache(maxsize=64)
def _metrics(mapping: str) -> tuple[Metric, ...]:
    """Return the metrics of a stored mapping: checks ask for them dozens of times for each trial."""
    return tuple(one.metric for one in mapping_of(mapping).measured().values())
