"""elbencho: its results as text, CSV and JSON."""

import csv
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from suites.base import StepEvidence, Workload
from suites.checks import Check, CheckOutcome
from suites.output_times import ISO, start_in
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Choice, Parameter, Type, Value, Values, flag_parameter, parse_size
from suites.programs import Program
from suites.read_only.base import MOST_FIGURES, ReadOnlySuite, time_metric, tool_output
from suites.strict_json import object_in, read_json
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Resource, labels

BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.MIB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
IOPS = Metric("iops", "IOPS", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
ENTRIES = Metric("entries", "Files per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
ELAPSED = time_metric("elapsed", "Time until the last thread ended")
LATENCY = time_metric("latency_mean", "Mean latency", unit=Unit.MICROSECOND)


def _at(phase: str, *, first: bool = False) -> Labels:
    """Return the labels of a figure: `first` is that of the moment when the fastest thread ended."""
    return labels(operation=_operation(phase), **({"until": "first thread done"} if first else {}))


_HEAD = re.compile(r"OPERATION +RESULT TYPE +FIRST DONE +LAST DONE$")
_ROW = re.compile(r"(?:([A-Z]{3,20}) +)?([A-Z][A-Za-z/ ]{2,20}?) *: +(\S+) +(\S+)$")
_LATENCY = re.compile(r"(?:[A-Z]{3,20} +)?(?:IO|I/O) latency *: +\[ min=\S+ avg=(\d{1,12}(?:\.\d{1,9})?)(us|ms|s) ")
_TIME = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(\d{1,9}(?:\.\d{1,9})?)(ms|us|s)$")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?")
_WHOLE = re.compile(r"\d{1,15}", re.ASCII)
_BEGUN = start_in(rf'"iso_start_date"\s*:\s*"{ISO}"', rf"^{ISO},", rf"^ISO DATE *: *{ISO}")
_CSV_HEAD = re.compile(r"ISO date,label,path type,", re.IGNORECASE)
_ROWS = {"Throughput MiB/s": BANDWIDTH, "IOPS": IOPS, "Files/s": ENTRIES, "Objects/s": ENTRIES}
_COLUMNS = {"mib/s": BANDWIDTH, "iops": IOPS, "entries/s": ENTRIES}
_SCALES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_DATA = frozenset({"READ", "WRITE", "RWMIX"})

OPERATION = Parameter(
    name="operation", title="Operation", default="read", help="Phase of the test.",
    choices=(Choice("read", "read"), Choice("write", "write"), Choice("other", "other")),
)  # fmt: skip
DIRECT = flag_parameter(name="direct", title="direct", default=False, help="I/O bypasses the page cache.")
BLOCK = Parameter(name="block_size", title="Block size", type=Type.SIZE, default=2**20, help="Bytes of an I/O.")
THREADS = Parameter(name="threads", title="Threads", type=Type.INTEGER, default=1, help="Threads of each host.")
DEPTH = Parameter(name="iodepth", title="iodepth", type=Type.INTEGER, default=1, help="Asynchronous I/Os of a thread.")


def _cached(evidence: StepEvidence, operation: str) -> CheckOutcome | None:
    values = evidence.values
    return CheckOutcome("direct is no.") if values["operation"] == operation and not values["direct"] else None


class Elbencho(ReadOnlySuite):
    """A phase of elbencho."""

    id = "elbencho"
    title = "elbencho"
    summary = "Throughput, IOPS and files per second of distributed storage."
    resource = Resource.DISK
    program = Program("elbencho", ("elbencho",))
    uniform = True
    parameters = (OPERATION, DIRECT, BLOCK, THREADS, DEPTH)
    metrics = (BANDWIDTH, IOPS, ENTRIES, LATENCY, ELAPSED)
    checks = (
        Check(
            id="page-cache",
            title="Page cache will serve the I/O",
            why="Files that fit into memory stay in the page cache: the figure can be that of memory.",
            remedy="Use --direct, or drop the caches of every host before the read phase.",
            source="elbencho, --direct and --dropcache.",
            evaluate=lambda evidence: _cached(evidence, "read"),
            needs="--direct.",
        ),
        Check(
            id="unflushed-write",
            title="No flush to the disk",
            why="A buffered write ends when the data is in the page cache; writeback follows after the clock stops.",
            remedy="Use --direct.",
            source="elbencho, --direct and --sync.",
            evaluate=lambda evidence: _cached(evidence, "write"),
            needs="--direct.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The table on the terminal, and the files of --csvfile and --jsonfile."""
        return (
            OutputFormat(title="elbencho text", first=_HEAD, line=_ROW_LINE, read=self._read_table, begun=_BEGUN),
            OutputFormat(title="elbencho CSV", first=_CSV_HEAD, read=self._read_csv, begun=_BEGUN),
            OutputFormat(
                title="elbencho JSON",
                keys=frozenset({"phase_type", "last_done"}),
                read=self._read_json,
                begun=_BEGUN,
            ),
        )

    def workload(self, values: Values) -> Workload:
        """Return whether the I/O goes through the page cache."""
        return Workload(buffered=not values["direct"])

    def _read_table(self, text: str, command: str | None) -> Iterator[ToolOutput]:
        phase = ""
        found: dict[str, list[Figure]] = {}
        for line in text.splitlines():
            row = _ROW.match(line.strip())
            latency = _LATENCY.match(line.strip())
            if row and row[1]:
                phase = row[1]
            if latency and phase:
                found.setdefault(phase, []).append(
                    Figure(LATENCY, float(latency[1]) * _SCALES[latency[2]] * 1e6, _at(phase))
                )
            elif row and phase:
                found.setdefault(phase, []).extend(_row_figures(phase, row[2].strip(), row[3], row[4]))
        direct: dict[str, tuple[Value, ...]] = {"direct": (True, False)}
        for name, figures in found.items():
            if figures and len(found) < MOST_FIGURES:
                stated = {**_inferred(figures), **_stated(command), "operation": _operation(name)}
                one = tool_output(self.id, figures, stated, name=name)
                yield one if command else ToolOutput(one.suite_id, one.parsed, one.stated, direct, name)

    def _read_csv(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        rows = csv.reader(text.splitlines())
        head: list[str] = []
        for row in rows:
            if row and _CSV_HEAD.match(",".join(row[:4])):
                head = [name.strip().lower() for name in row]
                continue
            cells = dict(zip(head, row, strict=False))
            phase = cells.get("operation", "")
            figures = [
                Figure(metric, float(cells[key]), at)
                for name, metric in _COLUMNS.items()
                for key, at in ((f"{name} [last]", _at(phase)), (f"{name} [first]", _at(phase, first=True)))
                if _NUMBER.fullmatch(cells.get(key, ""))
            ]
            if _NUMBER.fullmatch(cells.get("io lat us [avg]", "")):
                figures.append(Figure(LATENCY, float(cells["io lat us [avg]"]), _at(phase)))
            if figures and phase:
                columns = (("block size", "block_size"), ("threads", "threads"), ("io depth", "iodepth"))
                stated: dict[str, Value] = {
                    name: int(cells[column]) for column, name in columns if _WHOLE.fullmatch(cells.get(column, ""))
                }
                stated |= {"operation": _operation(phase), "direct": cells.get("direct io") == "1"}
                yield tool_output(self.id, figures, stated, name=phase)

    def _read_json(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield a phase: a line of the file, in which all values are texts (Statistics::printPhaseResultsAsJSON)."""
        content = read_json(text)
        phase, config = content.get("phase_type"), object_in(content, "config")
        if not isinstance(phase, str) or not 0 < len(phase) <= LONGEST_PHASE:
            return
        figures: list[Figure] = []
        for name, first in (("last_done", False), ("first_done", True)):
            done = object_in(content, name)
            figures += _done_figures(done, _at(phase, first=first))
            figures += _done_figures(object_in(done, "rwmix_read"), _at("READ", first=first))
            if not first and (elapsed := _number(done, "elapsed_time_ms")) is not None:
                figures.append(Figure(ELAPSED, elapsed / 1000))
        latency = object_in(object_in(object_in(content, "last_done"), "latency"), "IO")
        for one, at in ((latency, _at(phase)), (object_in(latency, "rwmix_read"), _at("READ"))):
            if (mean := _number(one, "avg_us")) is not None:
                figures.append(Figure(LATENCY, mean, at))
        if figures:
            columns = (("block_size", "block_size"), ("threads", "threads"), ("io_depth", "iodepth"))
            stated: dict[str, Value] = {
                name: int(value) for key, name in columns if (value := _number(config, key)) is not None
            }
            if config.get("direct_io") in _SWITCHES:
                stated["direct"] = config["direct_io"] in _ON
            made = tool_output(self.id, figures, {**stated, "operation": _operation(phase)}, name=phase)
            unknown: dict[str, tuple[Value, ...]] = {} if "direct" in stated else {"direct": (True, False)}
            yield replace(made, unstated=unknown)


LONGEST_PHASE = 40
_ON, _SWITCHES = ("true", "1", True), ("true", "1", True, "false", "0", False)


def _number(content: Mapping[str, object], key: str) -> float | None:
    """Return a number, which elbencho writes as a text; None for anything else."""
    value = str(content.get(key, ""))
    return float(value) if _NUMBER.fullmatch(value) else None


def _done_figures(done: Mapping[str, object], at: Labels) -> Iterator[Figure]:
    for key, metric, scale in (("bytes/s", BANDWIDTH, 2.0**-20), ("iops", IOPS, 1.0), ("entries/s", ENTRIES, 1.0)):
        if (value := _number(done, key)) is not None:
            yield Figure(metric, value * scale, at)


_ROW_LINE = re.compile(r"(?:[A-Z]{3,20} +)?(?:Elapsed time|IOPS|Throughput MiB/s|Total MiB|Files/s) *: +\S+ +\S+$")


def _operation(phase: str) -> str:
    return phase.lower() if phase in {"READ", "WRITE"} else "other"


def _row_figures(phase: str, name: str, first: str, last: str) -> Iterator[Figure]:
    if name == "Elapsed time" and (match := _TIME.match(last)):
        seconds = float(match[3]) * _SCALES[match[4]] + 60 * float(match[2] or 0) + 3600 * float(match[1] or 0)
        yield Figure(ELAPSED, seconds)
    elif name in _ROWS:
        for cell, at in ((last, _at(phase)), (first, _at(phase, first=True))):
            if _NUMBER.fullmatch(cell):
                yield Figure(_ROWS[name], float(cell), at)


def _inferred(figures: Sequence[Figure]) -> dict[str, Value]:
    """Return the block size that the rates have in common, a power of two."""
    rates = {one.metric: one.value for one in reversed(figures)}
    iops, bandwidth = rates.get(IOPS, 0.0), rates.get(BANDWIDTH, 0.0)
    return {"block_size": 2 ** round(math.log2(bandwidth * 2**20 / iops))} if min(iops, bandwidth) >= 1 else {}


def _stated(command: str | None) -> dict[str, Value]:
    """Return the options of a command line on which a check depends."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return {}
    stated: dict[str, Value] = {"direct": "--direct" in words} if words else {}
    for option in ("-b", "--block"):
        if option in words[:-1]:
            with suppress(ValueError):
                stated["block_size"] = parse_size(words[words.index(option) + 1])
    for option, name in (("-t", "threads"), ("--threads", "threads"), ("--iodepth", "iodepth")):
        if option in words[:-1] and _WHOLE.fullmatch(value := words[words.index(option) + 1]):
            stated[name] = min(int(value), 10**6)
    return stated
