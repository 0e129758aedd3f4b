"""Facts of hosts to test with: quiet ones, of sizes that are known."""

from dataclasses import replace

from suites.base import Context, StepCheck, StepEvidence, Suite, complete_values
from suites.checks import NotChecked
from suites.facts import Absent, Cache, CpuFacts, Facts, Interface, MemoryFacts, SystemFacts, Tool
from suites.thread_checks import CPU_QUOTA
from suites.vocab import Finding

MIB, GIB = 2**20, 2**30


def host(
    name: str = "web-1",
    *,
    cpus: int | None = 8,
    cache: int | None = 32 * MIB,
    available: int | None = 15 * GIB,
    quota: float | None = None,
    boot: str | None = None,
    speed: int | None = None,
    mtu: int | None = 1500,
    architecture: str | None = None,
    **tools: str,
) -> Facts:
    """Return the facts of a host; what is None is absent."""
    unknown = Absent("not read")
    caches = (
        unknown if cache is None else (Cache(level=3, kind="Unified", size=cache, shared_by=cpus or 1, instances=1),)
    )
    interface = Interface(name="eth0", state="up", speed=unknown if speed is None else speed, mtu=mtu or unknown)
    loopback = Interface(name="lo", state="unknown", mtu=65536)
    return Facts(
        host=name,
        read_at="2026-01-02T03:04:05Z",
        system=SystemFacts(boot_id=boot or f"boot of {name}", architecture=architecture or unknown),
        cpu=CpuFacts(usable=unknown if cpus is None else cpus, caches=caches, quota=quota or Absent("no limit")),
        memory=MemoryFacts(available=unknown if available is None else available, limit=Absent("no limit")),
        interfaces=(loopback, interface),
        tools=tuple(Tool(name=tool, version=version) for tool, version in tools.items()),
    )


def limited(facts: Facts, limit: int) -> Facts:
    """Return `facts` with a cgroup's memory limit."""
    return replace(facts, memory=replace(facts.memory, limit=limit))


def evidence(suite: Suite, context: Context, **given: object) -> StepEvidence:
    """Return a step of `suite` with `given` values and the tool's defaults elsewhere."""
    return StepEvidence("step", suite, complete_values(suite, given), context, "web-1")


def raised(step: StepEvidence) -> dict[str, Finding]:
    """Return the findings of all checks of the step's suite, and of its threads, by id."""
    found = (check.finding(step) for check in (*step.suite.checks, CPU_QUOTA))
    return {finding.id: finding for finding in found if isinstance(finding, Finding)}


def silent(step: StepEvidence) -> set[str]:
    """Return the ids of the checks that cannot tell."""
    return {check.id for check in (*step.suite.checks, CPU_QUOTA) if isinstance(check.finding(step), NotChecked)}


def applied(step: StepEvidence, check: StepCheck | str) -> StepEvidence:
    """Return the step with the changes of a finding made."""
    finding = raised(step)[check if isinstance(check, str) else check.id]
    return replace(step, values=complete_values(step.suite, {**step.values, **finding.changes}))


def assert_warned(step: StepEvidence, found: str) -> None:
    """Assert that the step has the finding, and no longer has it once its changes are made."""
    changes = raised(step)[found].changes
    if changes:
        assert found not in raised(replace(step, values=complete_values(step.suite, {**step.values, **changes})))
