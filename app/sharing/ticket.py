"""Text for a ticket, a forum or a pull request: results, limit, what was excluded, and the commands, in Markdown."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from app.checks import cpu, disk, host, network, timing
from app.checks.limits import LIMITED_BY
from app.checks.limits.judge import hypotheses_of, limiter_text
from app.plans.plan import Step, host_label
from app.records import RunRecord, SampleSeries
from app.sharing.markdown import code_block
from app.sharing.markdown import escaped_markdown as _escaped
from app.step_results import basis_text, host_lines, step_results
from app.verdict.listing import listed, without_repetitions
from app.verdict.steps import step_verdict
from app.verdict.stored import Telemetry, evidence_of
from suites.base import Purpose
from suites.errors import BenchwrightError
from suites.evidence import StepOutcomeEvidence
from suites.quantities import first_upper, share_text
from suites.vocab import Finding, Resource, Severity

MOST_RESULTS = 12
MOST_FINDINGS = 4
MOST_COMMANDS = 8
MOST_CHECKS = 12
"""What fits on a screen."""


def ticket_text(record: RunRecord, samples: SampleSeries, telemetry: Telemetry) -> str:
    """Return the results of a run as Markdown on one screen, with a reproducer."""
    lines = [f"### {_escaped(first_upper(record.plan.name))}", ""]
    if record.plan.question:
        lines += [_escaped(record.plan.question), ""]
    if record.ending:
        lines += [f"**{_escaped(record.ending)}**", ""]
    lines += [*_results(record), ""]
    found = listed(record)
    lines += [f"- **{first_upper(one.title)}**: {_escaped(one.measured)}" for one in _objections(found)]
    for step, name, evidence in _evidence(record, samples, telemetry):
        where = f"{step.name}, {host_label(name)}" if len(record.plan.steps) * len(record.plan.hosts) > 1 else ""
        lines += [f"- {line}" for line in _causes(found, step, name, evidence, _escaped(where))]
    lines += [f"- {_escaped(line)}" for line in host_lines(record)]
    return "\n".join([*lines, "", *_reproducer(record), "", _escaped(basis_text(record)), ""])


def _results(record: RunRecord) -> Iterator[str]:
    yield "| Test | Host | Metric | Value | 95 % interval | n | Verdict |"
    yield "|---|---|---|---:|---:|---:|---|"
    results = step_results(record)
    for one in results[:MOST_RESULTS]:
        value = f"{one.figure} ({one.detail})" if one.detail else one.figure
        cells = (one.step, host_label(one.host), one.metric, value, one.interval or "none", one.n, one.judgement)
        yield f"| {' | '.join(map(_escaped, cells))} |"
    if len(results) > MOST_RESULTS:
        yield f"\n{len(results) - MOST_RESULTS} more results are in the report."


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
        yield f"**Limit**: {prefix}{_escaped(one.measured)}"
    limits = dict.fromkeys(
        f"{limiter_text(each.limiter)} ({'; '.join((share_text(each.used), *each.against))})"
        for each in hypotheses_of(evidence.done[-1])
        if each.used is not None and not each.explains
    )
    if limits:
        yield f"**Not the limit**: {prefix}{_escaped(', '.join(limits))}."
    verdict = step_verdict(evidence)
    raised = {one.id for one in (*verdict.verdict.findings, *(one.finding for one in verdict.found), *found)}
    checks = {check.id: check.title for check in (*_COMMON, *_BY_RESOURCE.get(step.suite.resource, ()))}
    unchecked = [checks[check] for check, _ in verdict.not_checked if check in checks]
    clean = [title for check, title in checks.items() if check not in raised and title not in unchecked]
    for head, titles in (("Checked, not found", clean), ("Not checked", unchecked)):
        if titles:
            more = f" and {len(titles) - MOST_CHECKS} more" if len(titles) > MOST_CHECKS else ""
            yield f"**{head}**: {prefix}{_escaped(', '.join(titles[:MOST_CHECKS]))}{more}."


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
    return code_block(lines)


def command_lines(record: RunRecord) -> list[str]:
    """Return the distinct commands of each step after a comment with its name and the version of its tool."""
    return list(dict.fromkeys(_commands(record)))


def _commands(record: RunRecord) -> Iterator[str]:
    for step in record.plan.steps:
        trial = next((one.trial for one in record.trials if one.trial.step == step.name and one.trial.commands), None)
        if trial is None:
            continue
        yield f"# {step.name}{f': {trial.tool_version}' if trial.tool_version else ''}".replace("\n", " ")
        for command in trial.commands:
            if command.purpose is not Purpose.CLEAN_UP:
                yield f"{command.line}{'  # on the peer' if command.on_peer else ''}"
