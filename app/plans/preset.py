"""A preset: a question to start from, kept as a plan's file with places for what only the user can say."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.plans.context import step_context
from app.plans.plan import LOCAL, Plan, PlanError, Step, make_step
from app.plans.plan_file import plan_of
from app.plans.preset_asks import Answers, Ask, ask_of, resolved
from suites import registry
from suites.facts import Facts

ABOUT, ASK, STEP, ONLY_WITH = "preset", "ask", "step", "only_with"
"""What a preset's file has beside a plan's: a table, tables, and a key of a step."""

_KEYS = {"title", "answers", "minutes", "place", "after"}

LAST = 1000
"""The place among the others of a preset that names none."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A question that fills the wizard.

    `answers` says what one knows afterwards, `minutes` how long it takes at most, None where that depends; `place` its
    place among the others; `after` what to do with the run. `content` is the file's, less what stands here.
    """

    name: str
    title: str
    answers: str
    minutes: float | None
    place: int
    after: str
    asks: tuple[Ask, ...]
    content: Mapping[str, Any]

    @property
    def resources(self) -> tuple[str, ...]:
        """What its steps put under load, each once, in their order."""
        of = {suite.id: suite.resource.value for suite in registry.SUITES}
        return tuple(dict.fromkeys(of[step["suite"]] for step in self.content[STEP] if step["suite"] in of))


@dataclass(frozen=True, slots=True)
class Filled:
    """A preset with its answers: a plan, the parameters of each step that it sets itself, and what was left out."""

    plan: Plan
    chosen: Mapping[str, frozenset[str]]
    left_out: tuple[str, ...] = ()

    def tuned(self, facts: Mapping[str, Facts]) -> Plan:
        """Return the plan with everything tuned to its first host that the preset leaves open."""
        return replace(self.plan, steps=tuple(self._tuned(step, facts) for step in self.plan.steps))

    def _tuned(self, step: Step, facts: Mapping[str, Facts]) -> Step:
        context = step_context(step, self.plan.hosts[0], facts)
        own = {name: value for name, value in step.values.items() if name in self.chosen[step.name]}
        tuned = {name: tuned.value for name, tuned in step.suite.tune(context).items()}
        return make_step(step.suite_id, {**tuned, **own}, name=step.name, peer=step.peer)


def parse_preset(name: str, text: str) -> Preset:
    """Return the preset `name` that is written in `text`; raise PlanError where it is none."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"The preset {name} is not valid TOML: {error}.") from error
    about = content.pop(ABOUT, {})
    for key in about:
        if key not in _KEYS:
            raise PlanError(f"preset has no “{key}”.", f"It may have {', '.join(sorted(_KEYS))}.")
    return Preset(
        name=name,
        title=about.get("title", name.replace("-", " ").capitalize()),
        answers=about.get("answers", content.get("question", "")),
        minutes=about.get("minutes"),
        place=about.get("place", LAST),
        after=about.get("after", ""),
        asks=tuple(ask_of(table) for table in content.pop(ASK, [])),
        content=content,
    )


def fill(preset: Preset, hosts: Sequence[str], answers: Answers) -> Filled:
    """Return the preset as a plan on `hosts`; raise where a value does not fit.

    `answers` are those of read_answers(). What the preset leaves open stands at the tools' defaults, to be tuned.
    """
    kept = [step for step in preset.content[STEP] if step.get(ONLY_WITH, "") in {"", *answers}]
    steps = [resolved({key: value for key, value in step.items() if key != ONLY_WITH}, answers) for step in kept]
    names = {step["name"] for step in steps}
    content = resolved({key: value for key, value in preset.content.items() if key != STEP}, answers)
    if hosts:
        content["hosts"] = list(hosts)
    content.setdefault("hosts", [LOCAL])
    goals = [
        goal
        for goal in content.pop("goal", [])
        if goal.get("step", "") in {"", *names} and {"at_least", "at_most"} & {*goal}
    ]
    plan = plan_of({**content, STEP: steps, **({"goal": goals} if goals else {})})
    chosen = {step["name"]: frozenset(step.get("parameters", {})) for step in steps}
    left = tuple(ask.without for ask in preset.asks if ask.without and ask.name not in answers)
    return Filled(plan, chosen, left)
