"""Editable plan: hosts, steps with their forms, repetition, tuning. No Qt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from app.plans.context import step_context
from app.plans.duet import seen_in_order
from app.plans.goals import check_goals, goal_example, goals_of, goals_text
from app.plans.plan import LOCAL, OTHER_HOSTS, TELEMETRY_DEFAULT, Plan, PlanError, Step, host_label, make_step
from app.plans.plan_changes import still_changed
from app.plans.plan_names import automatic_name, has_automatic_name, step_name
from app.plans.plan_remarks import Acknowledged, RemediedValue
from app.plans.tuning import TUNING, tuning_of, tuning_values
from app.plans.validation import check_duet, validate
from suites.base import Context, Suite, devices_of, directories_of
from suites.command_line import UnreadWord
from suites.errors import BenchwrightError, ParameterError
from suites.facts import Facts
from suites.parameters import Parameter, Tuned, Type, Value
from suites.quantities import count_text
from widgets.wizard.repetition_parameters import QUICK, REPETITION, order_of, problem_of, repetition_of, values_of


class ValueSource(StrEnum):
    """Origin of a value."""

    DEFAULT = "default"
    TUNED = "tuned"
    CUSTOM = "custom"


class ParameterForm:
    """Texts of a set of parameters and their parsed values.

    An untouched value follows the tuned value when new host facts arrive.
    """

    def __init__(self, parameters: tuple[Parameter, ...], given: Mapping[str, Value] | None = None) -> None:
        """Start from the tool's defaults; `given` values override them and count as touched."""
        self.parameters = parameters
        self.tuned: Mapping[str, Tuned] = {}
        self._texts = {known.name: known.format(known.default) for known in parameters}
        self._parsed: dict[str, tuple[str, Value | ParameterError]] = {}  # with the text it was parsed from
        self._touched: set[str] = set()
        for name, value in (given or {}).items():
            self.use(name, value)

    def parameter(self, name: str) -> Parameter:
        """Return the parameter `name`."""
        return next(known for known in self.parameters if known.name == name)

    def text(self, name: str) -> str:
        """Return the text of the parameter `name`."""
        return self._texts[name]

    def set_text(self, name: str, text: str) -> None:
        """Set the text, valid or not."""
        self._texts[name] = text
        self._touched.add(name)

    def use(self, name: str, value: Value) -> None:
        """Set `value` and mark it as touched."""
        self.set_text(name, self.parameter(name).format(value))

    def retune(self, tuned: Mapping[str, Tuned]) -> None:
        """Replace the tuned values and update every untouched parameter."""
        self.tuned = tuned
        for known in self.parameters:
            if known.name not in self._touched:
                self._texts[known.name] = known.format(self.suggested(known.name))

    def use_tuned(self) -> None:
        """Set every parameter to its tuned value, or to its default where it has none."""
        self._touched.clear()
        self.retune(self.tuned)

    def use_defaults(self) -> None:
        """Set every parameter to the tool's default."""
        for known in self.parameters:
            self.use(known.name, known.default)

    def suggested(self, name: str) -> Value:
        """Return the tuned value, else the default."""
        return self.tuned[name].value if name in self.tuned else self.parameter(name).default

    def parsed(self, name: str) -> Value | ParameterError:
        """Return the parsed value, or the error that names the accepted values."""
        text = self._texts[name]
        if name not in self._parsed or self._parsed[name][0] != text:
            try:
                self._parsed[name] = text, self.parameter(name).parse(text)
            except ParameterError as error:
                self._parsed[name] = text, error
        return self._parsed[name][1]

    def values(self) -> dict[str, Value]:
        """Return a value for every parameter: the suggested one where the text is invalid."""
        read = {known.name: self.parsed(known.name) for known in self.parameters}
        return {
            name: self.suggested(name) if isinstance(value, ParameterError) else value for name, value in read.items()
        }

    def applies(self, name: str) -> bool:
        """Return whether the parameter is used with the current values of the others."""
        return self.parameter(name).applies(self.values())

    def problems(self) -> dict[str, ParameterError]:
        """Return the parse errors by parameter; unused parameters are not checked."""
        found = {known.name: self.parsed(known.name) for known in self.parameters}
        return {
            name: error for name, error in found.items() if isinstance(error, ParameterError) and self.applies(name)
        }

    def source(self, name: str) -> ValueSource:
        """Return the origin of the current value."""
        value = self.parsed(name)
        if value == self.parameter(name).default:
            return ValueSource.DEFAULT
        if name in self.tuned and value == self.tuned[name].value:
            return ValueSource.TUNED
        return ValueSource.CUSTOM


_ROUNDS = "Its rounds are its repetitions: another trial would measure all of them again."

MOST_PLACES = 8
"""Maximum hosts that are offered values of their own; a plan file may have them for more."""

PLACE_AT = "@"
"""Between the names of a parameter and of the host that has its own value of it."""


def place_of(parameter: Parameter, host: str) -> Parameter:
    """Return the parameter for the value of `host` alone, empty if it has that of all hosts."""
    return replace(
        parameter,
        name=f"{parameter.name}{PLACE_AT}{host}",
        title=f"{parameter.title} on {host_label(host)}",
        default="",
        option="",
        help=f"On {host_label(host)} only; empty: as on the other hosts. {parameter.help}",
        applies=lambda _values: True,
    )


@dataclass(slots=True, eq=False)
class DraftStep:
    """One step: suite, name, parameter form and peer host; `unread` are words of its command that were not read."""

    suite: Suite
    name: str
    form: ParameterForm
    peer: str | None = None
    unread: tuple[UnreadWord, ...] = ()
    places: ParameterForm = field(default_factory=lambda: ParameterForm(()))  # values of single hosts, empty if shared

    def set_hosts(self, hosts: Sequence[str], given: Mapping[str, Mapping[str, Value]] | None = None) -> None:
        """Offer each of several hosts a value of its own, for every text that does not decide what is measured."""
        shared = [each for each in self.suite.parameters if each.type is Type.TEXT and not each.identity]
        own = self.own_places() if given is None else given
        places = [(each, host) for each in shared for host in hosts]
        few = 1 < len(hosts) <= MOST_PLACES
        wanted = tuple(place_of(each, host) for each, host in places if few or host in own.get(each.name, {}))
        if given is not None or [each.name for each in self.places.parameters] != [each.name for each in wanted]:
            self.places = ParameterForm(wanted)
            for each, host in places:
                if host in own.get(each.name, {}):
                    self.places.use(f"{each.name}{PLACE_AT}{host}", own[each.name][host])

    def form_of(self, name: str) -> ParameterForm:
        """Return the form that has the parameter `name`: that of single hosts, or of all."""
        return self.places if PLACE_AT in name else self.form

    def own_places(self) -> dict[str, dict[str, Value]]:
        """Return the values of single hosts by parameter and host."""
        found: dict[str, dict[str, Value]] = {}
        for place, value in self.places.values().items():
            name, _, host = place.partition(PLACE_AT)
            if value != "":
                found.setdefault(name, {})[host] = value
        return found

    def values_on_hosts(self) -> list[dict[str, Value]]:
        """Return the values that all hosts share, and those of each host with its own."""
        shared, own = self.form.values(), self.own_places()
        hosts = dict.fromkeys(host for values in own.values() for host in values)
        return [shared, *(shared | {name: own[name].get(host, shared[name]) for name in own} for host in hosts)]

    def problems(self) -> dict[str, ParameterError]:
        """Return the parse errors by parameter, those of single hosts included."""
        return self.form.problems() | self.places.problems()

    def step(self) -> Step:
        """Return the frozen step; raise ParameterError for the first invalid text."""
        for error in self.problems().values():
            raise type(error)(f"{self.name}: {error.message}", error.remedy)
        shared = self.form.values()
        tables = {name: {**own, OTHER_HOSTS: shared[name]} for name, own in self.own_places().items()}
        return make_step(self.suite.id, {**shared, **tables}, name=self.name, peer=self.peer)

    def problem(self) -> str:
        """Return why the step cannot run, or an empty string."""
        if not self.name.strip():
            return f"A {self.suite.title} step has no name."
        if count := len(self.problems()):
            return f"{self.name}: {count_text(count, 'invalid value')}."
        blocking = next((each for each in self.unread if each.blocks), None)
        if blocking is not None:
            return (
                f"{self.name}: {blocking.word or 'the command'} was not read. Remove it, or press Esc in the command."
            )
        return ""


class PlanDraft:
    """Hosts, facts, steps, repetition, tuning, question and goals; plan() freezes them."""

    def __init__(self) -> None:
        self.facts: dict[str, Facts] = {}
        self.pinned: frozenset[str] | None = None  # names of baselines, once read
        self.removed: frozenset[str] = frozenset()  # hosts that are no longer among the user's
        self.reset()

    def reset(self, hosts: Sequence[str] = ()) -> None:
        """Discard everything except host facts and baseline names; start with `hosts`."""
        self.name = ""
        self.question = ""
        self.goals = ""  # as typed
        self.telemetry_interval = TELEMETRY_DEFAULT
        self.hosts = list(hosts)
        self.steps: list[DraftStep] = []
        self.repetition = ParameterForm(REPETITION)
        self.tuning = ParameterForm(TUNING)
        self.acknowledged: tuple[Acknowledged, ...] = ()
        self.changed: tuple[RemediedValue, ...] = ()
        self.basis: Plan | None = None  # the plan that was opened; None: the whole plan was made here

    def adopt(self, plan: Plan, chosen: Mapping[str, frozenset[str]] | None = None, *, generated: bool = False) -> None:
        """Load `plan`; its values count as touched, or with `chosen` only those it names for each step.

        The others follow the tuned values. `generated`: Benchwright generated the plan.
        """
        self.basis = None if generated else plan
        self.name = "" if has_automatic_name(plan) else plan.name
        self.question, self.hosts = plan.question, list(plan.hosts)
        self.goals = goals_text(plan.goals, plan.steps)
        self.telemetry_interval = plan.telemetry_interval
        self.steps = [
            DraftStep(step.suite, step.name, ParameterForm(step.suite.parameters, _own(step, chosen)), step.peer)
            for step in plan.steps
        ]
        self.tuning = ParameterForm(TUNING, tuning_values(plan.tuning))
        self.repetition = ParameterForm(REPETITION, values_of(plan))
        self.acknowledged, self.changed = plan.acknowledged, plan.changed
        self.retune()
        for draft, step in zip(self.steps, plan.steps, strict=True):
            draft.set_hosts(self.hosts, step.by_host)

    def set_host(self, host: str, *, chosen: bool) -> None:
        """Add `host` to the plan or remove it."""
        if chosen and host not in self.hosts:
            self.hosts.append(host)
        elif not chosen and host in self.hosts:
            self.hosts.remove(host)
        self.retune()

    def rename_host(self, old: str, new: str) -> None:
        """Name a host of the plan `new` where it was `old`."""
        self.hosts = list(dict.fromkeys(new if host == old else host for host in self.hosts))
        for step in self.steps:
            step.peer = new if step.peer == old else step.peer
            own = step.own_places().items()
            step.set_hosts(
                self.hosts,
                {name: {new if at == old else at: value for at, value in found.items()} for name, found in own},
            )
        self.facts.pop(old, None)

    def set_facts(self, facts: Facts) -> None:
        """Store the facts of a host and update the untouched values."""
        self.facts[facts.host] = facts
        self.retune()

    def retune(self) -> None:
        """Tune every step to the first host; all hosts share the values so that results are comparable.

        Tests in rounds, which are their repetitions, have one trial.
        """
        once = bool(self.steps) and all(step.suite.repeats_itself for step in self.steps)
        self.repetition.retune({"policy": Tuned(QUICK, _ROUNDS)} if once else {})
        for step in self.steps:
            step.set_hosts(self.hosts)
            if self.hosts:
                step.form.retune(step.suite.tune(self.context(step)))

    def context(self, step: DraftStep) -> Context:
        """Return the context of `step` on the first host."""
        order = order_of(self.repetition.values())[0]
        seen = seen_in_order(order, self.hosts, self.facts)
        frozen = Step(step.name, step.suite.id, step.form.values(), step.peer)
        return step_context(frozen, self.hosts[0] if self.hosts else LOCAL, seen)

    def use_command(self, step: DraftStep, suite: Suite, values: Mapping[str, Value], *, whole: bool = False) -> None:
        """Set the values of a command line; another suite replaces that of the step, and an automatic name.

        All values of another suite, or of a `whole` line, are as stated, the tool's defaults where they are not: tuned
        values do not replace them.
        """
        whole = whole or suite.id != step.suite.id
        if suite.id != step.suite.id:
            automatic = step_name(step.name, suite.id, {step.suite.id}) != step.name
            step.suite, step.form = suite, ParameterForm(suite.parameters)
            step.peer = (step.peer or LOCAL) if suite.needs_peer else None
            step.name = self._free_name(suite, step) if automatic else step.name
        for name, value in values.items():
            if whole or step.form.parsed(name) != value:
                step.form.use(name, value)
        self.retune()

    def add_step(self, suite: Suite) -> DraftStep:
        """Add a step of `suite`, tuned to the first host, with a unique name."""
        step = DraftStep(
            suite, self._free_name(suite), ParameterForm(suite.parameters), LOCAL if suite.needs_peer else None
        )
        own = self.steps_of(suite)
        self.steps.insert(self.steps.index(own[-1]) + 1 if own else len(self.steps), step)
        self.retune()
        return step

    def _free_name(self, suite: Suite, renamed: DraftStep | None = None) -> str:
        taken = {step.name for step in self.steps if step is not renamed}
        names = [suite.id, *(f"{suite.id} {number}" for number in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)

    def remove_step(self, step: DraftStep) -> None:
        """Remove `step` from the plan."""
        self.steps.remove(step)

    def steps_of(self, suite: Suite) -> list[DraftStep]:
        """Return the steps of `suite`, in order."""
        return [step for step in self.steps if step.suite.id == suite.id]

    def all_hosts(self) -> list[str]:
        """Return the plan's hosts and peers, without duplicates."""
        peers = [step.peer for step in self.steps if step.peer is not None]
        return list(dict.fromkeys([*self.hosts, *peers]))

    def directories(self) -> tuple[str, ...]:
        """Return the directories that the steps write in, as far as they are set."""
        values = ((step.suite, own) for step in self.steps for own in step.values_on_hosts())
        found = (path for suite, own in values for path in directories_of(suite, own))
        return tuple(dict.fromkeys(found))

    def devices(self) -> tuple[str, ...]:
        """Return the raw devices that the steps use."""
        values = ((step.suite, own) for step in self.steps for own in step.values_on_hosts())
        return tuple(dict.fromkeys(path for suite, own in values for path in devices_of(suite, own)))

    def repetition_problem(self) -> str:
        """Return the conflict between repetition values, or an empty string."""
        if self.repetition.problems():
            return ""  # each field shows its own error
        given = self.repetition.values()
        try:
            check_duet(order_of(given)[0], repetition_of(given).policy, len(self.steps))
        except PlanError as error:
            return str(error)
        return problem_of(given, self.pinned)

    def tuning_problem(self) -> str:
        """Return the conflict between tuning values, or an empty string."""
        if self.tuning.problems():
            return ""  # each field shows its own error
        try:
            tuning_of(self.tuning.values())
        except BenchwrightError as error:
            return str(error)
        return ""

    def plan(self) -> Plan:
        """Return the frozen plan; raise BenchwrightError naming the missing or invalid part."""
        for error in self.repetition.problems().values():
            raise PlanError(f"Repetition: {error.message}", error.remedy)
        for error in self.tuning.problems().values():
            raise PlanError(f"Host tuning: {error.message}", error.remedy)
        given = self.repetition.values()
        order, seed = order_of(given)
        steps = tuple(step.step() for step in self.steps)
        plan = Plan(
            name=self.name.strip() or self.suggested_name(),
            hosts=tuple(self.hosts),
            steps=steps,
            question=self.question.strip(),
            repetition=repetition_of(given),
            order=order,
            seed=seed,
            tuning=tuning_of(self.tuning.values()),
            acknowledged=self.acknowledged,
            goals=goals_of(self.goals, steps),
            telemetry_interval=self.telemetry_interval,
        )
        return validate(replace(plan, changed=still_changed(plan.steps, self.changed)))

    def goal_example(self) -> str:
        """Return a goal that the first step can meet."""
        return goal_example([step.step() for step in self.steps[:1] if not step.form.problems()])

    def goal_problem(self) -> str:
        """Return why the goals are invalid for these steps, or an empty string."""
        try:
            steps = [step.step() for step in self.steps if not step.form.problems()]
            check_goals(goals_of(self.goals, steps), steps)
        except BenchwrightError as error:
            return str(error)
        return ""

    def suggested_name(self) -> str:
        """Return the automatic name of the plan, which follows its steps, values and hosts."""
        steps = [(step.name, step.suite, step.form.values()) for step in self.steps]
        return automatic_name(steps, self.hosts)

    def naming_problem(self) -> str:
        """Return an error where two steps share a name, or an empty string."""
        names = [step.name for step in self.steps]
        return next((f"Two steps are named “{name}”." for name in names if names.count(name) > 1), "")

    def sketch(self) -> Plan | None:
        """Return the plan, or None where it is invalid."""
        try:
            return self.plan()
        except BenchwrightError:
            return None


def _own(step: Step, chosen: Mapping[str, frozenset[str]] | None) -> dict[str, Value]:
    """Return the values of `step` that count as touched: all, or those that `chosen` names."""
    return {name: value for name, value in step.values.items() if chosen is None or name in chosen[step.name]}
