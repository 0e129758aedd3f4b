"""stress-ng: its memory stressors stream and memrate, a cross-check of STREAM and sysbench memory."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from suites.base import Command, Context, StepEvidence, Suite, TestedTool, Workload
from suites.checks import Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax, Respelled
from suites.equivalents import Traits
from suites.facts import Facts
from suites.line_parser import LineParser
from suites.memory_sizes import cache_for, memory_outcome, memory_too_small, size_beyond_cache
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values, format_size, runtime_parameter
from suites.programs import Program, same_package_name
from suites.runtime_checks import TRUSTED
from suites.sysbench.output import THREADS, tune_common
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.tool_messages import exit_notes, printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, labels

# Parser of stress-ng's memory stressors stream and memrate, versions 0.12 to 0.19, on either stream.


# stress-ng's MB is 2^20 bytes (KB is 1024ULL and MB is KB * KB in its stress-ng.h).
READ = Metric("read_bandwidth", "Read bandwidth", Unit.MIB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
WRITE = Metric("write_bandwidth", "Write bandwidth", Unit.MIB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
BY_METHOD = Metric("method_bandwidth", "Bandwidth by method", Unit.MIB_PER_SECOND, Better.HIGHER, MetricKind.RATE)

METRICS = (READ, WRITE, BY_METHOD)

MAXIMUM_METHODS = 200

_N = r"(\d{1,15}(?:\.\d{1,6})?)"
_LINE = re.compile(r"stress-ng: +([a-z]{1,8}): +\[\d{1,10}\] +(.*)")
_STREAM = re.compile(rf"(?:stress-ng-)?stream: memory rate: {_N} MB read/sec, {_N} MB write/sec.*")
_EARLY_MEMRATE = re.compile(rf"(?:stress-ng-)?memrate: +([a-z0-9]{{1,20}}): +{_N} MB/sec")
_MEMRATE = re.compile(rf"memrate +{_N} ([a-z0-9]{{1,20}}) MB per sec(?: \(.* mean of (\d{{1,6}}) instances?\))?.*")
_TOO_SHORT = re.compile(r".*(?:run duration|run) too short .*memory rate.*")
_ENDED = re.compile(r"successful run completed in (\d.*)")
_STOPPED = re.compile(r"caught .*|.*(?:aborted|terminating|terminated) early.*|stopping \d+ stressors?")
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(day|hour|min|s)")
_IN_SECONDS = {"day": 86400, "hour": 3600, "min": 60, "s": 1}
_UNSUCCESSFUL = re.compile(r"unsuccessful run completed in \d.*")
_COMPLAINT = re.compile(
    r"stress-ng: (?:unrecognized|unknown|invalid).*|Value .* is out of range .*|.*: (?:command )?not found|Killed"
)
_OF_MEMORY = re.compile(r"dispatching hogs: (?:.*, )?\d+ (?:stream|memrate)(?:,.*)?")
_NO_RATE = "stress-ng gave no result: it prints a memory rate with --metrics."
_OTHER_STRESSOR = (
    "Not the output of the stressors stream and memrate: no other rate is read. Run stress-ng --stream 1 --metrics."
)
_GRAVE = frozenset({"fail", "error"})


class _Rates(NamedTuple):
    read: float
    write: float


class StressNgParser(LineParser):
    """Parser of one trial. stress-ng prints everything at its end: no samples."""

    unfinished = (re.compile(f".*{_ENDED.pattern}"), _COMPLAINT)

    def __init__(self) -> None:
        super().__init__()
        self._streams: list[_Rates] = []
        self._methods: dict[str, float] = {}
        self._instances = 1
        self._too_short = False
        self._ended = False
        self._stopped = ""
        self._is_of_memory = False

    def _result(self, exit_status: int | None) -> ParsedTrial:
        troubles = self._troubles(exit_status)
        figures = self._figures()
        if not figures and not troubles:
            troubles.append(_NO_RATE if self._is_of_memory else _OTHER_STRESSOR)
        return ParsedTrial(tuple(figures), (), (*troubles, *self._notes()), complete=not troubles)

    def _read(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            if _COMPLAINT.fullmatch(line):
                self._fail(line)
            return
        level, words = match.groups()
        if level in _GRAVE:
            self._fail(words)
        elif found := _STREAM.fullmatch(words):
            self._streams.append(_Rates(float(found[1]), float(found[2])))
        elif found := _EARLY_MEMRATE.fullmatch(words):
            self._add_method(found[1], float(found[2]))
        elif found := _MEMRATE.fullmatch(words):
            self._instances = max(self._instances, int(found[3] or 1))
            self._add_method(found[2], float(found[1]) * int(found[3] or 1))
        elif _TOO_SHORT.fullmatch(words):
            self._too_short = True
        elif _OF_MEMORY.fullmatch(words):
            self._is_of_memory = True
        else:
            self._take_end(words)

    def _take_end(self, words: str) -> None:
        if _STOPPED.fullmatch(words):
            self._stopped = words
        elif _ENDED.fullmatch(words):
            self._ended = True
        elif _UNSUCCESSFUL.fullmatch(words):
            self._fail(words)

    def _add_method(self, method: str, rate: float) -> None:
        """Add an instance's rate: versions before 0.14 print a line for each, later ones a mean of all."""
        if method in self._methods or len(self._methods) < MAXIMUM_METHODS:
            self._methods[method] = self._methods.get(method, 0.0) + rate

    def _figures(self) -> list[Figure]:
        """Return all instances together; of memrate's methods the best read, the best write, and all."""
        if self._streams:
            read, write = (sum(rates) for rates in zip(*self._streams, strict=True))
            return [Figure(READ, read), Figure(WRITE, write)]
        reading = [rate for method, rate in self._methods.items() if method.startswith("read")]
        writing = [rate for method, rate in self._methods.items() if method.startswith(("write", "memset"))]
        figures = [Figure(metric, max(rates)) for metric, rates in ((READ, reading), (WRITE, writing)) if rates]
        return figures + [Figure(BY_METHOD, rate, labels(method=method)) for method, rate in self._methods.items()]

    def _notes(self) -> list[str]:
        notes = [f"stress-ng was stopped: “{printable_message(self._stopped)}”."] if self._stopped else []
        if self._methods and self._instances > 1:
            notes.append(
                f"stress-ng prints the mean of {self._instances} instances: shown {self._instances} times that."
            )
        return notes

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = [f"stress-ng failed: {words}" for words in self._failures]
        if self._too_short:
            troubles.append(
                "Run too short for a memory rate: stress-ng needs 4.5 s inside its kernels, twice as long on a "
                "busy host. Increase time."
            )
        if not self._ended and not self._failures:
            troubles.append("stress-ng was cut off: its completion line is missing.")
        troubles += exit_notes("stress-ng", exit_status)
        return troubles


STREAM, MEMRATE = "stream", "memrate"

MIB = 2**20
ENOUGH = 10.0
"""Seconds below which stream reports no rate: it needs 4.5 s inside its kernels (stress-stream.c)."""


def _memrate(values: Values) -> bool:
    return values["method"] == MEMRATE


METHOD = Parameter(
    name="method",
    title="Stressor",
    default=STREAM,
    help="stream runs STREAM's kernels; memrate reads and writes in about 25 ways, with words of every width.",
    choices=(
        Choice(STREAM, "stream: copy, scale, add and triad"),
        Choice(MEMRATE, "memrate: every way to read and write"),
    ),
)

MEMRATE_BYTES = Parameter(
    name="memrate_bytes",
    type=Type.SIZE,
    default=256 * MIB,
    help="Memory of each memrate instance; below the cache size it measures the caches.",
    option="--memrate-bytes",
    unit="B",
    minimum=4096,
    maximum=2**40,
    applies=_memrate,
)

TIME = runtime_parameter(
    default=86400.0,
    help="Runtime. stream reports no rate under about 10 s; stress-ng's default is a day.",
    option="--timeout",
)


INSTANCES = replace(THREADS, title="Instances", help="Number of concurrent processes.", option="--stream, --memrate")


def _fitting_bytes(context: Context, threads: int) -> Tuned:
    return size_beyond_cache(context.facts, threads, ", for each instance")


def _short(evidence: StepEvidence) -> CheckOutcome | None:
    seconds = float(evidence.values["time"])
    if seconds >= ENOUGH:
        return None
    return CheckOutcome(f"time is {seconds:g} s.", changes={"time": TRUSTED})


def _endless(evidence: StepEvidence) -> CheckOutcome | None:
    if float(evidence.values["time"]) < 3600:
        return None
    return CheckOutcome(f"time is {float(evidence.values['time']) / 3600:g} h.", changes={"time": TRUSTED})


def _in_cache(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    if not _memrate(values):
        return None
    size, threads = int(values["memrate_bytes"]), int(values["threads"])
    cache = cache_for(evidence, size * threads)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    better = int(_fitting_bytes(evidence.context, threads).value)
    changes: dict[str, Value] = {"memrate_bytes": better} if better > size else {}
    return CheckOutcome(
        f"{threads} x {format_size(size)} for {format_size(cache)} of last-level cache.", changes=changes
    )


def _too_small(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    if not _memrate(values):
        return None
    size, threads = int(values["memrate_bytes"]), int(values["threads"])
    better = int(_fitting_bytes(evidence.context, threads).value)
    changes: dict[str, Value] = {"memrate_bytes": better} if better < size else {}
    return memory_outcome(evidence, size * threads, "All instances take", changes)


STRESS_NG_SHORT = Check(
    id="stress-ng-short",
    title="Runtime too short for a rate",
    why="stream reports a rate only after 4.5 s inside its kernels; memrate divides its time among about 25 methods.",
    remedy=f"Set time to {TRUSTED:g} s.",
    source="stress-ng, stress-stream.c and stress-memrate.c.",
    needs="Stressor and time.",
    evaluate=_short,
)

STRESS_NG_ENDLESS = Check(
    id="stress-ng-endless",
    of_result=False,
    title="Runtime of hours",
    why="Half a minute suffices for a memory rate; stress-ng's default of a day is meant to find faults.",
    remedy=f"Set time to {TRUSTED:g} s.",
    source="stress-ng(1), --timeout.",
    needs="Stressor and time.",
    evaluate=_endless,
)

STRESS_NG_IN_CACHE = Check(
    id="stress-ng-in-cache",
    title="Caches serve the memory",
    why="Memory in the caches, even in part, is measured at cache speed.",
    remedy="Use at least four times the last-level cache.",
    source="STREAM 5.10, the rules in its source.",
    needs="Memory; the host's last-level cache.",
    evaluate=_in_cache,
)


def _method_first(words: Sequence[str]) -> list[str]:
    """Return the words with the stressor, which decides the method, as a word of its own before its instances."""
    return [
        each
        for word in words
        for each in ((Respelled(word[2:], word), Respelled("--instances", word)) if word in STRESSORS else (word,))
    ]


def _seconds(text: str) -> float:
    """Return the seconds of a time: ``125.45s (2 mins, 5.45 secs)``, ``2 mins, 5.45 secs``, ``60 second``."""
    found = _SECONDS.findall(text.partition("(")[0])
    return sum(float(number) * _IN_SECONDS[unit] for number, unit in found)


STRESSORS = frozenset({"--stream", "--memrate"})

_STATED = (
    StatedLine("method", re.compile(r".*dispatching hogs: \d+ (stream|memrate)$")),
    StatedLine("threads", re.compile(r".*dispatching hogs: (\d{1,6}) (?:stream|memrate)$")),
    StatedLine(
        "memrate_bytes", re.compile(r".*memrate: using buffer size of (\d{1,12}K)"), lambda size: f"{size[:-1]} KiB"
    ),
    StatedLine("time", re.compile(r".*setting to a (.{1,60}) run per stressor"), lambda text: round(_seconds(text))),
    StatedLine("method", re.compile(r".*\] (stream|memrate)[: ]")),
)
_FIRST = re.compile(r"stress-ng: info: +\[\d+\] (?:setting to a |defaulting to a |dispatching hogs: )")


class StressNg(Suite):
    """Memory stressors. Fixed time, bytes counted: higher is better."""

    id = "stress-ng"
    title = "stress-ng memory"
    summary = "STREAM's kernels, or about 25 ways to read and write memory, in another implementation."
    resource = Resource.MEMORY
    tried = TestedTool("0.15.06 run for real; 0.12.06 and 0.19.02 from captured outputs", note="stream and memrate")
    program = Program("stress-ng", ("stress-ng",), same_package_name("stress-ng"), timed=True)
    parameters = (METHOD, INSTANCES, TIME, MEMRATE_BYTES)
    syntax = CommandSyntax(
        ("stress-ng",),
        extra={"-t": "time", "--instances": "threads"},
        normalised=_method_first,
        choices=("method",),
        invisible=frozenset({"threads"}),
    )
    metrics = METRICS
    parser_type = StressNgParser
    checks = (
        STRESS_NG_SHORT,
        STRESS_NG_ENDLESS,
        STRESS_NG_IN_CACHE,
        memory_too_small("Instances", "Use less memory or fewer instances.", _too_small),
        MORE_THREADS_THAN_CPUS,
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of stress-ng's output."""
        line = re.compile(r"stress-ng: +[a-z]+: +\[\d+\] ")
        read = by_parser(self, _STATED)

        def with_time(text: str, command: str | None) -> Iterator[ToolOutput]:
            ended = _ENDED.search(text)
            duration = _seconds(ended[1]) if ended else 0.0
            for one in read(text, command):
                limited = one.stated.get("time", TIME.default) != TIME.default  # else bogo operations may end it
                stated = one.stated if limited or not duration else {**one.stated, "time": max(1.0, round(duration))}
                yield replace(one, stated=stated, seconds=duration or None)

        return (OutputFormat(title="stress-ng memory", first=_FIRST, line=line, read=with_time),)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return one instance per usable CPU, half a minute, and memory beyond all caches."""
        tuned = tune_common(context.facts)
        tuned["time"] = Tuned(TRUSTED, f"{TRUSTED:g} s suffice for a rate; stress-ng's default is a day.")
        threads = int(tuned["threads"].value) if "threads" in tuned else 1
        return tuned | {"memrate_bytes": _fitting_bytes(context, threads)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        words = ["stress-ng", f"--{values['method']}", str(values["threads"])]
        if _memrate(values):
            words += ["--memrate-bytes", str(values["memrate_bytes"])]
        return (Command((*words, "--timeout", f"{int(values['time'])}s", "--metrics")),)

    def counted(
        self, values: Values, figures: Iterable[Figure], samples: Iterable[Sample]
    ) -> tuple[float, float] | None:
        """Return the time of the stressors: it begins once they have all started."""
        return 0.0, float(values["time"])

    def workload(self, values: Values) -> Workload:
        """Return the runtime."""
        return Workload(seconds=float(values["time"]))

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        return Traits(
            operation="read and write",
            pattern="sequential",
            threads=int(values["threads"]),
            seconds=float(values["time"]),
        )
