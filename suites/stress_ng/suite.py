"""stress-ng: its memory stressors stream and memrate, as a second opinion on what memory delivers."""

from collections.abc import Mapping
from dataclasses import replace

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values, format_size
from suites.probe.checks import memory_outcome
from suites.runtime_checks import TRUSTED
from suites.stream.parameters import CACHE_FACTOR
from suites.stress_ng.output import METRICS, StressNgParser
from suites.sysbench.common import THREADS, tune_common
from suites.sysbench.memory_size import UNKNOWN_CACHE_BLOCK, available_memory
from suites.thread_checks import CPU_QUOTA, FACTS_NOT_READ, MORE_THREADS_THAN_CPUS
from suites.vocab import Level, Metric, Resource

STREAM, MEMRATE = "stream", "memrate"

MIB = 2**20
ENOUGH = 10.0
"""Seconds below which stream tells no rate: it wants 4.5 s inside its kernels (stress-stream.c)."""

PACKAGES = dict.fromkeys(("apt", "dnf", "yum", "zypper", "pacman", "apk"), "stress-ng")


def _memrate(values: Values) -> bool:
    return values["method"] == MEMRATE


METHOD = Parameter(
    name="method",
    title="Stressor",
    type=Type.CHOICE,
    default=STREAM,
    help="stream runs STREAM's kernels; memrate reads and writes in some 25 ways, words of every width.",
    choices=(
        Choice(STREAM, "stream: copy, scale, add and triad"),
        Choice(MEMRATE, "memrate: every way to read and write"),
    ),
)

MEMRATE_BYTES = Parameter(
    name="memrate_bytes",
    title="Memory",
    type=Type.SIZE,
    default=256 * MIB,
    help="The memory that each instance of memrate goes through; below the caches' size it measures the caches.",
    option="--memrate-bytes",
    unit="B",
    minimum=4096,
    maximum=2**40,
    applies=_memrate,
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=86400.0,
    help="How long it runs. stream tells no rate under about 10 s; stress-ng's own default is a day.",
    option="--timeout",
    unit="s",
    minimum=1,
    maximum=86400,
    whole=True,
)


INSTANCES = replace(THREADS, title="Instances", help="How many processes work at once.", option="--stream, --memrate")


def _fitting_bytes(context: Context, threads: int) -> Tuned:
    cache = None if context.facts is None else context.facts.last_level_cache()
    available = None if context.facts is None else available_memory(context.facts)
    wanted = UNKNOWN_CACHE_BLOCK if cache is None else -(-CACHE_FACTOR * cache // MIB) * MIB
    size = wanted if available is None else min(wanted, max(MIB, available // 2 // threads // MIB * MIB))
    if cache is None:
        return Tuned(size, f"The cache sizes are not known; {format_size(size)} is more than most caches hold.")
    return Tuned(size, f"{size / cache:.3g} times the {format_size(cache)} of last-level cache, for each instance.")


def _short(evidence: StepEvidence) -> Outcome | None:
    seconds = float(evidence.values["time"])
    if seconds >= ENOUGH:
        return None
    return Outcome(f"time is {seconds:g} s.", changes={"time": TRUSTED})


def _endless(evidence: StepEvidence) -> Outcome | None:
    if float(evidence.values["time"]) < 3600:
        return None
    return Outcome(f"time is {float(evidence.values['time']) / 3600:g} h.", changes={"time": TRUSTED})


def _in_cache(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts, values = evidence.context.facts, evidence.values
    if not _memrate(values):
        return None
    if facts is None:
        return FACTS_NOT_READ
    cache = facts.last_level_cache()
    if cache is None:
        return CannotTell("The size of the last-level cache is not known.")
    size, threads = int(values["memrate_bytes"]), int(values["threads"])
    if size * threads >= CACHE_FACTOR * cache:
        return None
    better = int(_fitting_bytes(evidence.context, threads).value)
    changes: dict[str, Value] = {"memrate_bytes": better} if better > size else {}
    return Outcome(
        f"{threads} x {format_size(size)} for {format_size(cache)} of last-level cache.",
        changes=changes,
    )


def _too_small(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values = evidence.values
    if not _memrate(values):
        return None
    size, threads = int(values["memrate_bytes"]), int(values["threads"])
    better = int(_fitting_bytes(evidence.context, threads).value)
    changes: dict[str, Value] = {"memrate_bytes": better} if better < size else {}
    return memory_outcome(evidence, size * threads, "All instances take", changes)


STRESS_NG_SHORT = Check(
    id="stress-ng-short",
    level=Level.WARNING,
    title="stress-ng will tell no rate, or a poor one",
    why="stream tells a rate only after 4.5 s inside its kernels; memrate shares its time among some 25 methods.",
    remedy=f"Run for {TRUSTED:g} s.",
    source="stress-ng, stress-stream.c and stress-memrate.c.",
    needs="The stressor and the time.",
    evaluate=_short,
)

STRESS_NG_ENDLESS = Check(
    id="stress-ng-endless",
    level=Level.WARNING,
    title="This keeps the host under load for hours",
    why="A rate of memory is known after half a minute; stress-ng's default of a day is meant to find faults.",
    remedy=f"Run for {TRUSTED:g} s.",
    source="stress-ng(1), --timeout.",
    needs="The stressor and the time.",
    evaluate=_endless,
)

STRESS_NG_IN_CACHE = Check(
    id="stress-ng-in-cache",
    level=Level.WARNING,
    title="The memory does not outgrow the caches",
    why="What the caches hold, wholly or in part, is measured at their speed.",
    remedy="Go through at least four times the last-level cache.",
    source="STREAM 5.10, the rules in its source.",
    needs="The memory; the host's last-level cache.",
    evaluate=_in_cache,
)

STRESS_NG_TOO_SMALL = Check(
    id="memory-too-small",
    level=Level.ERROR,
    title="The instances do not fit into memory",
    why="The host would swap, or the kernel would end stress-ng or something else on the host.",
    remedy="Use less memory, or fewer instances.",
    source="/proc/meminfo, MemAvailable; the cgroup's memory limit.",
    needs="What the step takes; the host's available memory and its cgroup's limit.",
    evaluate=_too_small,
)


class StressNg:
    """The second opinion. Fixed time, bytes counted: higher is better."""

    id = "stress-ng"
    title = "stress-ng memory"
    summary = "STREAM's kernels, or some 25 ways to read and write memory, by another hand: a second opinion."
    resource = Resource.MEMORY
    tool = "stress-ng"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (METHOD, INSTANCES, TIME, MEMRATE_BYTES)
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (
        STRESS_NG_SHORT,
        STRESS_NG_ENDLESS,
        STRESS_NG_IN_CACHE,
        STRESS_NG_TOO_SMALL,
        MORE_THREADS_THAN_CPUS,
        CPU_QUOTA,
    )

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return an instance for each usable CPU, half a minute, and memory that no cache holds."""
        tuned = tune_common(context.facts)
        tuned["time"] = Tuned(TRUSTED, f"{TRUSTED:g} s are enough for a rate; stress-ng's own default is a day.")
        threads = int(tuned["threads"].value) if "threads" in tuned else 1
        return tuned | {"memrate_bytes": _fitting_bytes(context, threads)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        del context  # all versions from 0.12 on take the same words
        words = ["stress-ng", f"--{values['method']}", str(values["threads"])]
        if _memrate(values):
            words += ["--memrate-bytes", str(values["memrate_bytes"])]
        return (Command((*words, "--timeout", f"{int(values['time'])}s", "--metrics")),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time."""
        del context
        return Estimate(duration=float(values["time"]))

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return StressNgParser()
