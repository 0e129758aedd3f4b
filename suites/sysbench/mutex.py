"""sysbench mutex: time of a fixed number of short locks per thread."""

from suites.base import Command, Context, StepEvidence, Suite, TestedTool
from suites.checks import Check, CheckOutcome
from suites.outputs import OutputFormat, TrialParser
from suites.parameters import Parameter, Tuned, Type, Values, count_parameter
from suites.sysbench.output import (
    LATENCIES,
    PERCENTILE,
    SYSBENCH,
    THREADS,
    TOTAL_TIME,
    SysbenchOutput,
    SysbenchParser,
    command,
    sysbench_syntax,
    tune_common,
    unresolved_note,
)
from suites.sysbench.output_formats import sysbench_format
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.vocab import Figure, Resource, Sample, Severity

LOOP_RATE = 2.5e9
"""Empty loops per second between two locks on a current server: 50,000 x 10,000 took 0.2 s (sysbench 1.0.20)."""

CONTENDED_RATE = 3e7
"""Locks per second of all threads on one mutex without loops: 2 threads x 50 million took 2.9 s, where one thread alone
took 0.4 s (sysbench 1.0.20)."""

WORTH_TIMING = 10.0
FAR_TOO_SHORT = 5.0
"""Seconds, as for tests of fixed time."""

MUTEX_NUM = count_parameter(
    name="mutex_num",
    default=4096,
    help="Number of mutexes; each time one is locked at random. With 1, all threads contend for it.",
    option="--mutex-num",
    maximum=10**6,
)

MUTEX_LOCKS = count_parameter(
    name="mutex_locks",
    default=50_000,
    help="Locks per thread. The test ends when all are done: fixed work, not fixed time.",
    option="--mutex-locks",
    maximum=2**31 - 1,
)

MUTEX_LOOPS = Parameter(
    name="mutex_loops",
    type=Type.INTEGER,
    default=10_000,
    help="Empty loops between two locks.",
    option="--mutex-loops",
    minimum=0,
    maximum=2**31 - 1,
)


def _seconds(values: Values) -> float:
    """Return the time of the loops alone on a current server."""
    return int(values["mutex_locks"]) * int(values["mutex_loops"]) / LOOP_RATE


def _tuned_locks(values: Values) -> int:
    """Return the number of locks, in whole 100,000, that take ten seconds on a current server."""
    wanted = WORTH_TIMING * LOOP_RATE / max(1, int(values["mutex_loops"]))
    return min(2**31 - 1, max(100_000, -int(-wanted // 100_000) * 100_000))


def _short(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    seconds, better = _seconds(values), _tuned_locks(values)
    if not int(values["mutex_loops"]) or seconds >= WORTH_TIMING or better <= int(values["mutex_locks"]):
        return None
    return CheckOutcome(
        f"{int(values['mutex_locks']):,} locks with {int(values['mutex_loops']):,} loops between them take about "
        f"{seconds:.2g} s on a current server.",
        severity=Severity.INFO if seconds >= FAR_TOO_SHORT else None,
        changes={"mutex_locks": better},
    )


SYSBENCH_MUTEX_SHORT = Check(
    id="sysbench-mutex-short",
    title="Too little work",
    why="Start-up, CPU frequency ramp-up and a single disturbance dominate a short run.",
    remedy="Increase mutex-locks.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2: never publish sysbench's defaults.",
    needs="Locks, loops, threads.",
    evaluate=_short,
)


def _no_samples(line: str, output: SysbenchOutput) -> list[Sample]:
    """Return nothing: each thread makes one event, so the rate that sysbench prints is 0 until a thread ends."""
    del line, output
    return []


def _conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    return output.figures(TOTAL_TIME), unresolved_note(output)


class SysbenchMutex(Suite):
    """Mutex contention. Fixed work, timed: lower is better."""

    id = "sysbench-mutex"
    title = "sysbench mutex"
    summary = "Time for each thread to lock mutexes a fixed number of times, contention included."
    resource = Resource.CPU
    tried = TestedTool(
        "sysbench 1.0.20 run for real; the syntax of 0.4.12 from its help", note="fixed work, so less time is better"
    )
    program = SYSBENCH
    parameters = (THREADS, MUTEX_NUM, MUTEX_LOCKS, MUTEX_LOOPS, PERCENTILE)
    syntax = sysbench_syntax("mutex")
    metrics = (TOTAL_TIME, *LATENCIES)
    usual_cov = 0.10
    checks = (SYSBENCH_MUTEX_SHORT, MORE_THREADS_THAN_CPUS)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return one thread per usable CPU that all lock one mutex, and work of about ten seconds."""
        tuned = tune_common(context.facts)
        del tuned["time"]  # the work is fixed
        threads = tuned.get("threads", Tuned(1, "")).value
        if int(threads) > 1:
            locks = round(WORTH_TIMING * CONTENDED_RATE / int(threads) / 100_000) * 100_000 or 100_000
            alone = f"{MUTEX_LOOPS.default:,} loops between two locks, the default, keep the threads apart."
            tuned["mutex_num"] = Tuned(1, f"All {threads} threads lock one mutex; among 4,096 two rarely meet.")
            tuned["mutex_loops"] = Tuned(0, alone)
            why = f"{locks:,} contended locks per thread take about {WORTH_TIMING:g} s on two CPUs."
        else:
            locks = _tuned_locks({"mutex_loops": MUTEX_LOOPS.default})
            why = f"{locks:,} locks take about {WORTH_TIMING:g} s; the default of 50,000 a fifth of a second."
        return tuned | {"mutex_locks": Tuned(locks, why)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial. Its time is unlimited: only the work ends it."""
        options = [
            f"--mutex-num={values['mutex_num']}",
            f"--mutex-locks={values['mutex_locks']}",
            f"--mutex-loops={values['mutex_loops']}",
        ]
        return (command("mutex", options, {**values, "time": 0}, context),)

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of the test's output; 1.0 does not print its options."""
        unstated = {"mutex_locks": (MUTEX_LOCKS.default, 100 * int(MUTEX_LOCKS.default))}
        return (sysbench_format(self, "Doing mutex performance test", (), unstated=unstated),)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return SysbenchParser("mutex", _no_samples, _conclude)
