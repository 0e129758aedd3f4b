"""Checks of a host's processors: their clock, what is switched off, and what a cloud grants of them."""

import re
from collections.abc import Callable

from suites.checks import CannotTell, Check, HostEvidence, Outcome
from suites.facts import Absent, Facts, known
from suites.vocab import Level, Resource

NOT_COMPUTING = frozenset({Resource.DISK, Resource.NETWORK})
"""What disks and networks deliver hangs little on the clock of the processors."""

FACTS_NOT_READ = CannotTell("The host's facts have not been read.")

BURSTABLE = re.compile(
    r"(?P<aws>t[1-9][a-z]*\.\w+)|(?P<gcp>(?:e2-(?:micro|small|medium)|[fg]1-\w+))|(?P<azure>Standard_B\d+\w*)"
)
"""Instance types whose CPU is paid with credits or shared: T of AWS, shared cores of Google, B of Azure."""


def computes(evidence: HostEvidence) -> bool:
    """Whether a step there puts processor or memory under load, so that the figure is theirs."""
    return any(step.suite.resource not in NOT_COMPUTING for step in evidence.steps)


Look = Callable[[HostEvidence, Facts], Outcome | CannotTell | None]


def of_facts(look: Look) -> Callable[[HostEvidence], Outcome | CannotTell | None]:
    """Return the evaluation that `look` makes of a host whose facts were read."""

    def evaluate(evidence: HostEvidence) -> Outcome | CannotTell | None:
        return FACTS_NOT_READ if evidence.facts is None else look(evidence, evidence.facts)

    return evaluate


def _governor(evidence: HostEvidence, facts: Facts) -> Outcome | CannotTell | None:
    if "governor" in evidence.tuned:
        return None
    governor = facts.cpu.governor
    if isinstance(governor, Absent):
        return CannotTell(f"The governor is not known: {governor.reason}.")
    if governor == "performance":
        return None
    return Outcome(f"The governor is {governor}.", level=None if computes(evidence) else Level.INFO)


def _energy_preference(_evidence: HostEvidence, facts: Facts) -> Outcome | None:
    preference = known(facts.cpu.energy_preference)
    saving = preference is not None and any(word in preference for word in ("power", "default"))
    return Outcome(f"Its energy preference is {preference}.") if saving else None


def _boost_off(evidence: HostEvidence, facts: Facts) -> Outcome | None:
    return Outcome("Boost is off.") if facts.cpu.boost is False and computes(evidence) else None


def _offline(evidence: HostEvidence, facts: Facts) -> Outcome | None:
    offline, online = known(facts.cpu.offline), known(facts.cpu.threads)
    if not offline:
        return None
    without_siblings = facts.cpu.hyperthreading in {"off", "forceoff"}
    if without_siblings and online is not None and offline == online:
        return None  # they are the siblings of those that are online: told below
    shown = f"{offline} of {offline + online} CPUs are" if online is not None else f"{offline} CPUs are"
    return Outcome(f"{shown} offline.", level=None if computes(evidence) else Level.INFO)


def _hyperthreading(evidence: HostEvidence, facts: Facts) -> Outcome | None:
    if facts.cpu.hyperthreading not in {"off", "forceoff"} or not computes(evidence):
        return None
    return Outcome(f"The kernel says that it is “{facts.cpu.hyperthreading}”.")


def _burstable(evidence: HostEvidence, facts: Facts) -> Outcome | None:
    kind = known(facts.cloud.instance_type)
    found = None if kind is None else BURSTABLE.fullmatch(kind)
    if found is None:
        return None
    how = "it shares its cores" if found["gcp"] else "its CPU is paid with credits"
    return Outcome(f"It is a {kind}: {how}.", level=None if computes(evidence) else Level.INFO)


def _nodes(evidence: HostEvidence, facts: Facts) -> Outcome | None:
    nodes = known(facts.cpu.numa_nodes)
    if nodes is None or nodes < 2 or not any(step.suite.resource is Resource.MEMORY for step in evidence.steps):
        return None
    balancing = known(facts.cpu.numa_balancing)
    how = {True: "; the kernel moves pages to their users", False: "; the kernel leaves pages where they are"}
    return Outcome(f"It has {nodes} NUMA nodes{'' if balancing is None else how[balancing]}.")


GOVERNOR = Check(
    id="governor-not-performance",
    level=Level.WARNING,
    title="The processor's clock follows the load",
    why="It rises only while a test runs, and not always at once: the first seconds are slower, short tests wholly so, "
    "and two runs differ by where the clock happened to stand.",
    remedy="Set the governor to performance for the run (--tune governor=performance), which is put back afterwards.",
    source="pyperf system; Phoronix Test Suite, perf_tips; Linux documentation, CPU performance scaling.",
    needs="The governor of every CPU; virtual machines show none.",
    evaluate=of_facts(_governor),
)

ENERGY_PREFERENCE = Check(
    id="energy-preference",
    level=Level.INFO,
    title="The processor is told to save energy",
    why="It then rises to its highest clock late, or not at all, whatever the governor is called.",
    remedy="Set energy_performance_preference to performance, where the highest speed is the question.",
    source="Linux documentation, intel_pstate and amd-pstate; PerfSpect's insights.",
    needs="The energy preference of every CPU.",
    evaluate=of_facts(_energy_preference),
)

BOOST_OFF = Check(
    id="boost-off",
    level=Level.INFO,
    title="The processor may not boost",
    why="Figures are below what it can do, and vary less. Which of the two is wanted is a matter of the question: with "
    "boost as its users have it, without for small differences between versions of a program.",
    remedy="Leave it off to find small differences; switch it on to learn what the machine delivers.",
    source="Phoronix Test Suite, perf_tips (boost should be on); pyperf system (it should be off).",
    needs="What cpufreq or intel_pstate says.",
    evaluate=of_facts(_boost_off),
)

OFFLINE_CPUS = Check(
    id="offline-cpus",
    level=Level.WARNING,
    title="Some CPUs are switched off",
    why="The figure of all CPUs is not the machine's.",
    remedy="Switch them on (echo 1 > /sys/devices/system/cpu/cpuN/online), or say that they are meant to be off.",
    source="sbc-bench, which counts them; Linux documentation, CPU hotplug.",
    needs="The kernel's list of offline CPUs.",
    evaluate=of_facts(_offline),
)

HYPERTHREADING_OFF = Check(
    id="hyperthreading-off",
    level=Level.INFO,
    title="Hyper-threading is off",
    why="Each core runs one thread: figures of all CPUs compare badly with those of hosts where it runs two.",
    remedy="Say so beside the figure, or compare by core.",
    source="PerfSpect's insights; Linux documentation, /sys/devices/system/cpu/smt.",
    needs="The kernel's word for it.",
    evaluate=of_facts(_hyperthreading),
)

BURSTABLE_CPU = Check(
    id="burstable-cpu",
    level=Level.WARNING,
    title="The processor's speed is lent",
    why="Good first minutes are paid with credits. Once they are used up the same instance runs at its baseline, a "
    "tenth to a half of it, or costs extra.",
    remedy="Measure on a type of fixed performance; or run until the credits are gone and report both levels.",
    source="AWS, Burstable performance instances; Azure, B-series; Google Cloud, shared-core machine types.",
    needs="The instance type that the cloud's metadata service tells.",
    evaluate=of_facts(_burstable),
)

NUMA_NODES = Check(
    id="numa-nodes",
    level=Level.INFO,
    title="Memory is near or far",
    why="Threads reach the memory of their own node faster than that of another. Where pages happen to lie decides the "
    "figure, and differs from run to run.",
    remedy="Use all nodes with as many threads as CPUs; bind with numactl where one node is the question.",
    source="Linux documentation, NUMA memory policy; PerfSpect's insights.",
    needs="The number of NUMA nodes.",
    evaluate=of_facts(_nodes),
)

PROCESSOR_CHECKS = (
    GOVERNOR,
    ENERGY_PREFERENCE,
    BOOST_OFF,
    OFFLINE_CPUS,
    HYPERTHREADING_OFF,
    BURSTABLE_CPU,
    NUMA_NODES,
)
