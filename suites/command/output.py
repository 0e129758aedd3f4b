"""Reads what a command of the user's own prints: its time, and the figure by a pattern or out of its JSON."""

import re
from dataclasses import dataclass, field
from typing import Any

from suites.base import LineSplitter, Parsed
from suites.command.parameters import JSON, PATTERN, TIME, WALL_TIME, figure_metric
from suites.command.pattern import MAXIMUM_LINE, Pattern, PatternError
from suites.parameters import Values
from suites.strict_json import read_json
from suites.tool_words import how_it_ended, tool_words
from suites.vocab import Figure, Sample

MAXIMUM_JSON = 4 * 2**20
"""Bytes of output that are looked at for JSON; more is no result but data."""

ENOUGH = 10
"""Times the clock's resolution below which a time is mostly the clock's own steps: an error of up to a tenth."""

BEFORE_FAILED = "benchwright-before failed"
"""What is printed where the command that runs before each trial fails."""

TIMED_OUT = 124
"""The exit status of timeout(1) where it had to end the command."""

_TIMED = re.compile(
    r"benchwright-timed (\d{1,9}\.\d{2,6}) s, status (\d{1,3}), resolution (0\.\d{2,6}) s, (accepted|not accepted)"
)
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class _Timed:
    """What the clock beside the command said: seconds, its exit status, the clock's resolution in seconds."""

    seconds: float
    status: int
    resolution: float
    accepted: bool


@dataclass(slots=True)
class CommandParser:
    """Reads one run. Nothing is live: when the command will print its figure, only the command knows."""

    values: Values
    _pattern: Pattern | None = None
    _trouble: str = ""
    _lines: LineSplitter = field(init=False)
    _timed: _Timed | None = None
    _found: str | None = None
    _kept: list[str] = field(default_factory=list)
    _size: int = 0
    _last: str = ""
    _before: bool = False

    def __post_init__(self) -> None:
        longest = MAXIMUM_JSON if self.values["figure"] == JSON else MAXIMUM_LINE
        self._lines = LineSplitter(maximum=longest)
        if self.values["figure"] == PATTERN:
            try:
                self._pattern = Pattern.read(str(self.values["pattern"]))
            except PatternError as error:
                self._trouble = str(error)

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Take the next bytes of a stream."""
        for line in self._lines.feed(data, stream):
            self._take(line, stream)
        return []

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means."""
        for line in self._lines.rest():  # where the command ended by itself, a line without a line break is whole
            self._take(line, "stdout", whole=self._timed is not None)
        notes = self._failures(exit_status)
        figures = []
        value = None if self.values["figure"] == TIME else self._value(notes)
        if value is not None:
            figures.append(Figure(figure_metric(self.values), value))
        if self._timed is not None and self._timed.seconds > 0:
            figures.append(Figure(WALL_TIME, self._timed.seconds))
        remarks = [] if notes else self._remarks()
        # The program's own version is not known; what two runs have to share is the clock.
        clock = None if self._timed is None else f"clock of {self._timed.resolution:g} s"
        return Parsed(tuple(figures), (), (*notes, *remarks), not notes, clock)

    def _take(self, line: str, stream: str, *, whole: bool = True) -> None:
        if match := _TIMED.fullmatch(line):
            self._timed = _Timed(float(match[1]), int(match[2]), float(match[3]), match[4] == "accepted")
            return
        if line == BEFORE_FAILED:
            self._before = True
            return
        self._last = line if line.strip() else self._last
        if self._pattern is not None and whole and (self._found is None or self.values["occurrence"] == "last"):
            found = self._pattern.search(line)
            self._found = self._found if found is None else found
        if self.values["figure"] == JSON and stream == "stdout" and self._size <= MAXIMUM_JSON:
            self._size += len(line)
            self._kept.append(line)

    def _failures(self, exit_status: int | None) -> list[str]:
        timed = self._timed
        if timed is None and self._before:
            return [f"What runs before each trial failed, so that nothing was measured.{self._words()}"]
        if timed is None:
            status = f" It {how_it_ended(exit_status)}." if exit_status else ""
            return [f"The command was cut off: its clock printed no time.{status}{self._words()}"]
        if timed.accepted and (timed.seconds > 0 or self.values["figure"] != TIME):
            return []
        if timed.accepted:
            return [f"The command ended within one step of the clock, {timed.resolution:g} s: it has no time."]
        if timed.status == TIMED_OUT and float(self.values["timeout"]) > 0:
            return [f"The command took longer than its time limit of {self.values['timeout']:g} s."]
        how = "ended with exit status 0" if timed.status == 0 else how_it_ended(timed.status)
        return [f"The command {how}, which does not count as success.{self._words()}"]

    def _words(self) -> str:
        return f" It printed last: {tool_words(self._last)}" if self._last else ""

    def _value(self, notes: list[str]) -> float | None:
        """Return the figure; where there is none, add to `notes` why."""
        if self._trouble:
            notes.append(self._trouble)
        elif self.values["figure"] == JSON:
            return self._value_of_json(notes)
        elif self._pattern is not None and self._pattern.left <= 0:
            notes.append("The output was too long for the pattern: not all of it could be looked at in time.")
        elif self._found is None:
            notes.append("No line of the output matches the pattern, so there is no figure.")
        elif _NUMBER.fullmatch(self._found.strip()) is None:
            notes.append(f"What the pattern found is no number: “{tool_words(self._found)}”.")
        else:
            return _finite(float(self._found), notes)
        return None

    def _value_of_json(self, notes: list[str]) -> float | None:
        if self._size > MAXIMUM_JSON:
            notes.append(f"The command printed more than {MAXIMUM_JSON // 2**20} MiB: too much to look for JSON in.")
            return None
        try:
            value = _at(self._document(), str(self.values["json_path"]))
        except ValueError as error:
            notes.append(f"The figure cannot be read from the JSON: {tool_words(str(error))}.")
            return None
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            notes.append("What the JSON has at that place is no number.")
            return None
        return _finite(float(value), notes)

    def _document(self) -> Any:
        """Return the JSON: all of standard output, or the last line of it that is an object or a list."""
        try:
            return read_json("\n".join(self._kept))
        except ValueError as error:
            for line in reversed(self._kept):
                if line.lstrip().startswith(("{", "[")):
                    return read_json(line)
            raise error from None

    def _remarks(self) -> list[str]:
        timed = self._timed
        if timed is None:
            return []
        remarks = [f"The clock counts in steps of {timed.resolution:g} s."]
        if timed.seconds < ENOUGH * timed.resolution:
            remarks.append(
                f"The command took less than {ENOUGH} steps of the clock: its time is mostly the clock's own. "
                "Let it do more work."
            )
        if timed.status:
            remarks.append(f"The command ended with exit status {timed.status}.")
        return remarks


def _finite(value: float, notes: list[str]) -> float | None:
    if abs(value) == float("inf"):
        notes.append("The figure is beyond every number.")
        return None
    return value


def _at(document: Any, path: str) -> Any:
    """Return what `document` has at `path`; raise ValueError where that leads nowhere."""
    found = document
    for name in path.removeprefix("$").strip(".").split(".") if path.strip("$.") else ():
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and re.fullmatch(r"-?\d{1,9}", name) and -len(found) <= int(name) < len(found):
            found = found[int(name)]
        else:
            raise ValueError(f"there is no “{name[:40]}”")
    return found
