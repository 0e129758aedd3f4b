"""Reads what UnixBench's Run prints (versions 5.1.3 and 6.0): the index and its parts, for each number of copies."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample, labels

INDEX = Metric("index", "Index", Unit.ONE, Better.HIGHER, Kind.RATE)
PART_INDEX = Metric("part_index", "Index by part", Unit.ONE, Better.HIGHER, Kind.RATE)
LOOPS = Metric("loops", "Loops", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
WHETSTONE = Metric("whetstone", "Whetstone (MWIPS)", Unit.ONE, Better.HIGHER, Kind.RATE)
FILE_COPY = Metric("file_copy", "File copy", Unit.KIB_PER_SECOND, Better.HIGHER, Kind.RATE)
SCRIPTS = Metric("scripts", "Shell scripts a minute", Unit.ONE, Better.HIGHER, Kind.RATE)

METRICS = (INDEX, PART_INDEX, LOOPS, WHETSTONE, FILE_COPY, SCRIPTS)

# KBps counts 1,024 bytes (fstime.c adds up blocks of 256 bytes, four to a K).
_UNITS: Mapping[str, Metric] = {"lps": LOOPS, "MWIPS": WHETSTONE, "KBps": FILE_COPY, "lpm": SCRIPTS}

UNPATCHED = 16
"""Copies beyond which 5.1.3 runs nothing, unless its maxCopies was raised; 6.0 has no such bound."""

MAXIMUM_SECTIONS = 64
MAXIMUM_PARTS = 200
MAXIMUM_FAILURES = 5

_N = r"(\d{1,15}(?:\.\d{1,6})?)"
_NAME = r"(\S.{2,60}?)"
_VERSION = re.compile(r"\s*BYTE UNIX Benchmarks \(Version (\d{1,3}(?:\.\d{1,3}){0,3})\)")
_SECTION = re.compile(r"(\d{1,6}) CPUs? in system; running (\d{1,6}) parallel cop(?:y|ies) of tests")
_RESULT = re.compile(rf"{_NAME} +{_N} (lps|MWIPS|KBps|lpm) +\([\d.]{{1,12}} s, \d{{1,6}} samples\)")
_TABLE = re.compile(r"System Benchmarks (?:Partial Index|Index Values) +BASELINE +RESULT +INDEX")
_PART = re.compile(rf"{_NAME} +{_N} +{_N} +{_N}")
_SCORE = re.compile(rf"System Benchmarks (?:Partial )?Index Score(?: \(Partial Only\))? +{_N}")
_FAILURE = re.compile(
    r".*can't cd to .*|no UnixBench .+"
    r"|.*: (?:(?:command )?not found|Permission denied|No such file or directory|cannot open .*)|Killed|Run: .+"
    r"|make(?:\[\d+\])?: \*\*\* .+|.*: unknown test .*"
)
_HARMLESS = re.compile(r".*3dinfo.*|locale: .*")
"""Run asks for a program that shows graphics cards, and for locales: neither matters."""


class _Value(NamedTuple):
    value: float
    unit: str


@dataclass(slots=True)
class _Section:
    """One pass over the tests with so many copies at once."""

    copies: int
    results: dict[str, _Value] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)
    in_table: bool = False
    score: float | None = None


class UnixBenchParser:
    """One trial's parser. Run prints its report at the end of each pass: there are no samples."""

    def __init__(self, *, parts: bool = True) -> None:
        self._show_parts = parts
        self._lines = LineSplitter()
        self._version: str | None = None
        self._sections: list[_Section] = []
        self._failures: list[str] = []

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes. There are no samples."""
        for line in self._lines.feed(data, stream):
            self._read(line.strip())
        return ()

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means. A last line that nothing ended may lack digits and is left out."""
        for line in self._lines.rest():
            if _FAILURE.fullmatch(line.strip()):
                self._read(line.strip())
        troubles = self._troubles(exit_status)
        version = None if self._version is None else f"UnixBench {self._version}"
        return Parsed(tuple(self._figures()), (), (*troubles, *self._notes()), not troubles, version)

    def _read(self, line: str) -> None:
        if match := _VERSION.fullmatch(line):
            self._version = self._version or match[1]
        elif match := _SECTION.fullmatch(line):
            if len(self._sections) < MAXIMUM_SECTIONS:
                self._sections.append(_Section(int(match[2])))
        elif _FAILURE.fullmatch(line) and not _HARMLESS.fullmatch(line):
            if len(self._failures) < MAXIMUM_FAILURES:
                self._failures.append(f"UnixBench failed: {tool_words(line)}.")
        elif self._sections:
            _read_result(self._sections[-1], line)

    def _figures(self) -> list[Figure]:
        """Return the indices, that of the most copies first, then the parts and what each measured."""
        sections = sorted((section for section in self._sections if section.score), key=lambda one: -one.copies)
        figures = [Figure(INDEX, section.score or 0.0, labels(copies=str(section.copies))) for section in sections]
        if not self._show_parts:
            return figures
        for section in self._sections:
            copies = str(section.copies)
            figures += [
                Figure(PART_INDEX, index, labels(copies=copies, test=name)) for name, index in section.parts.items()
            ]
            figures += [
                Figure(_UNITS[found.unit], found.value, labels(copies=copies, test=name))
                for name, found in section.results.items()
            ]
        return figures

    def _notes(self) -> list[str]:
        notes = []
        single = next((section for section in self._sections if section.copies == 1 and section.score), None)
        most = max((section for section in self._sections if section.score), key=lambda one: one.copies, default=None)
        if most is not None and most.copies > UNPATCHED:
            notes.append(f"This build runs more than {UNPATCHED} copies: it is 6.0 or later, or patched.")
        if single is not None and most is not None and most.copies > 1:
            notes += _scaling(single, most)
        return notes

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = list(self._failures)
        troubles += [_without_score(section, self._version) for section in self._sections if section.score is None]
        if not self._sections and not troubles:
            troubles.append("UnixBench was cut off before it reported, or this is not its output.")
        if exit_status:
            troubles.append(f"UnixBench {how_it_ended(exit_status)}.")
        return troubles


def _read_result(section: _Section, line: str) -> None:
    if match := _SCORE.fullmatch(line):
        section.score = float(match[1])
        section.in_table = False
    elif _TABLE.fullmatch(line):
        section.in_table = True
    elif (match := _RESULT.fullmatch(line)) and len(section.results) < MAXIMUM_PARTS:
        section.results[match[1]] = _Value(float(match[2]), match[3])
    elif section.in_table and (match := _PART.fullmatch(line)) and len(section.parts) < MAXIMUM_PARTS:
        section.parts[match[1]] = float(match[4])


def _without_score(section: _Section, version: str | None) -> str:
    copies = "1 copy" if section.copies == 1 else f"{section.copies} copies"
    if not section.results and section.copies > UNPATCHED:
        return (
            f"With {copies} UnixBench {version or ''} ran nothing at all and called that a success: beyond {UNPATCHED} "
            "copies version 5 has to be patched (maxCopies in Run), or use version 6."
        )
    return f"The pass with {copies} has no index: a test failed, or the output was cut off."


def _scaling(single: _Section, most: _Section) -> list[str]:
    """Return the note that sets the whole index beside Dhrystone's, which alone is the processor's."""
    name = next((name for name in single.parts if name.startswith("Dhrystone")), None)
    if name is None or name not in most.parts or len(single.parts) < 2 or not single.parts[name] or not single.score:
        return []
    whole, processor = (most.score or 0.0) / single.score, most.parts[name] / single.parts[name]
    grown = f"From 1 to {most.copies} copies the index grows {whole:.3g} times, Dhrystone {processor:.3g} times"
    return [f"{grown}: parts that copy files or call the kernel weigh in the index, and do not scale like processors."]
