"""Checks of the host: background load, memory and swap, clock, kernel, file system errors."""

import re

from app.checks.cpu import computes, of_facts
from app.checks.evidence import counted, cpus_of, host_watched, length, part, watched
from suites.checks import Check, CheckOutcome, CheckPhase, NotChecked
from suites.evidence import HostEvidence, HostWatch, TrialCheck, TrialEvidence
from suites.facts import Absent, Facts, known
from suites.quantities import duration_text, quantity, share_text
from suites.units import Unit
from suites.vocab import Resource, Severity

FOREIGN = 0.05
"""The share of all CPUs that background load may use (equivalent to the limits of pyperf and sbc-bench)."""

LOAD = 0.5
"""Load average per CPU from which the host counts as busy (pyperf; sbc-bench uses less)."""

OFF = 1.0
"""Tolerated clock offset in seconds: the uncertainty of measuring it over a slow connection."""

FAST_CLOCKS = frozenset(
    {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod", "riscv_clocksource"}
)
"""Clock sources that the vDSO reads without a system call."""

OLDEST_KERNEL = (4, 18)
"""The oldest kernel of a distribution with regular support in 2026 (RHEL 8 and its rebuilds)."""


def _busy(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | NotChecked | None:
    share, load, cpus = known(facts.measured.foreign_cpu), known(facts.system.load_1_minute), known(facts.cpu.threads)
    if share is None and (load is None or cpus is None):
        return NotChecked("CPU use and load average not read.")
    used = share is not None and share > FOREIGN
    crowded = load is not None and cpus is not None and load > LOAD * cpus
    if not used and not crowded:
        return None
    parts = [f"{share * 100:.0f} % CPU in use before the test" if share is not None else ""]
    parts.append(f"load average {load:g} over 1 min" + (f" on {cpus} CPUs" if cpus else "") if load else "")
    text = "; ".join(part for part in parts if part)
    # A high load average on idle CPUs is past load, often an earlier run.
    past = share is not None and not used
    return CheckOutcome(f"{text[:1].upper()}{text[1:]}.", severity=Severity.INFO if past else None)


def _swap_in_use(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    used, available, total = known(facts.memory.swap_used), known(facts.memory.available), known(facts.memory.total)
    if not used:
        return None
    scarce = available is not None and total is not None and available < total // 10
    needs = computes(evidence)
    left = "" if available is None else f"; {quantity(available)} of memory is available"
    return CheckOutcome(
        f"{quantity(used)} of swap is in use{left}.", severity=Severity.WARNING if scarce and needs else None
    )


def _clock(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | NotChecked | None:
    offset = facts.system.clock_offset
    if isinstance(offset, Absent):
        return NotChecked(f"Clock offset not measured: {offset.reason}.")
    if abs(offset) <= OFF:
        return None
    return CheckOutcome(
        f"The host clock is {abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} this computer's."
    )


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
    severity=Severity.WARNING,
    title="Host is busy",
    why="Background load lowers the result and makes it vary.",
    remedy="Stop the other load or wait until it ends, then check again.",
    source="pyperf system; sbc-bench, CheckLoadAndDmesg; /proc/stat while the probe slept for 0.3 s, /proc/loadavg.",
    needs="CPU use while the probe slept; load average over 1 min.",
    evaluate=of_facts(_busy),
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
    severity=Severity.WARNING,
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
    severity=Severity.WARNING,
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
    severity=Severity.WARNING,
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


@host_watched
def _swapped(watch: HostWatch) -> CheckOutcome | NotChecked | None:
    came, went = watch.total("swap_in"), watch.total("swap_out")
    if came is None or went is None:
        return NotChecked("No swap counters.")
    if came < SWAPPED_IN and went < SWAPPED_OUT:
        return None
    return CheckOutcome(
        f"{quantity(came)} swapped in and {quantity(went)} swapped out in {duration_text(watch.seconds)}."
    )


@host_watched
def _killed(watch: HostWatch) -> CheckOutcome | NotChecked | None:
    kills = counted(watch, "out_of_memory_kills")
    if kills is None:
        return NotChecked("The kernel does not count OOM kills.")
    if not kills:
        return None
    return CheckOutcome(f"The OOM killer ended {kills:.0f} process{'' if kills == 1 else 'es'}.")


@watched
def _short(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    waited = watch.mean("pressure_memory")
    if waited is None:
        return NotChecked("The kernel does not report pressure (PSI).")
    if waited / 100 * part(trial, watch) < SHORT_OF_MEMORY:
        return None
    least = min(watch.values("memory_available"), default=None)
    left = "" if least is None else f"; the least available memory was {quantity(least, Unit.BYTE)}"
    return CheckOutcome(
        f"Tasks waited for memory for {share_text(waited / 100)} of {duration_text(watch.seconds)}{left}."
    )


OF_A_CORE = 0.20
"""The share of one CPU from which another process is reported."""

OF_THE_HOST = 0.05
"""The share of all CPUs from which it may show in a figure."""

LITTLE_IDLE = 20.0
"""Per cent idle below which other processes compete with the test for the CPU."""

_BY_PROCESSORS = frozenset({Resource.CPU, Resource.MEMORY})


def _taken(trial: TrialEvidence, watch: HostWatch) -> list[tuple[str, float]]:
    """Return the CPU seconds of other processes by program name, the largest first.

    Leave the tool out if it runs as root: an unprivileged account cannot tell it from other processes.
    """
    found: dict[str, float] = {}
    roots = any(command.root for command in trial.commands)
    for at in watch.labels_of("process_time"):
        name = dict(at).get("process", "")
        if not (roots and name == trial.suite.tool):
            found[name] = sum(value for _, value in watch.points_at("process_time", at))
    return sorted(found.items(), key=lambda one: -one[1])


@watched
def _others(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    cpus = cpus_of(trial)
    if trial.suite.uses_server:
        return NotChecked("The server’s processes cannot be distinguished from others.")
    taken = _taken(trial, watch)
    seconds = length(trial, watch)
    named = [(name, spent) for name, spent in taken[:3] if spent >= OF_A_CORE * seconds]
    if not named or not watch.seconds:
        return None
    users = ", ".join(f"{name} {share_text(spent / watch.seconds)}" for name, spent in named)
    significant = cpus is None or sum(spent for _, spent in named) >= OF_THE_HOST * cpus * seconds
    return CheckOutcome(
        f"CPU use by other processes over {duration_text(watch.seconds)}: {users} of a CPU.",
        severity=Severity.WARNING if significant and _matters(trial, watch) else Severity.INFO,
    )


def _matters(trial: TrialEvidence, watch: HostWatch) -> bool:
    idle = watch.mean("cpu_idle")
    return trial.suite.resource in _BY_PROCESSORS or (idle is not None and idle < LITTLE_IDLE)


@host_watched
def _broken(watch: HostWatch) -> CheckOutcome | NotChecked | None:
    devices = {dict(at).get("device", "") for at in watch.labels_of("filesystem_errors")}
    found = {name: sum(watch.values("filesystem_errors", device=name)) for name in sorted(devices)}
    counts = [f"{count:.0f} on {name}" for name, count in found.items() if count > 0]
    return CheckOutcome(f"ext4 errors during the trial: {', '.join(counts)}.") if counts else None


HOST_CHECKS = (BUSY, SWAP_IN_USE, CLOCK_OFF, SLOW_CLOCK, OLD_KERNEL)

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    Check(
        id="swapped",
        severity=Severity.WARNING,
        title="Host swapped during the trial",
        why="Tasks that wait for swap-in do no work: the figure includes the swap disk.",
        remedy="Free memory or use a smaller working set, then run it again.",
        source="pswpin and pswpout in /proc/vmstat; BenchExec refuses results with them.",
        evaluate=_swapped,
        when=CheckPhase.DURING,
        needs="the kernel’s swap counters",
    ),
    Check(
        id="killed-for-memory",
        severity=Severity.ERROR,
        title="OOM killer ended processes",
        why="Processes were killed during the trial, possibly some of the test’s own.",
        remedy="Use a smaller working set or fewer threads.",
        source="oom_kill in /proc/vmstat.",
        evaluate=_killed,
        when=CheckPhase.DURING,
        needs="the kernel’s count of OOM kills",
    ),
    Check(
        id="memory-short",
        severity=Severity.WARNING,
        title="Memory pressure (PSI)",
        why="Tasks stalled while the kernel reclaimed memory.",
        remedy="Use a smaller working set, or stop other programs that use memory.",
        source="kernel, accounting/psi.",
        evaluate=_short,
        when=CheckPhase.DURING,
        needs="pressure stall information (PSI) of memory",
    ),
    Check(
        id="other-process",
        severity=Severity.WARNING,
        title="Another process used the CPU",
        why="It shares CPUs, caches and memory with the test and lowers the result.",
        remedy="Stop it or wait until it ends, then run it again.",
        source="/proc/PID/stat of all processes except the test’s and Benchwright’s, about every five seconds.",
        evaluate=_others,
        when=CheckPhase.DURING,
        needs=f"CPU time by process: {share_text(OF_A_CORE)} of one CPU or more; a warning from "
        f"{share_text(OF_THE_HOST)} of all CPUs, where the test needs them",
    ),
    Check(
        id="filesystem-errors",
        severity=Severity.ERROR,
        title="File system errors",
        why="The disk or its driver fails: I/Os are retried or lost, and the figure is meaningless.",
        remedy="Read dmesg, back up the data, and check the disk (smartctl -a).",
        source="errors_count of ext4 in /sys.",
        evaluate=_broken,
        when=CheckPhase.DURING,
        needs="the error count of ext4, every five seconds",
    ),
)
