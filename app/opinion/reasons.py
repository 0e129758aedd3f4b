"""Why two tools differ, or agree although they ask otherwise: a closed list of reasons, each with what it does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from app.opinion.traits import Traits
from app.wording import bytes_text, duration_text
from suites.facts import Facts
from suites.vocab import Kind

OTHERWISE = 1.5
"""By how much sizes and times have to differ before that is a reason."""


class Favours(IntEnum):
    """Which of the two a reason makes look better: a higher rate, a shorter time."""

    OURS = -1
    NEITHER = 0
    THEIRS = 1


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that differs between two questions. `favours` is whom it makes look better, where that is known."""

    id: str
    text: str
    favours: Favours = Favours.NEITHER


@dataclass(frozen=True, slots=True)
class Asked:
    """Two questions beside each other: what each asks, of which suite, on which host, in a figure of which kind."""

    names: tuple[str, str]
    ours: Traits
    theirs: Traits
    kind: Kind
    facts: Facts | None = None

    def larger(self, ours: float, theirs: float, *, better: bool) -> Favours:
        """Return whom it favours that one figure is larger, where the larger one looks `better`, or worse."""
        return Favours.THEIRS if (theirs > ours) == better else Favours.OURS


Rule = Callable[[Asked], Reason | None]


def reasons(asked: Asked) -> Iterator[Reason]:
    """Yield every reason for which the two figures may differ."""
    for rule in RULES:
        found = rule(asked)
        if found is not None:
            yield found


def _operation(asked: Asked) -> Reason | None:
    one, other = asked.ours.operation, asked.theirs.operation
    if one is None or other is None or one == other:
        return None
    return Reason("operation", f"{asked.names[0]} asked for {one}, {asked.names[1]} for {other}.")


def _pattern(asked: Asked) -> Reason | None:
    one, other = asked.ours.pattern, asked.theirs.pattern
    if one is None or other is None or one == other:
        return None
    favours = Favours.NEITHER
    if {one, other} == {"sequential", "random"}:
        favours = Favours.THEIRS if other == "sequential" else Favours.OURS
    return Reason("pattern", f"{asked.names[0]} went {one}, {asked.names[1]} {other}.", favours)


def _block(asked: Asked) -> Reason | None:
    one, other = asked.ours.block, asked.theirs.block
    if not one or not other or one == other:
        return None
    text = (
        f"{asked.names[0]} asked in blocks of {bytes_text(one)}, {asked.names[1]} of {bytes_text(other)}: each request "
        "costs a call, whatever its size."
    )
    return Reason("block", text, asked.larger(one, other, better=asked.kind is not Kind.TIME))


def _cached(asked: Asked) -> Reason | None:
    one, other = asked.ours.cached, asked.theirs.cached
    if one is None or other is None or one == other:
        return None
    through, past = asked.names if one else asked.names[::-1]
    text = f"{through} went through the page cache, where memory answers; {past} past it, to the device."
    return Reason("cached", text, asked.larger(one, other, better=True))


def _flushed(asked: Asked) -> Reason | None:
    one, other = asked.ours.flushed, asked.theirs.flushed
    if one is None or other is None or one == other:
        return None
    safe, quick = asked.names if one else asked.names[::-1]
    text = f"{safe} counted until what was written was safe; {quick} stopped its clock before."
    return Reason("flushed", text, asked.larger(one, other, better=False))


def _in_flight(asked: Asked) -> Reason | None:
    one, other = asked.ours.in_flight, asked.theirs.in_flight
    if not one or not other or one == other:
        return None
    text = (
        f"{asked.names[0]} kept {one} request{'s' if one > 1 else ''} under way at once, {asked.names[1]} {other}: "
        "more give a higher rate and a longer time for each."
    )
    return Reason("in-flight", text, asked.larger(one, other, better=asked.kind is not Kind.TIME))


def _threads(asked: Asked) -> Reason | None:
    one, other = asked.ours.threads, asked.theirs.threads
    if not one or not other or one == other or asked.ours.in_flight:
        return None
    plural = "s" if one > 1 else ""
    text = f"{asked.names[0]} used {one} thread{plural}, {asked.names[1]} {other}; both give totals."
    return Reason("threads", text, asked.larger(one, other, better=True))


def _working_set(asked: Asked) -> Reason | None:
    one, other = asked.ours.working_set, asked.theirs.working_set
    if not one or not other or max(one, other) / min(one, other) < OTHERWISE:
        return None
    cache = None if asked.facts is None else asked.facts.last_level_cache()
    text = f"{asked.names[0]} went through {bytes_text(one)}, {asked.names[1]} through {bytes_text(other)}"
    if asked.ours.block is None and cache is not None and min(one, other) < 4 * cache <= max(one, other):
        text += f"; the caches hold {bytes_text(cache)}"
    return Reason("working-set", f"{text}.", asked.larger(one, other, better=False))


def _seconds(asked: Asked) -> Reason | None:
    one, other = asked.ours.seconds, asked.theirs.seconds
    if not one or not other or max(one, other) / min(one, other) < OTHERWISE:
        return None
    text = (
        f"{asked.names[0]} measured for {duration_text(one)}, {asked.names[1]} for {duration_text(other)}: bursts and "
        "warm-up weigh more in the shorter one."
    )
    return Reason("seconds", text)


_LOOPS = (
    "The loops differ: {}’s is made of whole vectors; sysbench’s goes word by word, and is bound by the loop rather "
    "than by memory."
)
_DD_CLOCK = "dd’s clock runs from its start to its end, the opening and closing of files included."
_PASSES = "STREAM gives the best of its passes, {} over its whole time."
_RESTS = "ioping rests between its requests, so that processor and device may doze; fio’s follow each other."

COUNTING = {
    frozenset({"stream", "sysbench-memory"}): ("stream", _LOOPS.format("STREAM")),
    frozenset({"sysbench-memory", "memory-blocks"}): ("memory-blocks", _LOOPS.format("the probe")),
    frozenset({"stream", "stress-ng"}): ("stream", _PASSES.format("stress-ng the mean of all kernels")),
    frozenset({"stream", "memory-blocks"}): ("stream", _PASSES.format("the probe the mean")),
    frozenset({"fio", "dd"}): ("fio", _DD_CLOCK),
    frozenset({"sysbench-fileio", "dd"}): ("sysbench-fileio", _DD_CLOCK),
    frozenset({"fio", "ioping"}): ("fio", _RESTS),
}
"""How two suites count or work differently whatever they are asked, and which of them looks better for it."""


def counting(suites: tuple[str, str]) -> Reason | None:
    """Return the reason that lies in two suites themselves, whatever their parameters; None where none is known."""
    found = COUNTING.get(frozenset(suites))
    if found is None:
        return None
    better, text = found
    return Reason("way-of-working", text, Favours.OURS if better == suites[0] else Favours.THEIRS)


RULES: tuple[Rule, ...] = (
    _operation,
    _pattern,
    _cached,
    _flushed,
    _block,
    _in_flight,
    _threads,
    _working_set,
    _seconds,
)
"""The gravest first."""
