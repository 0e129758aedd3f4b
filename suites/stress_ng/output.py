"""Reads what stress-ng says of memory: its stressors stream and memrate, versions 0.12 to 0.19, on either stream."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample, labels

# What stress-ng calls MB is 2^20 bytes (KB is 1024ULL and MB is KB * KB in its stress-ng.h).
READ = Metric("read_bandwidth", "Read bandwidth", Unit.MIB_PER_SECOND, Better.HIGHER, Kind.RATE)
WRITE = Metric("write_bandwidth", "Write bandwidth", Unit.MIB_PER_SECOND, Better.HIGHER, Kind.RATE)
BY_METHOD = Metric("method_bandwidth", "Bandwidth by method", Unit.MIB_PER_SECOND, Better.HIGHER, Kind.RATE)

METRICS = (READ, WRITE, BY_METHOD)

MAXIMUM_METHODS = 200
MAXIMUM_FAILURES = 5

_N = r"(\d{1,15}(?:\.\d{1,6})?)"
_LINE = re.compile(r"stress-ng: +([a-z]{1,8}): +\[\d{1,10}\] +(.*)")
_STREAM = re.compile(rf"(?:stress-ng-)?stream: memory rate: {_N} MB read/sec, {_N} MB write/sec.*")
_EARLY_MEMRATE = re.compile(rf"(?:stress-ng-)?memrate: +([a-z0-9]{{1,20}}): +{_N} MB/sec")
_MEMRATE = re.compile(rf"memrate +{_N} ([a-z0-9]{{1,20}}) MB per sec(?: \(.* mean of (\d{{1,6}}) instances?\))?.*")
_TOO_SHORT = re.compile(r".*(?:run duration|run) too short .*memory rate.*")
_ENDED = re.compile(r"successful run completed in \d.*")
_UNSUCCESSFUL = re.compile(r"unsuccessful run completed in \d.*")
_COMPLAINT = re.compile(
    r"stress-ng: (?:unrecognized|unknown|invalid).*|Value .* is out of range .*|.*: (?:command )?not found|Killed"
)
_GRAVE = frozenset({"fail", "error"})


class _Rates(NamedTuple):
    read: float
    write: float


class StressNgParser:
    """One trial's parser. stress-ng says everything at its end: there are no samples."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._streams: list[_Rates] = []
        self._methods: dict[str, float] = {}
        self._instances = 1
        self._failures: list[str] = []
        self._too_short = False
        self._ended = False

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes; which stream they came on differs by version and means nothing."""
        for line in self._lines.feed(data, stream):
            self._read(line.rstrip())
        return ()

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means. A last line that nothing ended may lack digits and is left out."""
        for line in self._lines.rest():
            if _ENDED.search(line) or _COMPLAINT.fullmatch(line.strip()):
                self._read(line.rstrip())
        troubles = self._troubles(exit_status)
        figures = self._figures()
        if not figures and not troubles:
            troubles.append("stress-ng printed no rate of memory: this is the output of another stressor.")
        return Parsed(tuple(figures), (), (*troubles, *self._notes()), complete=not troubles)

    def _read(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            if _COMPLAINT.fullmatch(line):
                self._fail(line)
            return
        level, words = match.groups()
        if level in _GRAVE:
            self._fail(words)
        elif found := _STREAM.fullmatch(words):
            self._streams.append(_Rates(float(found[1]), float(found[2])))
        elif found := _EARLY_MEMRATE.fullmatch(words):
            self._add_method(found[1], float(found[2]))
        elif found := _MEMRATE.fullmatch(words):
            self._instances = max(self._instances, int(found[3] or 1))
            self._add_method(found[2], float(found[1]) * int(found[3] or 1))
        elif _TOO_SHORT.fullmatch(words):
            self._too_short = True
        elif _ENDED.fullmatch(words):
            self._ended = True
        elif _UNSUCCESSFUL.fullmatch(words):
            self._fail(words)

    def _add_method(self, method: str, rate: float) -> None:
        """Add an instance's rate: versions before 0.14 print a line for each, later ones a mean of all."""
        if method in self._methods or len(self._methods) < MAXIMUM_METHODS:
            self._methods[method] = self._methods.get(method, 0.0) + rate

    def _fail(self, words: str) -> None:
        if len(self._failures) < MAXIMUM_FAILURES:
            self._failures.append(f"stress-ng failed: {tool_words(words)}")

    def _figures(self) -> list[Figure]:
        """Return all instances together; of memrate's methods the best that reads, the best that writes, and all."""
        if self._streams:
            read, write = (sum(rates) for rates in zip(*self._streams, strict=True))
            return [Figure(READ, read), Figure(WRITE, write)]
        reading = [rate for method, rate in self._methods.items() if method.startswith("read")]
        writing = [rate for method, rate in self._methods.items() if method.startswith(("write", "memset"))]
        figures = [Figure(metric, max(rates)) for metric, rates in ((READ, reading), (WRITE, writing)) if rates]
        return figures + [Figure(BY_METHOD, rate, labels(method=method)) for method, rate in self._methods.items()]

    def _notes(self) -> list[str]:
        if self._methods and self._instances > 1:
            return [f"stress-ng prints the mean of {self._instances} instances: shown {self._instances} times that."]
        return []

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = list(self._failures)
        if self._too_short:
            troubles.append(
                "stress-ng worked for too short to tell the memory's rate: it wants 4.5 s inside its kernels, which "
                "takes twice as long on a busy host. Give it more time."
            )
        if not self._ended and not self._failures:
            troubles.append("stress-ng was cut off: it did not say that its run was completed.")
        if exit_status:
            troubles.append(f"stress-ng {how_it_ended(exit_status)}.")
        return troubles
