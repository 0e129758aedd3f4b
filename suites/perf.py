"""perf: the command line that profiles a command, its counters and its folded stacks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from suites.base import Command, Purpose
from suites.facts import Facts, cpus_for

EVENTS = (
    "task-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions", "cache-references",
    "cache-misses", "branches", "branch-misses",
)  # fmt: skip
HARDWARE = frozenset(EVENTS[4:])

MOST_FREQUENCY = 99
"""Samples a second of each CPU: not 100, so that samples do not keep step with timers (Gregg, perf Examples)."""

MOST_SAMPLES = 100_000
"""Samples of a profile, which bound its file: a stack of 127 frames has 1 KiB."""

UNKNOWN_SECONDS = 600.0
"""Assumed duration of a command without an estimate."""

STREAM = "perf "
"""Prefix of the names of a profile's streams."""
COUNTERS, STACKS = f"{STREAM}counters", f"{STREAM}stacks"

MOST_STACKS, MOST_FRAMES, LONGEST_FRAME = 50_000, 256, 300

_RECORD = ("perf", "record", "-q", "-N", "-g")


def frequency(facts: Facts | None, seconds: float | None) -> int:
    """Return the samples a second of each CPU for at most MOST_SAMPLES in `seconds`, 1 to MOST_FREQUENCY."""
    cpus = (None if facts is None else cpus_for(facts)) or 1
    whole = MOST_SAMPLES / max(1.0, cpus * (UNKNOWN_SECONDS if seconds is None else seconds))
    return max(1, min(MOST_FREQUENCY, int(whole)))


def profiled_argv(argv: Sequence[str], number: int, hertz: int) -> tuple[str, ...]:
    """Return `argv` under perf: `perf stat` counts it, `perf record` samples both, for which `perf stat` waits.

    -N leaves the build-id cache in the home directory alone. Children are counted and sampled, too.
    """
    record = (*_RECORD, "-F", str(hertz), "-o", f"perf-{number}.data", "--")
    return (*record, "perf", "stat", "-x,", "-e", ",".join(EVENTS), "-o", f"perf-{number}.csv", "--", *argv)


def profiled_commands(commands: Iterable[Command], hertz: int) -> tuple[Command, ...]:
    """Return `commands`, those that measure on the host itself under perf."""
    numbers = count()
    return tuple(
        replace(command, argv=profiled_argv(command.argv, next(numbers), hertz))
        if command.purpose is Purpose.MEASURE and not command.on_peer
        else command
        for command in commands
    )


def is_profiled(commands: Iterable[Command]) -> bool:
    """Return whether any of `commands` is one of profiled_commands()."""
    return any(command.argv[: len(_RECORD)] == _RECORD and "perf-0.data" in command.argv[:9] for command in commands)


@dataclass(frozen=True, slots=True)
class PerfCounter:
    """An event's count. `value` is None if it is `absent`: ``not supported`` or ``not counted``.

    `running` is the share of time in which it was counted; below 1 the value is perf's estimate (multiplexing).
    `elapsed` is of task-clock, by the CPUs that perf reports as used: milliseconds.
    """

    event: str
    value: float | None
    absent: str = ""
    running: float = 1.0
    user_only: bool = False
    elapsed: float | None = None


_LINE = re.compile(
    r"(?P<value>[0-9]{1,20}(?:\.[0-9]{1,9})?|<not (?:supported|counted)>),(?P<unit>[^,]{0,20}),"
    r"(?:cpu_(?:core|atom)/)?(?P<event>[a-z-]{1,40})/?(?::(?P<modifier>[a-zA-Z]{1,8}))?,"
    r"[0-9]{0,20},(?P<running>[0-9]{1,3}(?:\.[0-9]{1,4})?)?"
    r"(?:,(?:(?P<used>[0-9]{1,6}\.[0-9]{1,9}),CPUs utilized|.*))?"
)
"""A line of `perf stat -x,` (perf-stat(1), CSV FORMAT): value, unit, event, run time of the counter, its percentage."""


def read_counters(lines: Iterable[str]) -> tuple[PerfCounter, ...]:
    """Return the counters of EVENTS in the output of `perf stat -x,`; sums over several commands and kinds of core."""
    found: dict[str, PerfCounter] = {}
    for line in lines:
        match = _LINE.fullmatch(line[:200].strip())
        if match is None or match["event"] not in EVENTS:
            continue
        given = match["value"]
        value = None if given.startswith("<") else float(given)
        running = min(1.0, float(match["running"] or 100) / 100)
        used = float(match["used"] or 0)
        one = PerfCounter(
            match["event"], value, given.strip("<>") if value is None else "", running,
            "u" in (match["modifier"] or ""), value / used if value is not None and used else None,
        )  # fmt: skip
        found[one.event] = one if one.event not in found else _sum(found[one.event], one)
    return tuple(found[event] for event in EVENTS if event in found)


def _sum(one: PerfCounter, other: PerfCounter) -> PerfCounter:
    if one.value is None or other.value is None:
        return other if one.value is None else one
    return PerfCounter(
        one.event, one.value + other.value, "", min(one.running, other.running), one.user_only or other.user_only,
        None if one.elapsed is None or other.elapsed is None else one.elapsed + other.elapsed,
    )  # fmt: skip


def read_stacks(lines: Iterable[str]) -> Mapping[tuple[str, ...], int]:
    """Return the samples by stack, outermost frame first, of folded lines ``frame;frame count``."""
    found: dict[tuple[str, ...], int] = {}
    for line in lines:
        frames, _, count = line.rpartition(" ")
        if not frames or not count.isascii() or not count.isdigit() or len(count) > 12 or not int(count):
            continue
        stack = tuple(frame[:LONGEST_FRAME] for frame in frames.split(";")[:MOST_FRAMES])
        if stack in found or len(found) < MOST_STACKS:
            found[stack] = found.get(stack, 0) + int(count)
    return found


_PARANOID = "performance monitoring", "perf_event_paranoid", "permission", "not permitted"


def refusal_of(answers: Mapping[str, str]) -> str:
    """Return why perf does not profile a command on a host, by the `answers` of a trial; empty if it does."""
    if answers.get("status") == "0":
        return ""
    if "status" not in answers:
        return "perf is not installed"
    error = " ".join(answers.get("error", "").split())[:1000]
    limit = answers.get("paranoid", "")
    if not any(word in error.lower() for word in _PARANOID):
        return f"perf ended with exit status {answers['status'][:5]}: {error[:200] or 'no message'}"
    if limit.isascii() and limit.isdigit() and int(limit) > 2 and answers.get("user") != "0":
        return f"kernel.perf_event_paranoid is {int(limit)}: only root or CAP_PERFMON may use perf"
    return "perf_event_open(2) is not permitted here, as in containers with the default seccomp profile"
