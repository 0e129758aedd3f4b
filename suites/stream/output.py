"""Parse the output of Benchwright's STREAM kernels and of John McCalpin's STREAM 5.9 and 5.10."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.identities import Ascending, Identities, PrintedLine, Product
from suites.line_parser import LineParser
from suites.outputs import ParsedTrial
from suites.probe import OutputHeader, ProbeParser, Record
from suites.quantities import count_text
from suites.stream.metrics import BANDWIDTH, KERNELS, Rates, Sweep
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Figure, Sample, labels

MAXIMUM_RUNS = 4096

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
_VERSION = re.compile(r"STREAM version \$Revision: (\d{1,3}\.\d{1,3}) \$")
_ARRAY = re.compile(r"Array size = (\d{1,15}) .*")
_ELEMENT = re.compile(r"This system uses (\d{1,2}) bytes per .*")
_THREADS = re.compile(r"Number of Threads counted = (\d{1,6})")
_TICKS = re.compile(r"\(= (\d{1,15}) clock ticks\)")
_KERNEL = re.compile(rf"(Copy|Scale|Add|Triad): +{_N} +{_N} +{_N} +{_N}")
_VALID = re.compile(r"Solution Validates.*")
_WRONG = re.compile(r"Failed Validation on array.*|.*Validation failed.*", re.IGNORECASE)
_FAILURE = re.compile(r".*: (?:command )?not found|.*: Permission denied|.*: No such file or directory|Killed")

_ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
"""Arrays that each kernel moves."""

_PLAIN = r"\d{1,15}(?:\.\d{1,9})?"


def _kernel_line(name: str) -> PrintedLine:
    """Return a kernel's row; its rate and best time are named by it."""
    return PrintedLine(
        re.compile(
            rf"{name}: +(?P<{name}_rate>{_PLAIN}) +(?P<avg>{_PLAIN}) +(?P<{name}_min>{_PLAIN}) +(?P<max>{_PLAIN})"
        ),
        (Ascending((f"{name}_min", "avg", "max"), Unit.SECOND, {f"{name}_min": "min"}),),
    )


IDENTITIES = Identities(
    (
        PrintedLine(re.compile(r"Array size = (?P<elements>\d{1,15}) ")),
        PrintedLine(re.compile(r"This system uses (?P<element>\d{1,2}) bytes per ")),
        *map(_kernel_line, _ARRAYS),
    ),
    tuple(
        Product(
            text=f"{name}: {arrays} arrays / best time",
            result=f"{name}_rate",
            factors=("elements", "element"),
            divisors=(f"{name}_min",),
            scale=arrays * 1e-6,
            unit=Unit.MB_PER_SECOND,
        )
        for name, arrays in _ARRAYS.items()
    ),
    begins=_VERSION,
)
"""Identities of STREAM's table."""


@dataclass(slots=True)
class _Run:
    """One run of the program: one thread count."""

    threads: int = 1  # built without OpenMP, it does not print the threads
    ticks: float | None = None
    rates: dict[str, Rates] = field(default_factory=dict)
    valid: bool = False
    wrong: bool = False


class OriginalParser(LineParser):
    """Parser of consecutive runs of McCalpin's STREAM."""

    unfinished = (_VALID, _FAILURE)

    def __init__(self) -> None:
        super().__init__()
        self._runs: list[_Run] = []
        self._version: str | None = None
        self._element = 8
        self._array: int | None = None

    @property
    def recognised(self) -> bool:
        """Whether the output is that of STREAM."""
        return bool(self._runs)

    def _result(self, exit_status: int | None) -> ParsedTrial:
        sweep = Sweep({run.threads: run.rates for run in self._runs if run.valid and not run.wrong})
        troubles = self._troubles(exit_status)
        notes = (*troubles, *sweep.notes(), *self._array_note())
        version = f"STREAM {self._version}" if self._version else None
        return ParsedTrial(tuple(sweep.figures()), (), notes, not troubles, version)

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _VERSION.fullmatch(line):
            self._version = match[1]
            if len(self._runs) < MAXIMUM_RUNS:
                self._runs.append(_Run())
        elif _FAILURE.fullmatch(line):
            self._fail(line)
        elif match := _ARRAY.fullmatch(line):
            self._array = int(match[1])
        elif match := _ELEMENT.fullmatch(line):
            self._element = int(match[1])
        elif self._runs:
            _read_run(self._runs[-1], line)

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = [f"STREAM failed: {words}." for words in self._failures]
        for run in self._runs:
            if run.wrong:
                troubles.append(f"With {count_text(run.threads, 'thread')} the solution did not validate: no figure.")
            elif not run.valid:
                troubles.append(
                    f"STREAM was cut off with {count_text(run.threads, 'thread')}: its validation line is missing."
                )
        troubles += exit_notes("STREAM", exit_status)
        return troubles

    def _array_note(self) -> list[str]:
        if self._array is None:
            return []
        size = self._array * self._element / 2**20
        return [f"Array size: {size:.4g} MiB each. Arrays below four times the last-level cache measure the cache."]


def _read_run(run: _Run, line: str) -> None:
    if match := _THREADS.fullmatch(line):
        run.threads = int(match[1])
    elif match := _TICKS.fullmatch(line):
        run.ticks = float(match[1])
    elif match := _KERNEL.fullmatch(line):
        best, fastest, slowest = float(match[2]), float(match[4]), float(match[5])
        if best > 0 and fastest > 0 and slowest > 0:
            run.rates[match[1].lower()] = Rates(best, best * fastest / slowest, run.ticks)
    elif _VALID.fullmatch(line):
        run.valid = True
    elif _WRONG.fullmatch(line):
        run.wrong = True


class StreamReader:
    """Reader of the records of Benchwright's kernels."""

    def __init__(self) -> None:
        self._measured: dict[int, dict[str, Rates]] = {}
        self._valid: set[int] = set()
        self._invalid: set[int] = set()

    def take(self, record: Record) -> list[Sample]:
        """Parse a record; an iteration's rates are samples, the first iteration's warm-up."""
        threads = record.count("threads")
        if threads is None:
            return []
        if record.kind == "live":
            return _live(record, threads)
        if record.kind == "result":
            self._take_result(record, threads)
        elif record.kind == "valid":
            self._valid.add(threads)
        elif record.kind == "invalid":
            self._invalid.add(threads)
        return []

    def conclude(self, head: OutputHeader) -> tuple[list[Figure], list[str]]:
        """Return the figures of all thread counts with valid arrays."""
        del head
        right = self._valid - self._invalid
        sweep = Sweep({threads: rates for threads, rates in self._measured.items() if threads in right})
        wrong = [
            f"With {count_text(threads, 'thread')} the arrays were wrong at the end: no figure."
            for threads in sorted(self._invalid)
        ]
        return sweep.figures(), [*wrong, *sweep.notes()]

    def _take_result(self, record: Record, threads: int) -> None:
        kernel, best, worst = record.words.get("kernel", ""), record.number("best"), record.number("worst")
        if kernel in KERNELS and best and worst is not None:
            self._measured.setdefault(threads, {})[kernel] = Rates(best, worst, record.number("ticks"))


def _live(record: Record, threads: int) -> list[Sample]:
    time, iteration = record.number("time"), record.count("iteration")
    if time is None or iteration is None:
        return []
    rates = {metric: record.number(name) for name, metric in KERNELS.items()}
    marks, first = labels(threads=str(threads)), iteration == 0
    samples = [Sample(time, metric, rate, marks, first) for metric, rate in rates.items() if rate]
    triad = rates[KERNELS["triad"]]
    if first or not triad:
        return samples
    return [Sample(time, BANDWIDTH, triad, marks), *samples]


class StreamParser:
    """Parser of one trial. The output itself shows which program printed it."""

    def __init__(self) -> None:
        self._probe = ProbeParser("stream", StreamReader())
        self._original = OriginalParser()

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Parse the next bytes; return the samples they complete. The original prints none."""
        self._original.feed(data, stream)
        return self._probe.feed(data, stream)

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output."""
        chosen = self._original if self._original.recognised else self._probe
        return chosen.finish(exit_status)
