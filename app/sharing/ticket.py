"""Text for a ticket, a forum or a pull request: results, limit, what was excluded, and the commands, in Markdown."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from app.checks import cpu, disk, host, network, timing
from app.checks.limits import LIMITED_BY
from app.checks.limits.judge import hypotheses_of, limiter_text
from app.markdown import code, escaped, table
from app.plans.plan import Step, host_label
from app.records import RunRecord, SampleSeries
from app.sharing.run_content import RESULT_HEAD, RESULT_RIGHT, command_lines, result_cells
from app.sharing.standing import Standing
from app.step_results import basis_text, host_lines, step_results
from app.verdict.listing import listed, without_repetitions
from app.verdict.steps import step_verdict
from app.verdict.stored import Telemetry, evidence_of
from suites.errors import BenchwrightError
from suites.evidence import StepOutcomeEvidence
from suites.quantities import first_upper, share_text
from suites.vocab import Finding, Resource, Severity

MOST_RESULTS = 12
MOST_FINDINGS = 4
MOST_COMMANDS = 8
MOST_CHECKS = 12
MOST_STANDINGS = 6
"""What fits on a screen."""


def ticket_text(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry, standings: Sequence[Standing] = ()
) -> str:
    """Return the results of a run as Markdown on one screen, with its rank and a reproducer."""
    lines = [f"### {escaped(record.title)}", ""]
    if record.plan.question:
        lines += [escaped(record.plan.question), ""]
    if record.ending:
        lines += [f"**{escaped(record.ending)}**", ""]
    lines += [*_results(record), ""]
    lines += [f"- {one}" for one in _standings(record, standings)]
    found = listed(record)
    lines += [f"- **{first_upper(one.title)}**: {escaped(one.measured)}" for one in _objections(found)]
    for step, name, evidence in _evidence(record, samples, telemetry):
        where = f"{step.name}, {host_label(name)}" if len(record.plan.steps) * len(record.plan.hosts) > 1 else ""
        lines += [f"- {line}" for line in _causes(found, step, name, evidence, escaped(where))]
    lines += [f"- {escaped(line)}" for line in host_lines(record)]
    return "\n".join([*lines, "", *_reproducer(record), "", escaped(basis_text(record)), ""])


def _results(record: RunRecord) -> Iterator[str]:
    results = step_results(record)
    yield from table(RESULT_HEAD, map(result_cells, results[:MOST_RESULTS]), RESULT_RIGHT)
    if len(results) > MOST_RESULTS:
        yield f"\n{len(results) - MOST_RESULTS} more results are in the report."


def _standings(record: RunRecord, standings: Sequence[Standing]) -> Iterator[str]:
    several = len(record.plan.steps) * len(record.plan.hosts) > 1
    for one in standings[:MOST_STANDINGS]:
        where = f"{record.plan.steps[one.step].name}, {host_label(record.plan.hosts[one.host])}: " if several else ""
        yield escaped(f"{where}{one.text}")


def _objections(found: Sequence[Finding]) -> list[Finding]:
    """Return the most severe findings that lower the trust in the results."""
    severe = [one for one in without_repetitions(found) if one.severity is not Severity.INFO]
    return sorted(severe, key=lambda one: -one.severity.rank)[:MOST_FINDINGS]


def _evidence(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry
) -> Iterator[tuple[Step, str, StepOutcomeEvidence]]:
    """Yield the evidence of the steps with results; suites of other versions are unknown."""
    for step in record.plan.steps:
        for name in record.plan.hosts:
            with suppress(BenchwrightError):
                evidence = evidence_of(record, samples, telemetry, step, name)
                if evidence.done:
                    yield step, name, evidence


def _causes(
    found: Sequence[Finding], step: Step, name: str, evidence: StepOutcomeEvidence, where: str
) -> Iterator[str]:
    """Yield the limit with its evidence, the limits that were not reached, and the checks that found nothing."""
    prefix = f"{where}: " if where else ""
    named = [one for one in found if (one.id, one.step, one.host) == (LIMITED_BY.id, step.name, name)]
    for one in named[-1:]:
        yield f"**Limit**: {prefix}{escaped(one.measured)}"
    limits = dict.fromkeys(
        f"{limiter_text(each.limiter)} ({'; '.join((share_text(each.used), *each.against))})"
        for each in hypotheses_of(evidence.done[-1])
        if each.used is not None and not each.explains
    )
    if limits:
        yield f"**Not the limit**: {prefix}{escaped(', '.join(limits))}."
    verdict = step_verdict(evidence)
    raised = {one.id for one in (*verdict.verdict.findings, *(one.finding for one in verdict.found), *found)}
    checks = {check.id: check.title for check in (*_COMMON, *_BY_RESOURCE.get(step.suite.resource, ()))}
    if not timing.by_rounds(evidence.done[-1]):
        del checks[timing.ROUNDS_CHECK.id]
    unchecked = [checks[check] for check, _ in verdict.not_checked if check in checks]
    clean = [title for check, title in checks.items() if check not in raised and title not in unchecked]
    for head, titles in (("Checked, not found", clean), ("Not checked", unchecked)):
        if titles:
            more = f" and {len(titles) - MOST_CHECKS} more" if len(titles) > MOST_CHECKS else ""
            yield f"**{head}**: {prefix}{escaped(', '.join(titles[:MOST_CHECKS]))}{more}."


_COMMON = (*cpu.TRIAL_CHECKS, *host.TRIAL_CHECKS, *timing.TRIAL_CHECKS)
_BY_RESOURCE = {Resource.DISK: disk.TRIAL_CHECKS, Resource.NETWORK: network.TRIAL_CHECKS}
"""Checks of causes other than the tested resource, and of that."""


def _reproducer(record: RunRecord) -> list[str]:
    """Return the distinct commands with the versions of their tools, in a block of code."""
    lines = command_lines(record)
    commands = [line for line in lines if not line.startswith("#")]
    if len(commands) > MOST_COMMANDS:
        last = lines.index(commands[MOST_COMMANDS])
        lines = [*lines[:last], f"# and {len(commands) - MOST_COMMANDS} more commands"]
    return code(lines, "sh")
