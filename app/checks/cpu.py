"""Checks of the CPU: clock, credits and quota before a run; steal time, heat and throttling during and after it."""

import re
import statistics
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from app.checks.evidence import counted, host_watched, part, times_text, watched, workers_of
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked, during_check
from suites.evidence import HostEvidence, HostWatch, TrialCheck, TrialEvidence
from suites.facts import Absent, Facts, known
from suites.quantities import count_text, duration_text, frequency_text, share_text
from suites.verdict import Trust
from suites.vocab import Resource, Severity

NOT_COMPUTING = frozenset({Resource.DISK, Resource.NETWORK})
"""Resources whose results depend little on the CPU clock."""


@cache
def burstable_types() -> Mapping[str, Mapping[str, Any]]:
    """Return the table of burstable instance types by provider: resources/burstable.toml."""
    return tomllib.loads(files("resources").joinpath("burstable.toml").read_text(encoding="utf-8"))


def computes(evidence: HostEvidence) -> bool:
    """Return whether a step on the host measures CPU, memory or an application."""
    return any(step.suite.resource not in NOT_COMPUTING for step in evidence.steps)


FactsEvaluation = Callable[[HostEvidence, Facts], CheckOutcome | NotChecked | None]


def of_facts(evaluate_facts: FactsEvaluation) -> Callable[[HostEvidence], CheckOutcome | NotChecked | None]:
    """Return an evaluation that calls `evaluate_facts` with the host's facts, or reports that they are missing."""

    def evaluate(evidence: HostEvidence) -> CheckOutcome | NotChecked | None:
        return FACTS_NOT_READ if evidence.facts is None else evaluate_facts(evidence, evidence.facts)

    return evaluate


def _governor(evidence: HostEvidence, facts: Facts) -> CheckOutcome | NotChecked | None:
    if "governor" in evidence.tuned:
        return None
    governor = facts.cpu.governor
    if isinstance(governor, Absent):
        if (known(facts.system.virtualisation) or "none") != "none":
            return None  # the hypervisor's host has the governor
        return NotChecked(f"CPU governor: {governor.reason}.")
    if governor == "performance":
        return None
    return CheckOutcome(f"The governor is {governor}.", severity=None if computes(evidence) else Severity.INFO)


def _energy_preference(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    preference = known(facts.cpu.energy_preference)
    saving = preference is not None and any(word in preference for word in ("power", "default"))
    return CheckOutcome(f"energy_performance_preference is {preference}.") if saving else None


def _boost_off(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    return CheckOutcome("The kernel reports boost off.") if facts.cpu.boost is False and computes(evidence) else None


def _offline(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    offline, online = known(facts.cpu.offline), known(facts.cpu.threads)
    if not offline:
        return None
    without_siblings = facts.cpu.hyperthreading in {"off", "forceoff"}
    if without_siblings and online is not None and offline == online:
        return None  # SMT siblings of the online CPUs, which hyperthreading-off reports
    of_all = count_text(offline, "CPU") if online is None else f"{offline} of {count_text(offline + online, 'CPU')}"
    return CheckOutcome(f"Offline: {of_all}.", severity=None if computes(evidence) else Severity.INFO)


def _hyperthreading(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    if facts.cpu.hyperthreading not in {"off", "forceoff"} or not computes(evidence):
        return None
    return CheckOutcome(f"The kernel reports SMT “{facts.cpu.hyperthreading}”.")


def _burstable(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    found = burstable_types().get(known(facts.cloud.provider) or "")
    kind, baseline = known(facts.cloud.instance_type) or "", known(facts.cloud.baseline) or ""
    if found is None:
        return None
    by_type = re.fullmatch(str(found.get("types", "")), kind) if kind else None
    by_baseline = re.fullmatch(str(found.get("baselines", "")), baseline) if baseline else None
    if not by_type and not by_baseline:
        return None
    shown = f"{kind} with {baseline}" if by_baseline else kind
    return CheckOutcome(
        f"The instance type is {shown} ({found['how']}).", severity=None if computes(evidence) else Severity.INFO
    )


def _emulated(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    if facts.cpu.emulated is not True:
        return None
    return CheckOutcome(
        f"The CPU, {known(facts.cpu.model) or 'of unknown model'}, is emulated: each instruction is translated.",
        severity=None if computes(evidence) else Severity.INFO,
    )


def _nodes(evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    nodes = known(facts.cpu.numa_nodes)
    if nodes is None or nodes < 2 or not any(step.suite.resource is Resource.MEMORY for step in evidence.steps):
        return None
    balancing = known(facts.cpu.numa_balancing)
    shown = "" if balancing is None else f"; automatic NUMA balancing is {'on' if balancing else 'off'}"
    return CheckOutcome(f"The host has {nodes} NUMA nodes{shown}.")


GOVERNOR = Check(
    id="governor-not-performance",
    title="CPU governor is not performance",
    why="The clock follows the load with a delay: the first seconds and short tests run slower, and runs vary.",
    remedy="Set the governor to performance for the run (--tune governor=performance); it is restored afterwards.",
    source="pyperf system; Phoronix Test Suite, perf_tips; Linux documentation, CPU performance scaling.",
    needs="Governor of every CPU; not checked on virtual machines, which have none.",
    evaluate=of_facts(_governor),
)

ENERGY_PREFERENCE = Check(
    id="energy-preference",
    severity=Severity.INFO,
    title="Energy preference is not performance",
    why="The CPU reaches its highest clock late or never, whatever the governor.",
    remedy="Set energy_performance_preference to performance to measure peak speed.",
    source="Linux documentation, intel_pstate and amd-pstate; PerfSpect's insights.",
    needs="Energy preference of every CPU.",
    evaluate=of_facts(_energy_preference),
)

BOOST_OFF = Check(
    id="boost-off",
    severity=Severity.INFO,
    title="Turbo boost is off",
    why="Figures are lower than with boost, and vary less.",
    remedy="Keep boost off to find small differences; switch it on to measure peak performance.",
    source="Phoronix Test Suite, perf_tips (boost should be on); pyperf system (it should be off).",
    needs="Boost state from cpufreq or intel_pstate.",
    evaluate=of_facts(_boost_off),
)

OFFLINE_CPUS = Check(
    id="offline-cpus",
    title="CPUs are offline",
    why="A test of all CPUs does not measure the whole machine.",
    remedy="Bring them online (echo 1 > /sys/devices/system/cpu/cpuN/online), or acknowledge the finding if intended.",
    source="sbc-bench; Linux documentation, CPU hotplug.",
    needs="The kernel's list of offline CPUs.",
    evaluate=of_facts(_offline),
)

HYPERTHREADING_OFF = Check(
    id="hyperthreading-off",
    severity=Severity.INFO,
    title="SMT (hyper-threading) is off",
    why="Each core runs one thread: all-CPU figures compare badly with hosts that run two threads a core.",
    remedy="Compare figures per core, or quote them with SMT off.",
    source="PerfSpect's insights; Linux documentation, /sys/devices/system/cpu/smt.",
    needs="SMT state from the kernel.",
    evaluate=of_facts(_hyperthreading),
)

BURSTABLE_CPU = Check(
    id="burstable-cpu",
    title="Burstable instance: CPU credits",
    why="Burst speed is paid with credits. Once they are used up, the instance runs at its baseline, a tenth to a "
    "half of it, or costs extra.",
    remedy="Use a fixed-performance type, or run until the credits are used up and report both levels.",
    source="Documentation of the clouds, as listed with its date in resources/burstable.toml.",
    needs="Instance type from the metadata service of AWS, Azure, Google Cloud, Alibaba Cloud or Oracle Cloud.",
    evaluate=of_facts(_burstable),
)

EMULATED_CPU = Check(
    id="emulated-cpu",
    title="CPU is emulated",
    why="QEMU without KVM (TCG) gives 5 to 50 times less than the CPU below, and vector and cryptographic instructions "
    "suffer most. Rosetta translates programs for x86-64 on Apple CPUs. Disk and network are timed by the emulator.",
    remedy="Start the virtual machine with KVM (-accel kvm), use programs of the CPU's architecture, or quote the "
    "figure as emulation.",
    source="QEMU documentation, accelerators; systemd-detect-virt(1): qemu is QEMU without KVM.",
    needs="CPU model; systemd-detect-virt.",
    evaluate=of_facts(_emulated),
)

NUMA_NODES = Check(
    id="numa-nodes",
    severity=Severity.INFO,
    title="Multiple NUMA nodes",
    why="Local memory is faster than another node's. Page placement decides the figure and differs from run to run.",
    remedy="Use as many threads as CPUs, or bind the test to one node with numactl.",
    source="Linux documentation, NUMA memory policy; PerfSpect's insights.",
    needs="Number of NUMA nodes.",
    evaluate=of_facts(_nodes),
)

STOLEN, MUCH_STOLEN = 0.01, 0.10
"""Shares of CPU time from which steal time is a warning, and an error (check M09)."""

THROTTLED_SHARE = 0.05
"""The share of the trial throttled by a quota from which it shows in the figure."""

CLOCK_FELL = 0.10
"""The least relative drop of the clock of busy CPUs that is reported."""

BUSY = 50.0
"""Per cent use of the busiest CPU; below it the clock may drop because the CPU idles."""

MIN_CLOCK_SAMPLES = 6
"""Fewest clock samples (one every five seconds) for a trend."""

NEAR_LIMIT = 95.0
"""Per cent of the temperature limit from which throttling is imminent."""


@watched
def _steal(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    so_far, highest = watch.mean("cpu_steal"), watch.highest("cpu_steal")
    if so_far is None or highest is None:
        return NotChecked("The host reports no steal time.")
    share = so_far / 100 * part(trial, watch)
    if share <= STOLEN:
        return None
    return CheckOutcome(
        f"Steal time was {share_text(so_far / 100)} of CPU time over {duration_text(watch.counted)}, "
        f"up to {share_text(highest / 100)} in one second.",
        severity=Severity.ERROR if share > MUCH_STOLEN else Severity.WARNING,
    )


@host_watched
def _hot(watch: HostWatch) -> CheckOutcome | NotChecked | None:
    events = counted(watch, "throttle_events")
    if events is None:
        return NotChecked("No thermal throttle counters (usual on VMs).")
    if not events:
        return None
    heat = watch.highest("temperature_of_limit")
    peak = "" if heat is None else f", at up to {heat:.0f} % of the temperature limit"
    return CheckOutcome(f"CPUs were throttled {times_text(events)} in {duration_text(watch.counted)}{peak}.")


@host_watched
def _clock_fell(watch: HostWatch) -> CheckOutcome | NotChecked | None:
    points = watch.points("clock_frequency")
    if not points:
        return NotChecked("No CPU clock readings (usual on VMs).")
    loads = dict(watch.points("core_busiest"))
    worked = [value for time, value in points if loads.get(time, 100.0) >= BUSY]
    third = len(worked) // 3
    if len(worked) < MIN_CLOCK_SAMPLES:
        return None
    first, last = statistics.median(worked[:third]), statistics.median(worked[-third:])
    if last > (1 - CLOCK_FELL) * first:
        return None
    return CheckOutcome(f"The clock of busy CPUs dropped from {frequency_text(first)} to {frequency_text(last)}.")


@watched
def _throttled(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    percent, periods = watch.mean("cgroup_throttled"), watch.mean("cgroup_throttled_periods")
    if percent is None or periods is None:
        return NotChecked("The test’s cgroup has no throttling counters.")
    if percent / 100 * part(trial, watch) < THROTTLED_SHARE:
        return None
    # The kernel adds the throttled time up over all CPUs.
    time = f" and throttled tasks for {share_text(min(1.0, percent / 100))} of {duration_text(watch.counted)}"
    alone = workers_of(trial) == 1
    return CheckOutcome(f"The CPU quota was exhausted in {min(periods, 100.0):.0f} % of its periods{time * alone}.")


@host_watched
def _near_heat_limit(watch: HostWatch) -> CheckOutcome | NotChecked | None:
    heat = watch.highest("temperature_of_limit")
    if heat is None:
        return NotChecked("No CPU temperature sensor (usual on VMs).")
    return CheckOutcome(f"The CPU reached {heat:.0f} % of its temperature limit.") if heat >= NEAR_LIMIT else None


HOST_CHECKS = (
    GOVERNOR,
    ENERGY_PREFERENCE,
    BOOST_OFF,
    OFFLINE_CPUS,
    HYPERTHREADING_OFF,
    BURSTABLE_CPU,
    EMULATED_CPU,
    NUMA_NODES,
)

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    during_check(
        id="cpu-stolen",
        title="CPU steal time",
        why="The hypervisor ran other guests instead. The figure is lower by about that share and changes over the "
        "day.",
        remedy="Run it again at another time, move the instance, or use a type with dedicated cores.",
        source="Red Hat: steal time; above 10 % nothing can be concluded.",
        evaluate=_steal,
        needs=f"the stolen time in /proc/stat: above {share_text(STOLEN)}, an error above {share_text(MUCH_STOLEN)}",
    ),
    during_check(
        id="cpu-too-hot",
        title="CPU thermal throttling",
        why="The figure is that of a hot host; with better cooling it is higher.",
        remedy="Let the host cool down, improve its cooling, or quote the figure as sustained load.",
        source="thermal_throttle in /sys; BenchExec refuses results with it.",
        evaluate=_hot,
        needs="thermal throttle counters of the CPUs, every five seconds",
    ),
    during_check(
        id="clock-fell",
        title="CPU clock dropped during the trial",
        why="The figure mixes the boost clock and the sustained clock.",
        remedy="Warm up until boost ends, or fix the clock; quote the sustained figure.",
        source="sbc-bench compares the clock at the start with that at the end.",
        evaluate=_clock_fell,
        needs=f"CPU clock every five seconds, at least {MIN_CLOCK_SAMPLES} times while a CPU is busy",
    ),
    during_check(
        id="quota-throttled",
        title="CPU throttled by cgroup quota",
        why="While throttled, no thread of the test runs.",
        remedy="Quote it with the quota, or lift the quota (docker --cpus, systemd CPUQuota) to measure the host.",
        source="kernel, cgroup-v2 and sched-bwc: nr_throttled and the throttled time.",
        evaluate=_throttled,
        needs="cpu.stat of the test’s cgroup and its parents",
        trust=Trust.VALID,  # quota-bound rates the result after the trial
    ),
    during_check(
        id="near-heat-limit",
        severity=Severity.INFO,
        title="CPU near its temperature limit",
        why="Throttling starts here, at first in bursts too short for per-second counters.",
        remedy="Improve the cooling, or expect a lower figure under sustained load.",
        source="Sensors of the host (hwmon).",
        evaluate=_near_heat_limit,
        needs="a CPU temperature sensor with a limit, every five seconds",
    ),
)
