"""Checks of a disk trial: whether the I/O reached the device, and whether rate, block size and depth agree."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.checks.evidence import (
    HALF,
    MIXED,
    READ,
    WRITE,
    IoCount,
    as_measured,
    directions,
    disk_and_watch,
    in_flight,
    in_sequence,
    issued,
    reached,
    seconds_of,
    sum_of_both,
    tool_share,
    watched_disk,
    workers_of,
    workload_of,
)
from app.checks.network import on_network_file_system, only_link, over
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.disk import LOOP, MEMORY_KINDS, lowest_device
from suites.evidence import HostWatch, TrialCheck, TrialEvidence
from suites.facts import known
from suites.quantities import count_text, figure_text, quantity, share_text
from suites.units import Unit, convert
from suites.verdict import Limiter, Trust
from suites.vocab import Labels, Resource, Severity

NONE = 0.05
"""The share of the issued bytes at the device below which the figure is invalid."""

AMPLIFIED = 1.5
"""Device bytes per issued byte from which amplification is reported."""

AGREES = 0.8
"""Least share of the larger number of bytes that the smaller one has, for both to agree."""

LEAST_CACHED = 0.05
"""The share of the bytes in the page cache from which the figure has a caveat."""

FASTEST_DEVICE = 3e-6
"""Mean seconds of a direct I/O below which no block device served it."""

FASTEST_DRIVE = "10 µs"
"""The latency of the fastest drives (Optane), for the reader."""

PERSISTENT = "pmem"
"""Kernel name of persistent memory, which is as fast."""

SETTLED = 3.0
"""Seconds of a trial from which the samples of its processes cover most of it."""

OWN_RATE = {READ: "tool_read_rate", WRITE: "tool_write_rate"}
"""The rate at the block layer of the test's own processes."""

_VERBS = {READ: "Read", WRITE: "Written", MIXED: "Read and written"}

FOREIGN = 0.05
"""Others' bytes at the disk, relative to the tool's, from which they are reported."""

LARGE_WRITE = 64 * 2**10
"""Bytes of a write from which the journal's share of it is negligible."""

IN_MEMORY = 1e5
"""B/s of a database at its disk below which it works in memory, and others on the disk do not slow it down."""

COMMITTED = 3
"""Bytes at the disk for each byte that a database writes, at most: its log and the journal of the file system."""

JOURNAL_BLOCK = 4096
"""Bytes that the journal of a file system of IN_PLACE adds to one small direct write without a sync, at most."""

IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs"})

LEAST_FOREIGN = 2e6
"""B/s of others below which they are logs and metadata."""

ENOUGH = 64 * 2**20
"""Bytes at the device below which background I/O dominates."""

GENERATING = 0.9
"""The share of one CPU from which the tool is the bottleneck."""

URANDOM_SHARE = 0.2
"""The share of the time spent in /dev/urandom from which it shows in the figure of a copy."""

IDLE_DISK = 60.0
"""Per cent busy up to which a disk is not the bottleneck."""


def _cache(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    trial = as_measured(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done or not _moves_bytes(trial):
        return None
    in_memory = _in_memory(trial)
    if in_memory:
        return CheckOutcome(in_memory, trust=Trust.INVALID)
    watched = disk_and_watch(trial)
    if isinstance(watched, NotChecked):
        return _tool_counts(trial) or watched
    least = _least_share(trial, *watched)
    if least is not None and least.share < HALF:
        return CheckOutcome(least.measured, trust=Trust.INVALID if least.share < NONE else Trust.DOUBTFUL)
    return _uncertain(trial, *watched)


def _uncertain(trial: TrialEvidence, disk: str, watch: HostWatch) -> NotChecked | None:
    """Return why the disk's counters do not show that the device served the I/O; None if they do."""
    if disk.startswith(LOOP):
        return NotChecked(f"{disk} is a loop device; the page cache of its backing file may have served the I/O.")
    reads = any(issued(trial, operation) is not None for operation in (READ, MIXED))
    if workload_of(trial).buffered and reads and watch.mean_within(OWN_RATE[READ]) is None:
        return NotChecked("The tool’s own bytes at the device were not counted; the disk’s include those of others.")
    return None


@dataclass(frozen=True, slots=True)
class _DeviceShare:
    """The share of the bytes issued in one direction that reached the device, with its evidence."""

    share: float
    measured: str


def _least_share(trial: TrialEvidence, disk: str, watch: HostWatch) -> _DeviceShare | None:
    """Return the direction of which the least share reached the device; None if none is known.

    The disk's own counters include others' I/O, so that the share from them is the most it can be.
    """
    found = []
    seconds = seconds_of(trial)
    for operation in directions(trial):
        did, got = issued(trial, operation), reached(watch, disk, operation)
        if did is None or not did.size:
            continue
        rate = _own_rate(watch, operation)
        own = rate * seconds if rate is not None and seconds else None
        if operation != READ and workload_of(trial).buffered and got.size is not None:
            work = workload_of(trial)  # a copy writes each byte once, and may do so before its first sample
            once = work.flushes_last and bool(work.copied)
            certain = own is not None and (seconds or 0.0) >= SETTLED and own < HALF * did.size and not once
            own = min(own or 0.0, got.size) if certain else None  # else it may be dirty, and the disk's count is less
        if own is not None:
            size, ios = min(own, did.size), "" if own == got.size else " by its own count"
        elif got.size is not None:
            size, ios = got.size, "" if got.ios is None else f" in {count_text(got.ios, 'I/O')}"
        else:
            continue
        dirty = _still_dirty(trial, watch, did) if operation != READ else 0.0
        size = min(size, max(0.0, did.size - dirty))
        kept = f", {quantity(dirty)} still in memory" if dirty > LEAST_CACHED * did.size else ""
        found.append(
            _DeviceShare(
                size / did.size,
                f"{_VERBS[operation]}: {quantity(did.size)} by the tool, {quantity(size)} at {disk}{ios} "
                f"({share_text(size / did.size)}){kept}.",
            )
        )
    return min(found, key=lambda one: one.share, default=None)


def _own_rate(watch: HostWatch, operation: str) -> float | None:
    """Return the rate of the tool's own I/O at the block layer in B/s; None if unknown.

    The kernel counts a buffered write when it makes a page dirty: once, however often the page is written until it is
    flushed. That is the most that reaches the device.
    """
    if operation == MIXED:
        return sum_of_both(_own_rate(watch, READ), _own_rate(watch, WRITE))
    found = [watch.mean_within(OWN_RATE[operation]), watch.mean(OWN_RATE[operation])]
    return max((rate for rate in found if rate is not None), default=None)


def _still_dirty(trial: TrialEvidence, watch: HostWatch, did: IoCount) -> float:
    """Return the bytes of buffered writes that were dirty at the end; 0 if unknown, or if the tool flushed them.

    They are at most the growth of the host's dirty pages, which include those of others and of the file below a loop
    device, and at most what the tool writes between two syncs.
    """
    dirty, workload = watch.values("memory_dirty"), workload_of(trial)
    if len(dirty) < 2 or not workload.buffered or workload.flushes_last:
        return 0.0
    grown, block = max(0.0, dirty[-1] - dirty[0]), trial.values.get("block_size")
    each = did.size / did.ios if did.size and did.ios else block
    if workload.writes_per_sync is None or not isinstance(each, int | float):
        return grown
    return min(grown, workload.writes_per_sync * (workers_of(trial) or 1) * each)


def _partly_cached(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    trial = as_measured(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done or not _moves_bytes(trial):
        return None
    if not workload_of(trial).buffered:
        return None
    watched = disk_and_watch(trial)
    if isinstance(watched, NotChecked) or _in_memory(trial):
        return watched if isinstance(watched, NotChecked) else None
    least = _least_share(trial, *watched)
    uncertain = 0.5 / max(1.0, seconds_of(trial) or 1.0)  # telemetry cuts up to a second of a trial
    if least is None or not HALF <= least.share < 1 - max(LEAST_CACHED, uncertain):
        return None
    return CheckOutcome(least.measured)


def _too_fast(trial: TrialEvidence) -> CheckOutcome | None:
    """Report direct I/O that is faster than any block device."""
    trial = as_measured(trial)
    facts = trial.context.facts
    disk = None if facts is None else lowest_device(trial.suite, trial.values, facts)
    uncached = trial.suite.uniform and not workload_of(trial).buffered and not (disk or "").startswith(PERSISTENT)
    if trial.suite.resource is not Resource.DISK or not trial.done or not uncached or not trial.all_of("iops"):
        return None
    for rate in trial.all_of("iops"):
        figure = trial.latency("mean", rate.labels)
        if figure is not None and 0 < convert(figure.value, figure.metric.unit, Unit.SECOND) < FASTEST_DEVICE:
            mean, on = figure_text(figure.metric, figure.value), f" on {disk}" if disk else ""
            return CheckOutcome(
                f"Direct I/O{on} took {mean} on average; the fastest drives need about {FASTEST_DRIVE}."
            )
    return None


def _others(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    """Report I/O of other processes on the disk, in the directions in which it is certain."""
    trial = as_measured(trial)
    if trial.done and trial.suite.uses_server:
        return _beside_server(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done or not _moves_bytes(trial):
        return None
    watched, seconds = disk_and_watch(trial), seconds_of(trial)
    if isinstance(watched, NotChecked) or not seconds:
        return watched if isinstance(watched, NotChecked) else None
    disk, watch = watched
    tool = sum(did.size or 0.0 for one in directions(trial) if (did := issued(trial, one)) is not None) / seconds
    return _foreign(disk, {one: _foreign_rate(trial, disk, watch, one) for one in (READ, WRITE)}, tool)


def _beside_server(trial: TrialEvidence) -> CheckOutcome | None:
    """Report I/O of others on the disk of a database server that belongs to the test, and is counted with it."""
    facts, watch = trial.context.facts, trial.watch
    if facts is None or watch is None or trial.values.get("server") != "own":
        return None
    disk = lowest_device(trial.suite, trial.values, facts) or ""
    rates, own = {}, {one: watch.mean_within(OWN_RATE[one]) for one in OWN_RATE}
    for operation, rate in own.items():
        whole, journal = watch.mean_within(f"disk_{operation}_rate", device=disk), 1 if operation == READ else COMMITTED
        if whole is not None and rate is not None:
            rates[operation] = whole - journal * rate - (_flushed_rate(watch) if operation == WRITE else 0.0)
    tool = sum(rate or 0.0 for rate in own.values())
    return _foreign(disk, rates, tool) if tool >= IN_MEMORY else None


def _flushed_rate(watch: HostWatch) -> float:
    """Return the rate at which pages were written that were dirty before the trial."""
    dirty = watch.values("memory_dirty")
    return max(0.0, dirty[0] - dirty[-1]) / watch.seconds if len(dirty) > 1 and watch.seconds else 0.0


def _foreign(disk: str, rates: Mapping[str, float | None], tool: float) -> CheckOutcome | None:
    """Return the rates of others at a disk that are worth a report beside the rate of the test."""
    parts = []
    for operation, rate in rates.items():
        if rate is not None and rate >= max(LEAST_FOREIGN, FOREIGN * tool):
            parts.append(
                (rate, f"{quantity(rate, Unit.BYTES_PER_SECOND)} {'read' if operation == READ else 'written'}")
            )
    if not parts:
        return None
    far = sum(rate for rate, _ in parts) >= HALF * tool
    return CheckOutcome(
        f"Other processes on {disk}: {', '.join(text for _, text in parts)}; the tool moved "
        f"{quantity(tool, Unit.BYTES_PER_SECOND)}.",
        trust=Trust.DOUBTFUL if far else None,
    )


def _foreign_rate(trial: TrialEvidence, disk: str, watch: HostWatch, operation: str) -> float | None:
    """Return the rate of others' I/O at the disk in B/s; None where the counters do not separate it from the tool's.

    The tool's own small or synchronous writes cause journal writes. Pages that were dirty before the trial, and are
    written during it, are not others'.
    """
    whole, own = watch.mean_within(f"disk_{operation}_rate", device=disk), watch.mean_within(OWN_RATE[operation])
    did, seconds = issued(trial, operation), seconds_of(trial)
    uses = did is not None or issued(trial, MIXED) is not None
    if whole is None or (own is None and (uses or (operation == READ and workload_of(trial).buffered))):
        return None
    journal = _journal_rate(trial) if operation == WRITE and uses else 0.0
    if journal is None:
        return None
    flushed = _flushed_rate(watch) if operation == WRITE else 0.0
    asked = 0.0 if did is None or not seconds or workload_of(trial).buffered else (did.size or 0.0) / seconds
    return whole - max(own or 0.0, asked) - flushed - journal


def _journal_rate(trial: TrialEvidence) -> float | None:
    """Return at most what a journal adds to the tool’s writes in B/s: next to nothing to large ones; None if unknown.

    Pages of buffered writes are counted when they become dirty, and a file system that copies on write may write many
    blocks for one.
    """
    did, workload, seconds = issued(trial, WRITE) or issued(trial, MIXED), workload_of(trial), seconds_of(trial)
    if did is None or not did.size or not did.ios or not seconds or workload.writes_per_sync or workload.buffered:
        return None
    if did.size >= LARGE_WRITE * did.ios:
        return 0.0
    facts, path = trial.context.facts, str(trial.values.get(trial.suite.directory_parameter or "", ""))
    directory = None if facts is None else facts.directory(path)
    in_place = trial.suite.device(trial.values) or (directory is not None and known(directory.kind) in IN_PLACE)
    return JOURNAL_BLOCK * did.ios / seconds if in_place else None


def _moves_bytes(trial: TrialEvidence) -> bool:
    return trial.suite.uniform and bool(trial.all_of("bandwidth"))


def _in_memory(trial: TrialEvidence) -> str:
    facts = trial.context.facts
    path = str(trial.values.get(trial.suite.directory_parameter or "", ""))
    directory = None if facts is None or trial.suite.device(trial.values) else facts.directory(path)
    kind, upper = (None, None) if directory is None else (known(directory.kind), known(directory.upper))
    if upper in MEMORY_KINDS:
        kind = f"an {kind} on {upper}"
    return f"{path} is on {kind}: its files are in memory." if {kind, upper} & MEMORY_KINDS else ""


def _tool_counts(trial: TrialEvidence) -> CheckOutcome | None:
    """Compare the tool's own counts of issued and device I/Os, unless readahead explains the difference."""
    if workload_of(trial).buffered and in_sequence(trial):
        return None
    for figure in trial.all_of("issued_ios"):
        got = next((one.value for one in trial.all_of("device_ios") if one.labels == figure.labels), None)
        if got is not None and got < HALF * figure.value:
            return CheckOutcome(
                f"{figure.value:.0f} I/Os issued ({dict(figure.labels).get('operation', '')}), {got:.0f} at the device "
                f"({share_text(got / figure.value)}), counted by {trial.suite.tool}.",
                trust=Trust.INVALID if got < NONE * figure.value else Trust.DOUBTFUL,
            )
    return None


def _merged(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    trial = as_measured(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done or not workload_of(trial).buffered:
        return None
    watched = disk_and_watch(trial)
    if isinstance(watched, NotChecked):
        return watched
    disk, watch = watched
    for operation in directions(trial):
        did, got = issued(trial, operation), reached(watch, disk, operation)
        if did is None or not did.size or not did.ios or got.size is None or got.ios is None:
            continue
        if AGREES <= got.size / did.size <= 1 / AGREES and got.ios < HALF * did.ios:
            return CheckOutcome(
                f"{did.ios:.0f} I/Os issued ({operation}), {got.ios:.0f} at {disk}; the bytes agree "
                f"({share_text(got.size / did.size)})."
            )
    return None


def _amplified(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    trial = as_measured(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done:
        return None
    watched = disk_and_watch(trial)
    if isinstance(watched, NotChecked):
        return watched
    disk, watch = watched
    seconds = seconds_of(trial)
    for operation in directions(trial) if seconds else ():
        did, rate = issued(trial, operation), _device_rate(watch, disk, operation)
        if did is None or not did.size or rate is None or not seconds or rate * seconds < ENOUGH:
            continue
        if rate > AMPLIFIED * did.size / seconds:
            tool, device = (quantity(one, Unit.BYTES_PER_SECOND) for one in (did.size / seconds, rate))
            return CheckOutcome(
                f"{operation.capitalize()}: {tool} by the tool, {device} at {disk}: "
                f"{rate * seconds / did.size:.2g} times as much."
            )
    return None


def _device_rate(watch: HostWatch, disk: str, operation: str) -> float | None:
    """Return the rate at the disk, of reads that of the tool alone if known: others' reads have their own check."""
    if operation == MIXED:
        return sum_of_both(*(_device_rate(watch, disk, one) for one in (READ, WRITE)))
    own = watch.mean_within(OWN_RATE[READ]) if operation == READ else None
    return watch.mean_within(f"disk_{operation}_rate", device=disk) if own is None else own


def _generator(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    if trial.suite.resource is not Resource.DISK or not trial.done:
        return None
    if trial.values.get("input") == "/dev/urandom":
        return _source(trial)
    share, disk = tool_share(trial), watched_disk(trial)
    if share is None or isinstance(disk, NotChecked) or trial.watch is None:
        return NotChecked("The tool’s CPU use or the disk’s is unknown.")
    at_work = trial.watch.mean("disk_busy", device=disk)
    if at_work is None or share < GENERATING or at_work > IDLE_DISK or isinstance(_cache(trial), CheckOutcome):
        return None
    return CheckOutcome(
        f"Each worker of {trial.suite.tool} used {share_text(share)} of a CPU; {disk} was {at_work:.0f} % busy.",
        limiter=Limiter.TOOL,
    )


def _source(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    """Report that /dev/urandom takes a large share of the copy's time."""
    facts, rate = trial.context.facts, trial.value("bandwidth")
    generated = None if facts is None else known(facts.measured.urandom_rate)
    if generated is None or rate is None:
        return NotChecked("The rate of /dev/urandom on this host was not measured.")
    share = min(1.0, rate * 1e6 / generated)
    if share < URANDOM_SHARE:
        return None
    copied, generator = (quantity(one, Unit.BYTES_PER_SECOND) for one in (rate * 1e6, generated))
    return CheckOutcome(
        f"{trial.suite.tool} copied {copied}; /dev/urandom alone reads at {generator} on this host and took "
        f"{share_text(share)} of the time.",
        limiter=Limiter.TOOL if share >= HALF else None,
        trust=None if share >= HALF else Trust.CAVEATS,
    )


VOLUME_SHARE = 0.896
"""The share of a link's speed that a volume behind it can use: 896 of 1000 Mbit/s, 112 MB/s (check M26)."""

SAME_RATE = 0.02
"""Tolerated relative difference of IOPS × block size and bandwidth: tools print rounded figures (check M25)."""

SAME_DEPTH = 0.10
"""Tolerated relative excess of IOPS × latency over the depth: start and end of the run (check M24, Little’s law)."""

LEAST_RATE = 10.0
"""Least bandwidth in its unit: below it, two printed decimals are too coarse for the identity."""


def _over_volume(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    facts = trial.context.facts
    if trial.suite.resource is not Resource.DISK or not trial.done or not on_network_file_system(trial):
        return None
    link = only_link(facts)
    speed = None if link is None else known(link.speed)
    rates = [convert(one.value, one.metric.unit, Unit.BYTES_PER_SECOND) for one in trial.all_of("bandwidth")]
    if link is None or not speed or not rates:
        return NotChecked("The link to the volume, or its speed, is unknown.")
    ceiling = VOLUME_SHARE * speed / 8
    if not over(max(rates), ceiling):
        return None
    return CheckOutcome(
        f"{quantity(max(rates), Unit.BYTES_PER_SECOND)} from a volume behind {link.name} "
        f"({quantity(float(speed), Unit.BITS_PER_SECOND)}, at most {quantity(ceiling, Unit.BYTES_PER_SECOND)})."
    )


def _pairs(trial: TrialEvidence) -> Iterator[tuple[Labels, float, float, Unit]]:
    """Yield the labels, IOPS, bandwidth and its unit of each operation that has both."""
    rates = {figure.labels: figure for figure in trial.all_of("bandwidth")}
    for figure in trial.all_of("iops"):
        rate = rates.get(figure.labels)
        if rate is not None and rate.value >= LEAST_RATE:
            yield figure.labels, figure.value, rate.value, rate.metric.unit


def _other_block(trial: TrialEvidence) -> CheckOutcome | None:
    block = trial.values.get("block_size")
    if not trial.done or not trial.suite.uniform or not isinstance(block, int) or trial.values.get("block_sizes"):
        return None
    for at, ios, rate, unit in _pairs(trial):
        given = convert(rate, unit, Unit.BYTES_PER_SECOND)
        deviation = abs(ios * block / given - 1)
        if deviation > SAME_RATE:
            reported = quantity(given, Unit.BYTES_PER_SECOND)
            expected = quantity(ios * block, Unit.BYTES_PER_SECOND)
            operation = dict(at).get("operation", "all")
            return CheckOutcome(
                f"{operation}: {ios:.0f} IOPS × {block} B = {expected}; the tool reports {reported} "
                f"({share_text(deviation)} difference)."
            )
    return None


def _too_many(trial: TrialEvidence) -> CheckOutcome | None:
    found, most = in_flight(trial), workload_of(trial).concurrency
    if not trial.done or found is None or most is None or found <= (1 + SAME_DEPTH) * most:
        return None
    return CheckOutcome(f"Rate × mean latency = {found:.3g} in flight; requested: {most}.")


FEW_IN_FLIGHT = 4
"""I/Os in flight below which the tool's own time between two I/Os matters unless each takes SLOW_IO."""

SLOW_IO = 100e-6
"""Seconds of a whole request, of which fio's own time is less than a tenth."""


def _waits(trial: TrialEvidence) -> bool:
    latencies = [convert(one.value, one.metric.unit, Unit.SECOND) for one in trial.all_of("total_latency_mean")]
    return bool(latencies) and min(latencies) >= SLOW_IO


def _half_empty(trial: TrialEvidence) -> CheckOutcome | None:
    """Report fewer than half of the requested I/Os in flight on average."""
    found, requested = in_flight(trial), workload_of(trial)
    most = requested.concurrency
    if not trial.done or found is None or most is None or found >= most / 2:
        return None
    if most < FEW_IN_FLIGHT and not _waits(trial):
        return None
    if requested.rate_limit is not None or isinstance(watched_disk(trial), NotChecked):
        return None
    return CheckOutcome(f"IOPS × mean latency = {found:.3g} in flight; requested: {most}.")


_KERNEL = "The kernel’s counters (/proc/diskstats) against the tool’s figure."

NOT_FROM_THE_DEVICE: TrialCheck = after_check(
    id="not-from-the-device",
    severity=Severity.ERROR,
    title="I/O did not reach the device",
    why="I/O that does not reach the device does not measure it: the figure is that of the page cache or of a sparse "
    "file, and can be a hundred times too high.",
    remedy="Use direct I/O on files that were written completely; or flush before the timer stops, with files of "
    "at least twice the memory.",
    source="A storage engineer’s fio series: 853,333 IOPS with no I/O at the device; direct, 8,767.",
    evaluate=_cache,
    needs="the tool’s count of bytes read and written, and the kernel’s counters of the disk",
    trust=Trust.DOUBTFUL,
)


GENERATOR_BOUND: TrialCheck = after_check(
    id="generator-bound",
    severity=Severity.WARNING,
    title="Load generator is the bottleneck",
    why="The figure is how fast the tool or its data source runs on one CPU. The disk may be faster.",
    remedy="Use a cheaper source (zeros, if the disk does not compress), more jobs, or larger blocks.",
    source="A consultancy’s copies: 12.84 MB/s was the speed of /dev/urandom.",
    evaluate=_generator,
    needs="the tool’s CPU time, the disk’s busy time, the rate of /dev/urandom",
    trust=Trust.DOUBTFUL,
)


OTHERS_ON_THE_DISK = after_check(
    id="others-on-the-disk",
    severity=Severity.WARNING,
    title="Other processes used the disk",
    why="They took a part of its bandwidth and added latency: the figure is what was left.",
    remedy="Find them (iotop, pidstat -d), stop them, and run it again.",
    source="The disk’s counters (/proc/diskstats) minus those of the test’s own processes (/proc/PID/io).",
    evaluate=_others,
    needs="the kernel’s counters of the disk, and the tool’s own bytes or its directions",
)

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    after_check(
        id="partly-cached",
        severity=Severity.WARNING,
        title="Page cache served part of the I/O",
        why="The figure mixes memory and device: reads found in the page cache, or writes still in it at the end, did "
        "not reach the disk.",
        remedy="Use direct I/O; or set end_fsync, with files of many times the memory.",
        source="The tool’s bytes at the block layer (/proc/PID/io) or the disk’s, beside those it asked for; from 5 %.",
        evaluate=_partly_cached,
        needs="the tool’s count of bytes read and written, and its own at the block layer or the disk’s",
    ),
    after_check(
        id="no-block-device",
        severity=Severity.WARNING,
        title="Too fast for a block device",
        why="RAM (brd, null_blk, a file in memory) or the cache of a hypervisor served the I/O, not a drive.",
        remedy="Measure a real drive; in a guest, ask for a volume without host caching.",
        source="Optane drives, the fastest, need about 10 µs; 3 µs is the cost of the kernel alone.",
        evaluate=_too_fast,
        needs="the mean latency of direct I/O",
        trust=Trust.DOUBTFUL,
    ),
    OTHERS_ON_THE_DISK,
    after_check(
        id="over-volume-link",
        severity=Severity.ERROR,
        title="Bandwidth exceeds the volume’s link",
        why="The page cache, or another cache on the path, served the I/O.",
        remedy="Use direct I/O, or files of at least twice the memory.",
        source="896 of 1000 Mbit/s: measured on a volume behind such a link.",
        evaluate=_over_volume,
        needs="the bandwidth, and the speed of the link to a network file system",
        trust=Trust.INVALID,
    ),
    after_check(
        id="rate-against-block",
        severity=Severity.ERROR,
        title="IOPS and bandwidth disagree",
        why="IOPS × block size must equal the bandwidth. Either a unit is wrong, or the block size is not the "
        "requested one.",
        remedy="Check the block sizes in the tool’s own output; report a bug if they are as requested.",
        source="Identity: IOPS × block size = bandwidth.",
        evaluate=_other_block,
        needs="IOPS, bandwidth and one block size",
        trust=Trust.INVALID,
    ),
    after_check(
        id="more-in-flight-than-asked",
        severity=Severity.ERROR,
        title="Rate and latency disagree (Little’s law)",
        why="More I/Os in flight than requested are impossible: one of the two figures is wrong, or they cover "
        "different times.",
        remedy="Compare both with the tool’s own output; check whether the clock was stepped during the trial.",
        source="Little’s law: rate × latency = number in flight.",
        evaluate=_too_many,
        needs="rate, mean latency, and the depth or threads",
        trust=Trust.DOUBTFUL,
    ),
    after_check(
        id="queue-half-empty",
        severity=Severity.WARNING,
        title="Queue depth not reached",
        why="The figure is that of a smaller depth: the tool submits more slowly than the device completes.",
        remedy="Use more jobs or a cheaper engine (io_uring), or request the depth that is reached.",
        source="Little’s law: rate × latency = number in flight.",
        evaluate=_half_empty,
        needs="IOPS, mean latency and the depth",
    ),
    NOT_FROM_THE_DEVICE,
    after_check(
        id="merged-on-the-way",
        severity=Severity.WARNING,
        title="I/Os merged before the device",
        why="Readahead or the I/O scheduler merged neighbouring I/Os. The bandwidth is the device’s; IOPS and latency "
        "are not.",
        remedy="Quote the bandwidth alone, or use direct I/O to measure IOPS.",
        source="A storage engineer’s fio series: 25,600 I/Os issued, 561 at the device.",
        evaluate=_merged,
        needs="I/Os and bytes issued, and at the disk",
    ),
    after_check(
        id="more-at-the-device",
        severity=Severity.WARNING,
        title="I/O amplification at the device",
        why="Another program used the disk, or the file system moved more than the tool did (journal, copies, whole "
        "pages). The figure is what was left for the tool.",
        remedy="Find other users of the disk (iotop) and run it again; a raw device excludes the file system.",
        source=_KERNEL,
        evaluate=_amplified,
        needs="the tool’s count of bytes read and written, and the kernel’s counters of the disk",
    ),
    GENERATOR_BOUND,
)
