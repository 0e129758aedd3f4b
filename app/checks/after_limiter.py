"""Why not double: what kept a trial from being faster, named from evidence, or honestly unknown with the next test."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from app.checks.after_claims import OF_A_TRIAL as CLAIMS
from app.checks.after_cpu import busiest_core, busy, cpus_of, held_back, tool_share, usable_of
from app.checks.after_disk import buffered, depth_of, disk_below
from app.checks.after_jobs import of_one_section
from app.checks.after_limits import in_flight
from app.checks.after_network import busiest, link_of, speed_of, throughput, within_host
from app.checks.after_words import limiter_text
from app.wording import bytes_text, duration_text, quantity, share_text
from suites.checks import CannotTell, Check, Outcome, TrialCheck, When
from suites.evidence import TrialEvidence
from suites.facts import known
from suites.units import Unit, convert
from suites.verdict import Limiter
from suites.vocab import Kind, Level, Resource

FULL = 0.9
"""The share of what there is from which it counts as used up."""

ALONE = 0.85
"""The share of the asked threads that were at work from which threads, not processors, were what ran out."""

HALF_BUSY = 0.5
"""The share of a processor up to which a tool was not kept waiting for one, whatever else the host did."""

FLAT = 0.01
"""The share of the median within which half of the seconds have to lie before something is said to hold the rate,
rather than the device to give what it can. A single odd second at the start changes nothing."""

ENOUGH_SECONDS = 5
"""Samples from which a rate is called flat."""

SHALLOW = 4
"""I/Os in flight up to which waiting for each, not the device’s rate, decides."""

IDLE = 50.0
"""Per cent of the time busy below which a disk had no part in what limited it."""

FLAT_LINK = 0.03
"""The same of what an interface carried, which is read by a clock of its own, at moments that a busy host blurs."""

FLAT_ON_THE_WAY = 0.05
"""The same where all I/Os were under way and the disk had little to do, which says most of it: a group’s limit grants
its I/Os in portions of a tenth of a second (blk-throttle), and the tool looks once a second, give or take."""

LARGE_BLOCK = 512 * 1024
"""Bytes from which the kernel cuts one I/O into several, so that one at a time already keeps a device at work."""

SMALL_MEMORY_BLOCK = 64 * 1024
"""Bytes below which a block of memory costs about as much for its call as for its bytes."""

GROWS_NOT, GROWS = 1.1, 1.5
"""What twice the threads bring: below the first, threads are not what is missing; above the second, they are."""

_SEVERAL_LIMITS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "latency-under-load": (
            "an idle link and a full one are measured, each with a limit of its own.",
            "A step of iperf3 to the same peer says what the link carries and what limits that.",
        ),
        "fio-job": (
            "each section of the job file has a limit of its own.",
            "Run one section alone, in a job file of its own, with time_based: what limits that can be told.",
        ),
    }
)
"""Suites that measure several things at once or after each other: why there is no one limit, and what would tell."""

_BY_CLAIM = ("generator-bound", "quota-bound", "datagrams-lost")


def _limited(trial: TrialEvidence) -> Outcome | CannotTell | None:
    trial = of_one_section(trial)
    if not trial.done or trial.headline is None:
        return None
    if trial.suite.id in _SEVERAL_LIMITS:
        return _named(Limiter.UNKNOWN, *_SEVERAL_LIMITS[trial.suite.id])
    if _many_points(trial):
        return _by_threads(trial) or _named(
            Limiter.UNKNOWN,
            "each point of the sweep has a limit of its own.",
            "Look where the curve bends: before it more was to be had, behind it nothing.",
        )
    for find in (_asked_rate, _claimed, _granted, _by_resource.get(trial.suite.resource, _processors)):
        found = find(trial)
        if found is not None:
            return found
    return _unknown(trial)


def _named(limiter: Limiter, evidence: str, then: str) -> Outcome:
    """Return the outcome that names a limiter, with the next test that would tell more."""
    said = "What limited it is not known" if limiter is Limiter.UNKNOWN else f"Limited by {limiter_text(limiter)}"
    return Outcome(f"{said}: {evidence}", remedy=then, limiter=limiter)


def _unknown(trial: TrialEvidence) -> Outcome:
    then = {
        Resource.CPU: "Run it with one thread and with one for each processor: what grows with them is the CPU’s.",
        Resource.MEMORY: "Run it with one thread and with one for each processor, and with a working set of 1 MiB.",
        Resource.DISK: "Run it at twice the queue depth: what grows was waiting, what stays is a limit.",
        Resource.NETWORK: "Run it with four streams: what grows was one connection’s, what stays is the link’s.",
        Resource.APPLICATION: "Measure its disk, its network and its processors alone, and see which it comes near.",
    }.get(trial.suite.resource, "Run it again with the host watched.")
    why = "nothing that was watched was used up" if trial.watch is not None else "the host was not watched"
    return _named(Limiter.UNKNOWN, f"{why}.", then)


def _granted(trial: TrialEvidence) -> Outcome | None:
    """Return that a cloud held the network or the volume back."""
    said = held_back(trial.watch) if trial.suite.resource in {Resource.NETWORK, Resource.DISK} else ""
    return _named(Limiter.PROVISIONED, said, "A larger instance, or more provisioned for the volume.") if said else None


def _many_points(trial: TrialEvidence) -> bool:
    """Whether the trial went through several settings, so that what was used up on average says nothing of any."""
    if trial.suite.id in {"fio-sweep", "fio-snia", "net-blocks", "memory-blocks"}:
        return True
    return len(_curve(trial)) > 1


def _curve(trial: TrialEvidence) -> dict[int, float]:
    """Return the first rate that was measured at several numbers of threads, by their number."""
    found: dict[str, dict[int, float]] = {}
    for figure in trial.figures:
        at = dict(figure.labels)
        if figure.metric.kind is Kind.RATE and set(at) == {"threads"} and at["threads"].isdigit():
            found.setdefault(figure.metric.name, {})[int(at["threads"])] = figure.value
    return next((curve for curve in found.values() if len(curve) > 1), {})


def _by_threads(trial: TrialEvidence) -> Outcome | None:
    """Return what twice the threads brought at the end of a sweep."""
    curve = _curve(trial)
    most = max(curve, default=0)
    half = max((threads for threads in curve if 2 * threads <= most), default=0)
    if not half or not curve[half]:
        return None
    growth = curve[most] / curve[half]
    said = f"{most} threads gave {growth:.2f} times what {half} gave."
    if growth < GROWS_NOT and trial.suite.resource is Resource.MEMORY:
        return _named(Limiter.MEMORY_BANDWIDTH, said, "Only memory with more channels, or faster ones, would help.")
    if growth > GROWS:
        return _named(Limiter.CPU, said, "More processors would give more still.")
    return None


def _claimed(trial: TrialEvidence) -> Outcome | None:
    """Return the limiter that a check of what was measured has named already."""
    for check in CLAIMS:
        outcome = check.evaluate(trial) if check.id in _BY_CLAIM else None
        if isinstance(outcome, Outcome) and outcome.limiter is not None:
            return _named(outcome.limiter, outcome.measured, check.remedy)
    return None


def _asked_rate(trial: TrialEvidence) -> Outcome | None:
    asked, got, reached = trial.values.get("rate_iops"), trial.sum_of("iops"), 0.95
    if trial.suite.id == "iperf3" and trial.values.get("protocol") == "udp":
        # A hundredth lost is the link’s doing.
        asked, got, reached = float(trial.values.get("bitrate", 0) or 0) * 1e6, throughput(trial), 0.99
    if not isinstance(asked, int | float) or not asked or got is None or got < reached * asked:
        return None
    return _named(Limiter.RATE, f"{got:.4g} of the {asked:.4g} a second asked for.", "Ask for more, or for no rate.")


def _processors(trial: TrialEvidence) -> Outcome | None:
    """Return whether processors or threads ran out."""
    cpus, usable = cpus_of(trial), usable_of(trial)
    used = busy(trial.watch, cpus)
    if cpus is None or usable is None or used is None:
        return None
    threads = _threads(trial)
    if used >= FULL * usable:
        return _named(
            Limiter.CPU, f"{used:.2g} of {usable:g} processors were at work.", "More or faster processors would help."
        )
    if threads is not None and threads < usable and used >= ALONE * threads:
        said = f"{threads} of {usable:g} processors had a thread to run, and {used:.2g} were at work."
        return _named(Limiter.ONE_THREAD, said, f"Run it with {usable:g} threads.")
    core = busiest_core(trial.watch)
    if core is not None and core >= FULL and used < 1.5:
        said = f"one processor was busy for {share_text(core)} of the time, the others were not."
        return _named(Limiter.ONE_THREAD, said, "Run it with more threads; where it has them, they wait for one lock.")
    return None


def _threads(trial: TrialEvidence) -> int | None:
    for name in ("threads", "numjobs", "streams"):
        given = trial.values.get(name)
        if isinstance(given, int) and given:
            return given
    return None


def _memory(trial: TrialEvidence) -> Outcome | None:
    block = trial.values.get("block_size")
    if trial.suite.id == "sysbench-memory" and isinstance(block, int) and block < SMALL_MEMORY_BLOCK:
        said = f"blocks of {bytes_text(block)}: each costs a call."
        return _named(Limiter.TOOL, said, "Use blocks of 1 MiB or more.")
    found, cache = _processors(trial), _cache_of(trial)
    if found is None or found.limiter is not Limiter.CPU:
        return found
    size = _working_set(trial)
    if size is None or cache is None:
        return None
    if size <= cache:
        said = f"all processors were at work on {bytes_text(size)}, which the caches of {bytes_text(cache)} hold."
        return _named(Limiter.CPU, said, "Use a working set of four times the caches to measure memory.")
    said = f"all processors were at work on {bytes_text(size)}, far more than the caches of {bytes_text(cache)}."
    return _named(Limiter.MEMORY_BANDWIDTH, said, "Run it with half the threads: what stays is the memory’s limit.")


def _cache_of(trial: TrialEvidence) -> int | None:
    return None if trial.context.facts is None else trial.context.facts.last_level_cache()


def _working_set(trial: TrialEvidence) -> int | None:
    values, threads = trial.values, _threads(trial) or 1
    if trial.suite.id == "stream":
        return 3 * 8 * int(values["array_size"])
    if trial.suite.id == "sysbench-memory":
        return int(values["block_size"]) * (threads if values["scope"] == "local" else 1)
    return None


def _disk(trial: TrialEvidence) -> Outcome | None:
    share = tool_share(trial)
    if share is not None and share >= FULL:
        said = f"each worker of {trial.suite.tool} took {share_text(share)} of a processor."
        return _named(Limiter.TOOL, said, "Run it with more jobs, or with a cheaper engine such as io_uring.")
    found = _below(trial)
    if share is not None and share < HALF_BUSY:  # it was not kept waiting for a processor, whoever used them
        return found
    return _crowded(trial, share) or found or _processors(trial)


def _crowded(trial: TrialEvidence, share: float | None) -> Outcome | None:
    """Return that all processors were at work, whoever used them."""
    used, usable = busy(trial.watch, cpus_of(trial)), usable_of(trial)
    if used is None or usable is None or used < 0.97 * usable:
        return None
    own = "" if share is None else f", {share:.2g} of them for each worker of {trial.suite.tool}"
    said = f"{used:.2g} of {usable:g} processors were at work{own}."
    return _named(Limiter.CPU, said, "More processors, or larger blocks, would help; or a host that nobody else uses.")


def _below(trial: TrialEvidence) -> Outcome | None:
    """Return what the disk and the way to it say."""
    disk, depth = disk_below(trial), depth_of(trial)
    at_work = None if isinstance(disk, CannotTell) or trial.watch is None else trial.watch.mean(
        "disk_busy", device=disk
    )  # fmt: skip
    if at_work is None or isinstance(disk, CannotTell) or _from_memory(trial):
        return None
    if at_work < IDLE:
        return _on_the_way(trial, disk, at_work, depth)
    return _waiting(trial, disk, at_work, depth) or _used_up(trial, disk, at_work, depth)


def _on_the_way(trial: TrialEvidence, disk: str, at_work: float, depth: int | None) -> Outcome | None:
    """Return that all I/Os were under way while the disk had little to do: they waited before it, at an even rate."""
    # What encrypts on the way needs the processors, which then are the limit, as even as any.
    working = _crowded(trial, None) is not None and _encrypted(trial)
    held, flying = _held(trial, FLAT if working else FLAT_ON_THE_WAY), in_flight(trial)
    if not held or flying is None or depth is None or flying < depth / 2 or buffered(trial):
        return None
    said = f"{flying:.3g} I/Os were under way, and {disk} was busy for {at_work:.0f} % of the time; {held}"
    then = "See what its group may do (cgroup io.max, blkio.throttle), and double the block."
    return _named(Limiter.PROVISIONED, said, then)


def _encrypted(trial: TrialEvidence) -> bool:
    facts = trial.context.facts
    return facts is not None and any(known(device.kind) == "crypt" for device in facts.block_devices)


def _from_memory(trial: TrialEvidence) -> bool:
    return any(isinstance(check.evaluate(trial), Outcome) for check in CLAIMS if check.id == "not-from-the-device")


def _waiting(trial: TrialEvidence, disk: str, at_work: float, depth: int | None) -> Outcome | None:
    """Return that few I/Os were in flight, each waited for."""
    block = trial.values.get("block_size")
    large = trial.suite.id == "cp" or (isinstance(block, int) and block >= LARGE_BLOCK)
    if depth is None or depth > SHALLOW or (large and at_work >= 100 * FULL):
        return None
    latency = next(iter(trial.all_of("latency_mean")), None)
    said = f"{depth} I/O{'' if depth == 1 else 's'} in flight on {disk}"
    if latency is not None:
        seconds = convert(latency.value, latency.metric.unit, Unit.SECOND)
        said += f", each {quantity(seconds, Unit.SECOND)}: that many fit into a second and no more"
    return _named(Limiter.QUEUE_DEPTH, f"{said}.", "Run it at a queue depth of 32: what grows was waiting.")


def _used_up(trial: TrialEvidence, disk: str, at_work: float, depth: int | None) -> Outcome | None:
    held = _held(trial)
    if held:
        then = "Double the block: where the I/Os a second halve it is a limit of bandwidth, else one of I/Os."
        return _named(Limiter.PROVISIONED, held, then)
    flying = in_flight(trial)
    full = depth is None or flying is None or flying >= depth / 2
    if at_work < 100 * FULL or not full:
        return None
    said = f"{disk} was busy for {at_work:.0f} % of the time"
    if flying is not None:
        said += f" with {flying:.3g} I/Os in flight"
    return _named(Limiter.DEVICE, f"{said}.", "Twice the queue depth should give the same rate and twice the latency.")


def _held(trial: TrialEvidence, flat: float = FLAT) -> str:
    """Return that a rate hardly varies from second to second, as only a limiter holds it; empty where it does."""
    figure = trial.headline
    if figure is None:
        return ""
    return _level([sample.value for sample in trial.series(figure.metric.name, figure.labels)], "the rate", flat)


def _level(values: Sequence[float], what: str, flat: float = FLAT) -> str:
    """Return that half of the values lie next to the median; empty where they do not, or are too few."""
    if len(values) < ENOUGH_SECONDS:
        return ""
    low, middle, high = statistics.quantiles(values, n=4)
    if not middle or (high - low) / middle >= flat:
        return ""
    took = duration_text(float(len(values)))
    return f"half of {took} lies within {share_text((high - low) / middle)} of {what}, as only a limit holds it."


def _held_link(trial: TrialEvidence) -> str:
    """Return that what the busiest interface carried hardly varies: the kernel counts bytes, iperf3 whole blocks."""
    watch, link = trial.watch, None if trial.watch is None else busiest(trial.watch)
    if watch is None or link is None:
        return ""
    both = [watch.values(metric, interface=link) for metric in ("network_sent", "network_received")]
    return _level(max(both, key=sum)[1:], f"what {link} carried", FLAT_LINK)


def _network(trial: TrialEvidence) -> Outcome | None:
    share = tool_share(trial)
    if within_host(trial):
        return _processors(trial) or _busy_tool(trial, share)
    link, rate = link_of(trial), throughput(trial)
    speed = link if isinstance(link, CannotTell) else speed_of(link)
    if not isinstance(speed, CannotTell) and not isinstance(link, CannotTell) and rate and rate >= FULL * speed:
        told = quantity(speed, Unit.BITS_PER_SECOND)
        said = f"{share_text(rate / speed)} of {link.name}’s {told}."
        return _named(Limiter.LINK, said, "Only a faster link would help.")
    busy_tool = _busy_tool(trial, share)
    if busy_tool is not None:
        return busy_tool
    held = _held(trial) or _held_link(trial)
    if held:
        return _named(Limiter.LINK, held, "Run it with four streams: what stays is shaped on the way.")
    return None if share is not None and share < HALF_BUSY else _processors(trial)


def _busy_tool(trial: TrialEvidence, share: float | None) -> Outcome | None:
    if share is None or share < FULL:
        return None
    said = f"{trial.suite.tool} took {share_text(share)} of a processor."
    return _named(Limiter.TOOL, said, "Run several at once on different ports, or a version with threads (3.16).")


_by_resource: dict[Resource, Callable[[TrialEvidence], Outcome | None]] = {
    Resource.MEMORY: _memory,
    Resource.DISK: _disk,
    Resource.NETWORK: _network,
}

LIMITED_BY: TrialCheck = Check(
    id="limited-by",
    level=Level.INFO,
    title="What limited it",
    why="A figure says something about what limited it, and nothing about the rest.",
    remedy="The finding names the next test that would tell more.",
    source="The host’s own counters while the trial ran, beside what the tool says.",
    evaluate=_limited,
    when=When.AFTER,
    needs="the host’s telemetry, its facts, and the figures of the trial",
)

OF_A_TRIAL: tuple[TrialCheck, ...] = (LIMITED_BY,)
