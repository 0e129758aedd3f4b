"""Checks of a disk trial: whether the I/O reached the device, and what it was on the way."""

from dataclasses import dataclass

from app.checks.disk_others import OTHERS_ON_THE_DISK
from app.checks.disk_rates import DISK_RATES
from app.checks.evidence import (
    HALF,
    MIXED,
    OWN_RATE,
    READ,
    WRITE,
    IoCount,
    as_measured,
    directions,
    disk_and_watch,
    disks_of,
    in_sequence,
    issued,
    most_reached,
    moves_bytes,
    reached,
    seconds_of,
    sum_of_both,
    tool_share,
    workers_of,
    workload_of,
)
from suites.base import own_directories
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.disk import LOOP, MEMORY_KINDS
from suites.evidence import HostWatch, TrialCheck, TrialEvidence
from suites.facts import known
from suites.quantities import count_text, figure_text, quantity, share_text
from suites.units import Unit, convert
from suites.verdict import Limiter, Trust
from suites.vocab import Resource, Severity

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

_VERBS = {READ: "Read", WRITE: "Written", MIXED: "Read and written"}

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
    if trial.suite.resource is not Resource.DISK or not trial.done or not moves_bytes(trial):
        return None
    in_memory = _in_memory(trial)
    if in_memory:
        return CheckOutcome(in_memory, trust=Trust.INVALID)
    watched = disk_and_watch(trial)
    if isinstance(watched, NotChecked):
        return (_counts_elsewhere(trial) if trial.elsewhere else None) or _tool_counts(trial, watched)
    least = _least_share(trial, *watched)
    if least is not None and least.share < HALF:
        return CheckOutcome(least.measured, trust=Trust.INVALID if least.share < NONE else Trust.DOUBTFUL)
    return _uncertain(trial, *watched)


def _counts_elsewhere(trial: TrialEvidence) -> CheckOutcome | None:
    """Report buffered reads of more than all disks of the host did, of which one may have served them.

    No counter shows reads from a network file system, so that they are in doubt, not invalid.
    """
    did, most = issued(trial, READ), most_reached(trial, READ)
    if not workload_of(trial).buffered or did is None or not did.size or most is None or most >= HALF * did.size:
        return None
    return CheckOutcome(
        f"Read: {quantity(did.size)} by the tool, at most {quantity(most)} at the disks of the host "
        f"({share_text(most / did.size)}). The rest came from memory or from a network file system.",
        trust=Trust.DOUBTFUL,
    )


def _uncertain(trial: TrialEvidence, disk: str, watch: HostWatch) -> NotChecked | None:
    """Return why the disk's counters do not show that the device served the I/O; None if they do."""
    if LOOP in disk:
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
    if trial.suite.resource is not Resource.DISK or not trial.done or not moves_bytes(trial):
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
    disks = list(dict.fromkeys(name for name in disks_of(trial) if name is not None))
    uncached = trial.suite.uniform and not workload_of(trial).buffered
    uncached = uncached and not any(name.startswith(PERSISTENT) for name in disks)
    if trial.suite.resource is not Resource.DISK or not trial.done or not uncached or not trial.all_of("iops"):
        return None
    for rate in trial.all_of("iops"):
        figure = trial.latency("mean", rate.labels)
        if figure is not None and 0 < convert(figure.value, figure.metric.unit, Unit.SECOND) < FASTEST_DEVICE:
            mean, on = figure_text(figure.metric, figure.value), f" on {' and '.join(disks)}" if disks else ""
            return CheckOutcome(
                f"Direct I/O{on} took {mean} on average; the fastest drives need about {FASTEST_DRIVE}."
            )
    return None


def _in_memory(trial: TrialEvidence) -> str:
    facts = trial.context.facts
    for path in () if trial.suite.device(trial.values) else own_directories(trial.suite, trial.values):
        directory = None if facts is None else facts.directory(path)
        kind, upper = (None, None) if directory is None else (known(directory.kind), known(directory.upper))
        if upper in MEMORY_KINDS:
            kind = f"an {kind} on {upper}"
        if {kind, upper} & MEMORY_KINDS:
            return f"{path} is on {kind}: its files are in memory."
    return ""


def _tool_counts(trial: TrialEvidence, unknown: NotChecked) -> CheckOutcome | NotChecked | None:
    """Compare the tool's own counts of issued and device I/Os; `unknown` if it has none.

    Neither do they decide where readahead explains the difference.
    """
    if workload_of(trial).buffered and in_sequence(trial):
        return unknown
    counted = False
    for figure in trial.all_of("issued_ios"):
        got = next((one.value for one in trial.all_of("device_ios") if one.labels == figure.labels), None)
        counted |= got is not None
        if got is not None and got < HALF * figure.value:
            return CheckOutcome(
                f"{figure.value:.0f} I/Os issued ({dict(figure.labels).get('operation', '')}), {got:.0f} at the device "
                f"({share_text(got / figure.value)}), counted by {trial.suite.tool}.",
                trust=Trust.INVALID if got < NONE * figure.value else Trust.DOUBTFUL,
            )
    return None if counted else unknown


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
    share, found = tool_share(trial), disk_and_watch(trial)
    if share is None or isinstance(found, NotChecked):
        return NotChecked("The tool’s CPU use or the disk’s is unknown.")
    disk, watch = found
    at_work = watch.mean("disk_busy", device=disk)
    if at_work is None or share < GENERATING or at_work > IDLE_DISK or isinstance(_cache(trial), CheckOutcome):
        return None
    was = "were at most" if " and " in disk else "was"
    return CheckOutcome(
        f"Each worker of {trial.suite.tool} used {share_text(share)} of a CPU; {disk} {was} {at_work:.0f} % busy.",
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
    title="Load generator is the bottleneck",
    why="The figure is how fast the tool or its data source runs on one CPU. The disk may be faster.",
    remedy="Use a cheaper source (zeros, if the disk does not compress), more jobs, or larger blocks.",
    source="A consultancy’s copies: 12.84 MB/s was the speed of /dev/urandom.",
    evaluate=_generator,
    needs="the tool’s CPU time, the disk’s busy time, the rate of /dev/urandom",
    trust=Trust.DOUBTFUL,
)


ETCD_LIMIT = 0.010
"""Seconds: the p99 of the flush of etcd's log should be below (etcd documentation, FAQ)."""


def _slow_sync(trial: TrialEvidence) -> CheckOutcome | None:
    found = trial.all_of("sync_latency_p99")
    if not (found and trial.done) or workload_of(trial).writes_per_sync != 1:
        return None
    p99 = convert(found[0].value, found[0].metric.unit, Unit.SECOND)
    if p99 < ETCD_LIMIT:
        return None
    return CheckOutcome(f"Sync latency p99 is {quantity(p99, Unit.SECOND)}; etcd needs below 10 ms.")


TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    after_check(
        id="slow-sync",
        severity=Severity.INFO,
        title="Sync latency too high for etcd",
        why="Each commit of a log waits for a flush. Where it takes longer, etcd misses heartbeats and elects leaders.",
        remedy="Use a drive with power-loss protection, or a volume with more provisioned IOPS, for the log alone.",
        source="etcd documentation, FAQ: the p99 of wal_fsync_duration_seconds should be below 10 ms.",
        evaluate=_slow_sync,
        needs="the p99 of fsync or fdatasync after each write",
    ),
    after_check(
        id="partly-cached",
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
        title="Too fast for a block device",
        why="RAM (brd, null_blk, a file in memory) or the cache of a hypervisor served the I/O, not a drive.",
        remedy="Measure a real drive; in a guest, ask for a volume without host caching.",
        source="Optane drives, the fastest, need about 10 µs; 3 µs is the cost of the kernel alone.",
        evaluate=_too_fast,
        needs="the mean latency of direct I/O",
        trust=Trust.DOUBTFUL,
    ),
    OTHERS_ON_THE_DISK,
    *DISK_RATES,
    NOT_FROM_THE_DEVICE,
    after_check(
        id="merged-on-the-way",
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
