"""Identify the resource that limited a trial from its evidence, or list how far each resource was used."""

import math
import statistics
from collections.abc import Callable, Sequence

from app.checks.cloud import allowance_text
from app.checks.cpu import QUOTA_BOUND
from app.checks.disk import GENERATOR_BOUND, NOT_FROM_THE_DEVICE
from app.checks.evidence import (
    as_measured,
    busiest_core,
    busy,
    cpus_of,
    in_flight,
    tool_share,
    usable_of,
    watched_disk,
    workload_of,
)
from app.checks.network import DATAGRAMS_LOST, busiest, link_of, speed_of, throughput, within_host
from suites.checks import Check, CheckOutcome, CheckPhase, NotChecked
from suites.evidence import TrialCheck, TrialEvidence
from suites.facts import known
from suites.quantities import duration_text, quantity, share_text
from suites.units import Unit, convert
from suites.verdict import Limiter
from suites.vocab import MetricKind, Resource, Severity


def limiter_text(limiter: Limiter | None) -> str:
    """Return the limiter as it follows “limited by”: ``the CPU``; empty for None."""
    names = {
        Limiter.CPU: "the CPU",
        Limiter.ONE_THREAD: "a lock or a single thread",
        Limiter.DEVICE: "the device",
        Limiter.QUEUE_DEPTH: "the queue depth",
        Limiter.PROVISIONED: "a provisioned limit",
        Limiter.QUOTA: "a quota",
        Limiter.LINK: "the link",
        Limiter.RATE: "the requested rate",
        Limiter.SYNC: "the sync latency",
        Limiter.SHAPED: "shaping on the network path",
        Limiter.WINDOW: "the TCP window and the round trip",
        Limiter.LOSS: "packet loss on the path",
        Limiter.RECEIVER: "the receiver",
        Limiter.CLIENT: "the client’s CPU",
        Limiter.TOOL: "the tool",
    }
    return "" if limiter is None else names.get(limiter, limiter.value)


FULL = 0.9
"""The share in use from which a resource counts as saturated."""

THREAD_LIMIT_SHARE = 0.85
"""The share of the requested threads that were running from which the number of threads is the limit."""

HALF_BUSY = 0.5
"""The tool's share of a CPU up to which it did not wait for the CPU, whatever else ran."""

FLAT = 0.01
"""Interquartile range relative to the median below which a rate counts as limited rather than as the device's own.
The interquartile range ignores a single odd second at the start."""

ENOUGH_SECONDS = 5
"""Fewest samples for a flat rate."""

SHALLOW = 4
"""I/Os in flight up to which latency, not the device's throughput, sets the rate."""

IDLE = 50.0
"""Per cent busy below which a disk is not the limit."""

FLAT_LINK = 0.03
"""FLAT for interface counters: they are sampled by another clock, with jitter on a busy host."""

FLAT_BEFORE_DISK = 0.05
"""FLAT for a full queue over an idle disk, strong evidence by itself: blk-throttle releases I/Os in slices of 0.1 s,
and the tool samples about once a second."""

FLAT_IN_SLICES = 0.15
"""FLAT where the latency shows the slices, too: seen are interquartile ranges of 4 to 9 % at 4000 IOPS."""

IN_SLICES = 4.0
"""Mean latency relative to the median from which I/Os were delayed in batches. blk-throttle passes a batch at once and
holds the rest until the next slice: a median of 0.4 ms beside a mean of 8 ms at 4000 IOPS and queue depth 32."""

LARGE_BLOCK = 512 * 1024
"""Bytes from which the kernel splits an I/O, so that one in flight already keeps the device busy."""

GROWS_NOT, GROWS = 1.1, 1.5
"""Speed-up by doubling the threads: below the first they do not help, above the second they do."""


def _limited(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    trial = as_measured(trial)
    if not trial.done or trial.headline is None:
        return None
    if trial.suite.several_limits is not None:
        return _named(Limiter.UNKNOWN, *trial.suite.several_limits)
    if _many_points(trial):
        return _by_threads(trial) or _named(
            Limiter.UNKNOWN,
            "each point of the sweep has its own.",
            "Find the knee of the curve: beyond it, more threads or I/Os give nothing.",
        )
    for find in (_requested_rate, _claimed, _granted, _by_resource.get(trial.suite.resource, _processors)):
        found = find(trial)
        if found is not None:
            return found
    return _unknown(trial)


def _named(limiter: Limiter, evidence: str, then: str) -> CheckOutcome:
    """Return the outcome that names a limiter, its evidence, and the next test."""
    head = "Limit not identified" if limiter is Limiter.UNKNOWN else f"Limited by {limiter_text(limiter)}"
    return CheckOutcome(f"{head}: {evidence}", remedy=then, limiter=limiter)


def _unknown(trial: TrialEvidence) -> CheckOutcome:
    then = {
        Resource.CPU: "Run it with one thread and with one per CPU: a rate that grows with threads is CPU-bound.",
        Resource.MEMORY: "Run it with one thread, with one per CPU, and with a working set of 1 MiB.",
        Resource.DISK: "Run it at twice the queue depth: a higher rate means latency was the limit.",
        Resource.NETWORK: "Run it with four streams: a higher rate means one connection was the limit.",
        Resource.APPLICATION: "Measure its disk, network and CPU separately, and compare.",
    }.get(trial.suite.resource, "Run it again with telemetry on.")
    return _named(Limiter.UNKNOWN, f"{_use(trial)}.", then)


def _use(trial: TrialEvidence) -> str:
    """Return how far each watched resource was used: ``CPU 41 %, disk 12 %, link 3 %``."""
    if trial.watch is None:
        return "no telemetry of the host"
    used, usable, disk, link = busy(trial.watch, cpus_of(trial)), usable_of(trial), watched_disk(trial), link_of(trial)
    busy_disk = None if isinstance(disk, NotChecked) else trial.watch.mean("disk_busy", device=disk)
    speed, rate = link if isinstance(link, NotChecked) else speed_of(link), throughput(trial)
    shares = {
        "CPU": used / usable if used is not None and usable else None,
        "disk": None if busy_disk is None else busy_disk / 100,
        "link": None if isinstance(speed, NotChecked) or rate is None else rate / speed,
    }
    found = [f"{name} {share_text(share)}" for name, share in shares.items() if share is not None]
    return ", ".join(found) or "no resource use was recorded"


def _granted(trial: TrialEvidence) -> CheckOutcome | None:
    """Return the outcome for traffic or I/O beyond a cloud's allowance."""
    exceeded = allowance_text(trial.watch) if trial.suite.resource in {Resource.NETWORK, Resource.DISK} else ""
    then = "Use a larger instance, or provision more for the volume."
    return _named(Limiter.PROVISIONED, exceeded, then) if exceeded else None


def _many_points(trial: TrialEvidence) -> bool:
    """Return whether the trial swept several settings, so that its mean use describes none of them."""
    return trial.suite.sweeps or len(_curve(trial)) > 1


def _curve(trial: TrialEvidence) -> dict[int, float]:
    """Return the first rate measured at several thread counts, keyed by thread count."""
    found: dict[str, dict[int, float]] = {}
    for figure in trial.figures:
        at = dict(figure.labels)
        if figure.metric.kind is MetricKind.RATE and set(at) == {"threads"} and at["threads"].isdigit():
            found.setdefault(figure.metric.name, {})[int(at["threads"])] = figure.value
    return next((curve for curve in found.values() if len(curve) > 1), {})


def _by_threads(trial: TrialEvidence) -> CheckOutcome | None:
    """Return the limit shown by the last doubling of threads in a sweep."""
    curve = _curve(trial)
    most = max(curve, default=0)
    half = max((threads for threads in curve if 2 * threads <= most), default=0)
    if not half or not curve[half]:
        return None
    growth = curve[most] / curve[half]
    evidence = f"{most} threads gave {growth:.2f} times the rate of {half}."
    if growth < GROWS_NOT and trial.suite.resource is Resource.MEMORY:
        return _named(Limiter.MEMORY_BANDWIDTH, evidence, "Use memory with more or faster channels.")
    if growth > GROWS:
        return _named(Limiter.CPU, evidence, "Use more CPUs.")
    return None


def _claimed(trial: TrialEvidence) -> CheckOutcome | None:
    """Return the limiter that another check of the trial found."""
    for check in (GENERATOR_BOUND, QUOTA_BOUND, DATAGRAMS_LOST):
        outcome = check.evaluate(trial)
        if isinstance(outcome, CheckOutcome) and outcome.limiter is not None:
            return _named(outcome.limiter, outcome.measured, check.remedy)
    return None


def _requested_rate(trial: TrialEvidence) -> CheckOutcome | None:
    requested = workload_of(trial).rate_limit
    if requested is None:
        return None
    got = throughput(trial) if requested.metric == "throughput" else trial.sum_of(requested.metric)
    if got is None or got < requested.reached * requested.value:
        return None
    measured = f"{got:.4g} of {requested.value:.4g} per second."
    return _named(Limiter.RATE, measured, "Raise or remove the requested rate.")


def _processors(trial: TrialEvidence) -> CheckOutcome | None:
    """Return the outcome if CPUs or threads were the limit."""
    cpus, usable = cpus_of(trial), usable_of(trial)
    used = busy(trial.watch, cpus)
    if cpus is None or usable is None or used is None:
        return None
    threads = _threads(trial)
    if used >= FULL * usable:
        return _named(Limiter.CPU, f"{used:.2g} of {usable:g} CPUs were in use.", "Use more or faster CPUs.")
    if threads is not None and threads < usable and used >= THREAD_LIMIT_SHARE * threads:
        evidence = f"{threads} threads on {usable:g} CPUs, {used:.2g} CPUs in use."
        return _named(Limiter.ONE_THREAD, evidence, f"Run it with {usable:g} threads.")
    core = busiest_core(trial.watch)
    if core is not None and core >= FULL and used < 1.5:
        evidence = f"one CPU was {share_text(core)} busy, the others were not."
        return _named(Limiter.ONE_THREAD, evidence, "Run it with more threads; if it has them, they wait for one lock.")
    return None


def _threads(trial: TrialEvidence) -> int | None:
    for name in ("threads", "numjobs", "streams"):
        given = trial.values.get(name)
        if isinstance(given, int) and given:
            return given
    return None


def _memory(trial: TrialEvidence) -> CheckOutcome | None:
    requested = workload_of(trial)
    if requested.tool_limit is not None:
        return _named(Limiter.TOOL, *requested.tool_limit)
    found, cache = _processors(trial), _cache_of(trial)
    if found is None or found.limiter is not Limiter.CPU:
        return found
    size = trial.suite.traits(trial.values, trial.context.facts).working_set
    if size is None or cache is None:
        return None
    if size <= cache:
        evidence = f"all CPUs were in use; the working set of {quantity(size)} fits in the caches ({quantity(cache)})."
        return _named(Limiter.CPU, evidence, "Use a working set of four times the caches to measure memory.")
    evidence = f"all CPUs were in use; the working set of {quantity(size)} exceeds the caches ({quantity(cache)})."
    return _named(Limiter.MEMORY_BANDWIDTH, evidence, "Run it with half the threads: the same rate confirms it.")


def _cache_of(trial: TrialEvidence) -> int | None:
    return None if trial.context.facts is None else trial.context.facts.last_level_cache()


def _disk(trial: TrialEvidence) -> CheckOutcome | None:
    share = tool_share(trial)
    if share is not None and share >= FULL:
        evidence = f"each worker of {trial.suite.tool} used {share_text(share)} of a CPU."
        return _named(Limiter.TOOL, evidence, "Run it with more jobs, or with a cheaper engine such as io_uring.")
    found = _below(trial)
    if share is not None and share < HALF_BUSY:  # the tool did not wait for a CPU, whatever else ran
        return found
    return _crowded(trial, share) or found or _processors(trial)


def _crowded(trial: TrialEvidence, share: float | None) -> CheckOutcome | None:
    """Return the outcome if all CPUs were in use, by any process."""
    used, usable = busy(trial.watch, cpus_of(trial)), usable_of(trial)
    if used is None or usable is None or used < 0.97 * usable:
        return None
    own = "" if share is None else f", {share:.2g} by each worker of {trial.suite.tool}"
    evidence = f"{used:.2g} of {usable:g} CPUs were in use{own}."
    return _named(Limiter.CPU, evidence, "Use more CPUs, larger blocks, or a host without other load.")


def _below(trial: TrialEvidence) -> CheckOutcome | None:
    """Return the limit shown by the disk or the path to it."""
    disk, depth = watched_disk(trial), workload_of(trial).queue_depth
    at_work = None if isinstance(disk, NotChecked) or trial.watch is None else trial.watch.mean(
        "disk_busy", device=disk
    )  # fmt: skip
    if at_work is None or isinstance(disk, NotChecked) or _from_memory(trial):
        return None
    if at_work < IDLE:
        return _throttled_before_disk(trial, disk, at_work, depth)
    return _waiting(trial, disk, at_work, depth) or _used_up(trial, disk, at_work, depth)


def _throttled_before_disk(trial: TrialEvidence, disk: str, at_work: float, depth: int | None) -> CheckOutcome | None:
    """Return the outcome for a full queue at an even rate over a mostly idle disk: the I/Os are throttled before it."""
    # Encryption needs the CPU, and a saturated CPU gives an even rate too: require a flatter one.
    working = _crowded(trial, None) is not None and _encrypted(trial)
    flat = FLAT if working else FLAT_IN_SLICES if _in_slices(trial) else FLAT_BEFORE_DISK
    flat_rate, flying = _flat_rate(trial, flat), in_flight(trial)
    if not flat_rate or flying is None or depth is None or flying < depth / 2 or workload_of(trial).buffered:
        return None
    evidence = f"{flying:.3g} I/Os in flight, {disk} {at_work:.0f} % busy; {flat_rate}"
    then = "Check the cgroup's I/O limits (io.max, blkio.throttle), and double the block size."
    return _named(Limiter.PROVISIONED, evidence, then)


def _in_slices(trial: TrialEvidence) -> bool:
    medians = {figure.labels: figure.value for figure in trial.all_of("latency_p50")}
    means = trial.all_of("latency_mean")
    return any(figure.value >= IN_SLICES * medians.get(figure.labels, math.inf) for figure in means)


def _encrypted(trial: TrialEvidence) -> bool:
    facts = trial.context.facts
    return facts is not None and any(known(device.kind) == "crypt" for device in facts.block_devices)


def _from_memory(trial: TrialEvidence) -> bool:
    return isinstance(NOT_FROM_THE_DEVICE.evaluate(trial), CheckOutcome)


def _waiting(trial: TrialEvidence, disk: str, at_work: float, depth: int | None) -> CheckOutcome | None:
    """Return the outcome for a shallow queue, where each I/O waits for the one before."""
    block = trial.values.get("block_size")
    large = workload_of(trial).large_ios or (isinstance(block, int) and block >= LARGE_BLOCK)
    if depth is None or depth > SHALLOW or (large and at_work >= 100 * FULL):
        return None
    latency = next(iter(trial.all_of("latency_mean")), None)
    evidence = f"{depth} I/O{'' if depth == 1 else 's'} in flight on {disk}"
    if latency is not None:
        seconds = convert(latency.value, latency.metric.unit, Unit.SECOND)
        evidence += f", mean latency {quantity(seconds, Unit.SECOND)}"
    return _named(Limiter.QUEUE_DEPTH, f"{evidence}.", "Run it at queue depth 32 to measure the device's throughput.")


def _used_up(trial: TrialEvidence, disk: str, at_work: float, depth: int | None) -> CheckOutcome | None:
    flat_rate = _flat_rate(trial)
    if flat_rate:
        then = "Double the block size: if IOPS halve, the limit is bandwidth, otherwise IOPS."
        return _named(Limiter.PROVISIONED, flat_rate, then)
    flying = in_flight(trial)
    full = depth is None or flying is None or flying >= depth / 2
    if at_work < 100 * FULL or not full:
        return None
    evidence = f"{disk} was {at_work:.0f} % busy"
    if flying is not None:
        evidence += f" with {flying:.3g} I/Os in flight"
    return _named(
        Limiter.DEVICE,
        f"{evidence}.",
        "Run it at twice the queue depth: the same rate at twice the latency confirms it.",
    )


def _flat_rate(trial: TrialEvidence, flat: float = FLAT) -> str:
    """Return the evidence that the headline rate is flat, as under a rate limit; empty if it varies."""
    return _level([sample.value for sample in trial.headline_series()], "rate", flat)


def _level(values: Sequence[float], what: str, flat: float = FLAT) -> str:
    """Return the evidence that the interquartile range of `values` is below `flat`; empty otherwise."""
    if len(values) < ENOUGH_SECONDS:
        return ""
    low, middle, high = statistics.quantiles(values, n=4)
    if not middle or (high - low) / middle >= flat:
        return ""
    spread = share_text((high - low) / middle)
    return f"{what} is flat: interquartile range {spread} over {duration_text(float(len(values)))}."


def _flat_link(trial: TrialEvidence) -> str:
    """Return the evidence that the busiest interface's rate is flat: the kernel counts bytes, iperf3 whole blocks."""
    watch, link = trial.watch, None if trial.watch is None else busiest(trial.watch)
    if watch is None or link is None:
        return ""
    both = [watch.values(metric, interface=link) for metric in ("network_sent", "network_received")]
    return _level(max(both, key=sum)[1:], f"traffic on {link}", FLAT_LINK)


def _network(trial: TrialEvidence) -> CheckOutcome | None:
    share = tool_share(trial)
    if within_host(trial):
        return _processors(trial) or _busy_tool(trial, share)
    link, rate = link_of(trial), throughput(trial)
    speed = link if isinstance(link, NotChecked) else speed_of(link)
    if not isinstance(speed, NotChecked) and not isinstance(link, NotChecked) and rate and rate >= FULL * speed:
        evidence = f"{share_text(rate / speed)} of {link.name}’s {quantity(speed, Unit.BITS_PER_SECOND)}."
        return _named(Limiter.LINK, evidence, "Use a faster link.")
    busy_tool = _busy_tool(trial, share)
    if busy_tool is not None:
        return busy_tool
    flat_rate = _flat_rate(trial) or _flat_link(trial)
    if flat_rate:
        return _named(
            Limiter.LINK, flat_rate, "Run it with four streams: the same rate means traffic shaping on the path."
        )
    return None if share is not None and share < HALF_BUSY else _processors(trial)


def _busy_tool(trial: TrialEvidence, share: float | None) -> CheckOutcome | None:
    if share is None or share < FULL:
        return None
    evidence = f"{trial.suite.tool} used {share_text(share)} of a CPU."
    return _named(Limiter.TOOL, evidence, "Run several at once on different ports, or a multi-threaded version (3.16).")


_by_resource: dict[Resource, Callable[[TrialEvidence], CheckOutcome | None]] = {
    Resource.MEMORY: _memory,
    Resource.DISK: _disk,
    Resource.NETWORK: _network,
}

LIMITED_BY: TrialCheck = Check(
    id="limited-by",
    severity=Severity.INFO,
    title="Limiting factor",
    why="The figure measures the limiting resource, not the others.",
    remedy="Run the test that the finding names.",
    source="The host’s counters during the trial, and the tool’s figures.",
    evaluate=_limited,
    when=CheckPhase.AFTER,
    needs="the host’s telemetry, its facts, and the figures of the trial",
)
