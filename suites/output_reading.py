"""Read an output with a suite's own parser, and the values that the output or its command line states."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from suites.base import Context, Suite, complete_values
from suites.errors import BenchwrightError
from suites.identities import Contradictions, noted
from suites.outputs import ParsedTrial, ReadOutput, ToolOutput, parse_whole
from suites.parameters import Value
from suites.quantities import count_text
from suites.units import Unit, convert
from suites.vocab import Figure, Labels, Metric, MetricKind, Sample

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


def stated_by_command(
    suite: Suite, command: str | None, assumed: Mapping[str, Value] | None = None
) -> dict[str, Value] | None:
    """Return every value of a command line of the suite's tool; None if there is none, or if it cannot be read.

    `assumed` are values that no option states. An option whose value cannot be read, such as a variable of the shell,
    states none, and has not the tool's default either.
    """
    if not command:
        return None
    try:
        found = suite.parse_command(command, complete_values(suite, assumed or {}), Context())
    except BenchwrightError:
        return None
    if found is None or found.is_refused:
        return None
    return {name: value for name, value in found.values.items() if name not in found.unvalued}


def measured_seconds(parsed: ParsedTrial) -> float | None:
    """Return the time that the tool reports it measured, in seconds; None if it does not."""
    for name in TOOL_TIMES:
        for figure in parsed.figures:
            if figure.metric.name == name:
                return convert(figure.value, figure.metric.unit, Unit.SECOND)
    return None


End = tuple[re.Pattern[str], re.Pattern[str]]
"""The last line of an output, and the lines that only such an output has."""


def _parts(text: str, again: re.Pattern[str] | None, clock: re.Pattern[str] | None, end: End | None) -> Iterable[str]:
    """Yield `text` in parts with at most one line that `again` matches, and in which the time of `clock` goes on.

    After the last line of an output, one of its lines begins another part.
    """
    part: list[str] = []
    seen, ended, time, last = False, False, 0.0, ""
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        is_again = again is not None and again.match(stripped) is not None
        match = None if clock is None or stripped == last else clock.match(stripped)
        now = time if match is None else float(match[1])
        is_back = match is not None and now <= time
        if (is_again and seen) or is_back or (ended and end is not None and end[1].match(stripped)):
            yield "".join(part)
            part, seen, ended = [], False, False
        seen, time = seen or is_again, now
        ended = ended or (end is not None and end[0].match(stripped) is not None)
        last = stripped if match else last
        part.append(line)
    yield "".join(part)


NAMED_SERVER: Mapping[str, Value] = {"server": "named"}
NAMED_ELSEWHERE: Mapping[str, Value] = {**NAMED_SERVER, "address": "elsewhere"}
"""Assumed of the tool of a server: that it ran already, on another host."""

Infer = Callable[[ParsedTrial, Mapping[str, Value]], Mapping[str, Value]]
"""Returns the values that follow from what was measured, such as the runtime."""


CUT_OFF = "was cut off: "
"""In the note of a parser that an output has no summary."""


Live = Callable[[Sequence[Sample]], tuple[Sequence[Figure], str]]
"""Returns the figures of an output without a summary, from what the tool printed while it ran, and what they are."""


def mean_rates(samples: Sequence[Sample]) -> tuple[Sequence[Figure], str]:
    """Return the means over time of the rates among `samples`."""
    series: dict[tuple[Metric, Labels], list[Sample]] = {}
    for one in samples:
        if one.metric.kind is MetricKind.RATE and not one.warm_up:
            series.setdefault((one.metric, one.labels), []).append(one)
    if not series:
        return (), ""
    figures = tuple(Figure(metric, _mean_over_time(found), at) for (metric, at), found in series.items())
    first = next(iter(series.values()))
    return figures, f"the rates are means of {count_text(len(first), 'live line')} to {first[-1].time:g} s"


def _without_summary(parsed: ParsedTrial, live: Live) -> ParsedTrial:
    """Return a result, of an output that was cut off with the figures of what the tool printed while it ran."""
    cut_off = not parsed.figures and any(CUT_OFF in note for note in parsed.notes)
    figures, what = live(parsed.samples) if cut_off else ((), "")
    if not figures:
        return parsed
    notes = (f"The summary is missing: {what}.", *(note for note in parsed.notes if CUT_OFF not in note))
    return replace(parsed, figures=tuple(figures), notes=notes)


FEWEST_COMMAS = 3
"""Numbers with a comma, and none with a point, by which a text has decimal commas."""

_POINT = re.compile(r"(?<![\d.,])\d{1,12}\.\d{1,6}(?![\d.,])")
_COMMA = re.compile(r"(?<![\d.,:])\d{1,12},\d{1,6}(?![\d.,])")


def _with_commas(parsed: ParsedTrial, text: str) -> ParsedTrial:
    """Return a result, of an output that was cut off with the note that its numbers have decimal commas."""
    found = _COMMA.findall(text) if any(CUT_OFF in note for note in parsed.notes) else []
    if len(found) < FEWEST_COMMAS or _POINT.search(text):
        return parsed
    note = f"Decimal commas (“{found[0]}”), which the tool prints as points: its figures are not read."
    return replace(parsed, notes=(note, *(one for one in parsed.notes if CUT_OFF not in one)))


def _mean_over_time(samples: Sequence[Sample]) -> float:
    """Return the mean of rates, each of the time since the one before; where the text begins later, of as much."""
    spans = [max(1e-9, one.time - before.time) for before, one in pairwise(samples)]
    usual = median(spans) if spans else 1.0
    first = samples[0].time
    return fmean([one.value for one in samples], [first if 0 < first < 1.5 * usual else usual, *spans])


def by_parser(
    suite: Suite,
    lines: Sequence[StatedLine] = (),
    *,
    unstated: Mapping[str, tuple[Value, ...]] | None = None,
    assumed: Mapping[str, Value] | None = None,
    words: Sequence[StatedLine] = (),
    inferred: Infer = lambda _parsed, _stated: {},
    again: re.Pattern[str] | None = None,
    clock: re.Pattern[str] | None = None,
    end: End | None = None,
    live: Live = mean_rates,
    contradictions: Contradictions = lambda _text: (),
) -> ReadOutput:
    """Return the reader of an output that the parser of `suite` reads as a whole.

    `lines` state values, and `words` those of a command line that are no parameters of it. Without a command line, the
    values of `unstated` that no line states remain open. `assumed` holds where nothing states it. Each output has one
    line `again`: a second begins another output, as does a live line whose time, the group of `clock`, goes back, and
    a line of an output after its `end`.
    `live` makes the figures of one without a summary.
    """

    def read(text: str, command: str | None) -> Iterable[ToolOutput]:
        before = 0
        for part in _parts(text, again, clock, end):
            for one in noted(read_one(part, command), contradictions(part)):
                yield replace(one, line=before)
            before += part.count("\n")

    def read_one(text: str, command: str | None) -> Iterable[ToolOutput]:
        given = stated_by_command(suite, command, assumed)
        typed = stated_in(suite, command or "", words)
        in_output = stated_in(suite, text, lines)
        stated = {**(assumed or {}), **(given or {}), **typed, **in_output}
        whole = parse_whole(suite.parser(complete_values(suite, stated)), text.encode())
        parsed = _without_summary(whole, live)
        shown = {} if parsed is whole else {"time": max(1, round(parsed.samples[-1].time))}
        stated = {**_accepted(suite, {**shown, **inferred(parsed, stated)}.items()), **stated}
        parsed = _with_commas(parsed, text)
        left = {name: values for name, values in (unstated or {}).items() if name not in stated}
        yield ToolOutput(suite.id, parsed, stated, left, seconds=measured_seconds(parsed))

    return read


def with_own_texts(results: Iterable[ToolOutput], text: str) -> Iterable[tuple[ToolOutput, str]]:
    """Yield each result that was read from `text`, and its own part of it."""
    found, lines = list(results), text.split("\n")
    for one, after in zip(found, [*(later.line for later in found[1:]), len(lines)], strict=False):
        yield one, "\n".join(lines[one.line : after])
