"""What a person does about findings of a plan or a run: makes the change of a remedy, or acknowledges a finding."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.plans.plan import Plan, PlanError, Step, make_step
from app.plans.plan_remarks import LONGEST, Acknowledged, Remedied, with_reason, with_remedied
from suites.vocab import Finding, Level


def apply_remedy(plan: Plan, finding: Finding) -> Plan:
    """Return `plan` with the finding's changes made to its step, and noted down in it."""
    if not finding.changes or finding.step is None:
        return plan
    old = plan.step(finding.step)
    new = make_step(old.suite_id, {**old.values, **finding.changes}, name=old.name, peer=old.peer)
    steps = tuple(new if step.name == old.name else step for step in plan.steps)
    changed = with_remedied(plan.changed, _differences(old, new, finding.id))
    return replace(plan, steps=steps, changed=changed)


def _differences(old: Step, new: Step, finding: str) -> Iterator[Remedied]:
    for parameter in old.suite.parameters:
        before, after = old.values[parameter.name], new.values[parameter.name]
        if before != after:
            yield Remedied(finding, old.name, parameter.name, parameter.format(before), parameter.format(after))


def still_changed(steps: Sequence[Step], changed: Sequence[Remedied]) -> tuple[Remedied, ...]:
    """Return those of `changed` whose value still stands in its step: nobody has written something else since."""
    return tuple(
        each
        for each in changed
        for step in steps
        for parameter in step.suite.parameters
        if step.name == each.step
        and parameter.name == each.parameter
        and parameter.format(step.values[parameter.name]) == each.after
    )


def acknowledge(plan: Plan, findings: Sequence[Finding], given: Acknowledged, *, of: str = "plan") -> Plan:
    """Return `plan` with a finding acknowledged, or with what was said of it taken back where there is no reason.

    `findings` are those of the plan, or of what else `of` names. Raises PlanError where none of them is meant, where
    it is an error: those cannot be acknowledged away, and where the reason is no line of text.
    """
    if len(given.reason) > LONGEST or not given.reason.isprintable():
        raise PlanError(f"The reason is no line of at most {LONGEST} characters.", "Say in one line why it may stand.")
    same = [found for found in findings if found.id == given.finding and given.step in {None, found.step}]
    if given.reason and not any(given.covers(found) for found in same):
        if any(found.level is Level.ERROR for found in same):
            raise PlanError(f"“{given.finding}” is an error here: it cannot be acknowledged away.", f"{same[0].remedy}")
        where = f"of this {of}" if given.step is None else f"of the step {given.step}"
        raise PlanError(
            f"No finding {where} is “{given.finding[:60]}”.", f"There are {_ids(findings)}." if findings else ""
        )
    return replace(plan, acknowledged=with_reason(plan.acknowledged, given))


def acknowledge_of_run(plan: Plan, findings: Sequence[Finding], given: Acknowledged) -> Plan:
    """Return the plan of a run that is stored, with one of its findings acknowledged, or taken back.

    Raises PlanError as acknowledge() does, where the run has no such step, and where nothing is there to take back.
    """
    if given.step is not None:
        plan.step(given.step)
    answered = acknowledge(plan, findings, given, of="run")
    if not given.reason and answered.acknowledged == plan.acknowledged:
        said = ", ".join(dict.fromkeys(each.finding for each in plan.acknowledged))
        raise PlanError(
            f"“{given.finding[:60]}” is not acknowledged in this run.",
            f"Acknowledged are {said}." if said else "Nothing is acknowledged in it.",
        )
    return answered


def _ids(findings: Sequence[Finding]) -> str:
    return ", ".join(dict.fromkeys(found.id for found in findings))


def changes_text(plan: Plan) -> list[str]:
    """Return in words what remedies changed in `plan`, a line for each value."""
    return [
        f"{each.step}: {each.parameter} {each.before or 'empty'} → {each.after or 'empty'} ({each.finding})"
        for each in plan.changed
    ]


def remarks_text(plan: Plan) -> list[str]:
    """Return in words what remedies changed in `plan`, and which findings are acknowledged, a line for each."""
    changed = [f"Changed by a finding: {line}" for line in changes_text(plan)]
    return [
        *changed,
        *(f"Acknowledged: {each.finding} ({each.step or 'every step'}): {each.reason}" for each in plan.acknowledged),
    ]
