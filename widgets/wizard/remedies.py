"""Apply a remedy's values to a draft, describe the changes and undo them. No Qt."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.plans.plan import Plan
from suites.errors import ParameterError
from suites.parameters import Parameter
from suites.vocab import Finding
from widgets.wizard.draft import PLACE_AT, DraftStep, PlanDraft


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value of one step before and after a remedy, as text."""

    step: DraftStep
    parameter: str
    title: str
    before: str
    after: str


def describe(draft: PlanDraft, finding: Finding) -> str:
    """Return the changes that applying `finding` would make: ``Threads 1 → 8``."""
    step = _step(draft, finding.step or "")
    if step is None:
        return ""
    parameters = {parameter.name: parameter for parameter in step.suite.parameters}
    own = {name: f"{name}{PLACE_AT}{finding.host}" for name in step.own_places()}
    before = {
        name: step.form_of(key).text(key)
        for name in finding.changes
        if name in parameters
        for key in [own.get(name, name)]
    }
    return ", ".join(
        _change_text(parameters[name].title, text, _text(parameters[name], finding.changes[name]))
        for name, text in before.items()
    )


def make_changes(draft: PlanDraft, plan: Plan) -> tuple[ValueChange, ...]:
    """Write the values of `plan` that differ into `draft`, and return these changes."""
    made: list[ValueChange] = []
    for frozen in plan.steps:
        step = _step(draft, frozen.name)
        if step is None:
            continue
        shared = {
            name: value for name, value in frozen.values.items() if len(frozen.by_host.get(name, ())) < len(plan.hosts)
        }
        own = {f"{name}{PLACE_AT}{at}": one for name, values in frozen.by_host.items() for at, one in values.items()}
        for name, value in (shared | own).items():
            form = step.form_of(name)
            if form.parsed(name) != value:
                before = form.text(name)
                form.use(name, value)
                made.append(ValueChange(step, name, form.parameter(name).title, before, form.text(name)))
    return tuple(made)


def undo_changes(draft: PlanDraft, changes: Sequence[ValueChange]) -> None:
    """Undo `changes`, except of values that were edited and tests that were replaced or removed since."""
    for change in changes:
        name = change.parameter
        form = change.step.form_of(name)
        known = change.step in draft.steps and name in form.values()
        if known and form.text(name) == change.after:
            form.set_text(name, change.before)


def changes_text(changes: Sequence[ValueChange]) -> str:
    """Return `changes` grouped by step: ``fio: Threads 1 → 8, Runtime 4 s → 30 s``."""
    by_step: dict[str, list[str]] = {}
    for change in changes:
        by_step.setdefault(change.step.name, []).append(_change_text(change.title, change.before, change.after))
    return "; ".join(f"{step}: {', '.join(texts)}" for step, texts in by_step.items())


def _step(draft: PlanDraft, name: str) -> DraftStep | None:
    return next((step for step in draft.steps if step.name == name), None)


def _text(parameter: Parameter, value: object) -> str:
    try:
        return parameter.format(parameter.parse(value))
    except ParameterError:
        return str(value)


def _change_text(title: str, before: str, after: str) -> str:
    return f"{title} {before or 'empty'} → {after or 'empty'}"
