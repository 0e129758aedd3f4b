"""What sysbench prints of its file test, of both generations: I/Os and bytes a second, flushes and latency."""

import re

from suites.disk import KIB, MIB
from suites.sysbench.output import (
    LATENCY_MAXIMUM,
    LATENCY_MEAN,
    TOTAL_EVENTS,
    TOTAL_TIME,
    SysbenchOutput,
    latency_percentile,
    unresolved_note,
)
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample, labels

IOPS = Metric("iops", "I/Os per second", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.MIB_PER_SECOND, Better.HIGHER, Kind.RATE)
FSYNC_RATE = Metric("fsyncs_per_second", "Flushes per second", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
METRICS = (IOPS, BANDWIDTH, LATENCY_MEAN, latency_percentile(95), LATENCY_MAXIMUM, FSYNC_RATE, TOTAL_TIME, TOTAL_EVENTS)

_N = r"(\d{1,15}(?:\.\d{1,4})?)"
_LIVE = re.compile(
    rf"\[ {{0,6}}(\d{{1,6}})s \] reads: {_N} MiB/s writes: {_N} MiB/s fsyncs: {_N}/s latency \(ms,(\d{{1,3}})%\): {_N}"
)
_NUMBERS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("read_iops", rf"\s*reads/s:\s*{_N}"),
        ("write_iops", rf"\s*writes/s:\s*{_N}"),
        ("fsyncs_per_second", rf"\s*fsyncs/s:\s*{_N}"),
        ("read_bandwidth", rf"\s*read, MiB/s:\s*{_N}"),
        ("write_bandwidth", rf"\s*written, MiB/s:\s*{_N}"),
    )
)
_OLD_COUNTS = re.compile(
    r"Operations performed:\s+(\d{1,18}) reads?, (\d{1,18}) writes?, (\d{1,18}) Other = \d{1,18} Total",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"Block size (\d{1,9})(B|Kb|KiB|Mb|MiB)")
_MODE = re.compile(r"Doing (sequential|random) (write \(creation\)|rewrite|read|write|r/w) test")
_FACTORS = {"B": 1, "K": KIB, "M": MIB}
_OPERATIONS = {"read": ("read",), "r/w": ("read", "write")}
_MISSING = re.compile(r"Cannot open file .{0,300}errno = 2\b|Size of file .{0,300}(?:expected|but at least)")


def read_live(line: str, output: SysbenchOutput) -> list[Sample]:
    """Return the samples of a line of progress; of another line, remember its numbers in `output`."""
    text = line.strip()
    match = _LIVE.fullmatch(text)
    if match is None:
        _remember(text, output)
        return []
    time, rank = float(match[1]), int(match[5])
    samples = []
    for operation, rate in (("read", float(match[2])), ("write", float(match[3]))):
        if _does(output, operation, rate):
            label = labels(operation=operation)
            block = output.numbers.get("block_size")
            samples += [Sample(time, IOPS, rate * MIB / block, label)] if block else []
            samples.append(Sample(time, BANDWIDTH, rate, label))
    if flushes := float(match[4]):
        samples.append(Sample(time, FSYNC_RATE, flushes))
    if (latency := float(match[6])) > 0 and 1 <= rank <= 100:
        samples.append(Sample(time, latency_percentile(rank), latency))
    return samples


def _remember(text: str, output: SysbenchOutput) -> None:
    for name, pattern in _NUMBERS:
        if match := pattern.fullmatch(text):
            output.numbers[name] = float(match[1])
    if match := _OLD_COUNTS.fullmatch(text):
        for name, count in zip(("reads_done", "writes_done", "fsyncs_done"), match.groups(), strict=True):
            output.numbers[name] = float(count)
    elif (match := _BLOCK.fullmatch(text)) and int(match[1]):
        output.numbers["block_size"] = float(int(match[1]) * _FACTORS[match[2][0]])
    elif match := _MODE.fullmatch(text):
        output.operation = match[2]


def _does(output: SysbenchOutput, operation: str, value: float) -> bool:
    """Whether the mode does the `operation`: a 0 is then one that was measured, else no figure at all."""
    if output.operation is None:
        return value > 0
    return operation in _OPERATIONS.get(output.operation, ("write",))


def conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    """Return the figures of a whole output, and what is to be known about them."""
    notes = unresolved_note(output)
    if "reads_done" in output.numbers:
        notes += _from_counts(output)
    numbers = output.numbers
    figures = [
        Figure(metric, value, labels(operation=operation))
        for metric in (IOPS, BANDWIDTH)
        for operation in ("read", "write")
        if (value := numbers.get(f"{operation}_{metric.name}")) is not None and _does(output, operation, value)
    ]
    if flushes := numbers.get(FSYNC_RATE.name):
        figures.append(Figure(FSYNC_RATE, flushes))
        if not output.old:
            notes.append(
                "sysbench counts each fsync as an event: the latencies are of reads, writes and fsyncs together."
            )
    if any(_MISSING.search(words) for words in output.failures):
        notes.append("The test's files are missing or of another size: the preparation did not run, or failed.")
    return figures + output.figures(TOTAL_TIME, TOTAL_EVENTS), notes


def _from_counts(output: SysbenchOutput) -> list[str]:
    """Compute the rates of 0.4, which prints operations and rounded gigabytes; return the note that says so."""
    numbers, seconds = output.numbers, output.numbers.get("total_time")
    if not seconds:
        return []
    block = numbers.get("block_size")
    for operation in ("read", "write"):
        rate = numbers[f"{operation}s_done"] / seconds
        numbers[f"{operation}_iops"] = rate
        if block:
            numbers[f"{operation}_bandwidth"] = rate * block / MIB
    numbers[FSYNC_RATE.name] = numbers["fsyncs_done"] / seconds
    name = f"sysbench {output.version or 'of this age'}"
    return [f"{name} prints no rates by operation: they are its operations, and their bytes, in {seconds:g} s."]
