"""cyclictest: latencies of a thread's wake-ups, from its text and its histogram (-h)."""

import re
from collections.abc import Iterator

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.identities import Ascending, Identities, PrintedLine, noted
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type, Value
from suites.programs import Program
from suites.read_only.base import ReadOnlySuite, time_metric, tool_output
from suites.units import Unit
from suites.vocab import Figure, Resource, labels

LONGEST = time_metric("wake_up_max", "Longest latency", 100, Unit.MICROSECOND)
MEAN = time_metric("wake_up_mean", "Mean latency", unit=Unit.MICROSECOND)
SHORTEST = time_metric("wake_up_min", "Shortest latency", 0, Unit.MICROSECOND)

_N = r"\d{1,12}"
_THREAD = re.compile(
    rf"T: ?(?P<thread_>\d{{1,5}}) ?\( *\d{{1,9}}\) P: ?(?P<priority>\d{{1,3}}) I: ?{_N} "
    rf"C: *(?P<cycles>[1-9]\d{{0,11}}) Min: *(?P<min>{_N}) Act: *(?P<act>{_N}) Avg: *(?P<avg>{_N}) Max: *(?P<max>{_N})"
)
_POLICY = re.compile(r"policy: (\w{1,20}): loadavg: ")
_HISTOGRAM = re.compile(r"# (Min|Avg|Max) Latencies: (\d{1,12}(?: \d{1,12}){0,1023})$")
_TOTAL = re.compile(r"# Total: (\d{1,12})")

ENOUGH_CYCLES = 100_000
"""Wake-ups from which a longest latency says something about rare ones."""

IDENTITIES = Identities((PrintedLine(_THREAD, (Ascending(("min", "avg", "max"), Unit.MICROSECOND),)),))
"""Identities of the line of a thread."""

PRIORITY = Parameter(
    name="priority", title="Priority", type=Type.INTEGER, default=-1, minimum=-1, maximum=99, option="-p",
    help="Real-time priority; 0 is none, -1 not known.",
)  # fmt: skip
CYCLES = Parameter(
    name="cycles", title="Cycles", type=Type.INTEGER, default=0, minimum=0, help="Wake-ups of a thread; 0 if not known."
)


def _not_real_time(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("Priority: 0.") if evidence.values["priority"] == 0 else None


def _few(evidence: StepEvidence) -> CheckOutcome | None:
    cycles = int(evidence.values["cycles"])
    return CheckOutcome(f"Cycles: {cycles}.") if 0 < cycles < ENOUGH_CYCLES else None


class Cyclictest(ReadOnlySuite):
    """Latencies of the wake-ups of a thread that sleeps for an interval."""

    id = "cyclictest"
    title = "cyclictest"
    summary = "How late the kernel wakes a thread."
    resource = Resource.CPU
    program = Program("cyclictest", ("cyclictest",))
    parameters = (PRIORITY, CYCLES)
    metrics = (LONGEST, MEAN, SHORTEST)
    checks = (
        Check(
            id="cyclictest-not-real-time",
            title="Threads have no real-time priority",
            why="The scheduler shares the CPU among all threads: the latency is that of the fair class.",
            remedy="Set -p 80 --policy fifo (as root), and --mlockall.",
            source="cyclictest(8), -p: the default priority is 0.",
            evaluate=_not_real_time,
            needs="The priority of the threads.",
        ),
        Check(
            id="cyclictest-few-cycles",
            title="Few wake-ups",
            why="The longest latency grows with the number of wake-ups: rare ones need hours under load.",
            remedy="Measure for at least an hour, with the load that counts (hackbench, stress-ng).",
            source="Linux Foundation, Real-Time Linux: HOWTO cyclictest, test duration.",
            evaluate=_few,
            needs="The number of wake-ups.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The lines of the threads, with -q or not, and the histogram."""
        line = re.compile(f"T: ?\\d{{1,5}} ?\\( *\\d+\\) P: ?\\d|# (?:Min|Avg|Max) Latencies: |{_POLICY.pattern}")
        return (
            OutputFormat(
                title="cyclictest", first=re.compile("# /dev/cpu_dma_latency set to"), line=line, read=self._read
            ),
        )

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield the threads of one run: of the lines of each, which cyclictest overwrites, the last."""
        threads = {match["thread_"]: match for line in text.splitlines() if (match := _THREAD.match(line.strip()))}
        of_threads = {name: {key: int(match[key]) for key in ("min", "avg", "max")} for name, match in threads.items()}
        stated: dict[str, Value] = {}
        if threads:
            stated["priority"] = min(int(match["priority"]) for match in threads.values())
            stated["cycles"] = min(int(match["cycles"]) for match in threads.values())
        for line in text.splitlines():
            if match := _HISTOGRAM.match(line.strip()):
                for number, value in enumerate(match[2].split()):
                    of_threads.setdefault(str(number), {})[match[1].lower()] = int(value)
            elif (match := _TOTAL.match(line.strip())) and "cycles" not in stated:
                stated["cycles"] = int(match[1])
        figures = [
            Figure(metric, float(values[name]), labels(thread=thread))
            for name, metric in (("max", LONGEST), ("avg", MEAN), ("min", SHORTEST))
            for thread, values in sorted(of_threads.items(), key=lambda pair: -pair[1].get("max", 0))
            if name in values
        ]
        if figures:
            yield from noted((tool_output(self.id, figures, stated),), IDENTITIES.contradictions(text))
