"""A time axis with cuts, and what is marked on it: phases as bands, events as marks. No Qt."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf


class PhaseKind(StrEnum):
    """What a phase of the time axis is. Each kind is drawn with its own pattern or line, not by colour alone."""

    TRIAL = "trial"
    WARM_UP = "warm-up"
    EXCLUDED = "not counted"
    OTHER = "other step"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class TimePhase:
    """A phase from `start` to `end` on the axis, with its name and whole text; `key` identifies a trial."""

    start: float
    end: float
    kind: PhaseKind
    name: str = ""
    text: str = ""
    key: int | None = None


class MarkKind(StrEnum):
    """What a mark is, by its glyph."""

    FINDING = "▲"
    LINK = "⇄"
    VERDICT = "■"
    DECISION = "◆"


@dataclass(frozen=True, slots=True)
class PlotMark:
    """Text of an event at a time."""

    time: float
    text: str
    kind: MarkKind = MarkKind.FINDING


@dataclass(frozen=True, slots=True)
class ClockSpan:
    """A part of the clock, from `start` to `end`, drawn from `shown` on."""

    start: float
    end: float
    shown: float

    @property
    def shown_end(self) -> float:
        """The end on the axis."""
        return self.shown + self.end - self.start


@dataclass(frozen=True, slots=True)
class TimeMap:
    """Maps a clock (s) to the axis: its spans in order of time; what lies between them is cut out.

    `zero` is the clock at the time that the axis labels as 0:00.
    """

    spans: tuple[ClockSpan, ...] = (ClockSpan(-inf, inf, -inf),)
    zero: float = 0.0

    @property
    def cut(self) -> bool:
        """Whether it is other than the clock itself."""
        return self != TimeMap()

    def shows(self, clock: float) -> bool:
        """Return whether `clock` is on the axis, not cut out or before it."""
        return any(span.start <= clock <= span.end for span in self.spans)

    def to_axis(self, clock: float) -> float:
        """Return the place of `clock` on the axis; within a cut, that of its end."""
        if not self.cut:
            return clock
        span = self.spans[max(0, bisect_right(self.spans, clock, key=lambda one: one.start) - 1)]
        return span.shown + min(clock, span.end) - span.start

    def to_time(self, shown: float) -> float:
        """Return the time since `zero` at the place `shown` of the axis."""
        if not self.cut:
            return shown
        span = self.spans[max(0, bisect_right(self.spans, shown, key=lambda one: one.shown) - 1)]
        return span.start + min(shown, span.shown_end) - span.shown - self.zero


BREAK = 0.3
"""Width of a cut on the axis, as a share of the gap that is left."""


def spans_of(trials: Sequence[tuple[float, float]], longest: float, shortened: float) -> tuple[ClockSpan, ...]:
    """Return the spans of trials given by start and end: a gap above `longest` (s) is cut to `shortened`.

    The axis begins with 0 at the first trial; the last span is open.
    """
    found: list[ClockSpan] = []
    (start, latest), shown = trials[0], 0.0
    for begin, end in trials[1:]:
        if begin - latest > longest:
            found.append(ClockSpan(start, latest + shortened / 2, shown))
            start, shown = begin - shortened / 2, found[-1].shown_end + BREAK * shortened
        latest = max(latest, end)
    return (*found, ClockSpan(start, inf, shown))
