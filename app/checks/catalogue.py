"""Catalogue of all checks by topic, and their help pages, generated from the checks themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.checks import (
    cloud,
    completion,
    cpu,
    disk,
    duet,
    elsewhere,
    energy,
    goals,
    host,
    limits,
    network,
    plans,
    repetition,
    storage,
    timing,
)
from app.checks.run_findings import CHECK_FAILED, RAISED_CHECKS, READ_OTHERWISE
from app.json_converter import publish
from suites import registry
from suites.base import StepCheck, Suite
from suites.checks import Check, CheckPhase
from suites.errors import BenchwrightError
from suites.evidence import HostCheck, OutcomeCheck, TrialCheck
from suites.thread_checks import CPU_QUOTA
from suites.verdict import Trust, trust_of, worst
from suites.vocab import Finding, Severity

AnyCheck = Check[Any]

OF_EVERY_SUITE: tuple[StepCheck, ...] = (plans.TOOL_MISSING, *storage.STEP_CHECKS, *cloud.STEP_CHECKS, CPU_QUOTA)
"""Pre-run checks of a step of any suite."""

HOST_CHECKS: tuple[HostCheck, ...] = (*cpu.HOST_CHECKS, *host.HOST_CHECKS)
"""Pre-run checks of a host, independent of its steps."""

_OF_TRIALS: tuple[TrialCheck, ...] = (
    *cpu.TRIAL_CHECKS,
    *host.TRIAL_CHECKS,
    *cloud.TRIAL_CHECKS,
    *network.TRIAL_CHECKS,
    *completion.TRIAL_CHECKS,
    *disk.TRIAL_CHECKS,
    *timing.TRIAL_CHECKS,
    *repetition.TRIAL_CHECKS,
    *elsewhere.TRIAL_CHECKS,
    limits.QUOTA_BOUND,
    limits.LIMITED_BY,
)

DURING_CHECKS: tuple[TrialCheck, ...] = tuple(check for check in _OF_TRIALS if check.when is CheckPhase.DURING)
"""Checks that run every few seconds during a trial."""

TRIAL_CHECKS: tuple[TrialCheck, ...] = tuple(check for check in _OF_TRIALS if check.when is CheckPhase.AFTER)
"""Checks that run after each trial."""

OUTCOME_CHECKS: tuple[OutcomeCheck, ...] = (
    *completion.OUTCOME_CHECKS,
    *repetition.OUTCOME_CHECKS,
    *elsewhere.OUTCOME_CHECKS,
    energy.ENERGY,
)
"""Checks of all trials of a step on a host."""

DURING_IDS = frozenset(check.id for check in DURING_CHECKS)

AFTER_IDS = frozenset(
    check.id
    for checks in (TRIAL_CHECKS, DURING_CHECKS, OUTCOME_CHECKS, (CHECK_FAILED, READ_OTHERWISE))
    for check in checks
)
"""Ids of the checks of a trial or of a step's trials."""

TOPICS: tuple[tuple[str, tuple[AnyCheck, ...]], ...] = (
    ("The plan", (*plans.PLAN_CHECKS, goals.GOAL_UNITS, plans.TOOL_MISSING)),
    ("Duet", (*duet.DUET_CHECKS, duet.TOO_FEW_CPUS, duet.ONE_DEVICE)),
    ("The run", RAISED_CHECKS),
    ("Directory and file system", storage.STEP_CHECKS),
    ("CPU", (*cpu.HOST_CHECKS, CPU_QUOTA, *cpu.TRIAL_CHECKS)),
    ("Host", (*host.HOST_CHECKS, *host.TRIAL_CHECKS)),
    ("Cloud", (*cloud.STEP_CHECKS, *cloud.TRIAL_CHECKS)),
    ("Network", network.TRIAL_CHECKS),
    ("Disk", disk.TRIAL_CHECKS),
    ("Rate over time", timing.TRIAL_CHECKS),
    ("Completion", (*completion.OUTCOME_CHECKS, *completion.TRIAL_CHECKS)),
    ("Repetition and goal", (*repetition.OUTCOME_CHECKS, *repetition.TRIAL_CHECKS)),
    ("Measured elsewhere", (*elsewhere.OUTCOME_CHECKS, *elsewhere.TRIAL_CHECKS)),
    ("Energy", (energy.ENERGY,)),
    ("Limit", (limits.LIMITED_BY, limits.QUOTA_BOUND)),
)
"""Checks that belong to no suite, by topic."""


class UnknownCheckError(BenchwrightError):
    """No check has this id."""


@dataclass(frozen=True, slots=True)
class CheckVariant:
    """One wording of a check, and the ids of the suites that use it; empty for all suites."""

    check: AnyCheck
    suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """All wordings of the check with one id: suites may have their own."""

    id: str
    family: str
    variants: tuple[CheckVariant, ...]

    @property
    def severity(self) -> Severity:
        """The highest default severity of the wordings."""
        return max((each.check.severity for each in self.variants), key=lambda severity: severity.rank)

    @property
    def title(self) -> str:
        """The title of the first wording."""
        return self.variants[0].check.title

    @property
    def when(self) -> str:
        """The phase in which it runs."""
        return self.variants[0].check.when.value

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites it belongs to; empty for all."""
        return tuple(dict.fromkeys(suite for each in self.variants for suite in each.suites))


def catalogue() -> tuple[CatalogueEntry, ...]:
    """Return every check in topic order, one entry per id."""
    return _catalogue(registry.readable())


@cache
def _catalogue(suites: tuple[Suite, ...]) -> tuple[CatalogueEntry, ...]:
    found: dict[str, CatalogueEntry] = {}
    for family, suite, check in _all(suites):
        entry = found.get(check.id) or CatalogueEntry(check.id, family, ())
        found[check.id] = CatalogueEntry(check.id, entry.family, tuple(_with(entry.variants, check, suite)))
    return tuple(found.values())


def blocking_ids() -> frozenset[str]:
    """Return the ids of the checks that block a step."""
    return _blocking_ids(registry.SUITES)


@cache
def _blocking_ids(suites: tuple[Suite, ...]) -> frozenset[str]:
    return frozenset(each.id for each in _catalogue(suites) for one in each.variants if one.check.blocks)


def blocks(finding: Finding) -> bool:
    """Return whether the finding, new or stored, blocks its step."""
    return finding.severity is Severity.ERROR and finding.id in blocking_ids()


def trust_left(finding: Finding) -> Trust:
    """Return the trust that a finding before or during the trials, new or stored, leaves of a result."""
    return _trusts(registry.SUITES).get(finding.id) or trust_of(finding.severity)


@cache
def _trusts(suites: tuple[Suite, ...]) -> dict[str, Trust]:
    """Return the trust that a check's findings leave whatever their severity, by id; the lowest of its wordings."""
    found = {each.id: [one.check.trust_left for one in each.variants] for each in _catalogue(suites)}
    return {check: worst(tuple(filter(None, levels))) for check, levels in found.items() if all(levels)}


def of_starts() -> frozenset[str]:
    """Return the ids of the checks that concern the start and the cost of a run, not its result."""
    return frozenset(
        each.id for each in catalogue() if all(one.check.blocks or not one.check.of_result for one in each.variants)
    )


def before_ids() -> frozenset[str]:
    """Return the ids of the pre-run checks."""
    return frozenset(each.id for each in catalogue() if each.when == CheckPhase.BEFORE.value)


def entry(check_id: str) -> CatalogueEntry:
    """Return the entry of a check; raise UnknownCheckError if it does not exist."""
    for found in catalogue():
        if found.id == check_id:
            return found
    raise UnknownCheckError(f"Unknown check “{check_id[:60]}”.", "List them with: benchwright checks")


def _all(suites: Iterable[Suite]) -> Iterator[tuple[str, str, AnyCheck]]:
    for family, checks in TOPICS:
        for check in checks:
            yield family, "", check
    for suite in suites:
        for check in (*suite.checks, *suite.volume_checks):
            yield suite.title, suite.id, check


def _with(variants: Iterable[CheckVariant], check: AnyCheck, suite: str) -> Iterator[CheckVariant]:
    """Yield `variants` with `suite` added to the one equal to that of `check`, or to a new one."""
    own = (suite,) if suite else ()
    new = True
    for each in variants:
        if _text(each.check) == _text(check):
            new = False
            yield CheckVariant(each.check, tuple(dict.fromkeys((*each.suites, *own))))
        else:
            yield each
    if new:
        yield CheckVariant(check, own)


def _text(check: AnyCheck) -> tuple[str, ...]:
    return (check.title, check.severity.value, check.why, check.remedy, check.source, check.needs)


def page(found: CatalogueEntry) -> str:
    """Return the help page of one entry, in Markdown."""
    parts = [f"# {found.title}", f"`{found.id}`, checked {_when(found.when)}{_where(found)}."]
    several = len(found.variants) > 1
    for each in found.variants:
        if several:
            parts.append(f"## {each.check.title}: {', '.join(each.suites) or 'every test'}")
        parts.extend(_lines(each.check))
    parts.append("[All checks](checks.md)")
    return "\n\n".join(parts) + "\n"


def _lines(check: AnyCheck) -> list[str]:
    fields = {
        "Severity": f"{check.severity.value}, unless the evidence raises or lowers it",
        "Why": check.why,
        "Remedy": check.remedy,
        "Needs": check.needs,
        "Source": check.source,
    }
    return [f"**{name}:** {text.rstrip('.')}." for name, text in fields.items() if text]


def _when(when: str) -> str:
    return {"before": "before the run", "during": "during the trial"}.get(when, "after the trial")


def _where(found: CatalogueEntry) -> str:
    return f" (only for {', '.join(found.suites)})" if found.suites else ""


_OPENING = (
    "All checks before, during and after a run. A check without evidence is listed as not checked, with the reason. "
    "On the command line: `benchwright checks`, `benchwright checks ID`."
)


def overview() -> str:
    """Return the help page that lists every check with a link to its page, in Markdown."""
    parts = ["# Checks", _OPENING]
    family = None
    for found in catalogue():
        if found.family != family:
            family = found.family
            parts.append(f"\n## {family}\n")
        parts.append(f"- [{found.title}](check-{found.id}.md) ({found.severity.value}, {found.when}) `{found.id}`")
    return "\n".join(parts) + "\n"


publish(CatalogueEntry, "id level=severity when title family suites wordings=variants")
publish(
    CheckVariant,
    "level=check.severity title=check.title why=check.why remedy=check.remedy needs=check.needs source=check.source "
    "suites",
)
