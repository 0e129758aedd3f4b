"""Equivalent suites: how parameters and figures of one map to another, and why figures differ."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from suites.facts import Facts, cpus_for
from suites.parameters import Value, Values, parse_size
from suites.vocab import Labels

MEMORY_QUESTION = "How many bytes per second do the threads move to and from memory?"
DISK_QUESTION = "What does the device below this directory deliver with these parameters?"
CPU_QUESTION = "How much does a processor of this host compute?"

Convert = Callable[[Value, Values, Facts | None], Value | None]
"""Converts a parameter's value, given all values of its step and the host's facts, to the other suite's value; None if
there is no equivalent."""


def same(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return the value unchanged."""
    return value


@dataclass(frozen=True, slots=True)
class Traits:
    """Effect of a step on a host in terms shared by tools. None: not known or not applicable.

    `operation` and `pattern` are made by mix_text and pattern_text where they have parts.

    `block` are the bytes of one request, `working_set` those accessed, `in_flight` the outstanding requests; `cached`
    is whether the page cache may serve requests, `flushed` whether written data must reach stable storage before the
    clock stops. `seconds` is the measured time.
    """

    operation: str | None = None
    pattern: str | None = None
    block: int | None = None
    cached: bool | None = None
    flushed: bool | None = None
    in_flight: int | None = None
    threads: int | None = None
    working_set: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ParameterMapping:
    """Equivalent parameters of two suites, with the conversions `forward` and `backward`.

    If a `required` one cannot be converted, the two suites do not measure the same.
    """

    ours: str
    theirs: str
    forward: Convert = same
    backward: Convert = same
    required: bool = False


@dataclass(frozen=True, slots=True)
class MetricMapping:
    """Metrics of one suite whose sum is equivalent to the sum of the other's, times `factor`.

    `note` describes a difference in how they count.
    """

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    factor: float = 1.0
    note: str = ""


class Bias(IntEnum):
    """Which of two suites a reason favours: a higher rate, a shorter time."""

    DECLARING = -1
    NEITHER = 0
    OTHER = 1


@dataclass(frozen=True, slots=True)
class Reason:
    """Something in which two measurements differ. `favours` is which it makes look better, where that is known."""

    id: str
    text: str
    favours: Bias = Bias.NEITHER


def tool_difference(text: str, favours: Bias) -> tuple[Reason, ...]:
    """Return the reason of a difference between the tools themselves, whatever their parameters."""
    return (Reason("way-of-working", text, favours),)


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Another suite that can cross-check one. One suite of each pair declares it.

    `fixed` are parameters of the other that are always set, `fixed_backward` those of the declaring suite. `reasons`
    are known differences between the tools. `incomparable` is why the two measure different quantities: their figures
    are then shown side by side without claiming agreement. `label_texts` map label values of the declaring suite to the
    other's.
    """

    other: str
    question: str
    parameters: tuple[ParameterMapping, ...] = ()
    metrics: tuple[MetricMapping, ...] = ()
    fixed: tuple[tuple[str, Value], ...] = ()
    fixed_backward: tuple[tuple[str, Value], ...] = ()
    reasons: tuple[Reason, ...] = ()
    incomparable: str = ""
    label_texts: tuple[tuple[str, str], ...] = ()

    def reversed_for(self, suite: str) -> "Equivalent":
        """Return the same pair from the other suite's view; `suite` is the one that declares it."""
        return Equivalent(
            suite,
            self.question,
            tuple(
                ParameterMapping(one.theirs, one.ours, one.backward, one.forward, one.required)
                for one in self.parameters
            ),
            tuple(MetricMapping(one.theirs, one.ours, 1 / one.factor, one.note) for one in self.metrics),
            self.fixed_backward,
            self.fixed,
            tuple(Reason(one.id, one.text, Bias(-one.favours)) for one in self.reasons),
            self.incomparable,
            tuple((theirs, ours) for ours, theirs in self.label_texts),
        )

    def labels_agree(self, ours: Labels, theirs: Labels) -> bool:
        """Return whether no label contradicts the other suite's; the number of threads may differ."""
        mine, other, mapped = dict(ours), dict(theirs), dict(self.label_texts)
        return all(
            mapped.get(mine[name], mine[name]) == other[name] for name in mine.keys() & other.keys() - {"threads"}
        )


def mix_text(read_share: float) -> str:
    """Return the operation of a mix of reads and writes; `read_share` is that of the reads, 0 to 1."""
    return f"{read_share:.0%} reads".replace("%", " %")


def pattern_text(pattern: str, *, every: int = 0, limits: tuple[str, ...] = ()) -> str:
    """Return a pattern with what else determines its rate: a flush after `every` writes, and `limits`."""
    flush = (f"flush every {every} writes" if every > 1 else "flush after each write",) if every else ()
    return ", ".join((pattern, *flush, *limits))


def mapped(pairs: Mapping[Value, Value]) -> Convert:
    """Return a conversion by a table of words; a missing word has no equivalent."""
    return lambda value, _values, _facts: pairs.get(value)


def backwards(pairs: Mapping[Value, Value]) -> Convert:
    """Return the reverse conversion; of several words with the same value the first counts."""
    turned: dict[Value, Value] = {}
    for ours, theirs in pairs.items():
        turned.setdefault(theirs, ours)
    return mapped(turned)


def all_threads(value: Value, _values: Values, facts: Facts | None) -> int | None:
    """Return a number of threads; 0 means one per usable CPU."""
    return int(value) or (None if facts is None else cpus_for(facts))


def only_size(value: Value, _values: Values, _facts: Facts | None) -> int | None:
    """Return the only size of a list; None if there are several."""
    try:
        return parse_size(str(value))
    except ValueError:
        return None


def at_least_a_second(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return a time; 0 means “until done”, which has no equivalent."""
    return value if float(value) >= 1 else None


def power_of_two(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return the power of two nearest to a size."""
    return int(2 ** round(math.log2(max(1, int(value)))))


THREADS_MAPPING = ParameterMapping("threads", "threads", all_threads, all_threads)
