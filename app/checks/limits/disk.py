"""Limits of storage: provisioned rate, sync latency, queue depth, and the device itself."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.checks.cloud import LOCAL_BLOCKS, allowance_text
from app.checks.disk import NOT_FROM_THE_DEVICE
from app.checks.disk_others import OTHERS_ON_THE_DISK
from app.checks.evidence import (
    OWN_RATE,
    READ,
    WRITE,
    directions,
    disk_and_watch,
    figures_of,
    in_flight,
    in_sequence,
    issued,
    reached,
    share,
    watched_disks,
    workers_of,
    workload_of,
)
from app.checks.limits.cpu import HALF_BUSY, processors, use_of
from app.checks.limits.hypothesis import FULL, UNCOUNTED, Hypothesis, flat_text, objections, spread
from app.checks.network import throughput
from suites.checks import CheckOutcome, NotChecked
from suites.disk import lowest_device
from suites.evidence import HostWatch, TrialEvidence
from suites.facts import Facts, known
from suites.quantities import count_text, quantity, share_text
from suites.units import Unit, convert
from suites.verdict import Limiter, Trust
from suites.vocab import Labels, Resource

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
"""Ratio of two latency percentiles up to which they are the same: behind a rate limit without a burst, every I/O takes
the same time. Disks of SLOW or more differ more: 1.09 and above."""

SLOW = 1e-3
"""Seconds of latency from which no disk is as regular as a rate limit."""

PACED = 1.2
"""p95 relative to the median up to which a deep queue may be served at a set pace. Measured at depth 16 to 32: 1.16
behind a rate limit of 50 MB/s, 1.4 to 1.6 at a device that serves several I/Os at once."""

LARGE_BLOCK = 512 * 1024
"""Bytes from which the kernel splits an I/O, so that one in flight already keeps the device busy."""

WHOLE = 0.01
"""Distance from a whole number of slices, within the 1.6 % of a bin of fio's histogram."""

MOSTLY = 0.5
"""The share of the time between two results, or of a disk's bytes, that is most of it."""

WITH_FIO = "Measure the disk with fio at queue depth 32 and this block size: a higher rate means latency is the limit."
"""What to do next where the tool itself keeps no more I/Os in flight."""

WITHOUT_OTHERS = "Stop the other processes that use the disk (iotop), and run it again."
"""What to do next where others took a part of the disk."""

REACHED = 0.95
"""Share of a stated limit from which it explains the figure: token buckets keep a rate within some per cent."""

BEYOND = 1.1
"""How far above a stated limit a rate shows that it is not that limit, such as the baseline during a burst."""

FULL_QUEUE = 4.0
"""Mean I/Os at the device from which an application waits for its throughput, not for one I/O after another."""


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk of a trial: its use, and the spread of the tool's rate.

    `deep` and `full`: the requested queue is deep enough to use the device, and was full as far as known. `ratio` is
    the mean latency relative to the median; `in_slices`: it shows batches of I/Os. `even`: the I/Os took equally long;
    `paced`: they did so behind a full queue; `stepped`: they took whole slices of time.
    """

    name: str
    watch: HostWatch
    used: float
    depth: int | None
    flying: float | None
    spread: float | None
    deep: bool
    full: bool
    ratio: float
    in_slices: bool
    even: bool
    paced: bool
    stepped: bool

    def flat(self, most: float) -> bool:
        """Return whether the rate is known to vary less than `most`."""
        return self.spread is not None and self.spread < most


def allowance(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield traffic or I/O beyond a cloud's allowance, which the instance's own counters report."""
    io = trial.suite.resource in {Resource.NETWORK, Resource.DISK}
    exceeded = allowance_text(trial.watch) if io and trial.watch is not None else ""
    if exceeded:
        then = "Use a larger instance, or provision more for the volume."
        yield Hypothesis(Limiter.PROVISIONED, 1.0, exceeded.rstrip("."), then)


def stated(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the limits of the instance and the volume that the user’s cloud CLI states, as far as they were used."""
    for text, used in stated_use(trial):
        then = "Quote the figure with this limit, or use a larger instance or provision more for the volume."
        yield Hypothesis(Limiter.PROVISIONED, min(1.0, used), text, then, (), REACHED)


def stated_use(trial: TrialEvidence) -> list[tuple[str, float]]:
    """Return each stated limit that may have bound the trial, as a text with its share in use, the most used first."""
    facts = trial.context.facts
    if facts is None or not facts.cloud_limits:
        return []
    disks, rates = dict[str, str](), dict[str, float | None]()
    if trial.suite.resource is Resource.DISK and not workload_of(trial).buffered:
        names = watched_disks(trial)
        disks = {} if isinstance(names, NotChecked) else {name: _serial(facts, name) for name in names}
        rates = {Unit.PER_SECOND: trial.sum_of("iops"), Unit.BYTES_PER_SECOND: trial.sum_of("bandwidth")}
    elif trial.suite.resource is Resource.NETWORK:
        rates = {Unit.BITS_PER_SECOND: throughput(trial)}
    models = [known(one.model) for one in facts.block_devices if one.name in disks]
    local = bool(models) and set(models) == {LOCAL_BLOCKS}
    kind = known(facts.cloud.instance_type)
    found = []
    for one in facts.cloud_limits:
        rate, at = rates.get(one.unit), ""
        if one.device or one.volume:
            volume = one.volume.replace("-", "")
            own = next((name for name in disks if one.device == name or (not one.device and disks[name] == volume)), "")
            if not own:
                continue
            if len(disks) > 1:
                rate, at = _rate_at(trial, own, one.unit), f" at {own}"
        elif local or kind not in {None, one.instance_type}:
            continue
        if rate and rate <= BEYOND * one.value:
            text = f"{share_text(rate / one.value)} of the {one.name}{at}, {quantity(one.value, Unit(one.unit))}"
            found.append((text, rate / one.value))
    return sorted(found, key=lambda one: -one[1])


def _serial(facts: Facts, disk: str) -> str:
    device = facts.block_device(disk)
    return "" if device is None else known(device.serial) or ""


def _rate_at(trial: TrialEvidence, disk: str, unit: str) -> float | None:
    """Return the rate of one of several disks by the kernel's counters: the tool has the sum."""
    if trial.watch is None or not trial.watch.seconds:
        return None
    counts = [reached(trial.watch, disk, one) for one in (READ, WRITE)]
    return sum((one.ios if unit == Unit.PER_SECOND else one.size) or 0.0 for one in counts) / trial.watch.seconds


def storage(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the limits of the disk that a disk test uses."""
    if trial.suite.resource is Resource.APPLICATION:
        yield from _of_application(trial)
    if len(trial.suite.volumes(trial.values)) > 1:
        yield from _of_volumes(trial)
        return
    found = disk_and_watch(trial)
    busy = None if isinstance(found, NotChecked) else found[1].mean("disk_busy", device=found[0])
    if isinstance(found, NotChecked) or busy is None:
        return
    name, watch = found
    depth, flying = workload_of(trial).queue_depth, in_flight(trial)
    if depth is not None and flying is not None:
        flying = min(flying, depth)  # buffered libaio counts requests that wait for the one in flight
    tails, slow = _ratios(trial, "latency_p95"), (_mean_latency(trial) or 0.0) >= SLOW
    same = _within(_ratios(trial, "latency_p99", "latency_p95"))
    ratio = max(_ratios(trial, "latency_mean"), default=0.0)
    disk = Disk(
        name, watch, share(busy, 100.0) or min(1.0, busy / 100), depth, flying,
        spread([one.value for one in trial.headline_series()]),
        deep=depth is not None and depth > SHALLOW,
        full=depth is None or flying is None or flying >= depth / 2,
        ratio=ratio, in_slices=ratio >= IN_SLICES,
        even=_within(_ratios(trial, "latency_p99")) or (slow and _within(tails)),
        paced=_within(tails, PACED) or same,
        stepped=same and bool(tails) and all(round(one) > 1 and abs(one / round(one) - 1) <= WHOLE for one in tails),
    )  # fmt: skip
    yield from _sync(trial, disk)
    if isinstance(NOT_FROM_THE_DEVICE.evaluate(trial), CheckOutcome):
        return
    yield from _provisioned(trial, disk)
    yield from _one_after_another(trial, disk)
    yield from _device(trial, disk)


def _of_volumes(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the busiest of several volumes as the limit, of equally busy ones the slowest, beside the others."""
    volumes, facts, watch = trial.suite.volumes(trial.values), trial.context.facts, trial.watch
    if len(volumes) < 2 or facts is None or watch is None:
        return
    names = dict.fromkeys(name for part in volumes if (name := lowest_device(trial.suite, part, facts)))
    used = {name: share(watch.mean("disk_busy", device=name), 100.0) for name in names}
    rates = {name: sum(reached(watch, name, one).ios or 0.0 for one in (READ, WRITE)) / watch.seconds for name in names}
    found = sorted(((-round(one, 1), rates[name], name, one) for name, one in used.items() if one is not None))
    if not found:
        return
    texts = [f"{name} {share_text(one)} busy with {rate:,.0f} I/Os per second" for _, rate, name, one in found]
    asked = sum(did.size or 0.0 for way in directions(trial) if (did := issued(trial, way)) is not None)
    moved = sum(_bytes_at(watch, name) for name in names)
    against = objections(
        (len(found) < len(volumes), "the use of a volume is not known"),
        (not workload_of(trial).buffered and asked < MOSTLY * moved, "the I/O at the volumes may be that of others"),
    )
    then = f"Measure {found[0][2]} alone: a higher rate there shows that the volumes share a limit."
    yield Hypothesis(Limiter.DEVICE, found[0][3], "; ".join(texts), then, against)


def _mean_latency(trial: TrialEvidence) -> float | None:
    """Return the mean latency of the first kind of I/O in seconds."""
    found = trial.as_named("latency_mean")
    return convert(found[0].value, found[0].metric.unit, Unit.SECOND) if found else None


def _ratios(trial: TrialEvidence, metric: str, of: str = "latency_p50") -> list[float]:
    """Return a latency relative to another one, such as the median, of each kind of I/O.

    Both are of whole requests, or of the completion where that alone has both.
    """
    found: dict[Labels, float] = {}
    for family in ("", "total_"):
        lower = {one.labels: one.value for one in trial.all_of(family + of)}
        upper = [one for one in trial.all_of(family + metric) if lower.get(one.labels)]
        found |= {one.labels: one.value / lower[one.labels] for one in upper}
    return list(found.values())


def _within(ratios: list[float], most: float = EVENLY) -> bool:
    return bool(ratios) and max(ratios) <= most


def _provisioned(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield a rate limit: a flat rate, over a mostly idle disk, or released in batches, or with a deep, full queue."""
    if disk.spread is None or workload_of(trial).buffered:
        return
    known_full = disk.full and disk.depth is not None and disk.flying is not None
    if disk.used < IDLE and known_full and (disk.deep or disk.in_slices):
        # Encryption needs the CPU, and a saturated CPU gives an even rate too: require a flatter one.
        facts = trial.context.facts
        encrypted = facts is not None and any(known(one.kind) == "crypt" for one in facts.block_devices)
        working = encrypted and any(one.used and one.used >= FULL for one in processors(trial))
        flat = FLAT if working else FLAT_IN_SLICES if disk.in_slices or disk.paced else FLAT_BEFORE_DISK
        sign = f"{disk.name} was {share_text(disk.used)} busy"
    elif disk.in_slices:
        flat, sign = FLAT_BEFORE_DISK, f"the mean latency is {disk.ratio:.3g} times the median"
    elif disk.deep and disk.stepped:
        flat, sign = FLAT_IN_SLICES, "the latencies are whole multiples of their median"
    else:
        flat, sign = FLAT if disk.deep else 0.0, ""
    if disk.flat(flat):
        flying = "" if disk.flying is None else f", {count_text(disk.flying, 'I/O')} in flight"
        values = [one.value for one in trial.headline_series()]
        counter = "; ".join(part for part in (flat_text("the rate", values, disk.spread) + flying, sign) if part)
        then = "Check the volume’s limits and the cgroup’s (io.max), and double the block size."
        # Others take nothing from an idle disk.
        shared = disk.used >= IDLE and isinstance(OTHERS_ON_THE_DISK.evaluate(trial), CheckOutcome)
        against = objections((shared, f"other processes used {disk.name}"))
        yield Hypothesis(Limiter.PROVISIONED, 1.0, counter, then, against)


def _sync(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield the sync latency: its time by its number is most of what the workers spent (fio manual, fsync)."""
    every, rates = workload_of(trial).writes_per_sync, figures_of(trial, "iops", WRITE)
    if every is None:
        return
    syncs = trial.all_of("sync_latency_mean")
    then = "Lower the sync latency (a write cache with power-loss protection), or sync less often."
    if syncs and rates:
        each = convert(syncs[0].value, syncs[0].metric.unit, Unit.SECOND)
        part = share(sum(one.value for one in rates) / every * each, float(workers_of(trial) or 1))
        counter = "" if part is None else f"{share_text(part)} of the time in sync, {quantity(each, Unit.SECOND)} each"
        yield Hypothesis(Limiter.SYNC, part, counter, then, (), MOSTLY)
    elif every == 1 and (disk.depth or 0) <= SHALLOW:
        yield Hypothesis(Limiter.SYNC, 1.0, f"each write waits for stable storage on {disk.name}", then)


def _one_after_another(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield the queue depth: a shallow queue, where each I/O waits for the one before (Little’s law)."""
    if not _shallow(trial, disk) or disk.depth is None:
        return
    flying = 1.0 if disk.flying is None else min(1.0, disk.flying / disk.depth)
    depth, jobs = trial.values.get("iodepth"), trial.values.get("numjobs", 1)
    asked = depth * jobs if isinstance(depth, int) and isinstance(jobs, int) else 0
    against = objections(
        (asked > disk.depth, f"the engine keeps {disk.depth} of the requested {asked} I/Os in flight"),
        (disk.used < IDLE, f"{disk.name} was only {share_text(disk.used)} busy"),
        (disk.in_slices and disk.flat(FLAT_IN_SLICES), "the rate is even, the latency is not"),
        (disk.even, "every I/O took the same time, as behind a rate limit"),
        (_beside_others(trial), f"other processes used {disk.name} as much as the test"),
        _maybe_of_others(trial, disk),
    )
    latency = _mean_latency(trial)
    counter = f"{count_text(disk.depth, 'I/O')} in flight on {disk.name}"
    counter += "" if latency is None else f", mean latency {quantity(latency, Unit.SECOND)}"
    deeper = workload_of(trial).deepened_by
    then = f"Set {deeper} to 32 to measure the device's throughput." if deeper else WITH_FIO
    yield Hypothesis(Limiter.QUEUE_DEPTH, flying, counter, then, against, MOSTLY)


def _shallow(trial: TrialEvidence, disk: Disk) -> bool:
    """Return whether too few I/Os were in flight to use the device: large ones and those of the page cache may do."""
    block, workload = trial.values.get("block_size"), workload_of(trial)
    large = workload.large_ios or (isinstance(block, int) and block >= LARGE_BLOCK)
    reads = trial.suite.traits(trial.values, trial.context.facts).operation == "read"
    ahead = workload.buffered and (in_sequence(trial) or not reads)  # readahead and writeback keep further I/Os
    return disk.depth is not None and not disk.deep and not ((large or ahead) and disk.used >= FULL)


def _device(trial: TrialEvidence, disk: Disk) -> Iterator[Hypothesis]:
    """Yield the device: always busy, with the requested I/Os in flight (iostat(1): %util alone proves nothing)."""
    counter = f"{disk.name} was {share_text(disk.used)} busy"
    if disk.flying is not None:
        counter += f" with {count_text(disk.flying, 'I/O')} in flight"
    against = objections(
        (not disk.full, f"only {disk.flying or 0.0:.3g} of {disk.depth} I/Os were in flight"),
        (_shallow(trial, disk), f"only {disk.depth} in flight were requested"),
        (disk.deep and disk.paced, "the I/Os took equally long, or steps of time, as behind a rate limit"),
        _maybe_of_others(trial, disk),
    )
    deeper = workload_of(trial).deepened_by
    then = f"Double {deeper}: the same rate at twice the latency confirms it." if deeper else WITH_FIO
    then = WITHOUT_OTHERS if _beside_others(trial) else then
    yield Hypothesis(Limiter.DEVICE, disk.used, counter, then, against)


def _maybe_of_others(trial: TrialEvidence, disk: Disk) -> tuple[bool, str]:
    """Return whether neither the I/Os in flight nor the bytes show that the disk was busy with the test."""
    did = [issued(trial, operation) for operation in directions(trial)]
    asked = sum(one.size or 0.0 for one in did if one is not None)
    return disk.flying is None and _of_others(disk.watch, disk.name, asked), _others_text(disk.name)


def _beside_others(trial: TrialEvidence) -> bool:
    """Return whether others moved at least half as many bytes at the disk: their I/O adds to the latency."""
    found = OTHERS_ON_THE_DISK.evaluate(trial)
    return isinstance(found, CheckOutcome) and found.trust is Trust.DOUBTFUL


def _of_others(watch: HostWatch, disk: str, asked: float = 0.0) -> bool:
    """Return whether the disk may have moved more bytes of others than of the test, which asked for `asked`."""
    return max(_own_bytes(watch, disk), asked) < MOSTLY * _bytes_at(watch, disk)


def _others_text(disk: str) -> str:
    return f"the I/O at {disk} may be that of others"


def _own_bytes(watch: HostWatch, disk: str) -> float:
    """Return the bytes of the test's own processes at a disk, at most its own.

    The kernel counts a write when it makes a page dirty, and whole large folios: up to ten times what is written.
    """
    each = ((watch.total(OWN_RATE[one]) or 0.0, reached(watch, disk, one).size or 0.0) for one in (READ, WRITE))
    return sum(min(own, at_disk) for own, at_disk in each)


def _bytes_at(watch: HostWatch, disk: str) -> float:
    return sum(reached(watch, disk, operation).size or 0.0 for operation in (READ, WRITE))


def _of_application(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the limits of the disk below a database or a command."""
    watch = trial.watch
    name = None if watch is None else _data_disk(trial, watch)
    if watch is None or name is None:
        return
    busy, queue = watch.mean("disk_busy", device=name), watch.mean("disk_queue", device=name)
    used = share(busy, 100.0)
    read, written = (reached(watch, name, operation).ios or 0.0 for operation in (READ, WRITE))
    if used is None or queue is None or not read + written:
        return
    use, foreign = use_of(trial), (_of_others(watch, name), _others_text(name))
    large = _bytes_at(watch, name) / (read + written) >= LARGE_BLOCK / 2
    counter = f"{name} was {share_text(used)} busy with {count_text(queue, 'I/O')} at it"
    if workload_of(trial).commits and queue < FULL_QUEUE:
        wanted = share(min((use.test or 0.0) + use.waiting, use.usable or 0.0), use.usable)
        against = objections(
            (use.test is None, UNCOUNTED),
            (wanted is None or wanted >= HALF_BUSY, "the test ran on, or waited for, most of the CPUs"),
            (written <= read, f"{name} was read more than written"),
            foreign,
        )
        then = "Lower the sync latency, or run it with more clients: they share one sync."
        text = f"each commit waits for stable storage; {counter}"
        yield Hypothesis(Limiter.SYNC, used, text, then, against, MOSTLY)
    against = objections(
        (use.test is None, UNCOUNTED), (not large and queue < FULL_QUEUE, f"only {queue:.3g} I/Os at {name}"), foreign
    )
    then = "Measure the disk alone with fio at the same block size and queue depth."
    yield Hypothesis(Limiter.DEVICE, used, counter, then, against)


def _data_disk(trial: TrialEvidence, watch: HostWatch) -> str | None:
    """Return the disk of the data, else the busiest one of whose bytes most were the test's."""
    facts = trial.context.facts
    given = trial.suite.directory_parameter
    if facts is not None and given and (not trial.suite.uses_server or trial.values.get("server") == "own"):
        name = lowest_device(trial.suite, trial.values, facts)
        if name is not None and (("device", name),) in watch.labels_of("disk_busy"):
            return name
    names = [dict(at).get("device", "") for at in watch.labels_of("disk_busy")]
    names.sort(key=lambda one: -(watch.mean("disk_busy", device=one) or 0.0))
    own, moved = (
        sum(watch.total(one) or 0.0 for one in OWN_RATE.values()),
        {one: _bytes_at(watch, one) for one in names},
    )
    return next((one for one in names if own and MOSTLY * moved[one] <= own <= moved[one] / MOSTLY), None)
