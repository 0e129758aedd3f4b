"""The parts of a plan that need consent: steps with effects of their own, and changes of the hosts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from app.plans.context import step_context
from app.plans.plan import Plan, Step
from app.plans.tuning import setting_command, setting_title, tuning_values
from remote.tuning import DROP_CACHES
from suites.base import Effect, EffectKind, effects_of
from suites.parameters import Type


@dataclass(frozen=True, slots=True)
class Part:
    """A step, or the tuning, with what it does to the hosts of the plan.

    `content` is everything that decides what is done, as JSON. `name` is the step's, empty for the tuning. `texts` are
    those of several lines in it, which nobody types: whoever made the plan has them from a file, or from a preset.
    """

    name: str
    content: str
    effects: tuple[Effect, ...]
    peer: str | None = None
    texts: tuple[str, ...] = ()


def parts_of(plan: Plan) -> tuple[Part, ...]:
    """Return the parts of `plan` that need consent; none of a plan that only runs benchmark tools."""
    return (*_steps(plan), *_tuning(plan))


def _steps(plan: Plan) -> Iterator[Part]:
    for step in plan.steps:
        # Nothing is known of a host yet, and nothing has to be: what a host reports decides no effect.
        effects = effects_of(step.suite, step.whole_values(), step_context(step, plan.hosts[0], {}))
        if effects:
            yield Part(step.name, _content(step), effects, step.peer, texts_of(step))


def _content(step: Step) -> str:
    """Return the suite and the values that are not its tool's own: a parameter that a later version adds is none."""
    values, known = step.whole_values(), step.suite.parameters
    given = {each.name: values[each.name] for each in known if values[each.name] != each.default}
    return json.dumps({"suite": step.suite_id, "values": given}, sort_keys=True)


def texts_of(step: Step) -> tuple[str, ...]:
    """Return the texts of several lines that are given to `step`."""
    values = step.whole_values()
    lines = [each.name for each in step.suite.parameters if each.type is Type.LINES]
    return tuple(str(values[name]) for name in lines if values[name])


def _tuning(plan: Plan) -> Iterator[Part]:
    tuning = plan.tuning
    put_back = "as root, before the first trial; put back after the last"
    effects = [
        Effect(EffectKind.CHANGES, setting_command(setting), f"{setting_title(setting)}, {put_back}")
        for setting in tuning.settings
    ]
    if tuning.drop_caches:
        effects.append(Effect(EffectKind.CHANGES, DROP_CACHES, "page cache, as root, before each trial"))
    if effects:
        yield Part("", json.dumps({"tuning": tuning_values(tuning)}, sort_keys=True), tuple(effects))
