"""What both sysbench tests share: their common parameters, and the command line of each generation."""

from suites.base import Command, Context, version_of
from suites.facts import Facts
from suites.parameters import Parameter, Tuned, Type, Values
from suites.runtime_checks import TRUSTED
from suites.thread_checks import cpus_for

PACKAGES = {
    "apt": "sysbench",
    "dnf": "sysbench",
    "yum": "sysbench",
    "zypper": "sysbench",
    "pacman": "sysbench",
    "apk": "sysbench",
}

UNLIMITED_REQUESTS = 2**31 - 1
"""sysbench 0.4 runs no request at all when told 0, where 0.5 and 1.0 take that for unlimited."""

THREADS = Parameter(
    name="threads",
    title="Threads",
    type=Type.INTEGER,
    default=1,
    help="How many threads work at once.",
    option="--threads",
    minimum=1,
    maximum=4096,
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=10.0,
    help="How long the test runs.",
    option="--time",
    unit="s",
    minimum=1,
    maximum=86400,
    whole=True,
)

PERCENTILE = Parameter(
    name="percentile",
    title="Percentile",
    type=Type.INTEGER,
    default=95,
    help="The one latency percentile that sysbench reports.",
    option="--percentile",
    unit="%",
    minimum=1,
    maximum=100,
)


def is_old(context: Context) -> bool:
    """Return whether the host's sysbench speaks the syntax of before 1.0; where unknown it does not."""
    version = version_of(context.facts, "sysbench")
    return version is not None and version < (1,)


def command(test: str, options: list[str], values: Values, context: Context, events: int = 0) -> Command:
    """Return the command that runs `test`; `events` 0 means that only time ends it.

    Syntax: `sysbench --help` of 1.0.20 and 0.4.12. The old generation knows no --report-interval.
    """
    threads, seconds, percentile = int(values["threads"]), int(values["time"]), int(values["percentile"])
    if is_old(context):
        words = [f"--test={test}", *options, f"--num-threads={threads}", f"--max-time={seconds}"]
        words += [f"--max-requests={events or UNLIMITED_REQUESTS}", f"--percentile={percentile}"]
        return Command(("sysbench", *words, "run"))
    words = [test, *options, f"--threads={threads}", f"--time={seconds}"]
    words += [f"--events={events}"] if events else []
    words += [f"--percentile={percentile}", "--report-interval=1"]
    return Command(("sysbench", *words, "run"))


def tune_common(facts: Facts | None) -> dict[str, Tuned]:
    """Return the tuned threads (where the CPUs are known) and time."""
    tuned = {
        "time": Tuned(TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples of one second; the tool's default gives 10."),
    }
    cpus = None if facts is None else cpus_for(facts)
    if cpus == 1:
        tuned["threads"] = Tuned(1, "The host has 1 CPU to run on.")
    elif cpus is not None:
        why = f"The host has {cpus} CPUs to run on; the tool's default of 1 thread measures one of them."
        tuned["threads"] = Tuned(cpus, why)
    return tuned
