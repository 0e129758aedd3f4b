"""Conditions of two equivalent steps: what differs between them, and whether their figures are comparable."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.plans.plan import Step
from suites.equivalents import Bias, Reason, Traits
from suites.errors import UnknownSuiteError
from suites.facts import Facts
from suites.quantities import duration_text, quantity
from suites.vocab import MetricKind

SUBSTANTIAL = 1.5
"""Smallest ratio of sizes or times that counts as a reason."""


@dataclass(frozen=True, slots=True)
class TraitPair:
    """The traits of two steps, for metrics of one kind."""

    names: tuple[str, str]
    ours: Traits
    theirs: Traits
    kind: MetricKind
    facts: Facts | None = None


DECISIVE = frozenset({"operation", "pattern", "cached", "flushed", "block", "in-flight"})
"""Reasons that leave two rates of requests nothing to agree on: 32 requests in flight are not one request."""


def differing_conditions(steps: tuple[Step, Step], facts: Facts | None) -> tuple[Reason, ...]:
    """Return why two steps of equivalent suites are not comparable; () if they are, or if little is known of them.

    Loops over memory have no requests: their operations differ by design, and their suites say what that does.
    """
    try:
        ours, theirs = (step.suite.traits(step.whole_values(), facts) for step in steps)
    except (UnknownSuiteError, KeyError):  # a stored step can lack a newer parameter
        return ()
    if not (ours.in_flight and theirs.in_flight):
        return ()
    names = (steps[0].suite_id, steps[1].suite_id)
    return tuple(one for one in reasons(TraitPair(names, ours, theirs, MetricKind.RATE)) if one.id in DECISIVE)


Rule = Callable[[TraitPair, Any, Any], Reason | None]
"""Returns the reason for two different values of a trait."""


def reasons(pair: TraitPair) -> Iterator[Reason]:
    """Yield every reason for a difference."""
    for trait, rule in RULES.items():
        one, other = getattr(pair.ours, trait), getattr(pair.theirs, trait)
        known = all(value is False or value for value in (one, other))
        found = rule(pair, one, other) if known and one != other else None
        if found is not None:
            yield found


def _larger(ours: float, theirs: float, *, better: bool) -> Bias:
    """Return which side the larger value favours; `better` is whether larger gives a better result."""
    return Bias.OTHER if (theirs > ours) == better else Bias.DECLARING


def _operation(pair: TraitPair, one: str, other: str) -> Reason:
    return Reason("operation", f"{pair.names[0]} measured {one}, {pair.names[1]} {other}.")


def _pattern(pair: TraitPair, one: str, other: str) -> Reason:
    favours = Bias.NEITHER
    if {one, other} == {"sequential", "random"}:
        favours = Bias.OTHER if other == "sequential" else Bias.DECLARING
    return Reason("pattern", f"The access pattern of {pair.names[0]} is {one}, of {pair.names[1]} {other}.", favours)


def _block(pair: TraitPair, one: int, other: int) -> Reason:
    text = (
        f"{pair.names[0]} used blocks of {quantity(one)}, {pair.names[1]} of {quantity(other)}: each request costs "
        "a system call of any size."
    )
    return Reason("block", text, _larger(one, other, better=pair.kind is not MetricKind.TIME))


def _cached(pair: TraitPair, *cached: bool) -> Reason:
    one, other = cached
    through, past = pair.names if one else pair.names[::-1]
    text = f"{through} used the page cache; {past} bypassed it (direct I/O)."
    return Reason("cached", text, _larger(one, other, better=True))


def _flushed(pair: TraitPair, *flushed: bool) -> Reason:
    one, other = flushed
    safe, quick = pair.names if one else pair.names[::-1]
    text = f"{safe} includes the flush to stable storage; {quick} does not."
    return Reason("flushed", text, _larger(one, other, better=False))


def _in_flight(pair: TraitPair, one: int, other: int) -> Reason:
    text = (
        f"{pair.names[0]} kept {one} request{'s' if one > 1 else ''} in flight, {pair.names[1]} {other}: "
        "a deeper queue raises rate and latency."
    )
    return Reason("in-flight", text, _larger(one, other, better=pair.kind is not MetricKind.TIME))


def _threads(pair: TraitPair, one: int, other: int) -> Reason | None:
    if pair.ours.in_flight:
        return None
    plural = "s" if one > 1 else ""
    text = f"{pair.names[0]} used {one} thread{plural}, {pair.names[1]} {other}; both report totals."
    return Reason("threads", text, _larger(one, other, better=True))


def _working_set(pair: TraitPair, one: int, other: int) -> Reason | None:
    if max(one, other) / min(one, other) < SUBSTANTIAL:
        return None
    cache = None if pair.facts is None else pair.facts.last_level_cache()
    text = f"The working set of {pair.names[0]} is {quantity(one)}, of {pair.names[1]} {quantity(other)}"
    if pair.ours.block is None and cache is not None and min(one, other) < 4 * cache <= max(one, other):
        text += f"; the caches hold {quantity(cache)}"
    return Reason("working-set", f"{text}.", _larger(one, other, better=False))


def _seconds(pair: TraitPair, one: float, other: float) -> Reason | None:
    if max(one, other) / min(one, other) < SUBSTANTIAL:
        return None
    text = (
        f"{pair.names[0]} measured for {duration_text(one)}, {pair.names[1]} for {duration_text(other)}: bursts and "
        "warm-up affect the shorter one more."
    )
    return Reason("seconds", text)


RULES: Mapping[str, Rule] = {
    "operation": _operation,
    "pattern": _pattern,
    "cached": _cached,
    "flushed": _flushed,
    "block": _block,
    "in_flight": _in_flight,
    "threads": _threads,
    "working_set": _working_set,
    "seconds": _seconds,
}
"""The rules by trait, the most important first."""
