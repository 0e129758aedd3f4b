"""CrystalDiskMark and KDiskMark: the reports that they save as text."""

import re
from collections.abc import Iterator, Mapping

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.output_times import ISO, start_in
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput
from suites.parameters import Choice, Parameter, Type, Value, parse_size
from suites.programs import Program
from suites.quantities import quantity
from suites.read_only.base import ReadOnlySuite, time_metric, tool_output
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, labels

BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.MB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
IOPS = Metric("iops", "IOPS", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
LATENCY = time_metric("latency_mean", "Mean latency", unit=Unit.MICROSECOND)

_BEGUN = start_in(rf"^ *Date ?: {ISO}$")
_FIRST = re.compile(r"(?P<tool>CrystalDiskMark|KDiskMark) \(?(?P<version>\d{1,3}(?:\.\d{1,3}){1,3}\w?)\)?")
_ROW = re.compile(
    r"(?P<pattern>SEQ|RND|Sequential|Random) +(?P<block>\d{1,6} ?[KM]i?B) \(Q= *(?P<queues>\d{1,4}), ?"
    r"T= *(?P<threads>\d{1,4})\) ?: *(?P<rate>\d{1,9}(?:\.\d{1,3})?) MB/s"
    r"(?: \[ *(?P<iops>\d{1,12}(?:\.\d{1,3})?) IOPS\])?(?: < *(?P<latency>\d{1,12}(?:\.\d{1,3})?) us>)?"
)
# CrystalDiskMark 6: “Random Read 4KiB (Q=  8,T= 8) :”; “Sequential Read (Q= 32,T= 1) :” has blocks of 128 KiB.
_ROW_6 = re.compile(r"(Sequential|Random) (Read|Write) ?(\d{1,4}KiB)? (\(Q= *\d.*)$")
_ANY_ROW = re.compile(rf"{_ROW.pattern}|Random (?:Read|Write) 4KiB \(Q=|Sequential (?:Read|Write) \(Q=")
_SECTION = re.compile(r"\[(Read|Write|Mix|Trim)\b.*\]$")
_TEST = re.compile(r"Test ?: (?P<size>\d{1,7} ?[KMGT]i?B) [^\n]{0,60}?\(x ?(?P<runs>\d{1,3})\)")
_SIZES = {"KB": "KiB", "MB": "MiB", "GB": "GiB"}

TOOL = Parameter(
    name="tool", title="Tool", default="CrystalDiskMark", help="The program that wrote the report.",
    choices=(Choice("CrystalDiskMark", "CrystalDiskMark (DiskSpd)"), Choice("KDiskMark", "KDiskMark (fio)")),
)  # fmt: skip
OPERATION = Parameter(
    name="operation", title="Operation", default="read", help="Direction.",
    choices=(Choice("read", "read"), Choice("write", "write"), Choice("mix", "mix"), Choice("trim", "trim")),
)  # fmt: skip
RANDOM = Parameter(
    name="pattern", title="Pattern", default="sequential", help="Order of the blocks.",
    choices=(Choice("sequential", "sequential"), Choice("random", "random")),
)  # fmt: skip
BLOCK = Parameter(name="block_size", title="Block size", type=Type.SIZE, default=4096, help="Bytes of an I/O.")
QUEUES = Parameter(name="queues", title="Queues", type=Type.INTEGER, default=1, help="I/Os in flight of a thread.")
THREADS = Parameter(name="threads", title="Threads", type=Type.INTEGER, default=1, help="Threads.")
SIZE = Parameter(name="size", title="Test size", type=Type.SIZE, default=0, help="Bytes of the file; 0: not stated.")
RUNS = Parameter(name="runs", title="Runs", type=Type.INTEGER, default=0, help="Runs, the best of which is shown.")

LARGE_ENOUGH = 8 * 2**30
"""Bytes of a test that no cache of a current drive, controller or hypervisor holds entirely."""


def _small(evidence: StepEvidence) -> CheckOutcome | None:
    size = int(evidence.values["size"])
    return CheckOutcome(f"Test size: {quantity(size)}.") if 0 < size < LARGE_ENOUGH else None


def _best(evidence: StepEvidence) -> CheckOutcome | None:
    runs = int(evidence.values["runs"])
    return CheckOutcome(f"Best of {runs} runs.") if runs > 1 and evidence.values["tool"] == "CrystalDiskMark" else None


class DiskMark(ReadOnlySuite):
    """A row of a report: a pattern in one direction."""

    id = "diskmark"
    title = "CrystalDiskMark, KDiskMark"
    summary = "Bandwidth, IOPS and latency of a file of fixed size, the best of several short runs."
    resource = Resource.DISK
    program = Program("KDiskMark", ("kdiskmark",))
    parameters = (TOOL, OPERATION, RANDOM, BLOCK, QUEUES, THREADS, SIZE, RUNS)
    metrics = (BANDWIDTH, IOPS, LATENCY)
    checks = (
        Check(
            id="small-working-set",
            title="File is small for the disk",
            why="A small file fits into the cache of the drive (SLC, DRAM), the controller or the hypervisor, and its "
            "seeks are short: the figures are peaks.",
            remedy=f"Set the test size to {quantity(LARGE_ENOUGH)} or more.",
            source="SNIA Solid State Storage Performance Test Specification: active range.",
            evaluate=_small,
            needs="The test size.",
        ),
        Check(
            id="best-of-runs",
            title="Best run, not the mean",
            why="The slower runs are not in the report: another run will rarely be as fast.",
            remedy="Compare it only with other best runs.",
            source="CrystalDiskMark, Test Count: the highest result is shown.",
            evaluate=_best,
            needs="The number of runs.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The saved report."""
        return (
            OutputFormat(
                title="CrystalDiskMark, KDiskMark", first=_FIRST, line=_ANY_ROW, read=self._read, begun=_BEGUN
            ),
        )

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield the rows that ran, and name the others, whose figures are all 0."""
        stated = _stated(text)
        head = _FIRST.search(text)
        section = ""
        idle: list[str] = []
        for line in map(str.strip, text.splitlines()):
            if match := _SECTION.match(line):
                section = match[1].lower()
            elif match := _ROW_6.match(line):
                section = match[2].lower()
            if (row := _ROW.match(_as_in_8(line))) is None or not section:
                continue
            name = f"{row['pattern']} {row['block']} Q{row['queues']}T{row['threads']}, {section}"
            if not float(row["rate"]):
                idle.append(name)
            else:
                figures = [
                    Figure(metric, float(row[key]), labels(operation=section))
                    for key, metric in (("rate", BANDWIDTH), ("iops", IOPS), ("latency", LATENCY))
                    if row[key] and float(row[key]) > 0
                ]
                values = {
                    **stated,
                    "operation": section,
                    "pattern": "random" if row["pattern"][0] == "R" else "sequential",
                    "block_size": parse_size(row["block"]),
                    "queues": int(row["queues"]),
                    "threads": int(row["threads"]),
                }
                version = None if head is None else f"{head['tool']} {head['version']}"
                yield tool_output(self.id, figures, values, name=name, version=version)
        if idle:
            text = f"0 MB/s, not run or failed: {'; '.join(idle)}."
            yield ToolOutput(self.id, ParsedTrial(), stated, name="Rows of 0", undecided=text)


def _as_in_8(line: str) -> str:
    """Return a row of version 6 as later versions write it."""
    old = _ROW_6.match(line)
    return line if old is None else f"{old[1]} {old[3] or '128KiB'} {old[4]}"


def _stated(text: str) -> Mapping[str, Value]:
    head, test = _FIRST.search(text), _TEST.search(text)
    stated: dict[str, Value] = {"tool": head["tool"]} if head else {}
    if test:
        unit = test["size"][-2:] if test["size"][-2:] in _SIZES else test["size"][-3:]
        stated["size"] = parse_size(f"{test['size'][: -len(unit)]}{_SIZES.get(unit, unit)}")  # GB is GiB there
        stated["runs"] = int(test["runs"])
    return stated
