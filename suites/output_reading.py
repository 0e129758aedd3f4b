"""Read an output with a suite's own parser, and the values that the output or its command line states."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from suites.base import Context, Suite, complete_values
from suites.errors import BenchwrightError
from suites.identities import Contradictions, noted
from suites.outputs import ParsedTrial, ReadOutput, ToolOutput, parse_whole
from suites.parameters import Value
from suites.units import Unit, convert

TOOL_TIMES = ("elapsed", "total_time", "wall_time")
"""Metrics with the time that the tool measured."""


@dataclass(frozen=True, slots=True)
class StatedLine:
    """A line that states the value of `parameter`: its text is the group of `pattern`; the last such line counts."""

    parameter: str
    pattern: re.Pattern[str]
    value: Callable[[str], Value] = str


def stated_in(suite: Suite, text: str, lines: Sequence[StatedLine]) -> dict[str, Value]:
    """Return the values of a suite's parameters that lines of `text` state; those that it refuses are left out."""
    stated = (
        (one.parameter, one.value(match[1]))
        for line in text.splitlines()
        for one in lines
        if (match := one.pattern.match(line)) is not None
    )
    return _accepted(suite, stated)


def _accepted(suite: Suite, values: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """Return `values`, the last of each parameter, without those that the suite has not or refuses."""
    found: dict[str, Value] = {}
    parameters = {parameter.name: parameter for parameter in suite.parameters}
    for name, value in ((name, value) for name, value in values if name in parameters):
        with suppress(BenchwrightError):
            found[name] = parameters[name].parse(value)
    return found


def stated_by_command(suite: Suite, command: str | None) -> dict[str, Value] | None:
    """Return every value of a command line of the suite's tool; None if there is none, or if it cannot be read."""
    if not command:
        return None
    try:
        found = suite.parse_command(command, complete_values(suite, {}), Context())
    except BenchwrightError:
        return None
    return None if found is None or found.is_refused else dict(found.values)


def measured_seconds(parsed: ParsedTrial) -> float | None:
    """Return the time that the tool reports it measured, in seconds; None if it does not."""
    for name in TOOL_TIMES:
        for figure in parsed.figures:
            if figure.metric.name == name:
                return convert(figure.value, figure.metric.unit, Unit.SECOND)
    return None


def _parts(text: str, again: re.Pattern[str]) -> Iterable[str]:
    """Yield `text` in parts with at most one line that `again` matches."""
    part: list[str] = []
    seen = False
    for line in text.splitlines(keepends=True):
        if again.match(line.strip()):
            if seen:
                yield "".join(part)
                part = []
            seen = True
        part.append(line)
    yield "".join(part)


NAMED_SERVER: Mapping[str, Value] = {"server": "named"}
NAMED_ELSEWHERE: Mapping[str, Value] = {**NAMED_SERVER, "address": "elsewhere"}
"""Assumed of the tool of a server: that it ran already, on another host."""

Infer = Callable[[ParsedTrial, Mapping[str, Value]], Mapping[str, Value]]
"""Returns the values that follow from what was measured, such as the runtime."""


def by_parser(
    suite: Suite,
    lines: Sequence[StatedLine] = (),
    *,
    unstated: Mapping[str, tuple[Value, ...]] | None = None,
    assumed: Mapping[str, Value] | None = None,
    inferred: Infer = lambda _parsed, _stated: {},
    again: re.Pattern[str] | None = None,
    contradictions: Contradictions = lambda _text: (),
) -> ReadOutput:
    """Return the reader of an output that the parser of `suite` reads as a whole.

    `lines` state values; without a command line, those of `unstated` that no line states remain open. `assumed` holds
    where nothing states it. Each output has one line `again`: a second begins another output.
    """

    def read(text: str, command: str | None) -> Iterable[ToolOutput]:
        for part in (text,) if again is None else _parts(text, again):
            yield from noted(read_one(part, command), contradictions(part))

    def read_one(text: str, command: str | None) -> Iterable[ToolOutput]:
        given = stated_by_command(suite, command)
        in_output = stated_in(suite, text, lines)
        stated = {**(assumed or {}), **(given or {}), **in_output}
        parsed = parse_whole(suite.parser(complete_values(suite, stated)), text.encode())
        stated = {**_accepted(suite, inferred(parsed, stated).items()), **stated}
        left = {name: values for name, values in (unstated or {}).items() if name not in stated}
        yield ToolOutput(suite.id, parsed, stated, left, seconds=measured_seconds(parsed))

    return read


def whole_runtime(parsed: ParsedTrial, _stated: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the `time` of a tool that ended by time: its own seconds, in whole ones."""
    seconds = measured_seconds(parsed)
    return {} if seconds is None else {"time": float(max(1, round(seconds)))}
