"""A plan in the making, with every text as it was typed; the wizard's widgets hold no data of their own. No Qt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.plans.context import step_context
from app.plans.goals import check_goals, goals_of, goals_text
from app.plans.plan import LOCAL, Plan, PlanError, Step, make_step, validate
from app.plans.plan_changes import still_changed
from app.plans.plan_remarks import Acknowledged, Remedied
from app.plans.tuning import TUNING, tuning_of, tuning_values
from suites import registry
from suites.base import Suite, device_of, directories_of
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.parameters import Value
from widgets.measure.form import Form
from widgets.measure.repetition_values import REPETITION, order_of, problem_of, repetition_of, values_of
from widgets.measure.words import listed
from widgets.parts.names import host_words


@dataclass(slots=True, eq=False)
class DraftStep:
    """One suite and what is written for its parameters."""

    suite: Suite
    name: str
    form: Form
    peer: str | None = None

    def step(self) -> Step:
        """Return the frozen step; raise ParameterError where a text is not accepted."""
        for error in self.form.problems().values():
            raise type(error)(f"{self.name}: {error.message}", error.remedy)
        return make_step(self.suite.id, self.form.values(), name=self.name, peer=self.peer)

    def problem(self) -> str:
        """Return what keeps the step from being run, or an empty string."""
        if not self.name.strip():
            return f"A {self.suite.title} step has no name."
        count = len(self.form.problems())
        return f"{self.name}: {count} value{'s are' if count > 1 else ' is'} not accepted." if count else ""


class PlanDraft:
    """Hosts, facts, steps, repetition and question; plan() freezes them."""

    def __init__(self) -> None:
        self.reset()

    def reset(self, hosts: Sequence[str] = ()) -> None:
        """Forget everything but the facts, and start anew with `hosts`."""
        self.name = ""
        self.question = ""
        self.goals = ""  # as somebody writes them
        self.hosts = list(hosts)
        self.facts: dict[str, Facts] = getattr(self, "facts", {})
        self.steps: list[DraftStep] = []
        self.repetition = Form(REPETITION)
        self.pinned: frozenset[str] | None = getattr(self, "pinned", None)  # names of baselines, once read
        self.tuning = Form(TUNING)
        self.acknowledged: tuple[Acknowledged, ...] = ()
        self.changed: tuple[Remedied, ...] = ()
        self.basis: Plan | None = None  # the plan that was opened, whoever made it; None: all of it was made here

    def adopt(self, plan: Plan, chosen: Mapping[str, frozenset[str]] | None = None, *, ours: bool = False) -> None:
        """Take every value of `plan`, as somebody's choice; with `chosen`, only those of each step that it names.

        The others follow what the host suggests. `ours` says that Benchwright itself made the plan.
        """
        self.basis = None if ours else plan
        self.name, self.question, self.hosts = plan.name, plan.question, list(plan.hosts)
        self.goals = goals_text(plan.goals)
        self.steps = [
            DraftStep(step.suite, step.name, Form(step.suite.parameters, _own(step, chosen)), step.peer)
            for step in plan.steps
        ]
        self.tuning = Form(TUNING, tuning_values(plan.tuning))
        self.repetition = Form(REPETITION, values_of(plan))
        self.acknowledged, self.changed = plan.acknowledged, plan.changed
        self.retune()

    def set_host(self, host: str, *, chosen: bool) -> None:
        """Add `host` to the plan or take it out."""
        if chosen and host not in self.hosts:
            self.hosts.append(host)
        elif not chosen and host in self.hosts:
            self.hosts.remove(host)
        self.retune()

    def set_facts(self, facts: Facts) -> None:
        """Take what was read off a host, and tune to it what nobody has touched."""
        self.facts[facts.host] = facts
        self.retune()

    def retune(self) -> None:
        """Tune every step to the first host, which the other hosts then share, so that they can be compared."""
        for step in self.steps:
            if self.hosts:
                frozen = Step(step.name, step.suite.id, step.form.values(), step.peer)
                step.form.retune(step.suite.tune(step_context(frozen, self.hosts[0], self.facts)))

    def add_step(self, suite: Suite) -> DraftStep:
        """Add a step of `suite`, tuned to the first host, under a name of its own."""
        taken = {step.name for step in self.steps}
        names = [suite.id, *(f"{suite.id} {number}" for number in range(2, len(taken) + 3))]
        name = next(name for name in names if name not in taken)
        step = DraftStep(suite, name, Form(suite.parameters), LOCAL if suite.needs_peer else None)
        own = self.steps_of(suite)
        self.steps.insert(self.steps.index(own[-1]) + 1 if own else len(self.steps), step)
        self.retune()
        return step

    def remove_step(self, step: DraftStep) -> None:
        """Take `step` out of the plan."""
        self.steps.remove(step)

    def steps_of(self, suite: Suite) -> list[DraftStep]:
        """Return the steps of `suite`, in order."""
        return [step for step in self.steps if step.suite.id == suite.id]

    def places(self) -> list[str]:
        """Return every host whose facts matter: the plan's own and the other ends, each once."""
        peers = [step.peer for step in self.steps if step.peer is not None]
        return list(dict.fromkeys([*self.hosts, *peers]))

    def directories(self) -> tuple[str, ...]:
        """Return the directories the steps will write in, where they are chosen."""
        found = (path for step in self.steps for path in directories_of(step.suite, step.form.values()))
        return tuple(dict.fromkeys(found))

    def devices(self) -> tuple[str, ...]:
        """Return the raw devices that the steps will use."""
        found = (device_of(step.suite, step.form.values()) for step in self.steps)
        return tuple(dict.fromkeys(device for device in found if device))

    def repetition_problem(self) -> str:
        """Return what is wrong with the repetition as a whole, or an empty string."""
        if self.repetition.problems():
            return ""  # each field says so itself
        return problem_of(self.repetition.values(), self.pinned)

    def tuning_problem(self) -> str:
        """Return what is wrong with the changes of the hosts as a whole, or an empty string."""
        if self.tuning.problems():
            return ""  # each field says so itself
        try:
            tuning_of(self.tuning.values())
        except BenchwrightError as error:
            return str(error)
        return ""

    def plan(self) -> Plan:
        """Return the frozen plan; raise BenchwrightError naming what is missing or not accepted."""
        for error in self.repetition.problems().values():
            raise PlanError(f"Repetition: {error.message}", error.remedy)
        for error in self.tuning.problems().values():
            raise PlanError(f"Changes of the hosts: {error.message}", error.remedy)
        given = self.repetition.values()
        order, seed = order_of(given)
        plan = Plan(
            name=self.name.strip() or self.suggested_name(),
            hosts=tuple(self.hosts),
            steps=tuple(step.step() for step in self.steps),
            question=self.question.strip(),
            repetition=repetition_of(given),
            order=order,
            seed=seed,
            tuning=tuning_of(self.tuning.values()),
            acknowledged=self.acknowledged,
            goals=goals_of(self.goals),
        )
        return validate(replace(plan, changed=still_changed(plan.steps, self.changed)))

    def goal_problem(self) -> str:
        """Return why the goals cannot be met by any step, or an empty string."""
        try:
            check_goals(goals_of(self.goals), [step.step() for step in self.steps if not step.form.problems()])
        except BenchwrightError as error:
            return str(error)
        return ""

    def suggested_name(self) -> str:
        """Return a name for a plan that nobody has named: what it measures, and where."""
        where = host_words(self.hosts[0]) if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"
        what = listed(step.name for step in self.steps)
        return f"{what} on {where}" if self.steps and self.hosts else "New plan"

    def naming_problem(self) -> str:
        """Return which name two steps share, or an empty string."""
        names = [step.name for step in self.steps]
        return next((f"Two steps are named “{name}”." for name in names if names.count(name) > 1), "")

    def sketch(self) -> Plan | None:
        """Return the plan if it can be frozen as it stands, or None."""
        try:
            return self.plan()
        except BenchwrightError:
            return None


def suites() -> tuple[Suite, ...]:
    """Return every suite there is."""
    return registry.SUITES


def _own(step: Step, chosen: Mapping[str, frozenset[str]] | None) -> dict[str, Value]:
    """Return the values of `step` that somebody chose: all of them, or those that `chosen` names."""
    return {name: value for name, value in step.values.items() if chosen is None or name in chosen[step.name]}
