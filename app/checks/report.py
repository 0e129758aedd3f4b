"""Runs the checks of before on every step and host of a plan."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from app.plans.context import step_context
from app.plans.plan import Order, Plan
from suites.base import Context
from suites.checks import CannotTell, Check, E, HostEvidence, StepEvidence, When
from suites.facts import Facts
from suites.vocab import Finding


@dataclass(frozen=True, slots=True)
class Unsure:
    """A check that had no evidence to speak from, and why."""

    id: str
    because: str
    step: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the checks found, the gravest first, and what they could not tell."""

    findings: tuple[Finding, ...] = ()
    cannot_tell: tuple[Unsure, ...] = ()


def evidence_of(
    plan: Plan, host: str, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None = None
) -> tuple[StepEvidence, ...]:
    """Return what the checks may look at on `host`, step by step, each with the steps before it."""
    found: list[StepEvidence] = []
    for step in plan.steps:
        found.append(
            StepEvidence(
                name=step.name,
                suite=step.suite,
                values=step.values,
                context=step_context(step, host, facts, addresses),
                host=host,
                trials=plan.repetition.most or plan.repetition.fewest,
                earlier=tuple(found),
                earlier_files_stay=plan.order is not Order.BLOCK,
            )
        )
    return tuple(found)


def other_end(plan: Plan, evidence: StepEvidence, facts: Mapping[str, Facts]) -> StepEvidence | None:
    """Return the evidence of the host that runs the step's server end, or None where there is none."""
    peer = plan.step(evidence.name).peer
    if peer is None or peer == evidence.host:
        return None
    return replace(evidence, host=peer, context=Context(facts.get(peer)), earlier=())


def host_evidence(plan: Plan, host: str, facts: Mapping[str, Facts], steps: tuple[StepEvidence, ...]) -> HostEvidence:
    """Return what the checks of `host` may look at; `steps` are those that run there."""
    tuned = frozenset(setting.kind.value for setting in plan.tuning.settings)
    return HostEvidence(host, facts.get(host), steps, tuned)


def evaluate(checks: Iterable[Check[E]], evidence: E) -> Iterator[Finding | Unsure]:
    """Yield what those of `checks` that speak before a run say of `evidence`."""
    for check in checks:
        if check.when is not When.BEFORE:
            continue
        said = check.finding(evidence)
        if isinstance(said, CannotTell):
            yield Unsure(check.id, said.because, evidence.name, evidence.host)
        elif said is not None:
            yield said


def summarise(said: Iterable[Finding | Unsure]) -> CheckReport:
    """Return `said` as a report: the gravest first, nothing twice."""
    findings: list[Finding] = []
    unsure: list[Unsure] = []
    for word in said:
        if isinstance(word, Unsure):
            if word not in unsure:
                unsure.append(word)
        elif word not in findings:
            findings.append(word)
    return CheckReport(tuple(sorted(findings, key=lambda found: -found.level.rank)), tuple(unsure))
