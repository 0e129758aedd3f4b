"""Reads what John McCalpin's STREAM prints (version 5.9 and 5.10), and binaries of vendors that print the same."""

import re
from dataclasses import dataclass, field

from suites.base import LineSplitter, Parsed
from suites.stream.metrics import Rates, Sweep
from suites.tool_words import how_it_ended, tool_words

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


@dataclass(slots=True)
class _Run:
    """One run of the program: one thread count."""

    threads: int = 1  # built without OpenMP, it says nothing of threads
    ticks: float | None = None
    rates: dict[str, Rates] = field(default_factory=dict)
    valid: bool = False
    wrong: bool = False


class OriginalParser:
    """Reads one run after another."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._runs: list[_Run] = []
        self._version: str | None = None
        self._element = 8
        self._array: int | None = None
        self._failures: list[str] = []

    @property
    def recognised(self) -> bool:
        """Whether the program has said that it is STREAM."""
        return bool(self._runs)

    def feed(self, data: bytes, stream: str = "stdout") -> tuple[()]:
        """Take the next bytes. There are no samples: the program prints its figures at its end."""
        for line in self._lines.feed(data, stream):
            self._read(line.strip())
        return ()

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means: the figures of the runs whose arrays were right."""
        for line in self._lines.rest():
            if _VALID.fullmatch(line.strip()) or _FAILURE.fullmatch(line.strip()):
                self._read(line.strip())
        sweep = Sweep({run.threads: run.rates for run in self._runs if run.valid and not run.wrong})
        troubles = self._troubles(exit_status)
        notes = (*troubles, *sweep.notes(), *self._array_note())
        version = f"STREAM {self._version}" if self._version else None
        return Parsed(tuple(sweep.figures()), (), notes, not troubles, version)

    def _read(self, line: str) -> None:
        if match := _VERSION.fullmatch(line):
            self._version = match[1]
            if len(self._runs) < MAXIMUM_RUNS:
                self._runs.append(_Run())
        elif _FAILURE.fullmatch(line) and len(self._failures) < 5:
            self._failures.append(tool_words(line))
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
                troubles.append(f"With {run.threads} threads the solution did not validate: there is no figure.")
            elif not run.valid:
                troubles.append(
                    f"STREAM was cut off with {run.threads} threads: it did not say that the solution validates."
                )
        if exit_status:
            troubles.append(f"STREAM {how_it_ended(exit_status)}.")
        return troubles

    def _array_note(self) -> list[str]:
        if self._array is None:
            return []
        size = self._array * self._element / 2**20
        return [f"Its arrays have {size:.4g} MiB each: less than four times the last-level cache measures the cache."]


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
