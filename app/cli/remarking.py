"""Answers to findings: --apply and --acknowledge before a plan runs, and “acknowledge” for a run that is stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from app.cli.common import json_option, pass_workstation, plain, print_json, speaks_to_people
from app.formats import remarks_to_json
from app.plans.plan import Plan, PlanError
from app.plans.plan_changes import acknowledge, apply_remedy, changes_text
from app.plans.plan_remarks import LONGEST, Acknowledged
from app.services import Workstation
from suites.facts import Facts
from suites.vocab import Finding, Level

EVERY = "all"

MOST_CHANGES = 50
"""Remedies that “all” applies at most."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What is to become of the findings of a plan: ids whose remedies are applied, and reasons to let others stand."""

    apply: tuple[str, ...] = ()
    acknowledge: tuple[str, ...] = ()  # as they are written: ID=REASON

    def __bool__(self) -> bool:
        """Whether anything is asked for at all."""
        return bool(self.apply or self.acknowledge)


def answers_findings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options --apply and --acknowledge, and `answers` made of them."""

    @click.option(
        "--apply",
        "remedies",
        multiple=True,
        metavar="ID",
        help="Make the change of this finding’s remedy; “all”: of every warning and error. May be given again.",
    )
    @click.option(
        "--acknowledge",
        "reasons",
        multiple=True,
        metavar="ID=REASON",
        help="Let this finding stand, and say why; the reason stands in every report. May be given again.",
    )
    @wraps(command)
    def answering(*arguments: Any, remedies: tuple[str, ...], reasons: tuple[str, ...], **named: Any) -> None:
        command(*arguments, answers=Answers(remedies, reasons), **named)

    return answering


def _reason(text: str) -> tuple[str, str]:
    finding, _, reason = text.partition("=")
    if not finding.strip() or not reason.strip() or not text.isprintable() or len(text) > LONGEST:
        raise PlanError(
            f"“{text[:60]}” is not ID=REASON.", "Write --acknowledge few-trials='a first look', for example."
        )
    return finding.strip(), reason.strip()


@click.command("acknowledge")
@click.argument("run")
@click.argument("reasons", nargs=-1, required=True, metavar="ID=REASON...")
@click.option("--step", metavar="NAME", help="Only where this step raised it, not wherever it was raised.")
@json_option
@pass_workstation
@speaks_to_people
def acknowledge_run(
    workstation: Workstation, run: str, reasons: tuple[str, ...], step: str | None, *, as_json: bool
) -> None:
    """Let a finding of a stored RUN stand, and say why; an empty reason (ID=) takes it back. Errors stay."""
    given = [_of_run(text, step) for text in reasons]
    record = workstation.acknowledge(run, given)
    if as_json:
        told = remarks_to_json(record.plan, record.findings)["acknowledged"]
        print_json({"run": record.summary.id, "acknowledged": told})
        return
    for each in given:
        where = "" if each.step is None else f" ({each.step})"
        said = f"Acknowledged: {each.finding}{where}: {each.reason}"
        click.echo(plain(said if each.reason else f"No longer acknowledged: {each.finding}{where}"))


def _of_run(text: str, step: str | None) -> Acknowledged:
    finding, stands, reason = text.partition("=")
    if not finding.strip() or not stands:
        raise PlanError(
            f"“{text[:60]}” is not ID=REASON.", "Write noisy='the nightly backup', or noisy= to take it back."
        )
    return Acknowledged(finding.strip(), reason.strip(), step)


def answered(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts], answers: Answers) -> Plan:
    """Return `plan` with its findings answered; raise PlanError for one that is not there or has no change to make."""
    reasons = [_reason(text) for text in answers.acknowledge]
    plan = _applied(workstation, plan, facts, answers.apply)
    findings = workstation.check(plan, facts) if reasons else []
    for finding, reason in reasons:
        plan = acknowledge(plan, findings, Acknowledged(finding, reason))
    return plan


def _applied(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts], wanted: tuple[str, ...]) -> Plan:
    findings = workstation.check(plan, facts) if wanted else []
    for finding in findings:
        if finding.id in wanted:
            plan = apply_remedy(plan, finding)
    for name in wanted:
        if name != EVERY and not any(found.id == name and found.changes for found in findings):
            raise _no_change(name, findings)
    return _every_remedy(workstation, plan, facts) if EVERY in wanted else plan


def _every_remedy(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts]) -> Plan:
    """Return `plan` with the change of every warning and error made, one after the other, each checked anew.

    Two remedies that undo each other end it. Notes are left alone: they say what a figure is, not that it is wrong.
    """
    seen = {plan.hash()}
    for _ in range(MOST_CHANGES):
        offered = (apply_remedy(plan, found) for found in workstation.check(plan, facts) if _grave(found))
        new = next((changed for changed in offered if changed.hash() not in seen), None)
        if new is None:
            break
        plan = new
        seen.add(plan.hash())
    return plan


def _grave(finding: Finding) -> bool:
    return bool(finding.changes) and finding.level is not Level.INFO


def _no_change(name: str, findings: Sequence[Finding]) -> PlanError:
    if any(found.id == name for found in findings):
        return PlanError(
            f"“{name}” has no change that could be made for you.", "Read its remedy with “benchwright check”."
        )
    offered = ", ".join(dict.fromkeys(found.id for found in findings if found.changes))
    return PlanError(
        f"No finding of this plan is “{name[:60]}”.", f"Changes are offered by {offered}." if offered else ""
    )


def say_changes(plan: Plan) -> None:
    """Say on standard error what remedies changed."""
    for line in changes_text(plan):
        click.echo(plain(f"Changed: {line}"), err=True)
