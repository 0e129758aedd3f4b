"""Initial plans: presets and their questions, the quick benchmark, and one tuned step per chosen suite."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import resources
from app.plans.context import step_context
from app.plans.duet import facts_seen
from app.plans.plan import (
    LOCAL,
    QUICK_LOOK,
    Plan,
    PlanError,
    Policy,
    Repetition,
    Step,
    host_label,
    make_step,
    value_tables,
)
from app.plans.plan_file import plan_of
from suites import registry
from suites.base import Context, complete_values, tuned_values
from suites.facts import Facts
from suites.parameters import Parameter, Type, Value
from suites.quantities import quantity
from suites.registry import suite as find_suite
from suites.units import Unit

HOST = "host"
"""The type of an answer that is a host name; other types are those of parameters."""

_KEYS = {"name", "title", "type", "pattern", "unit", "help", "example", "minimum", "maximum", "optional", "without"}
_TYPES = (HOST, Type.INTEGER, Type.NUMBER, Type.SIZE, Type.DURATION, Type.TEXT)

Answers = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class PresetQuestion:
    """A question of a preset to the user.

    `example` is a formatted answer. `host` marks a host name. Without an answer to an `optional` question, values and
    steps that need it are omitted; `without` is the note on that.
    """

    parameter: Parameter
    example: str
    host: bool = False
    optional: bool = False
    without: str = ""

    @property
    def name(self) -> str:
        """The name of the answer."""
        return self.parameter.name

    @property
    def label(self) -> str:
        """The title with its unit; a title of a rate in 1/s, such as IOPS, has it already."""
        unit = self.parameter.unit
        return self.parameter.title if unit in {"", "1/s"} else f"{self.parameter.title}, {unit}"


def question_from_table(table: Mapping[str, Any]) -> PresetQuestion:
    """Return the question in an [[ask]] table; raise PlanError for an unknown key or type."""
    for key in table:
        if key not in _KEYS:
            raise PlanError(f"ask has no “{key}”.", f"Its keys are {', '.join(sorted(_KEYS))}.")
    kind = table.get("type")
    if kind not in _TYPES:
        raise PlanError(f"ask.type is {kind!r}.", f"Set one of {', '.join(_TYPES)}.")
    host = kind == HOST
    parameter = Parameter(
        name=table["name"],
        title=table["title"],
        type=Type.TEXT if host else Type(kind),
        default="",  # no default: unanswered questions stay open
        help=table["help"],
        unit=table.get("unit", ""),
        pattern=table.get("pattern", ""),
        minimum=table.get("minimum"),
        maximum=table.get("maximum"),
    )
    return PresetQuestion(parameter, table["example"], host, table.get("optional", False), table.get("without", ""))


def read_answers(asks: Sequence[PresetQuestion], given: Mapping[str, str]) -> dict[str, Value]:
    """Parse the answers by type; raise PlanError for missing or unknown ones, ParameterError for invalid ones."""
    known = {ask.name: ask for ask in asks}
    for name in given:
        if name not in known:
            names = f"Its questions: {', '.join(known)}." if known else "It has no questions."
            raise PlanError(f"The preset has no question “{name[:60]}”.", names)
    texts = {name: text.strip() for name, text in given.items() if text.strip()}
    missing = [ask for ask in asks if not ask.optional and ask.name not in texts]
    if missing:
        titles = ", ".join(ask.parameter.title for ask in missing)
        raise PlanError(
            f"The preset needs: {titles}.",
            f"Add {' '.join(f'--answer {ask.name}={ask.example}' for ask in missing)}, for example.",
        )
    return {name: known[name].parameter.parse(text) for name, text in texts.items()}


@dataclass(frozen=True, slots=True)
class _Open:
    """The marker of a value whose answer is open."""


_OPEN = _Open()


def resolved(content: Any, answers: Answers) -> Any:
    """Return parsed TOML with the answers filled in; values of open answers are omitted.

    A reference is a table ``{ answer = "iops", times = 1.02, otherwise = 1 }``: the product of an integer is rounded
    up, `otherwise` is used for an open answer. Texts contain answers in braces: ``{iops}``.
    """
    if isinstance(content, dict):
        if "answer" in content:
            return _answer(content, answers)
        filled = {key: resolved(value, answers) for key, value in content.items()}
        return {key: value for key, value in filled.items() if value is not _OPEN}
    if isinstance(content, list):
        return [value for each in content if (value := resolved(each, answers)) is not _OPEN]
    return _formatted(content, answers) if isinstance(content, str) else content


def _answer(reference: Mapping[str, Any], answers: Answers) -> Any:
    value = answers.get(reference["answer"], reference.get("otherwise", _OPEN))
    times = reference.get("times", 1)
    if value is _OPEN or times == 1 or isinstance(value, str | bool):
        return value
    product = round(value * times, 6)  # 4000 x 1.02 is 4080: remove the binary error before ceil()
    return math.ceil(product) if isinstance(value, int) else product


def _formatted(text: str, answers: Answers) -> str:
    for name, value in answers.items():
        text = text.replace(f"{{{name}}}", value if isinstance(value, str) else f"{value:,.12g}")
    return text


ABOUT, QUESTION, STEP, ONLY_WITH = "preset", "ask", "step", "only_with"
"""The keys of a preset's file that a plan's does not have: a table, tables, and a key of a step."""

_ABOUT_KEYS = {"title", "answers", "minutes", "place", "after", "card"}

LAST = 1000
"""The position of a preset that has none."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset: a plan with questions that fills the wizard.

    `answers` is the question that it answers, `minutes` its longest duration without optional answers, None if that
    depends on the answers; `position` its position in the list; `after` the advice after the run; `card` whether its
    runs end with the result card. `content` is the rest of the file.
    """

    name: str
    title: str
    answers: str
    minutes: float | None
    position: int
    after: str
    asks: tuple[PresetQuestion, ...]
    content: Mapping[str, Any]
    card: bool = False

    @property
    def quick_minutes(self) -> float | None:
        """The longest duration of a quick look; None if unknown, or if the preset runs each step once anyway."""
        given = self.content.get("repetition", {})
        trials = given.get("trials", Repetition().trials) + given.get("warm_ups", 0)
        fixed = given.get("policy", Policy.FIXED) == Policy.FIXED
        return self.minutes / trials if self.minutes is not None and fixed and trials > 1 else None

    @property
    def keywords(self) -> str:
        """What it is also searched by: name, question, advice; suites, tools, names, commands of its steps."""
        steps = [(step["suite"], step.get("name"), step.get("parameters", {})) for step in self.content.get("step", [])]
        tools = {suite.id: suite.tool for suite in registry.SUITES}
        used = [
            str(word)
            for suite, name, values in steps
            for word in (suite, tools.get(suite, ""), name, values.get("command", ""))
        ]
        return " ".join([self.name, self.name.replace("-", " "), self.content.get("question", ""), self.after, *used])

    @property
    def resources(self) -> tuple[str, ...]:
        """The distinct resources that its steps load, in order."""
        of = {suite.id: suite.resource.value for suite in registry.SUITES}
        return tuple(dict.fromkeys(of[step["suite"]] for step in self.content[STEP] if step["suite"] in of))


@dataclass(frozen=True, slots=True)
class Filled:
    """A preset with its answers: the plan, the parameters that it sets in each step, and notes on omitted parts."""

    plan: Plan
    chosen: Mapping[str, frozenset[str]]
    left_out: tuple[str, ...] = ()

    def tuned(self, facts: Mapping[str, Facts]) -> Plan:
        """Return the plan with all parameters that the preset does not set tuned to what they see of its first host."""
        seen = facts_seen(self.plan, facts)
        return replace(self.plan, steps=tuple(self._tuned(step, seen) for step in self.plan.steps))

    def _tuned(self, step: Step, facts: Mapping[str, Facts]) -> Step:
        context = step_context(step, self.plan.hosts[0], facts)
        own = {name: value for name, value in step.values.items() if name in self.chosen[step.name]}
        tuned = {name: tuned.value for name, tuned in step.suite.tune(context).items()}
        return make_step(step.suite_id, {**tuned, **own, **value_tables(step)}, name=step.name, peer=step.peer)


def parse_preset(name: str, text: str) -> Preset:
    """Return the preset `name` that is written in `text`; raise PlanError if it is invalid."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"The preset {name} is not valid TOML: {error}.") from error
    about = content.pop(ABOUT, {})
    for key in about:
        if key not in _ABOUT_KEYS:
            raise PlanError(f"preset has no “{key}”.", f"Its keys are {', '.join(sorted(_ABOUT_KEYS))}.")
    return Preset(
        name=name,
        title=about.get("title", name.replace("-", " ").capitalize()),
        answers=about.get("answers", content.get("question", "")),
        minutes=about.get("minutes"),
        position=about.get("place", LAST),
        after=about.get("after", ""),
        asks=tuple(question_from_table(table) for table in content.pop(QUESTION, [])),
        content=content,
        card=about.get("card", False),
    )


def fill(preset: Preset, hosts: Sequence[str], answers: Answers) -> Filled:
    """Return the preset as a plan on `hosts`; raise for an invalid value.

    `answers` are those of read_answers(). Parameters that the preset does not set have the tools' defaults.
    """
    included = [step for step in preset.content[STEP] if step.get(ONLY_WITH, "") in {"", *answers}]
    steps = [resolved({key: value for key, value in step.items() if key != ONLY_WITH}, answers) for step in included]
    names = {step["name"] for step in steps}
    content = resolved({key: value for key, value in preset.content.items() if key != STEP}, answers)
    if "question" in content:
        content["question"] = _formatted(preset.content["question"], _with_units(preset.asks, answers))
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
    omitted = tuple(ask.without for ask in preset.asks if ask.without and ask.name not in answers)
    return Filled(plan, chosen, omitted)


def _with_units(asks: Sequence[PresetQuestion], answers: Answers) -> Answers:
    """Return the answers with times as texts: ``10 ms``."""
    times = (ask.name for ask in asks if ask.parameter.type is Type.DURATION and ask.name in answers)
    return {**answers, **{name: quantity(float(answers[name]), Unit.SECOND) for name in times}}


QUICK_QUESTION = "What do this host's CPU, memory and disk deliver?"

PRESETS = "presets"
"""The folder of the preset files in the resources."""


def preset_names() -> tuple[str, ...]:
    """Return the sorted names of the presets: the stems of the files in the folder."""
    found = (path.name for path in files(resources).joinpath(PRESETS).iterdir() if path.is_file())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def preset(name: str) -> Preset:
    """Return the preset `name`; raise PlanError if there is none."""
    if name not in preset_names():
        raise PlanError(f"There is no preset “{name[:60]}”.", f"Presets: {', '.join(preset_names())}.")
    return parse_preset(name, resources.read_text(f"{PRESETS}/{name}.toml"))


@cache
def presets() -> tuple[Preset, ...]:
    """Return every preset by position; the files are read once, as the window asks at each end of a run."""
    return tuple(sorted(map(preset, preset_names()), key=lambda each: (each.position, each.name)))


def ends_with_card(plan: Plan) -> bool:
    """Return whether `plan` has the question of a preset whose runs end with the result card."""
    return any(each.card and each.content.get("question") == plan.question for each in presets())


def advice_after(plan: Plan) -> str:
    """Return what to do with a run of `plan`, if a preset with its name and steps says so; else an empty text."""
    steps = {step.name for step in plan.steps}
    alike = (each for each in presets() if each.content.get("name") == plan.name)
    return next((each.after for each in alike if steps <= {step["name"] for step in each.content[STEP]}), "")


def filled_preset(name: str, hosts: Sequence[str] = (), answers: Mapping[str, str] | None = None) -> Filled:
    """Return the preset `name` as a plan on `hosts`, with unparsed `answers`.

    Parameters that the preset does not set have the tools' defaults.
    """
    chosen = preset(name)
    return fill(chosen, hosts, read_answers(chosen.asks, answers or {}))


def tuned_step(suite_id: str, context: Context, *, name: str = "", peer: str | None = None) -> Step:
    """Return a step of the suite with its parameters tuned to the host in `context`."""
    return make_step(suite_id, tuned_values(find_suite(suite_id), context), name=name, peer=peer)


def default_plan(hosts: Sequence[str], suites: Sequence[str], name: str) -> Plan:
    """Return a plan with one step for each of `suites` with the tool's defaults; repeated suites are numbered."""
    steps: list[Step] = []
    for suite_id in suites:
        taken = sum(step.suite_id == suite_id for step in steps)
        steps.append(make_step(suite_id, {}, name=suite_id if not taken else f"{suite_id}-{taken + 1}"))
    once = all(step.suite.repeats_itself for step in steps)
    return Plan(name, tuple(hosts), tuple(steps), repetition=QUICK_LOOK if once else Repetition())


def tuned_plan(hosts: Sequence[str], suites: Sequence[str], facts: Mapping[str, Facts], name: str) -> Plan:
    """Return a plan with one step for each of `suites`, tuned to the first host; repeated suites are numbered."""
    plan = default_plan(hosts, suites, name)
    steps = (
        tuned_step(step.suite_id, step_context(step, hosts[0], facts), name=step.name, peer=step.peer)
        for step in plan.steps
    )
    return replace(plan, steps=tuple(steps))


def quick_plan(host: str, facts: Facts) -> Plan:
    """Return the quick benchmark: CPU, memory and disk, one trial each, in under 90 s."""
    context = Context(facts)
    steps = []
    for suite in registry.SUITES:
        for name, values in suite.quick_steps(context):
            steps.append(Step(name, suite.id, complete_values(suite, {**tuned_values(suite, context), **values})))
    return Plan(f"quick benchmark of {host_label(host)}", (host,), tuple(steps), QUICK_QUESTION, QUICK_LOOK)
