"""Phoronix Test Suite: the results in composite.xml."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from suites.output_times import ISO, start_in
from suites.outputs import OutputFormat, ToolOutput
from suites.programs import Program
from suites.read_only.base import (
    MOST_FIGURES,
    RUN_CHECKS,
    RUNS,
    SPREAD,
    ReadOnlySuite,
    name_of,
    spread_of,
    tool_output,
)
from suites.units import Unit, is_spelling
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

DEEPEST = 20
LONGEST_TEXT = 10_000

_BEGUN = start_in(rf"<TimeStamp>{ISO}</TimeStamp>")
_FIRST = re.compile(r"<PhoronixTestSuite>")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,12})?(?:[eE][-+]?\d{1,3})?")
_FIELDS = frozenset({"Title", "AppVersion", "Description", "Scale", "Proportion", "Value", "RawString"})
_DIRECTIONS = {"HIB": Better.HIGHER, "LIB": Better.LOWER}

_RATES = frozenset(Unit) - {Unit.ONE, Unit.PERCENT, Unit.SECOND}
_TIMES = frozenset({Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND})


class _RefusedError(Exception):
    """The document has a type or entities, or is nested too deeply."""


@dataclass(slots=True)
class _Reader:
    """Collects the fields of each entry of each result."""

    path: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    size: int = 0
    result: dict[str, str] = field(default_factory=dict)
    entry: dict[str, str] = field(default_factory=dict)
    entries: list[dict[str, str]] = field(default_factory=list)

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        if len(self.path) >= DEEPEST:
            raise _RefusedError
        self.path.append(name)
        self.text, self.size = [], 0
        if name == "Result":
            self.result = {}
        elif name == "Entry":
            self.entry = {}

    def data(self, text: str) -> None:
        if self.size < LONGEST_TEXT:
            self.text.append(text)
            self.size += len(text)

    def end(self, name: str) -> None:
        text = "".join(self.text).strip()[:LONGEST_TEXT]
        if name in _FIELDS and "Result" in self.path:
            (self.entry if "Entry" in self.path else self.result)[name] = text
        elif name == "Identifier" and "Entry" in self.path:
            self.entry["system"] = text
        elif name == "Entry" and "Result" in self.path and len(self.entries) < MOST_FIGURES:
            self.entries.append({**self.result, **self.entry})
        self.path.pop()
        self.text, self.size = [], 0


def _refuse(*_arguments: object) -> None:
    raise _RefusedError


def _entries(document: str) -> tuple[list[dict[str, str]], bool]:
    """Return the entries up to where the document ends or breaks, and whether it is whole.

    A document type, and with it entities, is refused.
    """
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, _RefusedError):
        return reader.entries, False
    return reader.entries, True


def _metric(scale: str, better: Better) -> Metric | None:
    """Return the metric of a unit as the test profiles write it; None without one."""
    for unit in Unit:
        if (unit in _TIMES and is_spelling(scale.lower(), unit)) or (unit in _RATES and is_spelling(scale, unit)):
            kind = MetricKind.TIME if unit in _TIMES else MetricKind.RATE
            return Metric("result", "Result", unit, better, kind)
    if not scale:
        return None
    return Metric("score", f"Score ({name_of(scale)[:40]})", Unit.ONE, better, MetricKind.RATE)


class Phoronix(ReadOnlySuite):
    """A result of a test profile: the mean of its runs."""

    id = "phoronix"
    title = "Phoronix Test Suite"
    summary = "Means of repeated runs of test profiles (composite.xml)."
    resource = Resource.CPU
    program = Program("Phoronix Test Suite", ("phoronix-test-suite",))
    parameters = (RUNS, SPREAD)
    metrics = (Metric("result", "Result", Unit.ONE, Better.HIGHER, MetricKind.RATE),)
    checks = RUN_CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The result file."""
        return (OutputFormat(title="Phoronix composite.xml", first=_FIRST, read=self._read, begun=_BEGUN),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        start, end = text.find("<PhoronixTestSuite>"), text.rfind("</PhoronixTestSuite>")
        if start < 0:
            return
        entries, whole = _entries(text[start : None if end < 0 else end + len("</PhoronixTestSuite>")])
        problems = () if whole else ("The document is cut off or not valid XML: later results are missing.",)
        for one in entries:
            better = _DIRECTIONS.get(one.get("Proportion", ""))
            value = one.get("Value", "")
            known = None if better is None else _metric(one.get("Scale", ""), better)
            if known is None or not _NUMBER.fullmatch(value):
                continue
            runs = [float(part) for part in one.get("RawString", "").split(":") if _NUMBER.fullmatch(part)]
            of = (one.get("Title", ""), one.get("AppVersion", ""), one.get("Description", ""), one.get("system", ""))
            name = name_of(", ".join(filter(None, of)))
            stated = {"runs": len(runs), "spread": spread_of(runs)}
            yield tool_output(self.id, (Figure(known, float(value)),), stated, name=name, problems=problems)
