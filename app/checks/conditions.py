"""Checks of what a host does beside the test: other work, swap, its clock, its kernel, the memory that is left."""

import re

from app.checks.processors import computes, of_facts
from suites.checks import CannotTell, Check, HostEvidence, Outcome
from suites.disk import amount
from suites.facts import Absent, Facts, known
from suites.vocab import Level

FOREIGN = 0.05
"""The share of all CPUs that others may use: what pyperf's and sbc-bench's gates come down to."""

LOAD = 0.5
"""The load for each CPU above which others wait for it, or soon will (pyperf; sbc-bench waits for less)."""

OFF = 1.0
"""Seconds by which a clock may be off: what measuring it over a slow connection is uncertain by."""

FAST_CLOCKS = frozenset(
    {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod", "riscv_clocksource"}
)
"""What a program reads without asking the kernel."""

OLDEST_KERNEL = (4, 18)
"""The oldest that a distribution still maintained without extra pay in 2026 comes with (RHEL 8 and its kin)."""


def _busy(_evidence: HostEvidence, facts: Facts) -> Outcome | CannotTell | None:
    share, load, cpus = known(facts.measured.foreign_cpu), known(facts.system.load_1_minute), known(facts.cpu.threads)
    if share is None and (load is None or cpus is None):
        return CannotTell("How busy the host is was not read.")
    used = share is not None and share > FOREIGN
    crowded = load is not None and cpus is not None and load > LOAD * cpus
    if not used and not crowded:
        return None
    told = [f"{share * 100:.0f} % CPU in use before the test" if share is not None else ""]
    told.append(f"its load over the last minute is {load:g}" + (f" on {cpus} CPUs" if cpus else "") if load else "")
    words = "; ".join(part for part in told if part)
    # A load beside idle processors is what went before: a run of ours, as likely as not.
    over = share is not None and not used
    return Outcome(f"{words[:1].upper()}{words[1:]}.", level=Level.INFO if over else None)


def _swap(evidence: HostEvidence, facts: Facts) -> Outcome | None:
    used, available, total = known(facts.memory.swap_used), known(facts.memory.available), known(facts.memory.total)
    if not used:
        return None
    scarce = available is not None and total is not None and available < total // 10
    needs = computes(evidence)
    left = "" if available is None else f"; {amount(available)} of memory are available"
    return Outcome(f"{amount(used)} of swap are in use{left}.", level=Level.WARNING if scarce and needs else None)


def _clock(_evidence: HostEvidence, facts: Facts) -> Outcome | CannotTell | None:
    offset = facts.system.clock_offset
    if isinstance(offset, Absent):
        return CannotTell(f"How far the clock is off is not known: {offset.reason}.")
    if abs(offset) <= OFF:
        return None
    return Outcome(f"It is {abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} this computer's.")


def _clock_source(_evidence: HostEvidence, facts: Facts) -> Outcome | CannotTell | None:
    source = facts.system.clock_source
    if isinstance(source, Absent):
        return CannotTell(f"What the kernel reads the time from is not known: {source.reason}.")
    if source in FAST_CLOCKS:
        return None
    return Outcome(f"The kernel reads the time from {source}.", level=Level.INFO if source == "xen" else None)


def _kernel(_evidence: HostEvidence, facts: Facts) -> Outcome | CannotTell | None:
    release = facts.system.kernel
    if isinstance(release, Absent):
        return CannotTell(f"The kernel is not known: {release.reason}.")
    found = re.match(r"([0-9]{1,3})\.([0-9]{1,3})", release)
    if found is None or (int(found[1]), int(found[2])) >= OLDEST_KERNEL:
        return None
    return Outcome(f"The kernel is {release}.")


BUSY = Check(
    id="host-busy",
    level=Level.WARNING,
    title="Something else uses the host",
    why="What it takes is missing in the figure, and it takes more or less from one minute to the next.",
    remedy="Wait until it is done, or stop it; then check again.",
    source="pyperf system; sbc-bench, CheckLoadAndDmesg; /proc/stat while the probe slept for 0.3 s, /proc/loadavg.",
    needs="The share of the processors in use while the probe slept; the load of the last minute.",
    evaluate=of_facts(_busy),
)

SWAP_IN_USE = Check(
    id="swap-in-use",
    level=Level.INFO,
    title="Swap is in use",
    why="Memory was short once. If a test brings back what lies there, or pushes out more, the disk is measured, too.",
    remedy="Free memory before measuring; watch whether pages are swapped in or out during the run.",
    source="sbc-bench (results are invalid where swap grows); /proc/meminfo.",
    needs="Swap in use and available memory.",
    evaluate=of_facts(_swap),
)

CLOCK_OFF = Check(
    id="clock-off",
    level=Level.WARNING,
    title="The host's clock is off",
    why="Times of day in its output and in other hosts' do not fit together; and when a time service sets it during a "
    "run, a tool that reads the wall clock takes the step for time that passed.",
    remedy="Let chrony or systemd-timesyncd settle it before measuring.",
    source="flent (timestamps that are far apart); the middle of the round trip, RFC 5905.",
    needs="The clock's offset, measured when the facts were read.",
    evaluate=of_facts(_clock),
)

SLOW_CLOCK = Check(
    id="slow-clock",
    level=Level.WARNING,
    title="Reading the time is slow here",
    why="Each look at the clock is a call of the kernel, a microsecond or so instead of some 20 ns. Tools look twice "
    "for every I/O or event: many small ones measure that.",
    remedy="Let the kernel use tsc where it is stable (clocksource=tsc), or use larger I/Os and events.",
    source="clock_gettime(2), vDSO; AWS, EC2 instances: the clock source of Xen instances; fio manual, clocksource.",
    needs="The kernel's current clock source.",
    evaluate=of_facts(_clock_source),
)

OLD_KERNEL = Check(
    id="old-kernel",
    level=Level.WARNING,
    title="The kernel is very old",
    why="An old kernel in an image made three of five instances vary by nearly 50 %: the image was measured, not the "
    "instance type. Nothing newer of drivers and schedulers is in it.",
    remedy="Measure on a current image, unless this one is the question.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2; sbc-bench, which warns of kernels nobody maintains.",
    needs="The kernel's release.",
    evaluate=of_facts(_kernel),
)

CONDITION_CHECKS = (BUSY, SWAP_IN_USE, CLOCK_OFF, SLOW_CLOCK, OLD_KERNEL)
