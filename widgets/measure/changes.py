"""What a remedy changes in a draft, in words, and how it is taken back. No Qt."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.plans.plan import Plan
from suites.errors import ParameterError
from suites.parameters import Value
from suites.vocab import Finding
from widgets.measure.draft import DraftStep, PlanDraft


@dataclass(frozen=True, slots=True)
class Change:
    """One value of one step: what stood there, what stands there now."""

    step: str
    parameter: str
    title: str
    before: str
    after: str


def describe(draft: PlanDraft, finding: Finding) -> str:
    """Return in words what applying `finding` would change: ``Threads 1 → 8``."""
    step = _step(draft, finding.step or "")
    if step is None:
        return ""
    parts = [
        _words(step, name, step.form.text(name), _text(step, name, value)) for name, value in finding.changes.items()
    ]
    return ", ".join(part for part in parts if part)


def make_changes(draft: PlanDraft, plan: Plan) -> tuple[Change, ...]:
    """Write into `draft` what `plan` has otherwise, and return it."""
    made: list[Change] = []
    for frozen in plan.steps:
        step = _step(draft, frozen.name)
        if step is None:
            continue
        for name, value in frozen.values.items():
            if step.form.parsed(name) != value:
                before = step.form.text(name)
                step.form.use(name, value)
                title = step.form.parameter(name).title
                made.append(Change(step.name, name, title, before, step.form.text(name)))
    return tuple(made)


def take_back(draft: PlanDraft, changes: Sequence[Change]) -> None:
    """Write again what stood there before `changes`, unless somebody has written something else since."""
    for change in changes:
        step = _step(draft, change.step)
        if step is not None and step.form.text(change.parameter) == change.after:
            step.form.set_text(change.parameter, change.before)


def change_words(changes: Sequence[Change]) -> str:
    """Return `changes` in a sentence."""
    by_step: dict[str, list[str]] = {}
    for change in changes:
        words = f"{change.title} {change.before or 'empty'} → {change.after or 'empty'}"
        by_step.setdefault(change.step, []).append(words)
    return "; ".join(f"{step}: {', '.join(words)}" for step, words in by_step.items())


def _step(draft: PlanDraft, name: str) -> DraftStep | None:
    return next((step for step in draft.steps if step.name == name), None)


def _text(step: DraftStep, name: str, value: object) -> str:
    parameter = next((known for known in step.suite.parameters if known.name == name), None)
    if parameter is None:
        return str(value)
    try:
        parsed: Value = parameter.parse(value)
    except ParameterError:
        return str(value)
    return parameter.format(parsed)


def _words(step: DraftStep, name: str, before: str, after: str) -> str:
    parameter = next((known for known in step.suite.parameters if known.name == name), None)
    return "" if parameter is None else f"{parameter.title} {before or 'empty'} → {after or 'empty'}"
