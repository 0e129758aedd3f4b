"""Reads the CSV results of SPEC CPU2017 and CPU2006: each benchmark's base ratio and time, and the composite."""

import csv
import math
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample, labels

COMPOSITE = Metric("composite", "Composite", Unit.ONE, Better.HIGHER, Kind.RATE)
RATIO = Metric("base_ratio", "Base ratio by benchmark", Unit.ONE, Better.HIGHER, Kind.RATE)
RUN_TIME = Metric("base_run_time", "Base run time", Unit.SECOND, Better.LOWER, Kind.TIME)

METRICS = (COMPOSITE, RATIO, RUN_TIME)

UNOFFICIAL = (
    "These are estimates of your own. Only runs that SPEC's rules call reportable may be published under SPEC's names."
)

MAXIMUM_ROWS = 1000
MAXIMUM_FAILURES = 5

_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_BENCHMARK = re.compile(r"\d{3}\.[A-Za-z0-9_]{1,30}")
_COMPOSITE = re.compile(r"(?:Est\. )?(SPEC[A-Za-z0-9_()]{3,40}(?:base|peak)\w{0,6})")
_VERSION = re.compile(r"SPEC CPU(20\d\d) (?:Integer|Floating Point) .*")
_FAILURE = re.compile(
    r".*: (?:(?:command )?not found|Permission denied|No such file or directory)|Killed"
    r"|.*can't cd to .*|.*: cannot open .*|(?:\*\*\* )?(?:ERROR|Error)\b.{0,300}"
)
_WITHOUT_RESULT = frozenset({"NR", "CE", "RE", "VE"})


@dataclass(frozen=True, slots=True)
class _Row:
    """One benchmark: its base ratio and run time in seconds, and whether it ran well."""

    name: str
    ratio: float | None
    seconds: float | None
    status: str


class SpecCpuParser:
    """One trial's parser. Results are written at the end: there are no samples."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._table = ""
        self._columns: list[str] = []
        self._rows: dict[str, list[_Row]] = {}
        self._composites: dict[str, float] = {}
        self._begun = self._ended = False
        self._version: str | None = None
        self._failures: list[str] = []

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes. There are no samples."""
        for line in self._lines.feed(data, stream):
            self._read(line.rstrip())
        return ()

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means. A last line that nothing ended may lack digits and is left out."""
        for line in self._lines.rest():
            if _FAILURE.fullmatch(line.strip()):
                self._read(line.rstrip())
        rows = self._results()
        figures = self._figures(rows)
        troubles = self._troubles(rows, exit_status)
        notes = (UNOFFICIAL, *self._own_mean(rows)) if figures else ()
        version = None if self._version is None else f"SPEC CPU{self._version}"
        return Parsed(tuple(figures), (), (*troubles, *notes), not troubles, version)

    def _read(self, line: str) -> None:
        if _FAILURE.fullmatch(line.strip()):
            if len(self._failures) < MAXIMUM_FAILURES:
                self._failures.append(f"SPEC CPU failed: {tool_words(line)}.")
            return
        cells = _cells(line)
        if cells:
            self._read_cells(cells)

    def _read_cells(self, cells: list[str]) -> None:
        first = cells[0]
        if first == "valid":
            self._begun = True
        elif first == "Run number:":  # what comes after the results
            self._ended = True
        elif match := _VERSION.fullmatch(first):
            self._version = match[1]
        elif first.endswith("Results Table"):
            self._table = first
        elif first == "Benchmark":
            self._columns = cells
        elif _BENCHMARK.fullmatch(first):
            self._take(cells)
        elif match := _COMPOSITE.fullmatch(first):
            value = next((number for cell in cells[1:] if (number := _number(cell)) is not None), None)
            if value:
                self._composites[match[1]] = value

    def _take(self, cells: list[str]) -> None:
        rows = self._rows.setdefault(self._table, [])
        if len(rows) < MAXIMUM_ROWS:
            ratio = self._cell(cells, "Base Rate") or self._cell(cells, "Base Ratio")
            status = self._cell(cells, "Base Status")
            rows.append(_Row(cells[0], _number(ratio), _number(self._cell(cells, "Base Run Time")), status))

    def _cell(self, cells: list[str], column: str) -> str:
        """Return the cell under `column`, whose name is led by “Est.” in runs that are not reportable."""
        for name, cell in zip(self._columns, cells, strict=False):
            if name.removeprefix("Est. ") == column:
                return cell
        return ""

    def _results(self) -> list[_Row]:
        """Return one row for each benchmark: the selected ones, else the median of all iterations."""
        selected = self._rows.get("Selected Results Table")
        if selected is not None:
            return list({row.name: row for row in selected}.values())
        by_name: dict[str, list[_Row]] = {}
        for row in self._rows.get("Full Results Table", []):
            by_name.setdefault(row.name, []).append(row)
        return [_median(rows) for rows in by_name.values()]

    def _figures(self, rows: list[_Row]) -> list[Figure]:
        good = [row for row in rows if row.ratio and row.status not in _WITHOUT_RESULT]
        figures = [Figure(COMPOSITE, value, labels(name=name)) for name, value in self._composites.items()]
        if not figures and good:
            mean = math.exp(statistics.fmean(math.log(row.ratio or 1.0) for row in good))
            figures = [Figure(COMPOSITE, mean, labels(name=f"geometric mean of {len(good)}"))]
        figures += [Figure(RATIO, row.ratio or 0.0, labels(benchmark=row.name)) for row in good]
        return figures + [Figure(RUN_TIME, row.seconds, labels(benchmark=row.name)) for row in good if row.seconds]

    def _own_mean(self, rows: list[_Row]) -> list[str]:
        if self._composites or not rows:
            return []
        return [
            "SPEC gives no composite of these benchmarks: the mean shown is theirs, and compares with its like only."
        ]

    def _troubles(self, rows: list[_Row], exit_status: int | None) -> list[str]:
        troubles = list(self._failures)
        troubles += [
            f"{row.name} has no result ({tool_words(row.status) or 'no status'})."
            for row in rows
            if row.status in _WITHOUT_RESULT or not row.ratio
        ]
        if not rows and not troubles:
            troubles.append("SPEC CPU left no result, or was cut off before it wrote one.")
        elif rows and not (self._begun and self._ended):
            troubles.append("The beginning or the end of the result is missing.")
        if exit_status:
            troubles.append(f"SPEC CPU {how_it_ended(exit_status)}.")
        return troubles


def _cells(line: str) -> list[str]:
    """Return the cells of a line of CSV; none of one that is no CSV."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _median(rows: list[_Row]) -> _Row:
    """Return the row of the median ratio, as SPEC selects; one that failed where any did."""
    failed = next((row for row in rows if row.status in _WITHOUT_RESULT or row.ratio is None), None)
    order = sorted(rows, key=lambda row: row.ratio or 0.0)
    return failed or order[(len(order) - 1) // 2]
