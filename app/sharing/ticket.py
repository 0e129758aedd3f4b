"""Text for a ticket, a forum or a pull request: results, limit, what was excluded, and the commands, in Markdown."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from app.checks import cpu, disk, host, network, timing
from app.checks.limits import LIMITED_BY
from app.checks.limits.judge import limiter_text, unexplaining
from app.markdown import code, escaped, table
from app.plans.plan import Step, host_label
from app.records import RunRecord, SampleSeries
from app.sharing.markdown_report import own_text
from app.sharing.run_content import RESULT_HEAD, RESULT_RIGHT, command_lines, result_cells
from app.sharing.standing import Standing
from app.step_results import basis_text, host_lines, step_results
from app.verdict.listing import listed, without_repetitions
from app.verdict.steps import counted_trials, step_verdict
from app.verdict.stored import Telemetry, evidence_of
from suites.errors import BenchwrightError
from suites.evidence import StepOutcomeEvidence
from suites.quantities import count_text, first_upper
from suites.vocab import Finding, Resource, Severity

MOST_RESULTS = 12
MOST_FINDINGS = 4
MOST_COMMANDS = 8
MOST_CHECKS = 12
MOST_STANDINGS = 6
MOST_CAUSES = 6
MOST_HOSTS = 6
"""What fits on a screen; the rest is counted."""


def ticket_text(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry, standings: Sequence[Standing] = ()
) -> str:
    """Return the results of a run as Markdown on one screen, with its rank and a reproducer."""
    lines = [f"### {escaped(record.title)}", ""]
    if record.plan.question:
        lines += [escaped(record.plan.question), ""]
    for text in filter(None, own_text(record.note, record.tags_text)):
        lines += [text, ""]
    if record.ending:
        lines += [f"**{escaped(record.ending)}**", ""]
    lines += [*_results(record), ""]
    found = listed(record)
    severe = [one for one in without_repetitions(found) if one.severity is not Severity.INFO]
    reasons = [each for one in record.verdicts if one.step is not None for each in enumerate(one.findings)]
    first = {(one.id, one.step, one.host): number for number, one in reversed(reasons)}
    severe.sort(key=lambda one: (-one.severity.rank, first.get((one.id, one.step, one.host), len(reasons))))
    lines += _items([_standing(record, one) for one in standings], MOST_STANDINGS, "rank or change")
    lines += _items([_objection(record, one) for one in severe], MOST_FINDINGS, "finding")
    evidence = list(_evidence(record, samples, telemetry))
    for step, name, one in evidence[:MOST_CAUSES]:
        lines += [f"- {line}" for line in _causes(record, found, step, name, one)]
    lines += _more(len(evidence) - MOST_CAUSES, "test")
    lines += _items([escaped(line) for line in host_lines(record)], MOST_HOSTS, "host")
    return "\n".join([*lines, "", *_reproducer(record), "", escaped(basis_text(record)), ""])


def _items(found: Sequence[str], most: int, what: str) -> Iterator[str]:
    """Yield the first `most` texts as a list, and the number of the others."""
    yield from (f"- {one}" for one in found[:most])
    yield from _more(len(found) - most, what)


def _more(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"- And {count_text(count, f'more {what}')}."


def _place(record: RunRecord, step: str | None, host: str | None) -> str:
    """Return step and host before a text on them, if the run has several; empty for one on the whole run."""
    several = len(record.plan.steps) * len(record.plan.hosts) > 1
    names = ", ".join(filter(None, (step, host and host_label(host)))) if several else ""
    return f"{names}: " if names else ""


def _results(record: RunRecord) -> Iterator[str]:
    results = step_results(record)
    yield from table(RESULT_HEAD, map(result_cells, results[:MOST_RESULTS]), RESULT_RIGHT)
    if len(results) > MOST_RESULTS:
        yield f"\n{len(results) - MOST_RESULTS} more results are in the report."


def _standing(record: RunRecord, one: Standing) -> str:
    return escaped(f"{_place(record, record.plan.steps[one.step].name, record.plan.hosts[one.host])}{one.text}")


def _objection(record: RunRecord, one: Finding) -> str:
    """Return a finding that lowers the trust in the results."""
    return f"**{first_upper(one.title)}**: {escaped(f'{_place(record, one.step, one.host)}{one.measured}')}"


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
    record: RunRecord, found: Sequence[Finding], step: Step, name: str, evidence: StepOutcomeEvidence
) -> Iterator[str]:
    """Yield the limit with its evidence, the limits that were not reached, and the checks that found nothing."""
    prefix = escaped(_place(record, step.name, name))
    prefix += " " if prefix else ""
    named = [one for one in found if (one.id, one.step, one.host) == (LIMITED_BY.id, step.name, name)]
    for one in named[-1:]:
        yield f"**Limit**: {prefix}{escaped(one.measured)}"
    given = record.verdict_on(step.name, name)
    below, objected = list[str](), list[str]()
    for each in unexplaining(counted_trials(evidence.done)):
        if given is None or each.limiter is not given.limited_by:
            reached = each.used is not None and each.used >= each.enough
            text = "; ".join(each.against) if reached else each.counter
            (objected if reached else below).append(f"{limiter_text(each.limiter)} ({text})")
    for head, texts in (("Not the limit", below), ("Not shown to be the limit", objected)):
        if texts:
            yield f"**{head}**: {prefix}{escaped(', '.join(texts))}."
    verdict = step_verdict(evidence)
    raised = {one.id for one in (*verdict.verdict.findings, *(one.finding for one in verdict.found), *found)}
    checks = {check.id: check.title for check in (*_COMMON, *_BY_RESOURCE.get(step.suite.resource, ()))}
    if not any(map(timing.by_rounds, evidence.done)):
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
