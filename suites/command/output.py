"""Parse the output of a command of the user: its time, and a figure by pattern or JSON path."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from suites.command.number_edges import suffix_after, whole_number
from suites.command.parameters import JSON, PATTERN, TIME, WALL_TIME, figure_metric, labels_of, scanned
from suites.command.pattern import MAXIMUM_LINE, Pattern, PatternError
from suites.line_parser import LineSplitter
from suites.outputs import ParsedTrial
from suites.parameters import Values
from suites.strict_json import read_json
from suites.tool_messages import exit_text, printable_message
from suites.units import Unit, is_spelling, measures_as
from suites.vocab import Figure, Sample

MAXIMUM_JSON = 4 * 2**20
"""Maximum bytes of output parsed as JSON."""

ENOUGH = 10
"""Multiple of the clock's resolution below which the resolution error exceeds a tenth."""

BEFORE_FAILED = "benchwright-before failed"
"""Printed if the command before the trial fails."""

TIMED_OUT = 124
"""Exit status of timeout(1) when it ended the command."""

_TIMED = re.compile(
    r"benchwright-timed (\d{1,9}\.\d{2,6}) s, status (\d{1,3}), resolution (0\.\d{2,6}) s, (accepted|not accepted)"
)
_VALUE = re.compile(r"benchwright-value (\S[^\n]{0,999})")
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")
_PREFIX = re.compile(r"[kKMGTPE]i?|‰|(?:[kKMGTPEm]i?)?b(?:its?)?")
_AMBIGUOUS = {"m": "minutes or thousandths", "b": "bits or bytes"}


@dataclass(frozen=True, slots=True)
class _Timed:
    """Report of the clock: seconds, exit status and clock resolution in seconds."""

    seconds: float
    status: int
    resolution: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class _Match:
    """The group's text of a line, from `start` to `end` without blanks around it."""

    line: str
    start: int
    end: int

    @classmethod
    def of(cls, line: str, span: tuple[int, int]) -> "_Match":
        text = line[span[0] : span[1]]
        start = span[0] + len(text) - len(text.lstrip())
        return cls(line, start, start + len(text.strip()))

    @property
    def text(self) -> str:
        return self.line[self.start : self.end]

    @property
    def suffix(self) -> str:
        """The letters directly after it."""
        return suffix_after(self.line, self.end)

    def fits(self, unit: Unit) -> bool:
        """Return whether the suffix is a spelling of `unit`, its prefix, or nothing."""
        if self.suffix in _AMBIGUOUS:
            return False
        return unit.startswith(self.suffix.replace("µ", "u").replace("μ", "u")) or is_spelling(self.suffix, unit)

    def refusal(self, unit: Unit) -> str:
        """Return why the text is not the figure in `unit`; empty if it is."""
        shown = printable_message(self.text)
        if _NUMBER.fullmatch(self.text) is None:
            return f"The match is not a number: “{shown}”."
        if whole := whole_number(self.line, self.start, self.end):
            return (
                f"The pattern cuts “{shown}” out of the number “{printable_message(whole)}”: no figure. Match all of "
                "it, and print it without separators of thousands, as 1234567.8 or 1.2e6."
            )
        if printed := self._other_unit(unit):
            either = f" ({_AMBIGUOUS[self.suffix]})" if self.suffix in _AMBIGUOUS else ""
            return (
                f"The command prints “{printable_message(self.text + printed)}”{either}, and the unit of the step is "
                f"{unit}: no figure. Set the unit that is printed, or print the number in {unit}."
            )
        return ""

    def _other_unit(self, unit: Unit) -> str:
        """Return the suffix if it is another unit than `unit`, or the next word if that is one."""
        if self.suffix:
            other = _PREFIX.fullmatch(self.suffix) or any(measures_as(self.suffix, one) for one in Unit)
            return self.suffix if other and not self.fits(unit) else ""
        blank = self.line[self.end : self.end + 1].isspace()
        word = suffix_after(self.line, self.end + 1) if blank else ""
        same = is_spelling(word, unit) or is_spelling(word, Unit.ONE)
        other = _PREFIX.fullmatch(word) is not None or any(measures_as(word, one) for one in Unit)
        return f" {word}" if word and other and not same else ""


class CommandParser:
    """Parser of one trial. No samples: the format of the output is not known.

    A scan runs the command once for each value; a line in both streams begins the output of each.
    """

    def __init__(self, values: Values) -> None:
        pattern, error = None, ""
        if values["figure"] == PATTERN:
            try:
                pattern = Pattern.read(str(values["pattern"]))
            except PatternError as found:
                error = str(found)
        self._values = values
        self._lines = LineSplitter(maximum=MAXIMUM_JSON if values["figure"] == JSON else MAXIMUM_LINE)
        self._runs = {name: _TimedRun(values, pattern, error) for name in scanned(values)}
        first = self._runs.get("")
        self._current = dict.fromkeys(("stdout", "stderr"), first)
        self._last = ""

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Parse the next bytes of a stream."""
        for line in self._lines.feed(data, stream):
            self._take(line, stream)
        return []

    def _take(self, line: str, stream: str) -> None:
        if (match := _VALUE.fullmatch(line)) and match[1] in self._runs:
            self._current[stream] = self._runs[match[1]]
            self._runs[match[1]].begun = True
        elif line == BEFORE_FAILED:
            next((run for run in self._runs.values() if not run.begun), _TimedRun(self._values)).not_begun(self._last)
        elif (run := self._current.get(stream)) is not None:
            run.take(line, stream)
        self._last = line if line.strip() else self._last

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output."""
        for line in self._lines.rest():  # if the command ended by itself, an unterminated last line is complete
            run = self._current["stdout"]
            if run is not None:
                run.take(line, "stdout", whole=run.ended)
        figures: list[Figure] = []
        notes: list[str] = []
        complete = True
        version: str | None = None
        not_run: list[str] = []
        for name, run in self._runs.items():
            if not complete and not (run.begun or run.before_failed):
                not_run.append(name)
                continue
            found, failures, remarks, clock = run.finish(exit_status)
            version = version or clock
            complete = complete and not failures
            figures += [replace(figure, labels=labels_of(name)) for figure in found]
            notes += [f"{name}: {note}" if name else note for note in (*failures, *remarks)]
        if not_run:
            notes.append(f"Not run: {', '.join(not_run)}.")
        # The program's own version is not known; comparable runs need the same clock.
        return ParsedTrial(tuple(figures), (), tuple(notes), complete, version)


@dataclass(slots=True)
class _TimedRun:
    """One run of the command: its time and figure."""

    values: Values
    _pattern: Pattern | None = None
    _pattern_error: str = ""
    begun: bool = False
    before_failed: bool = False
    _timed: _Timed | None = None
    _found: _Match | None = None
    _json_lines: list[str] = field(default_factory=list)
    _size: int = 0
    _last: str = ""

    @property
    def ended(self) -> bool:
        """Whether the clock printed the time."""
        return self._timed is not None

    def finish(self, exit_status: int | None) -> tuple[list[Figure], list[str], list[str], str | None]:
        """Return the figures, the failures, the remarks and the clock."""
        notes = self._failures(exit_status)
        figures = []
        value = None if self.values["figure"] == TIME else self._value(notes)
        if value is not None:
            figures.append(Figure(figure_metric(self.values), value))
        if self._timed is not None and self._timed.seconds > 0:
            figures.append(Figure(WALL_TIME, self._timed.seconds))
        clock = None if self._timed is None else f"clock of {self._timed.resolution:g} s"
        return figures, notes, [] if notes else self._remarks(), clock

    def not_begun(self, last: str) -> None:
        """Note that the command before it failed, with its last output."""
        self.before_failed, self._last = True, last

    def take(self, line: str, stream: str, *, whole: bool = True) -> None:
        """Parse a line."""
        if match := _TIMED.fullmatch(line):
            self._timed = _Timed(float(match[1]), int(match[2]), float(match[3]), match[4] == "accepted")
            return
        self._last = line if line.strip() else self._last
        if self._pattern is not None and whole and (self._found is None or self.values["occurrence"] == "last"):
            span = self._pattern.span(line)
            self._found = self._found if span is None else _Match.of(line, span)
        if self.values["figure"] == JSON and stream == "stdout" and self._size <= MAXIMUM_JSON:
            self._size += len(line)
            self._json_lines.append(line)

    def _failures(self, exit_status: int | None) -> list[str]:
        timed = self._timed
        if timed is None and self.before_failed:
            return [f"The command before the trial failed, so nothing was measured.{self._last_output()}"]
        if timed is None:
            status = f" It {exit_text(exit_status)}." if exit_status else ""
            return [f"The command was cut off: its clock printed no time.{status}{self._last_output()}"]
        if timed.accepted and (timed.seconds > 0 or self.values["figure"] != TIME):
            return []
        if timed.accepted:
            return [f"The command ended within one step of the clock, {timed.resolution:g} s: no time."]
        if timed.status == TIMED_OUT and float(self.values["timeout"]) > 0:
            return [f"The command exceeded its time limit of {self.values['timeout']:g} s."]
        how = "ended with exit status 0" if timed.status == 0 else exit_text(timed.status)
        return [f"The command {how}, which does not count as success.{self._last_output()}"]

    def _last_output(self) -> str:
        return f" Last output: {printable_message(self._last)}" if self._last else ""

    def _value(self, notes: list[str]) -> float | None:
        """Return the figure; if there is none, add the reason to `notes`."""
        if self._pattern_error:
            notes.append(self._pattern_error)
        elif self.values["figure"] == JSON:
            return self._value_of_json(notes)
        elif self._pattern is not None and self._pattern.left <= 0:
            notes.append("The output was too long for the pattern: it was not searched completely.")
        elif self._found is None:
            notes.append("No line of the output matches the pattern: no figure.")
        elif refusal := self._found.refusal(Unit(str(self.values["unit"]))):
            notes.append(refusal)
        else:
            return _finite(float(self._found.text), notes)
        return None

    def _value_of_json(self, notes: list[str]) -> float | None:
        if self._size > MAXIMUM_JSON:
            notes.append(f"The output exceeds {MAXIMUM_JSON // 2**20} MiB, the limit for JSON.")
            return None
        try:
            value = _at(self._document(), str(self.values["json_path"]))
        except ValueError as error:
            notes.append(f"The figure cannot be read from the JSON: {printable_message(str(error))}.")
            return None
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            notes.append("The value at the JSON path is not a number.")
            return None
        return _finite(float(value), notes)

    def _document(self) -> Any:
        """Return the JSON: all of standard output, or its last line that is an object or a list."""
        try:
            return read_json("\n".join(self._json_lines))
        except ValueError as error:
            for line in reversed(self._json_lines):
                if line.lstrip().startswith(("{", "[")):
                    return read_json(line)
            raise error from None

    def _remarks(self) -> list[str]:
        timed = self._timed
        if timed is None:
            return []
        remarks = []
        if timed.seconds < ENOUGH * timed.resolution:
            remarks.append(
                f"The command took less than {ENOUGH} steps of the clock ({timed.resolution:g} s): the clock "
                "dominates its time. Increase its work."
            )
        if self._found is not None and not self._found.fits(Unit(str(self.values["unit"]))):
            remarks.append(
                f"“{printable_message(self._found.suffix)}” follows the number and is not applied: the unit is "
                f"{self.values['unit']}."
            )
        if timed.status:
            remarks.append(f"The command ended with exit status {timed.status}.")
        return remarks


def _finite(value: float, notes: list[str]) -> float | None:
    if abs(value) == float("inf"):
        notes.append("The figure is not finite.")
        return None
    return value


def _at(document: Any, path: str) -> Any:
    """Return the value of `document` at `path`; raise ValueError if there is none."""
    found = document
    for name in path.removeprefix("$").strip(".").split(".") if path.strip("$.") else ():
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and re.fullmatch(r"-?\d{1,9}", name) and -len(found) <= int(name) < len(found):
            found = found[int(name)]
        else:
            raise ValueError(f"there is no “{name[:40]}”")
    return found
