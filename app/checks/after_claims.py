"""Did it measure what it claims: the device and the link, rather than memory, the tool or a quota."""

from app.checks.after_cpu import busy, cpus_of, throttled, tool_share
from app.checks.after_disk import (
    COUNTED,
    READ,
    WRITE,
    buffered,
    disk_below,
    in_sequence,
    issued,
    reached,
    seconds_of,
)
from app.checks.after_jobs import of_one_section
from app.checks.after_network import busiest, carried, throughput, within_host
from app.wording import bytes_text, quantity, share_text
from suites.base import device_of
from suites.checks import CannotTell, Check, Outcome, TrialCheck, When
from suites.disk import LOOP, MEMORY_KINDS
from suites.evidence import TrialEvidence
from suites.facts import known
from suites.units import Unit
from suites.verdict import Limiter, Trust
from suites.vocab import Level, Resource

HALF = 0.5
"""The share of what was issued that has to reach the device before the figure counts as the device's."""

NONE = 0.05
"""The share below which the device had, in effect, no part in it."""

AMPLIFIED = 1.5
"""Times what was issued from which something else, or the same thing twice, went to the device."""

ENOUGH = 64 * 2**20
"""Bytes below which background I/O weighs too much to accuse anybody of amplification."""

GENERATING = 0.9
"""The share of one processor from which the tool itself is what is measured."""

FELT = 0.2
"""The share of the time spent on making bytes from which it shows in the figure of a copy."""

IDLE_DISK = 60.0
"""Per cent of the time busy up to which a disk has more to give."""

QUOTA_BITES = 0.05
"""The share of the time kept from the processors from which a quota shows in the figure."""

LOSS = 1.0
"""Per cent of datagrams lost from which the sender’s rate is not what arrives."""


def _cache(trial: TrialEvidence) -> Outcome | CannotTell | None:
    trial = of_one_section(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done or not _moves_bytes(trial):
        return None
    in_memory = _in_memory(trial)
    if in_memory:
        return Outcome(in_memory, trust=Trust.INVALID)
    told = _told_by_fio(trial)
    disk = disk_below(trial)
    if isinstance(disk, CannotTell) or trial.watch is None:
        return told or (disk if isinstance(disk, CannotTell) else None)
    for operation in (READ, WRITE):
        did, got = issued(trial, operation), reached(trial.watch, disk, operation)
        if did is None or not did.size or got.size is None or got.size >= HALF * did.size:
            continue
        words = "Read" if operation == READ else "Written"
        ios = "" if got.ios is None else f", in {got.ios:.0f} I/Os"
        return Outcome(
            f"{words}: {bytes_text(did.size)} by the tool, {bytes_text(got.size)} at {disk}{ios} "
            f"({share_text(got.size / did.size)}).",
            trust=Trust.INVALID if got.size < NONE * did.size else Trust.DOUBTFUL,
        )
    if disk.startswith(LOOP):
        return CannotTell(f"{disk} is a file of another file system, whose own cache may have answered for its disk.")
    return None


def _moves_bytes(trial: TrialEvidence) -> bool:
    return trial.suite.id in COUNTED and bool(trial.all_of("bandwidth"))


def _in_memory(trial: TrialEvidence) -> str:
    facts = trial.context.facts
    path = str(trial.values.get(trial.suite.directory_parameter or "", ""))
    directory = None if facts is None or device_of(trial.suite, trial.values) else facts.directory(path)
    kind = None if directory is None else known(directory.kind)
    return f"{path} is on {kind}: its files lie in memory." if kind in MEMORY_KINDS else ""


def _told_by_fio(trial: TrialEvidence) -> Outcome | None:
    """Say what fio's own count of the disk's I/Os shows, where nobody else counted and no read-ahead can explain it."""
    if buffered(trial) and in_sequence(trial):
        return None
    for figure in trial.all_of("issued_ios"):
        got = next((one.value for one in trial.all_of("device_ios") if one.labels == figure.labels), None)
        if got is not None and got < HALF * figure.value:
            return Outcome(
                f"{figure.value:.0f} I/Os issued ({dict(figure.labels).get('operation', '')}), {got:.0f} at the device "
                f"({share_text(got / figure.value)}), by fio’s own count.",
                trust=Trust.INVALID if got < NONE * figure.value else Trust.DOUBTFUL,
            )
    return None


def _merged(trial: TrialEvidence) -> Outcome | CannotTell | None:
    trial = of_one_section(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done or not buffered(trial):
        return None
    disk = disk_below(trial)
    if isinstance(disk, CannotTell) or trial.watch is None:
        return disk if isinstance(disk, CannotTell) else None
    for operation in (READ, WRITE):
        did, got = issued(trial, operation), reached(trial.watch, disk, operation)
        if did is None or not did.size or not did.ios or got.size is None or got.ios is None:
            continue
        if got.size >= HALF * did.size and got.ios < HALF * did.ios:
            return Outcome(
                f"{did.ios:.0f} I/Os issued ({operation}), {got.ios:.0f} at {disk}; the bytes agree "
                f"({share_text(got.size / did.size)})."
            )
    return None


def _amplified(trial: TrialEvidence) -> Outcome | CannotTell | None:
    trial = of_one_section(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done:
        return None
    disk = disk_below(trial)
    if isinstance(disk, CannotTell) or trial.watch is None:
        return disk if isinstance(disk, CannotTell) else None
    seconds = seconds_of(trial)
    for operation in (READ, WRITE) if seconds else ():
        did, rate = issued(trial, operation), trial.watch.mean_within(f"disk_{operation}_rate", device=disk)
        if did is None or not did.size or rate is None or not seconds or rate * seconds < ENOUGH:
            continue
        if rate > AMPLIFIED * did.size / seconds:
            asked, got = (quantity(one, Unit.BYTES_PER_SECOND) for one in (did.size / seconds, rate))
            return Outcome(
                f"{operation.capitalize()}: {asked} by the tool, {got} at {disk}: "
                f"{rate * seconds / did.size:.2g} times as much."
            )
    return None


def _generator(trial: TrialEvidence) -> Outcome | CannotTell | None:
    if trial.suite.resource is not Resource.DISK or not trial.done:
        return None
    if trial.values.get("input") == "/dev/urandom":
        return _source(trial)
    share, disk = tool_share(trial), disk_below(trial)
    if share is None or isinstance(disk, CannotTell) or trial.watch is None:
        return CannotTell("The tool’s use of the processor, or the disk’s, is not known.")
    at_work = trial.watch.mean("disk_busy", device=disk)
    if at_work is None or share < GENERATING or at_work > IDLE_DISK or isinstance(_cache(trial), Outcome):
        return None
    return Outcome(
        f"Each worker of {trial.suite.tool} took {share_text(share)} of a processor while {disk} was busy for "
        f"{at_work:.0f} % of the time.",
        limiter=Limiter.TOOL,
    )


def _source(trial: TrialEvidence) -> Outcome | CannotTell | None:
    """Say that the random generator is as slow as the copy."""
    facts, rate = trial.context.facts, trial.value("bandwidth")
    generated = None if facts is None else known(facts.measured.urandom_rate)
    if generated is None or rate is None:
        return CannotTell("The rate of /dev/urandom on this host was not measured.")
    share = min(1.0, rate * 1e6 / generated)
    if share < FELT:
        return None
    told = quantity(generated, Unit.BYTES_PER_SECOND)
    return Outcome(
        f"dd copied {quantity(rate * 1e6, Unit.BYTES_PER_SECOND)}; /dev/urandom alone gives {told} on this host, so "
        f"that {share_text(share)} of the time went into making the bytes.",
        limiter=Limiter.TOOL if share >= HALF else None,
        trust=None if share >= HALF else Trust.CAVEATS,
    )


def _quota(trial: TrialEvidence) -> Outcome | CannotTell | None:
    share = throttled(trial.watch)
    if not trial.done or share is None:
        return _granted(trial) if trial.done else None
    if share < QUOTA_BITES:
        return None
    said = f"A quota kept its group from the processors for {share_text(share)} of the time."
    return Outcome(said, limiter=Limiter.QUOTA)


def _granted(trial: TrialEvidence) -> Outcome | CannotTell | None:
    """Say that as much was used as a quota grants, where nobody counts how often it bit."""
    facts = trial.context.facts
    granted, cpus = None if facts is None else known(facts.cpu.quota), cpus_of(trial)
    if granted is None or cpus is None or granted >= cpus:
        return None
    used = busy(trial.watch, cpus)
    if used is None:
        return CannotTell("Neither the throttling of the group nor the use of the processors is known.")
    if used < GENERATING * granted:
        return None
    return Outcome(f"{used:.2g} processors were at work, and a quota grants {granted:g}.", limiter=Limiter.QUOTA)


def _loss(trial: TrialEvidence) -> Outcome | None:
    lost = [figure.value for figure in trial.all_of("lost")]
    if not lost or max(lost) < LOSS or not trial.done:
        return None
    return Outcome(f"{max(lost):.3g} % of the datagrams were lost on the way.", limiter=Limiter.LINK)


def _not_over_the_link(trial: TrialEvidence) -> Outcome | CannotTell | None:
    if trial.suite.resource is not Resource.NETWORK or not trial.done or within_host(trial):
        return None
    watch, rate = trial.watch, throughput(trial)
    link = None if watch is None else busiest(watch)
    if watch is None or link is None or rate is None:
        return CannotTell("The host’s interfaces were not watched while it ran.")
    seconds = float(trial.values.get("time", 0) or 0) or watch.seconds
    claimed, got = rate * seconds / 8, carried(watch, link) or 0.0
    if got >= HALF * claimed:
        return None
    return Outcome(
        f"{bytes_text(claimed)} by the tool; {link}, the busiest interface of {trial.host}, carried {bytes_text(got)}."
    )


_KERNEL = "The kernel’s own counters (/proc/diskstats), beside what the tool says."

OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="not-from-the-device",
        level=Level.ERROR,
        title="Memory answered for the disk",
        why="What never reached the device says nothing about it: the figure is the page cache’s, or that of a file of "
        "holes, and can be a hundred times too high.",
        remedy="Use direct I/O; or flush before the clock stops, with files of at least twice the memory.",
        source="A storage engineer’s fio series: 853,333 IOPS with no I/O at the device; direct, 8,767.",
        evaluate=_cache,
        when=When.AFTER,
        needs="what the tool says it read and wrote, and the kernel’s counters of the disk below",
        trust=Trust.DOUBTFUL,
    ),
    Check(
        id="merged-on-the-way",
        level=Level.WARNING,
        title="The device saw fewer, larger I/Os",
        why="Read-ahead or the scheduler put neighbouring I/Os together. The bandwidth is the device’s; the I/Os a "
        "second and their latency are not.",
        remedy="Quote the bandwidth alone; or use direct I/O to measure I/Os.",
        source="A storage engineer’s fio series: 25,600 I/Os issued, 561 at the device.",
        evaluate=_merged,
        when=When.AFTER,
        needs="I/Os and bytes issued, and at the disk below",
    ),
    Check(
        id="more-at-the-device",
        level=Level.WARNING,
        title="The device did more than was asked",
        why="Somebody else used it too, or the file system wrote and read more than the tool: journals, copies, whole "
        "pages. What was left for the tool is what is measured.",
        remedy="See who else uses the disk (iotop), and run it again; a raw device shows it without the file system.",
        source=_KERNEL,
        evaluate=_amplified,
        when=When.AFTER,
        needs="what the tool says it read and wrote, and the kernel’s counters of the disk below",
    ),
    Check(
        id="generator-bound",
        level=Level.WARNING,
        title="The tool was busier than the disk",
        why="The figure is how fast the tool, or its source of data, goes on one processor. The disk may be faster.",
        remedy="Use a cheaper source (zeros, where the disk does not compress), more jobs, or larger blocks.",
        source="A consultancy’s copies: 12.84 MB/s from /dev/urandom were the generator’s.",
        evaluate=_generator,
        when=When.AFTER,
        needs="the tool’s processor time, the disk’s busy time, the rate of /dev/urandom",
        trust=Trust.DOUBTFUL,
    ),
    Check(
        id="quota-bound",
        level=Level.WARNING,
        title="A quota held it back",
        why="The figure is that of the quota, not of the processors below it.",
        remedy="Quote it with the quota; or lift it (docker --cpus, systemd CPUQuota) to measure the host.",
        source="kernel, cgroup-v2 and sched-bwc: nr_throttled.",
        evaluate=_quota,
        when=When.AFTER,
        needs="the throttling of the tool’s group, or the quota and the use of the processors",
    ),
    Check(
        id="datagrams-lost",
        level=Level.WARNING,
        title="Datagrams were lost",
        why="What the sender sent did not all arrive. The received rate is the truth, and it is that of a link or a "
        "receiver that was too slow.",
        remedy="Quote the received rate; lower the asked rate until the loss is gone to find what can be carried.",
        source="A university’s network test: 99 Mbit/s sent, 22 % lost.",
        evaluate=_loss,
        when=When.AFTER,
        needs="the receiver’s count of datagrams",
    ),
    Check(
        id="not-over-the-link",
        level=Level.ERROR,
        title="It did not go over the link",
        why="The data took another way, such as the loopback: the figure is not the network’s.",
        remedy="Give the other end’s address on the network that is to be measured (ip route get).",
        source="The kernel’s own counters (/proc/net/dev), beside what the tool says.",
        evaluate=_not_over_the_link,
        when=When.AFTER,
        needs="the throughput, and the kernel’s counters of the interfaces",
        trust=Trust.INVALID,
    ),
)
