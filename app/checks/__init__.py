"""The checks of before: what would fool the reader of a plan's figures, told before a minute is wasted."""

from collections.abc import Iterator, Mapping

from app.checks.clouds import CLOUD_CHECKS
from app.checks.conditions import BUSY, CONDITION_CHECKS
from app.checks.directories import DIRECTORY_NOT_WRITABLE, DIRECTORY_UNSAFE, NOT_A_DISK
from app.checks.disks import LAYER_CHECKS
from app.checks.own_commands import COMMAND_ENDLESS, COMMAND_WRITES_DEVICE, say_own
from app.checks.plans import PLAN_CHECKS, PlanEvidence
from app.checks.processors import PROCESSOR_CHECKS
from app.checks.report import CheckReport, Unsure, evaluate, evidence_of, host_evidence, other_end, summarise
from app.checks.space import LOW_SPACE, NO_SPACE
from app.checks.tools import TOOL_MISSING
from app.plans.plan import Plan
from suites.checks import HostCheck, HostEvidence, StepCheck
from suites.facts import Facts
from suites.registry import SUITES
from suites.vocab import Finding

__all__ = ["HOST_CHECKS", "OF_EVERY_SUITE", "PLAN_CHECKS", "CheckReport", "Unsure", "all_checks", "check_plan"]

OF_EVERY_SUITE: tuple[StepCheck, ...] = (
    TOOL_MISSING, DIRECTORY_NOT_WRITABLE, DIRECTORY_UNSAFE, NOT_A_DISK, NO_SPACE, LOW_SPACE, *LAYER_CHECKS,
    *CLOUD_CHECKS, COMMAND_WRITES_DEVICE, COMMAND_ENDLESS,
)  # fmt: skip
"""The checks of a step that hold whatever its suite is."""

HOST_CHECKS: tuple[HostCheck, ...] = (*PROCESSOR_CHECKS, *CONDITION_CHECKS)
"""The checks of a host, told once whatever steps run there."""

_OF_THE_OTHER_END = (TOOL_MISSING, DIRECTORY_UNSAFE)
_OF_ITS_HOST = (BUSY,)


def all_checks() -> tuple[StepCheck, ...]:
    """Return every check of a step: those of all suites, then each suite's own."""
    return (*OF_EVERY_SUITE, *(check for suite in SUITES for check in suite.checks))


def check_plan(plan: Plan, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None = None) -> CheckReport:
    """Run the checks of before on every host and step of `plan`.

    `facts` are by host name; a host whose facts are missing makes the checks that need them say so.
    `addresses` give the address at which this computer reaches a host.
    """
    return summarise(_say(plan, facts, addresses))


def _say(plan: Plan, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None) -> Iterator[Finding | Unsure]:
    for host in plan.hosts:
        steps = evidence_of(plan, host, facts, addresses)
        yield from evaluate(HOST_CHECKS, host_evidence(plan, host, facts, steps))
        for evidence in steps:
            yield from evaluate((*OF_EVERY_SUITE, *evidence.suite.checks), evidence)
            yield from say_own(evidence)
            peer = other_end(plan, evidence, facts)
            if peer is not None:
                yield from evaluate(_OF_THE_OTHER_END, peer)
                yield from evaluate(_OF_ITS_HOST, HostEvidence(peer.host, peer.context.facts))
    yield from evaluate(PLAN_CHECKS, PlanEvidence(plan, facts))
