"""ioping: the latency of single disk requests."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from types import MappingProxyType

from suites import disk
from suites.base import Command, Context, Estimate, StepEvidence, Suite, TestedTool, Workload
from suites.checks import Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.equivalents import (
    Bias,
    Equivalent,
    MetricMapping,
    ParameterMapping,
    Traits,
    backwards,
    mapped,
    pattern_text,
    tool_difference,
)
from suites.facts import Directory, Facts
from suites.identities import BINARY, DECIMAL, Ascending, Identities, PrintedLine, Product, in_text
from suites.line_parser import LineParser
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput, TrialParser
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values, flag_parameter, size_word
from suites.programs import Program, same_package_name
from suites.quantities import count_text, quantity
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, Severity

# Parser of ioping: the time of each request as it is made, and the statistics at the end.


def _time(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, title, Unit.MICROSECOND, Better.LOWER, MetricKind.TIME, percentile)


MEAN = _time("latency_mean", "Mean latency")
MINIMUM = _time("latency_min", "Minimum latency", 0)
MAXIMUM = _time("latency_max", "Maximum latency", 100)
DEVIATION = _time("latency_deviation", "Standard deviation of the latency")
LATENCY = _time("latency", "Latency of a request")
RATE = Metric("iops_without_pauses", "I/Os per second without pauses", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
REQUESTS = Metric("requests", "Requests", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
METRICS = (MEAN, MINIMUM, MAXIMUM, DEVIATION, LATENCY, RATE, REQUESTS)

MAXIMUM_SAMPLES = 1_000_000

_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6}
_TIME = r"(\d{1,9}(?:\.\d{1,6})?) (ns|us|ms|s|min)"
_REQUEST = re.compile(rf".{{1,4096}} request=(\d{{1,9}}) time={_TIME}(?: \((warmup|fast|slow)\))?")
_STATISTICS = re.compile(rf"min/avg/max/mdev = {_TIME} / {_TIME} / {_TIME} / {_TIME}")
_ROUNDED = r"\d{1,9}(?:\.\d{1,6})?(?: [kMG])?"
_COMPLETED = re.compile(rf"({_ROUNDED}) requests completed in .{{1,60}}?, ({_ROUNDED}) iops, .+")
_RAW = re.compile(r"(\d{1,18}) \d{1,20} (\d{1,20}) \d{1,20}" + r" (\d{1,18})" * 4 + r" \d{1,18} \d{1,20}")
"""Output of -B: requests, their time, rates, then minimum, mean, maximum and deviation in nanoseconds (manual)."""

_ERROR = re.compile(r"ioping: .+|.*: (?:command )?not found")


@dataclass(slots=True)
class IopingParser(LineParser):
    """Parser of one run whose requests start `interval` seconds apart."""

    unfinished = (_ERROR,)
    interval: float
    _times: tuple[Figure, ...] = ()
    _counts: tuple[Figure, ...] = ()
    _last: int = 0

    def _result(self, exit_status: int | None) -> ParsedTrial:
        problems = [f"ioping failed: {message}" for message in self._failures]
        if not self._times and not problems:
            kept = f" The times of {len(self._samples)} requests are kept." if self._samples else ""
            problems.append(f"ioping was cut off: it printed no statistics.{kept}")
        problems += exit_notes("ioping", exit_status)
        return ParsedTrial((*self._times, *self._counts), tuple(self._samples), tuple(problems), complete=not problems)

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _REQUEST.fullmatch(line):
            self._take_request(int(match[1]), _microseconds(match[2], match[3]), warm_up=match[4] == "warmup")
        elif match := _STATISTICS.fullmatch(line):
            fields = match.groups()
            times = [_microseconds(number, unit) for number, unit in zip(fields[::2], fields[1::2], strict=True)]
            self._times = _statistics(times)
        elif match := _COMPLETED.fullmatch(line):
            self._counts = Figure(RATE, _number(match[2])), Figure(REQUESTS, _number(match[1]))
        elif match := _RAW.fullmatch(line):
            requests, rate, *nanoseconds = map(float, match.groups())
            self._counts = Figure(RATE, rate), Figure(REQUESTS, requests)
            self._times = _statistics([time / 1000 for time in nanoseconds])
        elif _ERROR.fullmatch(line):
            self._fail(line)

    def _take_request(self, number: int, latency: float, *, warm_up: bool) -> None:
        if number > self._last and len(self._samples) < MAXIMUM_SAMPLES:
            self._last = number
            self._samples.append(Sample((number - 1) * self.interval, LATENCY, latency, warm_up=warm_up))


def _statistics(times: Sequence[float]) -> tuple[Figure, ...]:
    """Return minimum, mean, maximum and deviation in microseconds as figures, the mean first."""
    return tuple(
        Figure(metric, times[place]) for metric, place in ((MEAN, 1), (MINIMUM, 0), (MAXIMUM, 2), (DEVIATION, 3))
    )


def _number(text: str) -> float:
    """Return a number as ioping prints it: ``2.08 k``."""
    number, _, prefix = text.partition(" ")
    return round(float(number) * DECIMAL[prefix][0], 3)


def _microseconds(number: str, unit: str) -> float:
    return float(number) * _MICROSECONDS[unit]


# ioping's options as parameters.


DEFAULT_WORKING_SET = disk.MIB


def writes(values: Values) -> bool:
    """Whether the requests write."""
    return values["operation"] == "write"


OPERATION = Parameter(
    name="operation",
    title="Requests",
    default="read",
    help="Operation of each request.",
    option="-W",
    choices=(Choice("read", "Read"), Choice("write", "Write")),
)

COUNT = Parameter(
    name="count",
    type=Type.INTEGER,
    default=10,
    help="Number of requests; the first is a warm-up. By default ioping runs until it is stopped.",
    option="-c",
    minimum=2,
    maximum=10**6,
)

INTERVAL = Parameter(
    name="interval",
    type=Type.DURATION,
    default=1.0,
    help="Time between the starts of two requests.",
    option="-i",
    unit="s",
    minimum=0.001,
    maximum=60,
)

BLOCK_SIZE = Parameter(
    name="block_size",
    title="size",
    type=Type.SIZE,
    default=4 * disk.KIB,
    help="Bytes of each request.",
    option="-s",
    minimum=512,
    maximum=disk.GIB,
)

WORKING_SET = Parameter(
    name="working_set",
    title="wsize",
    type=Type.SIZE,
    default=DEFAULT_WORKING_SET,
    help="Working set: bytes of the file that requests fall in. ioping writes it first.",
    option="-S",
    minimum=4 * disk.KIB,
    maximum=2**50,
)

CACHE = Parameter(
    name="cache",
    title="Page cache",
    default="default",
    help="Whether the page cache may serve a request.",
    option="-D, -C",
    choices=(
        Choice("default", "default: dropped before a read, flushed after a write"),
        Choice("direct", "-D: direct I/O, no page cache"),
        Choice("cached", "-C: neither dropped nor flushed"),
    ),
)

LINEAR = flag_parameter(name="linear", help="Sequential instead of random requests.", option="-L")

BATCH = flag_parameter(
    name="batch",
    help="Print statistics in whole nanoseconds instead of three digits; single requests are then not shown.",
    option="-B",
    identity=False,
)

IOPING_PARAMETERS = (disk.DIRECTORY, OPERATION, CACHE, BLOCK_SIZE, WORKING_SET, COUNT, INTERVAL, LINEAR, BATCH)


# Checks of an ioping step.


ENOUGH_REQUESTS = 100
"""Requests below which one slow request in a hundred is likely missed, or weighs too much."""

SUGGESTED_REQUESTS = 300
SUGGESTED_WORKING_SET = 256 * disk.MIB


def _cached(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.values["cache"] != "cached":
        return None
    what = "written to the page cache without a flush" if writes(evidence.values) else "read from the page cache"
    return CheckOutcome(
        f"With -C the blocks are {what}.", changes={"cache": "direct" if disk.accepts_direct(evidence) else "default"}
    )


def _few_requests(evidence: StepEvidence) -> CheckOutcome | None:
    count = int(evidence.values["count"])
    if count >= ENOUGH_REQUESTS:
        return None
    return CheckOutcome(f"{count} requests, the first is a warm-up.", changes={"count": SUGGESTED_REQUESTS})


def _small_working_set(evidence: StepEvidence) -> CheckOutcome | None:
    size = int(evidence.values["working_set"])
    if size > DEFAULT_WORKING_SET:
        return None
    room = disk.free_bytes(evidence)
    fits = room is None or room > 2 * SUGGESTED_WORKING_SET
    unseen = size == DEFAULT_WORKING_SET and evidence.quick_look and evidence.context.facts is None
    where = " if the target is a directory; in the whole of a file" if unseen else ""
    return CheckOutcome(
        f"All requests fall in {quantity(size)}{where}.",
        changes={"working_set": SUGGESTED_WORKING_SET} if fits else {},
    )


def _block_exceeds_working_set(evidence: StepEvidence) -> CheckOutcome | None:
    block, size = int(evidence.values["block_size"]), int(evidence.values["working_set"])
    if block <= size:
        return None
    return CheckOutcome(f"size is {quantity(block)}, wsize is {quantity(size)}.", changes={"working_set": block})


IOPING_CHECKS = (
    disk.direct_refused(lambda values: values["cache"] == "direct", {"cache": "default"}),
    disk.unaligned_direct(lambda values: values["cache"] == "direct"),
    Check(
        id="block-beyond-set",
        severity=Severity.ERROR,
        blocks=True,
        title="Block larger than the working set",
        why="ioping refuses a request larger than the working set and measures nothing.",
        remedy="Set wsize to at least one block, preferably many.",
        source="ioping(1), -s and -S.",
        needs="Block size and working set.",
        evaluate=_block_exceeds_working_set,
    ),
    Check(
        id="cached-requests",
        title="Page cache serves the requests",
        why="The figure is that of a memory copy: 7 µs where the same disk took 370 µs.",
        remedy="Use direct I/O.",
        source="ioping(1), -C; measured with ioping 1.3 on a virtual disk.",
        needs="Page cache mode.",
        evaluate=_cached,
    ),
    Check(
        id="few-requests",
        title="Too few requests for the tail",
        why="Rare slow requests dominate a disk's latency: few samples miss them, or one decides the mean.",
        remedy=f"Make {SUGGESTED_REQUESTS} requests; with a shorter interval they take no longer.",
        source="practitioners' notes (one request of 1,000 ms hid in a mean of 1.65 ms).",
        needs="Number of requests.",
        evaluate=_few_requests,
    ),
    Check(
        id="small-working-set",
        severity=Severity.INFO,
        title="Device cache may serve the requests",
        why="A small file fits into the cache of the drive, the controller or the storage service, and ioping "
        "has just written it.",
        remedy=f"Set wsize to {quantity(SUGGESTED_WORKING_SET)}.",
        source="ioping(1), -S: the default is 1 MiB for a directory, the whole size for a file or a device.",
        needs="Working set.",
        evaluate=_small_working_set,
    ),
)


TUNED_REQUESTS = 300
TUNED_INTERVAL = 0.1

TUNED_WORKING_SET = 256 * disk.MIB
"""Bytes: more than most devices cache for one file, and written within 4 s at 64 MB/s."""

_CACHE_OPTIONS = MappingProxyType({"default": (), "direct": ("-D",), "cached": ("-C",)})


_FROM_FIO: Mapping[Value, Value] = {"randread": "read", "randwrite": "write", "read": "read", "write": "write"}
_CACHE: Mapping[Value, Value] = {"direct": True, "cached": False}
"""By default ioping drops the pages of each block before it reads it, fio those of the file before its job."""


def _pattern_of_fio(_value: Value, values: Values, _facts: Facts | None) -> Value:
    return f"{'' if values['linear'] else 'rand'}{values['operation']}"


def _interval(text: str) -> float:
    """Return the seconds between the requests of “21 requests in 2.00 s”."""
    count, *_, number, unit = text.split()
    return max(0.0, _microseconds(number, unit) / 1e6 / max(1, int(count) - 1))


_STATED = (
    StatedLine("block_size", re.compile(r"(\d{1,9}(?:\.\d)? [KMG]?i?B) (?:<<<|>>>) ")),
    StatedLine("operation", re.compile(r".{1,30} (<<<|>>>) "), lambda sign: {">>>": "write"}.get(sign, "read")),
    StatedLine(
        "operation", re.compile(r"\d+ requests .*B (read|written),"), lambda done: done.replace("written", "write")
    ),
    StatedLine("count", re.compile(rf"({_ROUNDED}) requests completed in "), lambda text: round(_number(text))),
    StatedLine("interval", re.compile(rf"(\d{{1,9}} requests completed in {_TIME}), [^,]*iops, "), _interval),
    StatedLine("count", re.compile(r"generated (\d{1,9}) requests in ")),
    StatedLine("interval", re.compile(rf"generated (\d{{1,9}} requests in {_TIME})"), _interval),
)
_SUMMARY = re.compile(r"--- .+ ioping statistics ---")


_DEVICE = re.compile(r"\((?:block )?device (\d{1,9}(?:\.\d{1,3})?) ([KMGTP])iB\)")
"""The size of a block device: the requests fall in all of it."""

_SIZED = re.compile(r"\s--?(?:\w*S|wsize)")
"""The option of the working set."""


def _as_printed(one: ToolOutput, text: str, command: str | None) -> ToolOutput:
    """Return a result with the requests shown if there is no count of them, and the size of a device as working set."""
    stated = dict(one.stated)
    if one.parsed.samples and not any(figure.metric is REQUESTS for figure in one.parsed.figures):
        stated["count"] = max(2, len(one.parsed.samples))
    if (device := _DEVICE.search(text)) and not _SIZED.search(command or ""):
        stated["working_set"] = int(float(device[1]) * BINARY[device[2]][0])
    return replace(one, stated=stated)


def _of_requests(samples: Sequence[Sample]) -> tuple[Sequence[Figure], str]:
    """Return the statistics of the requests in `samples`, as ioping computes them."""
    times = [one.value for one in samples if not one.warm_up]
    figures = _statistics([min(times), fmean(times), max(times), pstdev(times)]) if times else ()
    return figures, f"the statistics are those of the {count_text(len(times), 'request')} shown"


_NUMBER = r"\d{1,15}(?:\.\d{1,9})?"
_PRINTED_UNITS = {
    "ns": (1e-9,), "us": (1e-6,), "ms": (1e-3,), "s": (1.0,), "min": (60.0,), "hours": (3600.0,),
    **{f"{prefix}iB": BINARY[prefix] for prefix in "KMGTP"}, "B": (1.0,), **DECIMAL,
}  # fmt: skip
_IDENTITIES = Identities(
    (
        PrintedLine(
            re.compile(
                rf"(?P<count>\d{{1,15}}) requests completed in (?P<seconds>{_NUMBER}) (?P<seconds_unit>\w{{1,5}}), "
                rf"(?P<size>{_NUMBER}) (?P<size_unit>[KMGTP]?i?B) (?:read|written), "
                rf"(?P<rate>{_NUMBER}) (?P<rate_unit>[kMG]?) ?iops, "
                rf"(?P<bandwidth>{_NUMBER}) (?P<bandwidth_unit>\w{{1,3}})/s"
            ),
            (
                Product(
                    text="requests / time",
                    result="rate", factors=("count",), divisors=("seconds",), unit=Unit.PER_SECOND,
                ),
                Product(
                    text="size / time",
                    result="bandwidth", factors=("size",), divisors=("seconds",), unit=Unit.BYTES_PER_SECOND,
                ),
            ),
            _PRINTED_UNITS,
            cut=frozenset({"rate"}),
        ),
        PrintedLine(
            re.compile(
                rf"min/avg/max/mdev = (?P<min>{_NUMBER}) (?P<min_unit>\w{{1,5}}) / "
                rf"(?P<avg>{_NUMBER}) (?P<avg_unit>\w{{1,5}}) / "
                rf"(?P<max>{_NUMBER}) (?P<max_unit>\w{{1,5}})"
            ),
            (Ascending(("min", "avg", "max"), Unit.SECOND),),
            _PRINTED_UNITS,
        ),
    ),
    (
        Product(text="requests × avg", result="seconds", factors=("count", "avg"), unit=Unit.SECOND),
    ),
)  # fmt: skip
"""Identities of ioping's statistics."""


class Ioping(Suite):
    """Disk latency: one request after another, with a pause between them."""

    id = "ioping"
    title = "ioping"
    summary = "Latency of single reads or writes on an otherwise idle disk. For rates use fio."
    resource = Resource.DISK
    tried = TestedTool(
        "ioping 1.3 run for real",
        "every request; not with exact figures (-B)",
        "latency alone; ioping prints no percentiles",
    )
    program = Program("ioping", ("ioping",), same_package_name("ioping"), timed=True)
    parameters = IOPING_PARAMETERS
    main_parameters = ("operation", "cache", "block_size", "working_set", "count", "interval")
    syntax = CommandSyntax(("ioping",), choices=("operation", "cache"))
    metrics = METRICS
    directory_parameter = "directory"
    usual_cov = 0.10
    checks = IOPING_CHECKS
    equivalents = (
        Equivalent(
            "fio",
            "How long does one request take here?",
            (
                ParameterMapping("directory", "directory"),
                ParameterMapping("operation", "rw", _pattern_of_fio, mapped(_FROM_FIO), required=True),
                ParameterMapping("linear", "rw", _pattern_of_fio, lambda value, *_: value in {"read", "write"}),
                ParameterMapping("block_size", "block_size"),
                ParameterMapping("working_set", "size"),
                ParameterMapping("cache", "direct", mapped(_CACHE), backwards(_CACHE), required=True),
            ),
            (MetricMapping(("latency_mean",), ("total_latency_mean",)),),
            fixed=(("runtime", 5.0), ("ioengine", "psync")),
            fixed_backward=(("count", 1000), ("interval", 0.001)),
            reasons=tool_difference(
                "ioping pauses between requests, so CPU and device may enter power-saving states; fio’s requests "
                "follow each other.",
                Bias.OTHER,
            ),
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of ioping's output."""
        completed = f"{_ROUNDED} requests completed in "
        line = re.compile(
            rf".{{1,4096}} request=\d{{1,9}} time=\d|min/avg/max/mdev = \d|{_SUMMARY.pattern}|{completed}"
        )
        unstated = {"cache": ("default", "direct")}
        read = by_parser(
            self, _STATED, unstated=unstated, again=_SUMMARY, live=_of_requests, contradictions=in_text(_IDENTITIES)
        )

        def with_size(text: str, command: str | None) -> Iterator[ToolOutput]:
            lines = text.splitlines()
            for one in read(text, command):
                yield _as_printed(one, "\n".join(lines[one.line :]), command)

        first = re.compile(r".+ request=1 time=\d")
        return (OutputFormat(title="ioping", first=first, line=line, read=with_size),)

    def workload(self, values: Values) -> Workload:
        """Return a queue depth of 1."""
        return Workload(buffered=values["cache"] == "cached", queue_depth=1)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return enough requests over enough of the disk, with direct I/O."""
        seconds = TUNED_REQUESTS * TUNED_INTERVAL
        tuned = {
            "count": Tuned(TUNED_REQUESTS, f"{TUNED_REQUESTS} requests in {seconds:g} s sample the rare slow ones."),
            "interval": Tuned(
                TUNED_INTERVAL, "Ten requests per second: the disk is idle in between, as with ioping's 1 s."
            ),
            "working_set": Tuned(TUNED_WORKING_SET, "ioping's default of 1 MiB fits into device caches."),
        }
        directory = disk.best_directory(context.facts)
        if directory is None:
            return tuned
        tuned["directory"] = Tuned(directory.path, "Most free space of the directories tried.")
        tuned["working_set"] = _working_set(directory)
        if directory.direct is True:
            why = f"{directory.path} accepts direct I/O (tried): the page cache serves no request."
            tuned["cache"] = Tuned("direct", why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command. ioping creates its working set itself, as an unlinked file."""
        options = [
            *_CACHE_OPTIONS[str(values["cache"])],
            *(["-W"] if writes(values) else []),
            *(["-L"] if values["linear"] else []),
            *(["-B"] if values["batch"] else []),
            *("-c", str(values["count"])),
            *("-i", f"{float(values['interval']):g}s"),
            *("-s", size_word(int(values["block_size"]))),
            *("-S", size_word(int(values["working_set"]))),
        ]
        return (Command(("ioping", *options, ".")),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of the pauses, and the bytes of the working set, written before each trial."""
        size, count = int(values["working_set"]), int(values["count"])
        requests = count * int(values["block_size"]) if writes(values) else 0
        return Estimate(duration=count * float(values["interval"]), written=size + requests, space=size)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser, which places each request by its number and the interval."""
        return IopingParser(float(values["interval"]))

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        return Traits(
            operation=str(values["operation"]),
            pattern=pattern_text(
                "sequential" if values["linear"] else "random",
                limits=("cached pages dropped before each request",) if values["cache"] == "default" else (),
            ),
            block=int(values["block_size"]),
            cached=values["cache"] != "direct",
            in_flight=1,
            threads=1,
            working_set=int(values["working_set"]),
            seconds=int(values["count"]) * float(values["interval"]) or None,
        )


def _working_set(directory: Directory) -> Tuned:
    size = disk.whole_mebibytes(disk.room_for(TUNED_WORKING_SET, directory))
    return Tuned(size, f"Requests spread over {quantity(size)}; ioping's default of 1 MiB fits into device caches.")
