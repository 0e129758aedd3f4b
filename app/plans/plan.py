"""A plan: hosts, steps, repetition and order; frozen before it runs, and hashed."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from app.plans.goals import check_goals
from app.plans.plan_remarks import Acknowledged, Remedied
from app.plans.tuning import Tuning, check_tuning, tuning_values
from suites.base import Suite, complete_values, device_of, metrics_of
from suites.errors import BenchwrightError, ParameterError, UnknownSuiteError
from suites.parameters import Value
from suites.verdict import Goal
from suites.vocab import Metric

LOCAL = "local"
"""The name of this computer as a host."""

MAXIMUM_TRIALS = 1000

FORMATS = ("benchwright-plan/1", "benchwright-plan/2", "benchwright-plan/3")
"""The formats of plans that are read, the oldest first. 2 has policies other than FIXED, orders drawn by lot, and
changes of the hosts; 3 what is kept about findings, and goals."""


def host_words(name: str) -> str:
    """Return what a host is called within a sentence."""
    return "this computer" if name == LOCAL else name


class PlanError(BenchwrightError):
    """A plan cannot be read or does not make sense."""


class Order(StrEnum):
    """In which order trials run. One measures at a time, so that hosts cannot disturb each other.

    BLOCK: all trials of a step on a host, then the next host, then the next step.
    INTERLEAVED: trial 1 of every step on every host, then trial 2, and so on; drift then hits all alike.
    RANDOMISED: interleaved, each round in an order of its own, drawn by lot: of two places, pairs AB or BA. What
    comes in cycles then hits all alike, too.
    ABBA: rounds drawn by lot in pairs, the second of a pair the mirror of the first; a steady drift cancels out.
    """

    BLOCK = "block"
    INTERLEAVED = "interleaved"
    RANDOMISED = "randomised"
    ABBA = "abba"

    @property
    def drawn(self) -> bool:
        """Whether lots are drawn, so that a seed belongs to the plan."""
        return self in {Order.RANDOMISED, Order.ABBA}


class Policy(StrEnum):
    """What ends the trials of a step on a host.

    FIXED: their number. UNTIL_INTERVAL: the interval of their middle is narrow enough. UNTIL_VERDICT: the ratio to
    the baseline is settled. BUDGET: the time is used up.
    """

    FIXED = "fixed"
    UNTIL_INTERVAL = "until-interval"
    UNTIL_VERDICT = "until-verdict"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Step:
    """One suite with its parameters frozen. `peer` is the host that runs the server end, where one is needed."""

    name: str
    suite_id: str
    values: Mapping[str, Value]
    peer: str | None = None

    @property
    def suite(self) -> Suite:
        """The suite."""
        return _find_suite(self.suite_id)

    @property
    def headline(self) -> Metric:
        """The metric that leads. Raises UnknownSuiteError for a suite of a stored run that has gone."""
        return metrics_of(self.suite, self.values)[0]

    def whole_values(self) -> dict[str, Value]:
        """Return the step's values, with the tool's default for each parameter that an older plan does not have yet.

        Raises UnknownSuiteError for a suite of a stored run that has gone.
        """
        return {parameter.name: parameter.default for parameter in self.suite.parameters} | dict(self.values)

    def identity(self) -> dict[str, Value]:
        """Return the values that decide what is measured: not where files lie, and nothing without effect.

        A raw device is something else than a file system on it, whichever device it is.

        A parameter that an older plan does not have yet stands at the tool's own default.
        """
        try:
            values = self.whole_values()
        except UnknownSuiteError:  # of a stored run whose suite has gone: what it asked for is all that is known
            return dict(self.values)
        silent = {known.name for known in self.suite.parameters if not (known.identity and known.applies(values))}
        raw = {"device": True} if device_of(self.suite, values) else {}
        return {name: value for name, value in values.items() if name not in silent} | raw

    def fingerprint(self) -> str:
        """Return a hash of what is measured: steps that agree in it measure the same thing."""
        return _digest({"suite": self.suite_id, "values": self.identity()})


MINIMUM = 6
"""Trials before which nothing is settled: with fewer, no interval at 95 % covers the middle, whatever is measured."""

CAP = 30
"""Trials after which a step is given up as unsettled, unless the plan says otherwise. At ±2 %, a spread of 5 % between
trials needs 27 (simulated for this project)."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often each step runs on each host. Warm-ups are trials, marked as such, never mixed in.

    `trials` counts for FIXED. UNTIL_INTERVAL asks for both edges of the middle's 95 % interval within the share
    `precision` of it, twice in a row; UNTIL_VERDICT for the interval of the ratio to `baseline`, at `confidence`,
    wholly outside or inside `margin`. Both make at least `minimum` trials and at most `cap`. BUDGET shares `budget`
    seconds among all steps and hosts.
    """

    trials: int = 3
    warm_ups: int = 0
    pause: float = 0.0  # seconds between trials
    policy: Policy = Policy.FIXED
    precision: float = 0.02
    baseline: str = ""
    margin: float = 0.05
    confidence: float = 0.95
    minimum: int = MINIMUM
    cap: int = CAP
    budget: float = 600.0

    @property
    def fewest(self) -> int:
        """The trials that will be made at least."""
        looks = min(self.minimum + 1, self.cap)  # the interval has to fit twice
        fewest = {Policy.FIXED: self.trials, Policy.UNTIL_INTERVAL: looks, Policy.BUDGET: 1}
        return fewest.get(self.policy, self.minimum)

    @property
    def most(self) -> int | None:
        """The trials that will be made at most; None where time alone decides."""
        return {Policy.FIXED: self.trials, Policy.BUDGET: None}.get(self.policy, self.cap)

    def ruling(self) -> dict[str, object]:
        """Return the fields that have an effect under the policy, by name."""
        names = {
            Policy.FIXED: ("trials",),
            Policy.UNTIL_INTERVAL: ("precision", "minimum", "cap"),
            Policy.UNTIL_VERDICT: ("baseline", "margin", "confidence", "minimum", "cap"),
            Policy.BUDGET: ("budget",),
        }[self.policy]
        return {name: getattr(self, name) for name in ("policy", *names, "warm_ups", "pause")}


@dataclass(frozen=True, slots=True)
class Plan:
    """Hosts x steps x repetition x order. Everything a run does follows from it."""

    name: str
    hosts: tuple[str, ...]
    steps: tuple[Step, ...]
    question: str = ""
    repetition: Repetition = field(default_factory=Repetition)
    order: Order = Order.BLOCK
    seed: int | None = None  # of the lots that the order draws
    tuning: Tuning = field(default_factory=Tuning)
    acknowledged: tuple[Acknowledged, ...] = ()  # neither of these two changes what runs: they are no part of the hash
    changed: tuple[Remedied, ...] = ()
    goals: tuple[Goal, ...] = ()  # what the figures have to reach; they change nothing that runs, either

    def hash(self) -> str:
        """Return the hash of the plan's content."""
        given = self.repetition
        fixed = given.policy is Policy.FIXED
        tuned = {"tuning": tuning_values(self.tuning)} if self.tuning.changes_hosts else {}
        return _digest(
            {
                **tuned,
                "hosts": self.hosts,
                "steps": [[step.name, step.suite_id, dict(step.values), step.peer] for step in self.steps],
                # As it was before there were other policies and orders: the hash of an old plan stays.
                "repetition": [given.trials, given.warm_ups, given.pause] if fixed else given.ruling(),
                "order": [self.order, self.seed] if self.order.drawn else self.order,
            }
        )

    @property
    def format(self) -> str:
        """The oldest format that can say what the plan says, so that an older program reads what it can run."""
        if self.acknowledged or self.changed or self.goals:
            return FORMATS[2]
        other = self.repetition.policy is not Policy.FIXED or self.order.drawn or self.tuning != Tuning()
        return FORMATS[other]

    def step(self, name: str) -> Step:
        """Return the step `name`; raise PlanError where there is none."""
        for step in self.steps:
            if step.name == name:
                return step
        raise PlanError(f"The plan has no step “{name[:60]}”.", f"It has {', '.join(s.name for s in self.steps)}.")


def _find_suite(suite_id: str) -> Suite:
    """Return a suite by its id. Only here are all suites loaded: a window that has just opened needs none of them."""
    from suites.registry import suite

    return suite(suite_id)


def make_step(suite_id: str, given: Mapping[str, object], *, name: str = "", peer: str | None = None) -> Step:
    """Return a step with every parameter given or defaulted; raise for an unknown suite, parameter or bad value."""
    chosen = _find_suite(suite_id)
    values = complete_values(chosen, given)
    if chosen.needs_peer and peer is None:
        peer = LOCAL
    return Step(name or suite_id, suite_id, values, peer if chosen.needs_peer else None)


def validate(plan: Plan) -> Plan:
    """Return `plan` if it can run; raise PlanError or ParameterError naming what cannot.

    The plan of a stored run may hold any value: whoever wrote the library did not have to use this program.
    """
    if not plan.hosts:
        raise PlanError("The plan names no host.", f'Add hosts = ["{LOCAL}"] for this computer.')
    for host in plan.hosts:
        if not host.strip() or not host.isprintable():
            raise PlanError(f"“{host[:60]}” is no host.", "Name a host as “benchwright hosts” does.")
        if plan.hosts.count(host) > 1:
            raise PlanError(f"The plan names the host {host} twice.", "Name each host once.")
    if not plan.steps:
        raise PlanError("The plan has no step.", "Add at least one [[step]] with a suite.")
    names = [step.name for step in plan.steps]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"Two steps are named “{name}”.", "Give each step a name of its own.")
    for step in plan.steps:
        _check_values(step)
    check_repetition(plan.repetition)
    check_tuning(plan.tuning)
    check_goals(plan.goals, plan.steps)
    return plan


def _check_values(step: Step) -> None:
    """Raise ParameterError for a value that its parameter does not accept as it is."""
    for parameter in step.suite.parameters:
        value = step.values.get(parameter.name, parameter.default)
        if parameter.parse(value) != value:
            raise ParameterError(f"{step.name}: {parameter.name} is {str(value)[:60]!r}.", "Set it anew in the plan.")


_BOUNDS: dict[str, tuple[float, float]] = {
    "trials": (1, MAXIMUM_TRIALS),
    "warm_ups": (0, MAXIMUM_TRIALS),
    "precision": (0.001, 1),
    "margin": (0, 1),
    "minimum": (MINIMUM, MAXIMUM_TRIALS),
    "cap": (MINIMUM, MAXIMUM_TRIALS),
    "budget": (1, 30 * 86400),
}
"""What the fields of a repetition may be."""

CONFIDENCES = (0.95, 0.99)


def check_repetition(given: Repetition) -> None:
    """Raise PlanError where a field that has an effect is out of bounds, or two of them contradict each other."""
    ruling = given.ruling()
    for name, (low, high) in _BOUNDS.items():
        value = ruling.get(name, low)
        if not isinstance(value, int | float) or not low <= value <= high:
            raise PlanError(f"repetition.{name} is {value:g}.", f"Give {low:g} to {high:g}.")
    if "cap" in ruling and given.cap < given.minimum:
        raise PlanError(f"repetition.cap is {given.cap}.", f"Give no fewer than the minimum of {given.minimum}.")
    if given.policy is Policy.UNTIL_VERDICT:
        if not given.baseline.strip():
            raise PlanError("The repetition is until-verdict and names no baseline.", "Give the name of a pinned run.")
        if given.confidence not in CONFIDENCES:
            raise PlanError(f"repetition.confidence is {given.confidence:g}.", "Give 0.95 or 0.99.")


def with_seed(plan: Plan) -> Plan:
    """Return `plan` with a seed for its lots, so that the order they give stands in what is stored."""
    if not plan.order.drawn or plan.seed is not None:
        return plan
    return replace(plan, seed=secrets.randbelow(2**31))


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
