"""sysbench mutex: how long threads take for a fixed number of short locks each."""

from collections.abc import Mapping

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import Check, Outcome, StepCheck, StepEvidence
from suites.parameters import Parameter, Tuned, Type, Values
from suites.sysbench.common import PACKAGES, PERCENTILE, THREADS, command, tune_common
from suites.sysbench.output import (
    LATENCY_MAXIMUM,
    LATENCY_MEAN,
    TOTAL_TIME,
    SysbenchOutput,
    SysbenchParser,
    latency_percentile,
    unresolved_note,
)
from suites.thread_checks import CPU_QUOTA, MORE_THREADS_THAN_CPUS
from suites.vocab import Figure, Level, Metric, Resource, Sample

LOOP_RATE = 2.5e9
"""Empty loops a second between two locks on a current server: 50,000 x 10,000 took 0.2 s (sysbench 1.0.20)."""

WORTH_TIMING = 10.0
FAR_TOO_SHORT = 5.0
"""Seconds, as for tests of fixed time."""

MUTEX_NUM = Parameter(
    name="mutex_num",
    title="Mutexes",
    type=Type.INTEGER,
    default=4096,
    help="How many mutexes there are, one of which is locked at random each time; with 1, all threads want the same.",
    option="--mutex-num",
    minimum=1,
    maximum=10**6,
)

MUTEX_LOCKS = Parameter(
    name="mutex_locks",
    title="Locks",
    type=Type.INTEGER,
    default=50_000,
    help="How often each thread locks a mutex. The test is over when all have: the work is fixed, not the time.",
    option="--mutex-locks",
    minimum=1,
    maximum=2**31 - 1,
)

MUTEX_LOOPS = Parameter(
    name="mutex_loops",
    title="Loops",
    type=Type.INTEGER,
    default=10_000,
    help="Empty loops between two locks.",
    option="--mutex-loops",
    minimum=0,
    maximum=2**31 - 1,
)


def _seconds(values: Values) -> float:
    """Return how long the loops alone take on a current server."""
    return int(values["mutex_locks"]) * int(values["mutex_loops"]) / LOOP_RATE


def _tuned_locks(values: Values) -> int:
    """Return how many locks, in whole 100,000, take ten seconds on a current server."""
    wanted = WORTH_TIMING * LOOP_RATE / max(1, int(values["mutex_loops"]))
    return min(2**31 - 1, max(100_000, -int(-wanted // 100_000) * 100_000))


def _short(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    seconds, better = _seconds(values), _tuned_locks(values)
    if not int(values["mutex_loops"]) or seconds >= WORTH_TIMING or better <= int(values["mutex_locks"]):
        return None
    return Outcome(
        f"{int(values['mutex_locks']):,} locks with {int(values['mutex_loops']):,} loops between them take some "
        f"{seconds:.2g} s on a current server.",
        level=Level.INFO if seconds >= FAR_TOO_SHORT else None,
        changes={"mutex_locks": better},
    )


SYSBENCH_MUTEX_SHORT = Check(
    id="sysbench-mutex-short",
    level=Level.WARNING,
    title="So little work is over too soon to trust",
    why="Start-up, a processor clock that is still rising and any single disturbance weigh heavily in a short run.",
    remedy="Let each thread lock more often.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2: never publish sysbench's defaults.",
    needs="The locks, the loops and the threads.",
    evaluate=_short,
)


def _no_samples(line: str, output: SysbenchOutput) -> list[Sample]:
    """Return nothing: each thread makes one event, so the rate that sysbench prints is 0 until a thread ends."""
    del line, output
    return []


def _conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    return output.figures(TOTAL_TIME), unresolved_note(output)


class SysbenchMutex:
    """The mutex test. Fixed work, timed: lower is better."""

    id = "sysbench-mutex"
    title = "sysbench mutex"
    summary = "Threads that each lock mutexes a fixed number of times: how long they take, contention included."
    resource = Resource.CPU
    tool = "sysbench"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (THREADS, MUTEX_NUM, MUTEX_LOCKS, MUTEX_LOOPS, PERCENTILE)
    metrics: tuple[Metric, ...] = (
        TOTAL_TIME,
        LATENCY_MEAN,
        latency_percentile(int(PERCENTILE.default)),
        LATENCY_MAXIMUM,
    )
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (SYSBENCH_MUTEX_SHORT, MORE_THREADS_THAN_CPUS, CPU_QUOTA)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a thread for every usable CPU, and work that takes some ten seconds."""
        tuned = tune_common(context.facts)
        del tuned["time"]  # the work is fixed
        locks = _tuned_locks({"mutex_loops": MUTEX_LOOPS.default})
        why = f"{locks:,} locks take some {WORTH_TIMING:g} s; the tool's 50,000 are over in a fifth of a second."
        return tuned | {"mutex_locks": Tuned(locks, why)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial. Its time is unlimited: only the work ends it."""
        options = [
            f"--mutex-num={values['mutex_num']}",
            f"--mutex-locks={values['mutex_locks']}",
            f"--mutex-loops={values['mutex_loops']}",
        ]
        return (command("mutex", options, {**values, "time": 0}, context),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return no time: the work is fixed, and how long it takes is what is measured."""
        del values, context
        return Estimate(duration=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return SysbenchParser("mutex", _no_samples, _conclude)
