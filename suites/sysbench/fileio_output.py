"""Parse the output of sysbench's file test, 0.4 and 1.0: I/Os and bytes per second, flushes and latency."""

import re

from suites import disk
from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked
from suites.output_reading import StatedLine
from suites.parameters import Value, Values
from suites.quantities import quantity
from suites.runtime_checks import SHORT_RUNTIME
from suites.sysbench.fileio_parameters import (
    CREATION,
    DEFAULT_BLOCK,
    DEFAULT_TOTAL,
    direct,
    in_sequence,
    mixes,
    queues,
    reads,
    writes,
)
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
from suites.vocab import Better, Figure, Metric, MetricKind, Sample, Severity, labels

IOPS = Metric("iops", "I/Os per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.MIB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
FSYNC_RATE = Metric("fsyncs_per_second", "Flushes per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
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
    r"Operations performed:\s+(\d{1,18}) reads?, (\d{1,18}) writes?, (\d{1,18}) Other = \d{1,18} Total", re.IGNORECASE
)
_BLOCK = re.compile(r"Block size (\d{1,9})(B|Kb|KiB|Mb|MiB)")
_MODE = re.compile(r"Doing (sequential|random) (write \(creation\)|rewrite|read|write|r/w) test")
_FACTORS = {"B": 1, "K": disk.KIB, "M": disk.MIB}
_OPERATIONS = {"read": ("read",), "r/w": ("read", "write")}
_MISSING = re.compile(r"Cannot open file .{0,300}errno = 2\b|Size of file .{0,300}(?:expected|but at least)")


def read_live(line: str, output: SysbenchOutput) -> list[Sample]:
    """Return the samples of a progress line; store the numbers of any other line in `output`."""
    text = line.strip()
    match = _LIVE.fullmatch(text)
    if match is None:
        _remember(text, output)
        return []
    time, rank = float(match[1]), int(match[5])
    samples = []
    for operation, rate in (("read", float(match[2])), ("write", float(match[3]))):
        if _has_operation(output, operation, rate):
            label = labels(operation=operation)
            block = output.numbers.get("block_size")
            samples += [Sample(time, IOPS, rate * disk.MIB / block, label)] if block else []
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


def _has_operation(output: SysbenchOutput, operation: str, value: float) -> bool:
    """Whether the mode does the `operation`: its 0 is then a measured value, else no figure."""
    if output.operation is None:
        return value > 0
    return operation in _OPERATIONS.get(output.operation, ("write",))


def conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    """Return the figures of a whole output, and the notes about them."""
    notes = unresolved_note(output)
    if "reads_done" in output.numbers:
        notes += _from_counts(output)
    numbers = output.numbers
    figures = [
        Figure(metric, value, labels(operation=operation))
        for metric in (IOPS, BANDWIDTH)
        for operation in ("read", "write")
        if (value := numbers.get(f"{operation}_{metric.name}")) is not None and _has_operation(output, operation, value)
    ]
    if flushes := numbers.get(FSYNC_RATE.name):
        figures.append(Figure(FSYNC_RATE, flushes))
        if not output.old:
            notes.append(
                "sysbench counts each fsync as an event: the latencies are of reads, writes and fsyncs together."
            )
    if any(_MISSING.search(words) for words in output.failures):
        notes.append("The test's files are missing or have another size: prepare did not run, or failed.")
    return figures + output.figures(TOTAL_TIME, TOTAL_EVENTS), notes


def _from_counts(output: SysbenchOutput) -> list[str]:
    """Compute the rates of 0.4, which prints operations and rounded gigabytes; return a note about it."""
    numbers, seconds = output.numbers, output.numbers.get("total_time")
    if not seconds:
        return []
    block = numbers.get("block_size")
    for operation in ("read", "write"):
        rate = numbers[f"{operation}s_done"] / seconds
        numbers[f"{operation}_iops"] = rate
        if block:
            numbers[f"{operation}_bandwidth"] = rate * block / disk.MIB
    numbers[FSYNC_RATE.name] = numbers["fsyncs_done"] / seconds
    name = f"sysbench {output.version or 'of this age'}"
    return [f"{name} prints no rates by operation: they are its operations, and their bytes, in {seconds:g} s."]


# Checks of sysbench's file test.


TUNED_BLOCK = 4 * disk.KIB
TUNED_SEQUENTIAL_BLOCK = disk.MIB
TUNED_FILES = 16
TUNED_THREADS = 16

SMALL_SEQUENTIAL_BLOCK = 64 * disk.KIB


def _page_cache(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    waits = values["fsync_all"] or values["extra_flags"] in {"sync", "dsync"}
    if direct(values) or (waits and not reads(values)):
        return None
    total = int(values["total_size"])
    cache = disk.cache_for(evidence, total)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    own = ", sysbench's default," if total == DEFAULT_TOTAL else ""
    return CheckOutcome(
        measured=f"{quantity(total)}{own} of files {_caching_text(values)}; {quantity(cache)} of memory can hold them"
        + (" in part." if total > cache else "."),
        changes=_past_the_cache(evidence, cache),
    )


def _caching_text(values: Values) -> str:
    return "through mmap" if values["io_mode"] == "mmap" else "without direct I/O"


def _past_the_cache(evidence: StepEvidence, cache: int) -> dict[str, Value]:
    if disk.accepts_direct(evidence):
        mapped = evidence.values["io_mode"] == "mmap"
        return {"extra_flags": "direct", "io_mode": "sync"} if mapped else {"extra_flags": "direct"}
    size, room = -(-disk.CACHE_FACTOR * cache // disk.MIB) * disk.MIB, disk.free_bytes(evidence)
    return {"total_size": size} if room is not None and size < room else {}


def _unflushed_write(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    every, block = int(values["fsync_freq"]), int(values["block_size"])
    if not writes(values) or values["extra_flags"] != "none" or values["fsync_all"]:
        return None
    if disk.flushed_in_time(every, block, int(values["total_size"])):
        return None
    flushed = f"with fsync only every {quantity(every * block)}" if every else "without fsync"
    late = "; --file-fsync-end runs only when the time is up" if values["fsync_end"] else ""
    changes: dict[str, Value] = {"extra_flags": "direct"} if disk.accepts_direct(evidence) else {"fsync_freq": 100}
    return CheckOutcome(f"{values['mode']} without direct I/O and {flushed}{late}.", changes=changes)


def _flushes_of_every_file(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    every, files = int(values["fsync_freq"]), int(values["file_num"])
    if not writes(values) or values["fsync_all"] or not every or 10 * files < every:
        return None
    each = f"{files / every:.{0 if files >= 10 * every else 1}f}"
    return CheckOutcome(
        f"After every {every} requests each of the {files} files is flushed: {each} fsyncs per request.",
        changes={"fsync_freq": 0, "extra_flags": "direct"} if disk.accepts_direct(evidence) else {"file_num": 1},
    )


def _too_many_files(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    total, files, block = int(values["total_size"]), int(values["file_num"]), int(values["block_size"])
    if total // files >= block:
        return None
    return CheckOutcome(
        f"{quantity(total)} in {files} files are {quantity(total / files)} each; a block is {quantity(block)}.",
        changes={"total_size": files * block},
    )


def _throughput_ceiling(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    block = int(values["block_size"])
    if in_sequence(values) or block < DEFAULT_BLOCK:
        return None
    own = ", sysbench's default" if block == DEFAULT_BLOCK else ""
    return CheckOutcome(
        f"Blocks of {quantity(block)}{own}: 10,000 IOPS of them are {10_000 * block / 1e6:.0f} MB/s.",
        changes={"block_size": TUNED_BLOCK},
    )


def _small_sequential(evidence: StepEvidence) -> CheckOutcome | None:
    block = int(evidence.values["block_size"])
    if not in_sequence(evidence.values) or not direct(evidence.values) or block >= SMALL_SEQUENTIAL_BLOCK:
        return None
    return CheckOutcome(f"Sequential blocks of {quantity(block)}.", changes={"block_size": TUNED_SEQUENTIAL_BLOCK})


def _one_in_flight(evidence: StepEvidence) -> CheckOutcome | None:
    if in_sequence(evidence.values) or int(evidence.values["threads"]) > 1 or queues(evidence.values):
        return None
    return CheckOutcome("1 thread.", changes={"threads": TUNED_THREADS})


def _zeros(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    # The tuned test reads zeros at random; only bulk writes justify the note.
    return CheckOutcome(f"{values['mode']} writes zeros.") if writes(values) and not mixes(values) else None


def _creation(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("The mode is seqwr.") if evidence.values["mode"] == CREATION else None


def _submission_latency(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not queues(values):
        return None
    return CheckOutcome(f"Asynchronous requests, {values['async_backlog']} in flight per thread.")


FILEIO_CHECKS = (
    Check(
        id="async-latency",
        title="Async latency is submission time",
        why="In async mode sysbench measures until a request is submitted, not completed: 0.02 ms on a disk that "
        "takes 0.1 ms. The IOPS are correct, the latencies are not.",
        remedy="Use fio to measure latencies; here read only the rates.",
        source="sysbench 1.0.20, sb_fileio.c; tried.",
        needs="file-io-mode.",
        evaluate=_submission_latency,
    ),
    disk.direct_refused(lambda values: values["extra_flags"] == "direct", {"extra_flags": "none"}),
    disk.unaligned_direct(direct),
    Check(
        id="files-below-block",
        title="Files smaller than a block",
        why="sysbench then creates files of another size, and every request hits the same block.",
        remedy="Increase the total size or use fewer files.",
        source="sysbench manual, --file-total-size and --file-num; tried with 1.0.20.",
        needs="Total size, number of files, block size.",
        evaluate=_too_many_files,
    ),
    disk.page_cache(_page_cache),
    disk.unflushed_write(_unflushed_write),
    Check(
        id="fsync-of-every-file",
        title="fsync outweighs the writes",
        why="Each periodic fsync flushes every file of the set: with sysbench's defaults of 128 files and 100 "
        "requests there are more flushes than requests, and the figure measures the journal.",
        remedy="Use direct I/O without periodic fsync, or fewer files to measure flushing.",
        source="sysbench manual, --file-fsync-freq; counted with 1.0.20: 4 fsyncs of 4 files after every 100 requests.",
        needs="Number of files and file-fsync-freq.",
        evaluate=_flushes_of_every_file,
    ),
    SHORT_RUNTIME,
    disk.throughput_ceiling(_throughput_ceiling),
    Check(
        id="small-blocks",
        severity=Severity.INFO,
        title="Block size too small",
        why="Each thread waits for each block before the next: the round trip limits the rate, not the device.",
        remedy="Set the block size to 1 MiB to measure throughput.",
        source="sysbench manual, --file-io-mode=sync.",
        needs="Pattern and block size.",
        evaluate=_small_sequential,
    ),
    Check(
        id="one-io-in-flight",
        severity=Severity.INFO,
        title="Queue depth is 1",
        why="A thread waits for its I/O before the next: the figure is the reciprocal of the latency, not the "
        "device's capability.",
        remedy=f"Use {TUNED_THREADS} threads to measure IOPS.",
        source="sysbench manual, --threads and --file-io-mode=sync.",
        needs="Pattern and I/Os in flight.",
        evaluate=_one_in_flight,
    ),
    Check(
        id="zero-source",
        severity=Severity.INFO,
        title="Zeros compress",
        why="sysbench fills its files and blocks with zeros. A device or file system that compresses or "
        "deduplicates looks faster than it is; others are not affected.",
        remedy="Use fio on such a device: its buffers hold random data.",
        source="the files of sysbench 1.0.20, looked into; zfs and btrfs manuals, compression.",
        needs="The written data.",
        evaluate=_zeros,
    ),
    Check(
        id="created-once",
        severity=Severity.INFO,
        title="Only the first pass creates files",
        why="seqwr creates the files on its first pass; later passes and trials overwrite them.",
        remedy="Read the first trial as creation and the others as rewriting, or use seqrewr.",
        source="sysbench manual, --file-test-mode; seen with 1.0.20.",
        needs="file-test-mode.",
        evaluate=_creation,
    ),
)


# What the output states of its options.


FILEIO_LINE = r"Extra file open flags:|\d+ files, \d|(?:reads|writes|fsyncs)/s:\s+\d|Operations performed: +\d+ reads?,"

_MODES = {
    ("sequential", "write (creation)"): "seqwr", ("sequential", "rewrite"): "seqrewr", ("sequential", "read"): "seqrd",
    ("random", "read"): "rndrd", ("random", "write"): "rndwr", ("random", "r/w"): "rndrw",
}  # fmt: skip
_FLAGS = {"0": "none", "(none)": "none", "directio": "direct", "dsync": "dsync", "sync": "sync", "16384": "direct"}
_IO_MODES = {"synchronous": "sync", "asynchronous": "async", "mmaped": "mmap", "memory": "mmap"}


def _mode(text: str) -> Value:
    order, _, operation = text.partition(" ")
    return _MODES.get((order, operation), "")


FILEIO_STATED = (
    StatedLine(
        "mode", re.compile(r"Doing ((?:sequential|random) (?:write \(creation\)|rewrite|read|write|r/w)) test"), _mode
    ),
    StatedLine("extra_flags", re.compile(r"Extra file open flags: (\S+)"), lambda text: _FLAGS.get(text, text)),
    StatedLine("file_num", re.compile(r"(\d{1,6}) files, ")),
    StatedLine("total_size", re.compile(r"(\d{1,12}(?:\.\d{1,3})?[KMGT]?)i?[bB] total file size")),
    StatedLine("block_size", re.compile(r"Block size (\d{1,9}[KM]?)i?[bB]")),
    StatedLine("rw_ratio", re.compile(r"Read/Write ratio for combined random IO test: (\d{1,4}\.\d{1,3})")),
    StatedLine("fsync_freq", re.compile(r"Periodic FSYNC enabled, calling fsync\(\) each (\d{1,9}) requests")),
    StatedLine("fsync_freq", re.compile(r"(Periodic FSYNC disabled)"), lambda _text: 0),
    StatedLine("fsync_all", re.compile(r"(Calling fsync\(\) after each write operation)"), lambda _text: True),
    StatedLine(
        "fsync_end",
        re.compile(r"Calling fsync\(\) at the end of test, (Enabled|Disabled)"),
        lambda text: text == "Enabled",
    ),
    StatedLine("io_mode", re.compile(r"Using (synchronous|asynchronous|mmaped|memory)"), lambda text: _IO_MODES[text]),
)
