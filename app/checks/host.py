"""Checks of the host: background load, memory and swap, clock, kernel, file system errors."""

import math
import re
from dataclasses import replace

from app.checks.cpu import computes, of_facts
from app.checks.evidence import (
    at_peer,
    contention,
    counted,
    cpus_of,
    disks_of,
    host_watched,
    length,
    other_cpus,
    part,
    share,
    watched,
    with_telemetry,
)
from app.checks.storage_layers import whole_disk
from app.timestamps import seconds_since
from suites.checks import Check, CheckOutcome, NotChecked, after_check, during_check
from suites.disk import LOOP
from suites.evidence import HostEvidence, HostWatch, TrialCheck, TrialEvidence
from suites.facts import Absent, BlockDevice, Facts, known
from suites.quantities import age_text, count_text, duration_text, quantity, share_text
from suites.units import Unit
from suites.verdict import Trust
from suites.vocab import Resource, Severity

FOREIGN = 0.05
"""The share of all CPUs that background load may use (equivalent to the limits of pyperf and sbc-bench)."""

OFF = 1.0
"""Tolerated clock offset in seconds, beyond its uncertainty."""

FAST_CLOCKS = frozenset(
    {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod", "riscv_clocksource"}
)
"""Clock sources that the vDSO reads without a system call."""

OLDEST_KERNEL = (4, 18)
"""The oldest kernel of a distribution with regular support in 2026 (RHEL 8 and its rebuilds)."""


def _busy(evidence: HostEvidence, facts: Facts) -> CheckOutcome | NotChecked | None:
    share = facts.measured.foreign_cpu
    if isinstance(share, Absent):
        return NotChecked(f"CPU use not read: {share.reason}.")
    if share <= FOREIGN:
        return None
    loads = (known(facts.measured.foreign_processes) or ())[:3]
    users = ", ".join(f"{load.name} {share_text(known(load.cpus) or 0.0)}" for load in loads)
    named = f": {users} of a CPU" if users else ""
    return CheckOutcome(f"{share * 100:.0f} % CPU in use {_when(evidence, facts)}{named}.")


def _when(evidence: HostEvidence, facts: Facts) -> str:
    """Return when and for how long the load was watched, and how long ago if that is more than a minute."""
    seconds, age = known(facts.measured.watched), seconds_since(facts.read_at)
    over = "" if seconds is None else f", over {seconds:.2g} s"
    when = f"{'now' if evidence.live else 'before the test'}{over}"
    return f"{when}, {age_text(age)} ago" if age >= OLD else when


OLD = 60.0
"""Seconds from which the age of a reading is shown."""

DISK_RATE, DISK_REQUESTS = 5e6, 100.0
"""Bytes and requests per second of others from which a disk is in use: journals and logs of an idle host need less."""

OWN_SHARE = 0.1
"""Possible own requests, relative to those of others, above which the count of others is a lower bound."""


def _disk_in_use(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    disks = [whole_disk(step) for step in evidence.steps if step.suite.resource in _ON_DISKS]
    names = {disk.name for disk in disks if isinstance(disk, BlockDevice)}
    all_known = all(isinstance(disk, BlockDevice) for disk in disks)
    for load in known(facts.measured.foreign_disks) or ():
        if not disks or (all_known and load.name not in names):
            continue  # no step uses it
        read, written, requests = (known(value) or 0.0 for value in (load.read, load.written, load.requests))
        if read + written >= DISK_RATE or requests >= DISK_REQUESTS:
            rates = (
                f"{quantity(rate, Unit.BYTES_PER_SECOND)} {way}" for rate, way in ((read, "read"), (written, "written"))
            )
            at_least = "at least " if (known(load.own_requests) or 0.0) > OWN_SHARE * requests else ""
            ios = f", {at_least}{requests:.0f} IOPS" if not at_least or requests >= DISK_REQUESTS else ""
            return CheckOutcome(f"{load.name}: {', '.join(rates)}{ios} {_when(evidence, facts)}.")
    return None


_ON_DISKS = frozenset({Resource.DISK, Resource.APPLICATION})


FRESH = 180.0
"""Seconds after boot in which boot services still run; a cloud's agents take minutes more only rarely."""


def _just_booted(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    uptime = known(facts.system.uptime)
    if uptime is None or uptime >= FRESH or (known(facts.system.container) or "none") != "none":
        return None
    return CheckOutcome(f"The host booted {duration_text(uptime)} before its facts were read.")


def _swap_in_use(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    used, available, total = known(facts.memory.swap_used), known(facts.memory.available), known(facts.memory.total)
    if not used:
        return None
    scarce = available is not None and total is not None and available < SCARCE * total
    needs = computes(evidence)
    left = "" if available is None else f"; {quantity(available)} of memory is available"
    return CheckOutcome(
        f"{quantity(used)} of swap is in use{left}.", severity=Severity.WARNING if scarce and needs else None
    )


def _clock(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | NotChecked | None:
    offset = facts.system.clock_offset
    if isinstance(offset, Absent):
        return NotChecked(f"Clock offset not measured: {offset.reason}.")
    uncertainty = known(facts.system.clock_offset_uncertainty) or 0.0
    if abs(offset) - uncertainty <= OFF:
        return None
    unsure = f" (to within {quantity(uncertainty, Unit.SECOND)})" if uncertainty >= 0.05 else ""
    shown = f"{abs(offset):.1f} s{unsure}"
    return CheckOutcome(f"The host clock is {shown} {'ahead of' if offset > 0 else 'behind'} this computer's.")


def _clock_source(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | NotChecked | None:
    source = facts.system.clock_source
    if isinstance(source, Absent):
        return NotChecked(f"Clock source not read: {source.reason}.")
    if source in FAST_CLOCKS:
        return None
    return CheckOutcome(f"The kernel's clock source is {source}.", severity=Severity.INFO if source == "xen" else None)


def _kernel(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | NotChecked | None:
    release = facts.system.kernel
    if isinstance(release, Absent):
        return NotChecked(f"Kernel release not read: {release.reason}.")
    found = re.match(r"([0-9]{1,3})\.([0-9]{1,3})", release)
    if found is None or (int(found[1]), int(found[2])) >= OLDEST_KERNEL:
        return None
    return CheckOutcome(f"The kernel is {release}.")


BUSY = Check(
    id="host-busy",
    title="Host is busy",
    why="Background load lowers the result and makes it vary.",
    remedy="Stop the other load or wait until it ends, then check again.",
    source="pyperf system; sbc-bench; /proc/stat and /proc/PID/stat for 3 s before the test, without Benchwright's own "
    "processes.",
    needs=f"CPU use by other processes, {share_text(FOREIGN)} of all CPUs or more, read anew when the run starts.",
    evaluate=of_facts(_busy),
)

DISK_IN_USE = Check(
    id="disk-in-use",
    title="Disk is in use by others",
    why="Their requests share the device's queue, cache and provisioned rate with the test: the result is lower and "
    "varies.",
    remedy="Stop the other program (iotop -o names it) or wait until it ends, then check again.",
    source="/proc/diskstats for 3 s before the test, without Benchwright's own bytes.",
    needs=f"Rate of each disk by others: {quantity(DISK_RATE, Unit.BYTES_PER_SECOND)} or {DISK_REQUESTS:.0f} IOPS.",
    evaluate=of_facts(_disk_in_use),
)

JUST_BOOTED = Check(
    id="just-booted",
    title="Host has just booted",
    why="Boot services still use CPU and disk, caches are cold, a volume restored from a snapshot loads lazily, and a "
    "burstable instance runs on launch credits.",
    remedy="Wait until boot services have ended (systemctl is-system-running --wait), then check again.",
    source="AWS, Initialize Amazon EBS volumes; AWS, launch credits of T2 instances; systemd-analyze(1).",
    needs=f"Uptime: less than {duration_text(FRESH)}.",
    evaluate=of_facts(_just_booted),
)

SWAP_IN_USE = Check(
    id="swap-in-use",
    severity=Severity.INFO,
    title="Swap is in use",
    why="Memory ran short earlier. Pages swapped in or out during the test add disk I/O to the figure.",
    remedy="Free memory before measuring; watch swap-in and swap-out during the run.",
    source="sbc-bench (results are invalid where swap grows); /proc/meminfo.",
    needs="Swap in use and available memory.",
    evaluate=of_facts(_swap_in_use),
)

CLOCK_OFF = Check(
    id="clock-off",
    title="Host clock is off",
    why="Timestamps of the hosts do not match. If NTP steps the clock during a run, a tool that reads the wall clock "
    "counts the step as elapsed time.",
    remedy="Let chrony or systemd-timesyncd synchronise the clock before measuring.",
    source="flent; round-trip midpoint, RFC 5905.",
    needs="Clock offset, measured when the facts were read.",
    evaluate=of_facts(_clock),
)

SLOW_CLOCK = Check(
    id="slow-clock",
    title="Slow clock source",
    why="Each clock read is a system call of about 1 µs instead of some 20 ns. Tools read the clock twice per I/O or "
    "event, so small operations measure the clock.",
    remedy="Use tsc where it is stable (boot with clocksource=tsc), or use larger I/Os and events.",
    source="clock_gettime(2), vDSO; AWS, EC2 instances: the clock source of Xen instances; fio manual, clocksource.",
    needs="The kernel's current clock source.",
    evaluate=of_facts(_clock_source),
)

OLD_KERNEL = Check(
    id="old-kernel",
    title="Kernel is very old",
    why="An old kernel in an image made three of five instances vary by nearly 50 %. It lacks current drivers and "
    "schedulers.",
    remedy="Use a current image, unless you want to measure this one.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2; sbc-bench, which warns of unmaintained kernels.",
    needs="Kernel release.",
    evaluate=of_facts(_kernel),
)

SWAPPED_IN, SWAPPED_OUT = 2**20, 16 * 2**20
"""Bytes. Pages swapped in were needed; many pages swapped out never are."""

SHORT_OF_MEMORY = 0.05
"""The share of the time in which some task waited for memory (PSI “some”) from which it is reported."""

SCARCE = 0.1
"""The share of all memory below which the available memory is little."""

MAJOR_FAULTS = 10.0
"""Major page faults per second of the test from which it waits for memory itself."""


def _own_faults(watch: HostWatch) -> str:
    """Return the test’s own major page faults, by which it waits for swapped pages, as a clause."""
    faults = watch.mean("tool_major_faults")
    if faults is None:
        return "the test’s own page faults were not counted"
    return f"the test had {faults:.3g} major page faults/s"


def _waits_for_pages(watch: HostWatch) -> bool | None:
    """Return whether the test waited for pages of its own; None if its faults were not counted."""
    faults = watch.mean("tool_major_faults")
    return None if faults is None else faults >= MAJOR_FAULTS


def _scarcity(trial: TrialEvidence, watch: HostWatch) -> str:
    """Return why the test itself may be short of memory, as a clause; empty if memory was available to it."""
    least = min(watch.values("memory_available"), default=None)
    memory = None if trial.context.facts is None else trial.context.facts.memory
    total, limit = (None, None) if memory is None else (known(memory.total), known(memory.limit))
    if limit is not None and (total is None or limit < total):
        return f"the limit of the test’s cgroup is {quantity(limit, Unit.BYTE)}"
    if least is None:
        return "available memory was not counted"
    return "" if total and least >= SCARCE * total else f"the least available memory was {quantity(least, Unit.BYTE)}"


_ELSEWHERE = "Find the cgroup (memory.pressure and memory.events below /sys/fs/cgroup)."


def _elsewhere(watch: HostWatch, seen: str, cause: str) -> CheckOutcome:
    """Return a note that the host was short of memory in another place than the test."""
    least = quantity(min(watch.values("memory_available")), Unit.BYTE)
    return CheckOutcome(
        f"{seen}; at least {least} of memory was available: {cause}.", remedy=_ELSEWHERE, severity=Severity.INFO
    )


@host_watched
def _swapped(watch: HostWatch) -> CheckOutcome | NotChecked | None:
    came, went = watch.total("swap_in"), watch.total("swap_out")
    if came is None or went is None:
        return NotChecked("No swap counters.")
    if came < SWAPPED_IN and went < SWAPPED_OUT:
        return None
    others = _waits_for_pages(watch) is False
    return CheckOutcome(
        f"{quantity(came)} swapped in and {quantity(went)} swapped out on the host in {duration_text(watch.counted)}; "
        f"{_own_faults(watch)}.",
        remedy="Find the processes that swap (VmSwap in /proc/PID/status) and stop them." if others else None,
        severity=Severity.INFO if others else None,
    )


@watched
def _killed(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    kills = counted(watch, "out_of_memory_kills")
    if kills is None:
        return NotChecked("The kernel does not count OOM kills.")
    if not kills:
        return None
    seen = f"The OOM killer ended {count_text(kills, 'process', 'processes')} on the host"
    scarcity = _scarcity(trial, watch)
    cause = "another cgroup reached its limit"
    return CheckOutcome(f"{seen}; {scarcity}.") if scarcity else _elsewhere(watch, seen, cause)


@watched
def _short(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    waited = watch.mean("pressure_memory")
    if waited is None:
        return NotChecked("The kernel does not report pressure (PSI).")
    if waited / 100 * part(trial, watch) < SHORT_OF_MEMORY:
        return None
    seen = f"Tasks of the host waited for memory for {share_text(min(1.0, waited / 100))} of "
    seen += duration_text(watch.counted)
    scarcity, waits = _scarcity(trial, watch), _waits_for_pages(watch)
    swapped = max(watch.mean(name) or 0.0 for name in ("swap_in", "swap_out")) * watch.seconds >= SWAPPED_IN
    if scarcity:
        return CheckOutcome(f"{seen}; {scarcity}.")
    if waits or (waits is None and swapped):
        return CheckOutcome(f"{seen}; {_own_faults(watch) if waits else 'the host swapped'}.")
    return _elsewhere(watch, seen, "another cgroup reached its limit, or the kernel compacted memory")


OF_A_CORE = 0.20
"""The share of one CPU from which another process is reported."""

OF_THE_HOST = 0.05
"""The share of all CPUs from which it may show in a figure."""

LITTLE_IDLE = 20.0
"""Per cent idle below which other processes compete with the test for the CPU."""

LOST_SLIGHTLY, LOST_MUCH = 0.02, 0.2
"""Shares of the CPU time asked for, lost to others, from which the figure has a caveat, and is doubtful: it is lower by
about that share."""

LOOK_EVERY = 7.0
"""Seconds after which the telemetry reads the processes again: 5, and one for each 50 processes of the host."""

_BY_PROCESSORS = frozenset({Resource.CPU, Resource.MEMORY})


def _taken(trial: TrialEvidence, watch: HostWatch) -> list[tuple[str, float]]:
    """Return the CPU seconds of other processes by program name, the largest first.

    Leave the tool out if it runs as root: an unprivileged account cannot tell it from other processes.
    """
    roots = any(command.root for command in trial.commands)
    spent = {dict(at).get("process", ""): seconds for at, seconds in watch.amounts("process_time", LOOK_EVERY).items()}
    named = ((name, seconds) for name, seconds in spent.items() if not (roots and name == trial.suite.tool))
    return sorted(named, key=lambda one: -one[1])


@watched
def _others(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    """Report other processes on the host, and those that took CPU time from the test on its peer."""
    peer, here = at_peer(trial), _others_on(trial, watch)
    there = None if peer is None or peer.watch is None else _others_on(peer, peer.watch)
    if not isinstance(there, CheckOutcome) or there.severity is not Severity.WARNING:
        return here
    text = f"On the peer: {there.measured}"
    if not isinstance(here, CheckOutcome):
        return replace(there, measured=text)
    return replace(there, measured=f"{here.measured} {text}", trust=there.trust or here.trust)


NOT_COUNTED = NotChecked("Neither other processes nor the test’s own CPU time were counted.")


def _others_on(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    cpus = cpus_of(trial)
    found = _taken(trial, watch)
    taken = [(name, spent) for name, spent in found if name not in trial.suite.server_processes]
    seconds, others = length(trial, watch), other_cpus(trial)
    most = math.inf if others is None else others * watch.counted
    named = [(name, spent) for name, spent in taken[:3] if min(spent, most) >= OF_A_CORE * seconds]
    beside = contention(trial)
    lost = 0.0 if beside is None else beside.lost * part(trial, watch)
    if not watch.counted or (not named and lost < LOST_SLIGHTLY):
        return None if found or beside or others is not None else NOT_COUNTED
    significant = cpus is None or min(sum(spent for _, spent in named), most) >= OF_THE_HOST * cpus * seconds
    got = "" if beside is None or lost < LOST_SLIGHTLY else f"; {beside.text}"
    return CheckOutcome(
        f"Other processes used {_users(named, others, watch.counted)} over {duration_text(watch.counted)}{got}.",
        severity=Severity.WARNING if got or (significant and _matters(trial, watch)) else Severity.INFO,
        trust=Trust.DOUBTFUL if lost >= LOST_MUCH else None,
        lacks_names=not named,
    )


def _users(named: list[tuple[str, float]], others: float | None, seconds: float) -> str:
    """Return the CPUs of all other processes, and how many of them the named ones had.

    Their times are read every five seconds, and shared out evenly: parts that exceed the whole have no figure.
    """
    if others is None:
        least = float(f"{sum(spent for _, spent in named) / seconds:.2g}")
        return f"at least {count_text(least, 'CPU')} ({', '.join(name for name, _ in named)})"
    each = ", ".join(f"{name} {spent / seconds:.2g}" for name, spent in named)
    if share(sum(spent for _, spent in named), others * seconds) is None:
        each = ", ".join(name for name, _ in named)
    return f"{count_text(others, 'CPU')}{f' ({each})' if each else ''}"


def _matters(trial: TrialEvidence, watch: HostWatch) -> bool:
    idle = watch.mean("cpu_idle")
    return trial.suite.resource in _BY_PROCESSORS or (idle is not None and idle < LITTLE_IDLE)


@watched
def _broken(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    """Report errors of any file system; a note where the test uses none, or if it is on a loop device of others."""
    devices = {dict(at).get("device", "") for at in watch.labels_of("filesystem_errors")}
    found = {name: sum(watch.values("filesystem_errors", device=name)) for name in sorted(devices)}
    counts = [f"{count:.0f} on {name}" for name, count in found.items() if count > 0]
    used = {*disks_of(trial)} - {None}
    elsewhere = used and all(name.startswith(LOOP) and name not in used for name, count in found.items() if count > 0)
    severity = Severity.INFO if elsewhere or trial.suite.resource not in _ON_DISKS else None
    return CheckOutcome(f"ext4 errors during the trial: {', '.join(counts)}.", severity=severity) if counts else None


UNCOUNTED, UNCOUNTED_SHARE = 3.0, 0.1
"""Seconds of a trial, and their share of it, without the host's counters that are reported."""


@with_telemetry
def _uncounted(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | None:
    covered, most = watch.counted, max(UNCOUNTED, UNCOUNTED_SHARE * watch.seconds)
    # The evidence holds some seconds around the trial; the last sample of it may precede its end by an interval.
    if not trial.done or watch.seconds - covered - watch.interval < most:
        return None
    part = f"Counters cover {duration_text(covered)}" if covered else "There are no counters"
    cause = trial.interruption or "telemetry ended on the host"
    return CheckOutcome(
        f"{part} of {duration_text(watch.seconds)}: {cause}.",
        remedy="Stay connected until the trial ends, and run it again." if trial.interruption else None,
    )


LOAD_CHECKS = (BUSY, DISK_IN_USE)
"""Checks of the background load, which can be made again in a second."""

HOST_CHECKS = (*LOAD_CHECKS, JUST_BOOTED, SWAP_IN_USE, CLOCK_OFF, SLOW_CLOCK, OLD_KERNEL)

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    after_check(
        id="counters-end-early",
        title="Host counters are missing",
        why="The limit and the load by others are judged by the counted part of the trial only.",
        remedy="Find what ended the telemetry on the host (dmesg, security software), then run it again.",
        source="The times of telemetry’s samples beside the interval that the tool measured.",
        evaluate=_uncounted,
        needs=f"samples of the host: missing in {share_text(UNCOUNTED_SHARE)} of a trial, "
        f"{duration_text(UNCOUNTED)} at least",
    ),
    during_check(
        id="swapped",
        title="Host swapped during the trial",
        why="Tasks that wait for swap-in do no work: the figure includes the swap disk.",
        remedy="Free memory or use a smaller working set, then run it again.",
        source="pswpin and pswpout in /proc/vmstat beside the test’s own major page faults; BenchExec refuses results "
        "with them.",
        evaluate=_swapped,
        needs="the kernel’s swap counters",
    ),
    during_check(
        id="killed-for-memory",
        severity=Severity.ERROR,
        title="OOM killer ended processes",
        why="The kernel counts kills of the whole host: processes of the test may be among them.",
        remedy="Read dmesg for the names. If they are the test’s, use a smaller working set or fewer threads.",
        source="oom_kill in /proc/vmstat.",
        evaluate=_killed,
        needs="the kernel’s count of OOM kills",
    ),
    during_check(
        id="memory-short",
        title="Memory pressure (PSI)",
        why="Tasks stalled while the kernel reclaimed memory.",
        remedy="Use a smaller working set, or stop other programs that use memory.",
        source="kernel, accounting/psi.",
        evaluate=_short,
        needs="pressure stall information (PSI) of memory",
    ),
    during_check(
        id="other-process",
        title="Another process used the CPU",
        why="It shares CPUs, caches and memory with the test and lowers the result.",
        remedy="Stop it or wait until it ends, then run it again.",
        source="/proc/PID/stat of all processes except the test’s and Benchwright’s, about every five seconds.",
        evaluate=_others,
        needs=f"CPU time by process: {share_text(OF_A_CORE)} of one CPU or more; a warning from "
        f"{share_text(OF_THE_HOST)} of all CPUs, where the test needs them",
    ),
    during_check(
        id="filesystem-errors",
        severity=Severity.ERROR,
        title="File system errors",
        why="The disk or its driver fails: I/Os are retried or lost, and a figure of that disk is meaningless.",
        remedy="Read dmesg, back up the data, and check the disk (smartctl -a).",
        source="errors_count of ext4 in /sys.",
        evaluate=_broken,
        needs="the error count of ext4, every five seconds",
    ),
)
