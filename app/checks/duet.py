"""Checks of a duet: the halves of the CPUs, what both sides share besides them, and the balance of the trials."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from app.checks.plans import TOOL_MISSING, missing_programs
from app.checks.storage_layers import whole_disk
from app.plans.duet import Halves, cpu_list, halves_of
from app.plans.plan import Plan, Policy
from suites.base import StepEvidence, devices_of
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked, blocking_check
from suites.facts import BlockDevice, Facts, known
from suites.programs import TASKSET
from suites.quantities import count_text
from suites.vocab import Resource, Severity

LEAST_BALANCED = 2
"""Fewest trials of a duet in which each step runs on each half."""


@dataclass(frozen=True, slots=True)
class DuetEvidence:
    """A duet on a host: its plan, the facts of the whole host, both steps, and the step that a finding names."""

    host: str
    plan: Plan
    facts: Facts | None
    steps: tuple[StepEvidence, ...]
    name: str | None = None


def duet_evidence(
    plan: Plan, host: str, facts: Mapping[str, Facts], steps: tuple[StepEvidence, ...]
) -> tuple[DuetEvidence, tuple[DuetEvidence, ...]]:
    """Return the evidence of the duet on `host`, and once for each step that a finding may block."""
    whole = DuetEvidence(host, plan, facts.get(host), steps)
    return whole, tuple(replace(whole, name=step.name) for step in steps)


def _halves(evidence: DuetEvidence) -> Halves | NotChecked:
    """Return the halves, or why they are unknown; of a host without halves TOO_FEW_CPUS says so."""
    if evidence.facts is None:
        return FACTS_NOT_READ
    found = halves_of(evidence.facts)
    return NotChecked(f"No halves: {found}.") if isinstance(found, str) else found


def _no_halves(evidence: DuetEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.facts is None:
        return FACTS_NOT_READ
    found = halves_of(evidence.facts)
    return CheckOutcome(f"No two halves: {found}.") if isinstance(found, str) else None


def _one_core(evidence: DuetEvidence) -> CheckOutcome | NotChecked | None:
    found = _halves(evidence)
    if isinstance(found, NotChecked):
        return found
    return CheckOutcome(f"{found.text} are threads of one core.") if found.one_core else None


def _unused(evidence: DuetEvidence) -> CheckOutcome | NotChecked | None:
    found = _halves(evidence)
    if isinstance(found, NotChecked):
        return found
    return CheckOutcome(f"{found.text}; CPUs {cpu_list(found.unused)} stay unused.") if found.unused else None


def _unbalanced(evidence: DuetEvidence) -> CheckOutcome | None:
    given = evidence.plan.repetition
    if given.policy is not Policy.FIXED or given.trials % 2 == 0:
        return None
    if given.trials < LEAST_BALANCED:
        return CheckOutcome("1 trial: the effect of the halves cannot be removed.", remedy="Run 2 trials or more.")
    return CheckOutcome(
        f"{given.trials} trials: the first step runs on the first half {given.trials // 2 + 1} times, on the second "
        f"{given.trials // 2}.",
        remedy=f"Run {given.trials + 1} trials.",
    )


def _shared(evidence: DuetEvidence) -> CheckOutcome | None:
    shared = list(_resources_of_both(evidence))
    return CheckOutcome(f"Both steps use {', '.join(shared)}.") if shared else None


def _resources_of_both(evidence: DuetEvidence) -> Iterator[str]:
    """Yield what both steps use besides their CPUs; that of a command of the user is not known."""
    first, second = ({step.suite.resource} for step in evidence.steps)
    if all(_uses_disk(step) for step in evidence.steps):
        disks = [_disks(step) for step in evidence.steps]
        if shared := set[str].intersection(*disks):
            yield f"the disk {min(shared)}"
        elif not all(disks):
            yield "disks that may be one"
    if first == second == {Resource.MEMORY}:
        yield "memory bandwidth and the last-level cache"
    if first == second == {Resource.NETWORK}:
        yield "the network"
    if evidence.facts is not None and (quota := known(evidence.facts.cpu.quota)) is not None:
        yield f"the CPU quota of {count_text(quota, 'CPU')}"


def _uses_disk(step: StepEvidence) -> bool:
    """Return whether a step is known to use a disk: it measures one, or its files are in a directory that it names."""
    return step.suite.resource is Resource.DISK or step.suite.directory_parameter is not None


def _one_device(evidence: DuetEvidence) -> CheckOutcome | None:
    devices = {step.name: devices_of(step.suite, step.values) for step in evidence.steps}
    destroying = (step for step in evidence.steps if step.suite.destroys(step.values))
    destroyed = {path for step in destroying for path in devices[step.name]}
    users = [path for paths in devices.values() for path in paths]
    both = next((path for path in destroyed if users.count(path) > 1), None) or _one_disk(evidence, destroyed)
    return CheckOutcome(f"Both steps use {both} at the same moment, and at least one overwrites it.") if both else None


def _one_disk(evidence: DuetEvidence, destroyed: set[str]) -> str:
    """Return the name of the disk that both steps use under different paths, one to overwrite it; or nothing."""
    shared = set[str].intersection(*map(_disks, evidence.steps))
    return min(shared) if destroyed and shared else ""


def _disks(step: StepEvidence) -> set[str]:
    """Return the names of the known disks below the volumes of a step."""
    disks = (whole_disk(replace(step, values=part)) for part in step.suite.volumes(step.values))
    return {disk.name for disk in disks if isinstance(disk, BlockDevice)}


def _no_taskset(evidence: DuetEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.facts is None:
        return FACTS_NOT_READ
    return missing_programs((TASKSET,), evidence.facts, evidence.host, otherwise="Otherwise choose another order.")


TOO_FEW_CPUS = blocking_check(
    id="duet-cpus",
    title="Too few CPUs for a duet",
    why="Both steps would share a CPU: each would measure the scheduler and the other step.",
    remedy="Use another order, or a host with two CPUs or more.",
    source="Bulej et al. 2020, Duet Benchmarking; sched_getaffinity(2).",
    needs="The CPUs that the account may use, and their cores and NUMA nodes.",
    evaluate=_no_halves,
)

ONE_DEVICE = blocking_check(
    id="duet-one-device",
    title="Both sides use a device that is overwritten",
    why="One step overwrites what the other reads or writes: neither figure is of a defined state.",
    remedy="Use two devices, or another order.",
    source="Device and directory of both steps.",
    needs="The device of each step.",
    evaluate=_one_device,
)

TASKSET_MISSING = Check(
    id=TOOL_MISSING.id,
    severity=TOOL_MISSING.severity,
    blocks=TOOL_MISSING.blocks,
    title=TOOL_MISSING.title,
    why=TOOL_MISSING.why,
    remedy=TOOL_MISSING.remedy,
    source=TOOL_MISSING.source,
    needs="Whether the host has taskset.",
    evaluate=_no_taskset,
)

ONE_CORE = Check(
    id="duet-one-core",
    title="Both sides share a physical core",
    why="SMT siblings share execution units and caches: each side slows the other by an amount that depends on both.",
    remedy="Use a host with two cores or more; read the ratio as that of steps that compete.",
    source="thread_siblings_list in /sys; Bulej et al. 2020.",
    needs="The SMT siblings of each core.",
    evaluate=_one_core,
)

UNUSED = Check(
    id="duet-unused-cpus",
    of_result=False,
    severity=Severity.INFO,
    title="CPUs outside both halves",
    why="Both halves have as many cores of each kind, so that both sides have equal CPUs.",
    remedy="None needed.",
    source="thread_siblings_list and node lists in /sys.",
    needs="The CPUs that the account may use, and their cores and NUMA nodes.",
    evaluate=_unused,
)

UNBALANCED = Check(
    id="duet-unbalanced",
    severity=Severity.INFO,
    title="Odd number of duets",
    why="The sides swap halves with each trial; with as many trials each way the interval is narrowest.",
    remedy="Run an even number of trials.",
    source="Jones and Kenward, Design and Analysis of Cross-Over Trials: the AB/BA design.",
    needs="The number of trials.",
    evaluate=_unbalanced,
)

SHARED = Check(
    id="duet-shared",
    title="A duet separates CPUs only",
    why="Both sides compete for it at every moment: each figure is lower than alone, and the faster side takes the "
    "larger share, so the ratio is that of steps that compete.",
    remedy="Use another order to measure each step alone, or compare under competition on purpose.",
    source="Bulej et al. 2020, Duet Benchmarking, threats to validity.",
    needs="The resources of both steps, their disk, and the CPU quota.",
    evaluate=_shared,
)

BLOCKING_CHECKS = (TOO_FEW_CPUS, ONE_DEVICE, TASKSET_MISSING)
"""Checks of each step of a duet."""

DUET_CHECKS = (ONE_CORE, UNUSED, UNBALANCED, SHARED)
"""Checks of a duet on a host."""
