"""Run the pre-run checks on every host and step of a plan."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from app.checks.catalogue import HOST_CHECKS, OF_EVERY_SUITE
from app.checks.cloud import STEP_CHECKS as CLOUD_CHECKS
from app.checks.duet import BLOCKING_CHECKS, DUET_CHECKS, duet_evidence
from app.checks.goals import GOAL_UNITS
from app.checks.host import BUSY, LOAD_CHECKS
from app.checks.plans import PLAN_CHECKS, TOOL_MISSING, PlanEvidence
from app.checks.storage import DIRECTORY_UNSAFE, NOT_A_DISK
from app.checks.storage_layers import LAYER_CHECKS
from app.plans.context import step_context
from app.plans.duet import facts_seen
from app.plans.plan import Order, Plan
from suites.base import Context, Recognised, StepCheck, StepEvidence, complete_values
from suites.checks import Check, CheckPhase, E, NotChecked
from suites.errors import BenchwrightError
from suites.evidence import HostEvidence
from suites.facts import Facts
from suites.parameters import Parameter
from suites.registry import suite
from suites.thread_checks import CPU_QUOTA
from suites.vocab import Finding

_PEER_CHECKS = (TOOL_MISSING, DIRECTORY_UNSAFE)
_DIRECTORY_CHECKS = (NOT_A_DISK, *LAYER_CHECKS, *CLOUD_CHECKS)

_SUITE_FILE_CHECKS = frozenset({"read-after-write", "created-once"})
"""Checks that hold only for files that a suite creates itself, not for those of a user's command."""


@dataclass(frozen=True, slots=True)
class SkippedCheck:
    """A check without evidence, and why."""

    id: str
    because: str
    step: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Findings, the most severe first, and the checks that had no evidence."""

    findings: tuple[Finding, ...] = ()
    cannot_tell: tuple[SkippedCheck, ...] = ()


def check_plan(plan: Plan, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None = None) -> CheckReport:
    """Run the pre-run checks on every host and step of `plan`.

    `facts` and `addresses` (as seen from this computer) are keyed by host name. Checks that need the missing facts of
    a host return NotChecked.
    """
    return _report(_run_checks(plan, facts, addresses))


def check_load(plan: Plan, facts: Facts) -> CheckReport:
    """Run the checks of background load on one host of `plan`, whose `facts` have the load of now."""
    steps = _step_evidence(plan, facts.host, {facts.host: facts}, None)
    return _report(evaluate(LOAD_CHECKS, HostEvidence(facts.host, facts, steps, live=True)))


def _run_checks(
    plan: Plan, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None
) -> Iterator[Finding | SkippedCheck]:
    for host in plan.hosts:
        steps = _step_evidence(plan, host, facts, addresses)
        tuned = frozenset(setting.kind.value for setting in plan.tuning.settings)
        volumes = tuple(part for evidence in steps for part in volumes_of(evidence))
        yield from evaluate(HOST_CHECKS, HostEvidence(host, facts.get(host), volumes, tuned))
        for evidence in steps:
            yield from _of_volumes((*OF_EVERY_SUITE, *evidence.suite.checks), evidence)
            yield from _check_own_command(evidence)
            peer = plan.step(evidence.name).peer
            if peer is not None and peer != evidence.host:
                at_peer = replace(evidence, host=peer, context=Context(facts.get(peer)), earlier=())
                yield from evaluate(_PEER_CHECKS, at_peer)
                yield from evaluate((BUSY,), HostEvidence(peer, facts.get(peer)))
        if plan.order is Order.DUET:
            whole, each = duet_evidence(plan, host, facts, steps)
            yield from evaluate(DUET_CHECKS, whole)
            yield from chain.from_iterable(evaluate(BLOCKING_CHECKS, one) for one in each)
    yield from evaluate((*PLAN_CHECKS, GOAL_UNITS), PlanEvidence(plan, facts))


def _step_evidence(
    plan: Plan, host: str, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None
) -> tuple[StepEvidence, ...]:
    """Return the evidence of each step on `host`, with the steps before it."""
    found: list[StepEvidence] = []
    seen = facts_seen(plan, facts)
    for step in plan.steps_on(host):
        found.append(
            StepEvidence(
                name=step.name,
                suite=step.suite,
                values=step.values,
                context=step_context(step, host, seen, addresses),
                host=host,
                trials=plan.repetition.most or plan.repetition.fewest,
                quick_look=plan.repetition.is_quick_look,
                earlier=tuple(part for each in found for part in volumes_of(each)),
                earlier_files_stay=plan.order is not Order.BLOCK,
            )
        )
    return tuple(found)


def volumes_of(evidence: StepEvidence) -> tuple[StepEvidence, ...]:
    """Return the evidence of a step on each of its volumes; the files of one stay while the next is laid out."""
    parts: list[StepEvidence] = []
    for values in evidence.suite.volumes(evidence.values):
        earlier = (*(evidence.earlier if evidence.earlier_files_stay or not parts else ()), *parts)
        parts.append(
            replace(
                evidence, values=values, earlier=earlier, earlier_files_stay=evidence.earlier_files_stay or bool(parts)
            )
        )
    return tuple(parts)


def _of_volumes(checks: Iterable[StepCheck], evidence: StepEvidence) -> Iterator[Finding | SkippedCheck]:
    """Yield the outcomes of `checks` on every volume of a step, one for each check, and of the volumes together."""
    parts = volumes_of(evidence)
    if len(parts) == 1:
        yield from evaluate(checks, parts[0])
        return
    for check in checks:
        outcomes = [one for part in parts for one in evaluate([check], part)]
        found = [one for one in outcomes if isinstance(one, Finding)]
        worst = max(found, key=lambda one: one.severity.rank, default=None)
        if worst is not None:
            measured, remedy = (
                " ".join(dict.fromkeys(texts))
                for texts in zip(*((one.measured, one.remedy) for one in found), strict=True)
            )
            # A directory or a number of jobs would be that of one volume.
            own = {name for part in parts for name, value in part.values.items() if value != evidence.values[name]}
            changes = {name: value for one in found for name, value in one.changes.items() if name not in own}
            yield replace(worst, measured=measured, remedy=remedy, changes=changes)
        yield from [one for one in outcomes if isinstance(one, SkippedCheck)][:1]
    yield from evaluate(evidence.suite.volume_checks, evidence)


def evaluate(checks: Iterable[Check[E]], evidence: E) -> Iterator[Finding | SkippedCheck]:
    """Yield the outcomes of the pre-run ones of `checks` for `evidence`."""
    for check in checks:
        if check.when is not CheckPhase.BEFORE:
            continue
        outcome = check.finding(evidence)
        if isinstance(outcome, NotChecked):
            yield SkippedCheck(check.id, outcome.because, evidence.name, evidence.host)
        elif outcome is not None:
            yield outcome


def _check_own_command(evidence: StepEvidence) -> Iterator[Finding | SkippedCheck]:
    """Yield the outcomes of the equivalent suites' checks for a user's own command, such as dd.

    The findings carry no changes: Benchwright does not edit the user's command.
    """
    for found in evidence.suite.recognised(evidence.values, _parameters):
        if not found.whole:
            continue
        step = _as_step(evidence, found)
        checks = (*step.suite.checks, CPU_QUOTA, *(() if found.devices else _DIRECTORY_CHECKS))
        for outcome in evaluate([check for check in checks if check.id not in _SUITE_FILE_CHECKS], step):
            if isinstance(outcome, SkippedCheck):
                yield outcome
            else:
                measured = f"Parsed as {step.suite.tool}: {outcome.measured}"
                yield replace(outcome, measured=measured, changes={}, install=None)


def _parameters(suite_id: str) -> tuple[Parameter, ...]:
    return suite(suite_id).parameters


def _as_step(evidence: StepEvidence, found: Recognised) -> StepEvidence:
    chosen = suite(found.suite_id)
    try:
        values = complete_values(chosen, found.given)
    except BenchwrightError:  # the suite refuses the combination: check its defaults
        values = complete_values(chosen, {})
    return replace(evidence, suite=chosen, values=values, earlier=())


def _report(outcomes: Iterable[Finding | SkippedCheck]) -> CheckReport:
    """Return `outcomes` as a report without duplicates, the most severe first."""
    unique: list[Finding | SkippedCheck] = []
    for one in outcomes:
        if one not in unique:  # a Finding holds a mapping and is not hashable
            unique.append(one)
    findings = sorted((one for one in unique if isinstance(one, Finding)), key=lambda found: -found.severity.rank)
    return CheckReport(tuple(findings), tuple(one for one in unique if isinstance(one, SkippedCheck)))
