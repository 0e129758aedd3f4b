"""Responses to findings of a plan or a run: apply a remedy, or acknowledge the finding."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.plans.plan import Plan, PlanError, Step, make_step, value_tables, value_text
from app.plans.plan_names import named_after
from app.plans.plan_remarks import LONGEST, Acknowledged, RemediedValue, with_reason, with_remedied
from suites.vocab import Finding, Severity


def apply_remedy(plan: Plan, finding: Finding) -> Plan:
    """Return `plan` with the finding's changes applied to its step and recorded in `changed`."""
    if not finding.changes or finding.step is None:
        return plan
    old = plan.step(finding.step)
    tables = value_tables(old)
    own = {name: {**tables[name], finding.host: value} for name, value in finding.changes.items() if name in tables}
    given = {**old.values, **tables, **finding.changes, **own}
    new = make_step(old.suite_id, given, name=old.name, peer=old.peer)
    steps = tuple(new if step.name == old.name else step for step in plan.steps)
    changed = with_remedied(plan.changed, _differences(old, new, finding.id))
    return named_after(replace(plan, steps=steps, changed=changed), plan)


def apply_remedies(plan: Plan, findings: Iterable[Finding]) -> Plan:
    """Return `plan` with the changes of all `findings`, in order; a value that an earlier one has changed stays."""
    made: set[tuple[str | None, str]] = set()
    for finding in findings:
        changes = {name: value for name, value in finding.changes.items() if (finding.step, name) not in made}
        made |= {(finding.step, name) for name in changes}
        plan = apply_remedy(plan, replace(finding, changes=changes))
    return plan


def _differences(old: Step, new: Step, finding: str) -> Iterator[RemediedValue]:
    for parameter in old.suite.parameters:
        before, after = value_text(old, parameter), value_text(new, parameter)
        if before != after:
            yield RemediedValue(finding, old.name, parameter.name, before, after)


def still_changed(steps: Sequence[Step], changed: Sequence[RemediedValue]) -> tuple[RemediedValue, ...]:
    """Return those of `changed` whose step still has the changed value."""
    return tuple(
        each
        for each in changed
        for step in steps
        for parameter in step.suite.parameters
        if step.name == each.step and parameter.name == each.parameter and value_text(step, parameter) == each.after
    )


def acknowledge(plan: Plan, findings: Sequence[Finding], given: Acknowledged, *, of: str = "plan") -> Plan:
    """Return `plan` with a finding acknowledged; an empty reason withdraws the acknowledgement.

    `findings` are those of the plan, or of the object that `of` names. Raises PlanError if none of them matches, if it
    is an error, or if the reason is not one line of at most LONGEST characters.
    """
    if len(given.reason) > LONGEST or not given.reason.isprintable():
        raise PlanError(f"The reason is not one line of at most {LONGEST} characters.", "Shorten it to one line.")
    same = [found for found in findings if found.id == given.finding and given.step in {None, found.step}]
    if given.reason and not any(given.covers(found) for found in same):
        if any(found.severity is Severity.ERROR for found in same):
            raise PlanError(f"“{given.finding}” is an error: it cannot be acknowledged.", same[0].remedy)
        where = f"This {of}" if given.step is None else f"The step {given.step}"
        raise PlanError(
            f"{where} has no finding “{given.finding[:60]}”.", f"Findings: {_ids(findings)}." if findings else ""
        )
    return replace(plan, acknowledged=with_reason(plan.acknowledged, given))


def acknowledge_of_run(plan: Plan, findings: Sequence[Finding], given: Sequence[Acknowledged]) -> Plan:
    """Return the plan of a stored run with findings of it acknowledged, or that withdrawn.

    Raises PlanError as acknowledge() does, and for an unknown step or an acknowledgement that does not exist.
    """
    all_answered = with_reasons(plan, given)
    for one in given:
        if one.step is not None:
            plan.step(one.step)
        answered = acknowledge(plan, findings, one, of="run")
        if not one.reason and answered.acknowledged == plan.acknowledged:
            known = ", ".join(dict.fromkeys(each.finding for each in all_answered.acknowledged))
            raise PlanError(
                f"“{one.finding[:60]}” is not acknowledged in this run.", f"Acknowledged: {known}." if known else ""
            )
    return all_answered


def with_reasons(plan: Plan, given: Sequence[Acknowledged]) -> Plan:
    """Return `plan` with `given` acknowledged; entries without a reason withdraw theirs."""
    for each in given:
        plan = replace(plan, acknowledged=with_reason(plan.acknowledged, each))
    return plan


def _ids(findings: Sequence[Finding]) -> str:
    return ", ".join(dict.fromkeys(found.id for found in findings))


def changes_text(plan: Plan) -> list[str]:
    """Return a line for each value of `plan` that a remedy changed."""
    return [
        f"{each.step}: {each.parameter} {each.before or 'empty'} → {each.after or 'empty'} ({each.finding})"
        for each in plan.changed
    ]


def remarks_text(plan: Plan) -> list[str]:
    """Return a line for each value that a remedy changed, and for each acknowledged finding."""
    changed = [f"Changed by a finding: {line}" for line in changes_text(plan)]
    return [
        *changed,
        *(f"Acknowledged: {each.finding} ({each.step or 'every step'}): {each.reason}" for each in plan.acknowledged),
    ]
