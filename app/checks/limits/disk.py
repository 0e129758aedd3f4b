"""Limits of storage: provisioned rate, sync latency, queue depth, and the device itself."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from app.checks.cloud import allowance_text
from app.checks.disk import NOT_FROM_THE_DEVICE
from app.checks.evidence import disk_and_watch, in_flight, in_sequence, share, workers_of, workload_of
from app.checks.limits.cpu import HALF_BUSY, processors, use_of
from app.checks.limits.hypothesis import FULL, Hypothesis, flat_text, spread
from suites.checks import CheckOutcome, NotChecked
from suites.disk import lowest_device
from suites.evidence import HostWatch, TrialEvidence
from suites.facts import known
from suites.quantities import quantity, share_text
from suites.units import Unit, convert
from suites.verdict import Limiter
from suites.vocab import Resource

SHALLOW = 4
"""I/Os in flight up to which latency, not the device's throughput, sets the rate."""

IDLE = 0.5
"""The share of the time in use below which a disk is not the limit."""

FLAT = 0.01
"""Spread below which a rate counts as limited rather than as the device's own."""

FLAT_BEFORE_DISK = 0.05
"""FLAT for a full queue over an idle disk, strong evidence by itself: blk-throttle releases I/Os in slices of 0.1 s,
and the tool samples about once a second."""

FLAT_IN_SLICES = 0.15
"""FLAT where the latency shows the slices, too: seen are interquartile ranges of 4 to 9 % at 4000 IOPS."""

IN_SLICES = 4.0
"""Mean latency relative to the median from which I/Os were delayed in batches. A token bucket passes a batch at once
and holds the rest: a median of 79 µs beside a mean of 3.3 ms at 300 IOPS, of 0.4 beside 8 ms at 4000 IOPS."""

EVENLY = 1.05
"""p99 relative to the median up to which every I/O took the same time, as behind a rate limit without a burst."""

PACED = 1.2
"""p95 relative to the median up to which a deep queue may be served at a set pace. Measured at depth 16 to 32: 1.16
behind a rate limit of 50 MB/s, 1.4 to 1.6 at a device that serves several I/Os at once."""

LARGE_BLOCK = 512 * 1024
"""Bytes from which the kernel splits an I/O, so that one in flight already keeps the device busy."""

MOSTLY = 0.5
"""The share of the time between two results, or of a disk's bytes, that is most of it."""

FULL_QUEUE = 4.0
"""Mean I/Os at the device from which an application waits for its throughput, not for one I/O after another."""


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk of a trial: its use, mean queue, and the spread of the tool's rate."""

    name: str
    watch: HostWatch
    used: float
    queue: float | None
    depth: int | None
    flying: float | None
    spread: float | None
    ratio: float

    @property
    def in_slices(self) -> bool:
        """Whether I/Os were delayed in batches."""
        return self.ratio >= IN_SLICES

    @property
    def full(self) -> bool:
        """Whether the requested I/Os were in flight, as far as known."""
        return self.depth is None or self.flying is None or self.flying >= self.depth / 2


def allowance(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield traffic or I/O beyond a cloud's allowance, which the instance's own counters report."""
    io = trial.suite.resource in {Resource.NETWORK, Resource.DISK}
    exceeded = allowance_text(trial.watch) if io and trial.watch is not None else ""
    if exceeded:
        then = "Use a larger instance, or provision more for the volume."
        yield Hypothesis(Limiter.PROVISIONED, 1.0, exceeded.rstrip("."), then)


def storage(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the limits of the disk that a disk test uses."""
    if trial.suite.resource is not Resource.DISK:
        yield from of_application(trial)
        return
    found = disk_and_watch(trial)
    if isinstance(found, NotChecked):
        return
    name, watch = found
    busy = watch.mean("disk_busy", device=name)
    if busy is None:
        return
    disk = Disk(
        name, watch, share(busy, 100.0) or min(1.0, busy / 100), watch.mean("disk_queue", device=name),
        workload_of(trial).queue_depth, in_flight(trial),
        spread([one.value for one in trial.headline_series()]), _mean_to_median(trial),
    )  # fmt: skip
    yield from _sync(trial, disk)
    if isinstance(NOT_FROM_THE_DEVICE.evaluate(trial), CheckOutcome):
        return
    yield from _provisioned(trial, disk)
    yield from _one_after_another(trial, disk)
    yield from _device(trial, disk)


def _mean_to_median(trial: TrialEvidence) -> float:
    medians = {figure.labels: figure.value for figure in trial.all_of("latency_p50")}
    means = trial.all_of("latency_mean")
    return max((figure.value / (medians.get(figure.labels) or math.inf) for figure in means), default=0.0)


def _provisioned(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield a rate limit: a flat rate, over a mostly idle disk, or released in batches, or with a deep, full queue."""
    if disk.spread is None or workload_of(trial).buffered:
        return
    deep = disk.depth is not None and disk.depth > SHALLOW
    before_disk = disk.used < IDLE and disk.full and disk.depth is not None and disk.flying is not None
    if before_disk:
        # Encryption needs the CPU, and a saturated CPU gives an even rate too: require a flatter one.
        working = _encrypted(trial) and any(one.used and one.used >= FULL for one in processors(trial))
        flat = FLAT if working else FLAT_IN_SLICES if disk.in_slices else FLAT_BEFORE_DISK
        before_disk = deep or disk.in_slices
    else:
        flat = FLAT_BEFORE_DISK if disk.in_slices else FLAT
    if disk.spread >= flat:
        return
    sign = (
        f"{disk.name} was {share_text(disk.used)} busy" if before_disk
        else f"the mean latency is {disk.ratio:.3g} times the median" if disk.in_slices
        else "" if deep else None
    )  # fmt: skip
    if sign is None:
        return
    flying = "" if disk.flying is None else f", {disk.flying:.3g} I/Os in flight"
    values = [one.value for one in trial.headline_series()]
    counter = "; ".join(part for part in (flat_text("the rate", values, disk.spread) + flying, sign) if part)
    then = "Check the volume’s limits and the cgroup’s (io.max), and double the block size."
    yield Hypothesis(Limiter.PROVISIONED, 1.0, counter, then)


def _encrypted(trial: TrialEvidence) -> bool:
    facts = trial.context.facts
    return facts is not None and any(known(device.kind) == "crypt" for device in facts.block_devices)


def _sync(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield the sync latency: its time by its number is most of what the workers spent (fio manual, fsync)."""
    every, writes = workload_of(trial).writes_per_sync, trial.value("iops", operation="write")
    if every is None:
        return
    syncs = [one for one in trial.all_of("latency_mean") if dict(one.labels).get("operation") == "sync"]
    then = "Lower the sync latency (a write cache with power-loss protection), or sync less often."
    if syncs and writes:
        each = convert(syncs[0].value, syncs[0].metric.unit, Unit.SECOND)
        part = share(writes / every * each, float(workers_of(trial) or 1))
        counter = "" if part is None else f"{share_text(part)} of the time in sync, {quantity(each, Unit.SECOND)} each"
        yield Hypothesis(Limiter.SYNC, part, counter, then, (), MOSTLY)
    elif every == 1 and (disk.depth or 0) <= SHALLOW:
        yield Hypothesis(Limiter.SYNC, 1.0, f"each write waits for stable storage on {disk.name}", then)


def _one_after_another(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield the queue depth: a shallow queue, where each I/O waits for the one before (Little’s law)."""
    if not _shallow(trial, disk) or disk.depth is None:
        return
    flying = 1.0 if disk.flying is None else min(1.0, disk.flying / disk.depth)
    against = [f"{disk.name} was only {share_text(disk.used)} busy"] if disk.used < IDLE else []
    if disk.in_slices and disk.spread is not None and disk.spread < FLAT_IN_SLICES:
        against.append(f"an even rate with a mean latency {disk.ratio:.3g} times the median")
    if disk.spread is not None and disk.spread < FLAT and _all_alike(trial):
        against.append("every I/O took the same time, as behind a rate limit")
    latency = next(iter(trial.all_of("latency_mean")), None)
    counter = f"{disk.depth} I/O{'' if disk.depth == 1 else 's'} in flight on {disk.name}"
    if latency is not None:
        seconds = convert(latency.value, latency.metric.unit, Unit.SECOND)
        counter += f", mean latency {quantity(seconds, Unit.SECOND)}"
    then = "Run it at queue depth 32 to measure the device's throughput."
    yield Hypothesis(Limiter.QUEUE_DEPTH, flying, counter, then, tuple(against), MOSTLY)


def _shallow(trial: TrialEvidence, disk: Disk) -> bool:
    """Return whether too few I/Os were in flight to use the device: large ones and those of the page cache may do."""
    block, workload = trial.values.get("block_size"), workload_of(trial)
    large = workload.large_ios or (isinstance(block, int) and block >= LARGE_BLOCK)
    reads = trial.suite.traits(trial.values, trial.context.facts).operation == "read"
    ahead = workload.buffered and (in_sequence(trial) or not reads)  # readahead and writeback keep further I/Os
    return disk.depth is not None and disk.depth <= SHALLOW and not ((large or ahead) and disk.used >= FULL)


def _all_alike(trial: TrialEvidence, tail: str = "latency_p99", most: float = EVENLY, of: str = "latency_p50") -> bool:
    medians = {figure.labels: figure.value for figure in trial.all_of(of)}
    tails = trial.all_of(tail)
    return bool(tails) and all(figure.value <= most * medians.get(figure.labels, 0.0) for figure in tails)


def _device(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield the device: always busy, with the requested I/Os in flight (iostat(1): %util alone proves nothing)."""
    shallow = (f"only {disk.depth} in flight were requested",) if _shallow(trial, disk) else ()
    paced = _all_alike(trial, "latency_p95", PACED) or _all_alike(trial, "latency_p99", EVENLY, "latency_p95")
    if disk.depth is not None and disk.depth > SHALLOW and paced:
        shallow = ("the I/Os took equally long, or steps of time, as behind a rate limit",)
    against = shallow if disk.full else (f"only {disk.flying:.3g} of {disk.depth} I/Os were in flight",)
    counter = f"{disk.name} was {share_text(disk.used)} busy"
    if disk.flying is not None:
        counter += f" with {disk.flying:.3g} I/Os in flight"
    then = "Run it at twice the queue depth: the same rate at twice the latency confirms it."
    yield Hypothesis(Limiter.DEVICE, disk.used, counter, then, against)


def of_application(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the limits of the disk below a database or a command."""
    watch, resource = trial.watch, trial.suite.resource
    name = None if watch is None or resource is not Resource.APPLICATION else _data_disk(trial, watch)
    if watch is None or name is None:
        return
    busy, queue = watch.mean("disk_busy", device=name), watch.mean("disk_queue", device=name)
    used = share(busy, 100.0)
    sizes = [watch.total(f"disk_{way}_rate", device=name) or 0.0 for way in ("read", "write")]
    ios = [watch.total(f"disk_{way}_ios", device=name) or 0.0 for way in ("read", "write")]
    if used is None or queue is None or not sum(ios):
        return
    use, workload = use_of(trial), workload_of(trial)
    large = sum(sizes) / sum(ios) >= LARGE_BLOCK / 2
    counter = f"{name} was {share_text(used)} busy with {queue:.3g} I/Os at it"
    if workload.commits and queue < FULL_QUEUE:
        cpu = share(use.every, use.usable)
        against = ("the CPUs were mostly in use",) if cpu is None or cpu >= HALF_BUSY else ()
        few = () if ios[1] > ios[0] else (f"{name} was read more than written",)
        then = "Lower the sync latency, or run it with more clients: they share one sync."
        text = f"each commit waits for stable storage; {counter}"
        yield Hypothesis(Limiter.SYNC, used, text, then, (*against, *few), MOSTLY)
    shallow = () if large or queue >= FULL_QUEUE else (f"only {queue:.3g} I/Os at {name}",)
    then = "Measure the disk alone with fio at the same block size and queue depth."
    yield Hypothesis(Limiter.DEVICE, used, counter, then, shallow)


def _data_disk(trial: TrialEvidence, watch: HostWatch) -> str | None:
    """Return the disk of the data, else the busiest one of whose bytes most were the test's."""
    facts = trial.context.facts
    given = trial.suite.directory_parameter
    if facts is not None and given and (not trial.suite.uses_server or trial.values.get("server") == "own"):
        name = lowest_device(trial.suite, trial.values, facts)
        if name is not None and (("device", name),) in watch.labels_of("disk_busy"):
            return name
    own = sum(watch.total(name) or 0.0 for name in ("tool_read_rate", "tool_write_rate"))
    found = {
        dict(at).get("device", ""): watch.mean("disk_busy", **dict(at)) or 0.0 for at in watch.labels_of("disk_busy")
    }
    for name in sorted(found, key=lambda one: -found[one]):
        moved = sum(watch.total(f"disk_{way}_rate", device=name) or 0.0 for way in ("read", "write"))
        if own and moved and MOSTLY * moved <= own <= moved / MOSTLY:
            return name
    return None
