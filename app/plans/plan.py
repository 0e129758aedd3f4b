"""Plans: hosts, steps, repetition and order; immutable and hashed."""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from app.plans.plan_remarks import Acknowledged, RemediedValue
from app.plans.tuning import Tuning, tuning_values
from suites.base import Suite, complete_values
from suites.errors import BenchwrightError, ParameterError, UnknownSuiteError
from suites.parameters import Parameter, Value
from suites.verdict import Goal
from suites.vocab import Metric

LOCAL = "local"
"""The name of this computer as a host."""

ELSEWHERE = "elsewhere"
"""The host of an output of a tool that does not name its own."""

MAXIMUM_TRIALS = 1000
MAXIMUM_SEED = 2**63 - 1
MOST_PAUSE = 1e6  # seconds
TELEMETRY_INTERVALS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between telemetry samples that are offered; the first and the last are the bounds."""
TELEMETRY_DEFAULT = 1.0

DAY = 86400.0
"""Default seconds between the starts of two sessions."""

FORMATS = tuple(f"benchwright-plan/{number}" for number in range(1, 7))
"""The supported plan formats, oldest first. 2 adds policies other than FIXED, random orders and tuning; 3 adds remarks
on findings, goals, and the telemetry interval; 4 adds sessions; 5 adds duets; 6 adds profiled trials and values of
single hosts."""

OTHER_HOSTS = "*"
"""The key of the value of all other hosts, where single hosts have their own in a plan file."""


def host_label(name: str) -> str:
    """Return the name of a host within a sentence."""
    return "this computer" if name == LOCAL else name


class PlanError(BenchwrightError):
    """An unreadable or invalid plan."""


class GoalError(BenchwrightError):
    """A goal that cannot be parsed, or that no step measures."""


class Order(StrEnum):
    """The order of trials. One trial runs at a time, or one duet, so that hosts cannot disturb each other.

    BLOCK: all trials of a step on a host, then the next host, then the next step.
    INTERLEAVED: trial 1 of every step on every host, then trial 2, and so on; drift affects all equally.
    RANDOMISED: interleaved, each round in random order; periodic disturbances then affect all equally, too.
    ABBA: pairs of rounds, the first in random order, the second its mirror; linear drift cancels out.
    DUET: both steps of the plan at once, each on half of the host's CPUs; all duets of a host, then the next host.
    """

    BLOCK = "block"
    INTERLEAVED = "interleaved"
    RANDOMISED = "randomised"
    ABBA = "abba"
    DUET = "duet"

    @property
    def drawn(self) -> bool:
        """Whether the order is random, so that the plan has a seed."""
        return self in {Order.RANDOMISED, Order.ABBA}


class Policy(StrEnum):
    """The stopping rule for the trials of a step on a host.

    FIXED: a number of trials. UNTIL_INTERVAL: the interval of their centre is narrow enough. UNTIL_VERDICT: the
    comparison with the baseline has a verdict. BUDGET: the time is used up.
    """

    FIXED = "fixed"
    UNTIL_INTERVAL = "until-interval"
    UNTIL_VERDICT = "until-verdict"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Step:
    """A suite with its parameter values. `peer` is the host that runs the server, for network suites.

    Set by a plan of order DUET: `partner` is the fingerprint of the step that runs at the same moment, and `second`
    whether this one is the second of the plan.

    `by_host` are values of single hosts by parameter and host, as of a directory; all other hosts use `values`. Only
    parameters that do not decide what is measured have them.
    """

    name: str
    suite_id: str
    values: Mapping[str, Value]
    peer: str | None = None
    partner: str = ""
    second: bool = False
    by_host: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    @property
    def suite(self) -> Suite:
        """The suite."""
        return _find_suite(self.suite_id)

    @property
    def headline(self) -> Metric:
        """The headline metric. Raises UnknownSuiteError if this version does not have the suite of a stored run."""
        return self.suite.metrics_of(self.whole_values())[0]

    def on(self, host: str) -> "Step":
        """Return the step with the values that it has on `host`."""
        if not self.by_host:
            return self
        own = {name: values[host] for name, values in self.by_host.items() if host in values}
        return replace(self, values={**self.values, **own}, by_host={})

    def whole_values(self) -> dict[str, Value]:
        """Return the values, with the tool's default for each parameter that an older plan lacks.

        Raises UnknownSuiteError if this version does not have the suite of a stored run.
        """
        return {parameter.name: parameter.default for parameter in self.suite.parameters} | dict(self.values)

    def identity(self) -> dict[str, Value]:
        """Return the values that decide what is measured: without locations, and without values that have no effect.

        A raw device differs from a file system, but all raw devices are equal. Parameters that an older plan lacks
        have the tool's default.
        """
        try:
            values = self.whole_values()
        except UnknownSuiteError:  # a stored run of a removed suite: all of its values count
            return dict(self.values)
        silent = {known.name for known in self.suite.parameters if not (known.identity and known.applies(values))}
        raw = {"device": True} if self.suite.device(values) else {}
        return {name: value for name, value in values.items() if name not in silent} | raw

    def fingerprint(self) -> str:
        """Return a hash of identity() and of the partner: steps with the same fingerprint measure the same thing."""
        partner = {"partner": self.partner} if self.partner else {}
        return _digest({"suite": self.suite_id, "values": self.identity(), **partner})

    @property
    def alone(self) -> "Step":
        """The step outside of a duet."""
        return replace(self, partner="", second=False) if self.partner else self

    @property
    def duet(self) -> frozenset[str]:
        """The fingerprints of both steps of the duet; empty outside of one."""
        return frozenset({self.alone.fingerprint(), self.partner}) if self.partner else frozenset()


def known_headline(step: Step) -> Metric | None:
    """Return the headline metric of a step; None if this version does not have its suite."""
    try:
        return step.headline
    except UnknownSuiteError:
        return None


MINIMUM = 6
"""Default trials, and fewest of an adaptive policy: with fewer, no signed-rank interval at 95 % exists."""

CAP = 30
"""Default limit of trials of an adaptive policy. At ±2 %, a spread of 5 % between trials needs 27 (simulated for this
project)."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """The repetition of each step on each host. Warm-ups are trials that are marked and never counted.

    FIXED uses `trials`. UNTIL_INTERVAL stops when the 95 % interval of the centre is within ±`precision` (relative)
    twice in a row; UNTIL_VERDICT when the sequential interval of the ratio to `baseline`, at `confidence`, is entirely
    outside or inside `margin` (None: that of the metric, see app.margins; `margins` are the user's own at the start of
    the run). Both run at least `minimum` and at most `cap` trials. BUDGET divides `budget` seconds among all steps and
    hosts.

    All of this is one session, a run. The plan has `sessions` of them, one `every` so many seconds: trials of one run
    share its moment, so that only runs at different times show how results differ from one time to another.
    """

    trials: int = MINIMUM
    warm_ups: int = 0
    pause: float = 0.0  # seconds between trials
    policy: Policy = Policy.FIXED
    precision: float = 0.02
    baseline: str = ""
    margin: float | None = None
    confidence: float = 0.95
    minimum: int = MINIMUM
    cap: int = CAP
    budget: float = 600.0
    margins: tuple[tuple[str, float], ...] = ()
    sessions: int = 1
    every: float = DAY  # seconds between the starts of two sessions
    profile: bool = False  # one more trial of each step under perf, after those that count; not hashed

    @property
    def uncounted(self) -> int:
        """The number of trials that never count: warm-ups and the profiled trial."""
        return self.warm_ups + self.profile

    @property
    def one_session(self) -> "Repetition":
        """The repetition within one session."""
        return replace(self, sessions=1, every=DAY)

    @property
    def is_quick_look(self) -> bool:
        """Whether each step runs once: samples within a trial, but no interval over trials."""
        return self.policy is Policy.FIXED and self.trials == 1

    @property
    def fewest(self) -> int:
        """The smallest number of trials."""
        looks = min(self.minimum + 1, self.cap)  # the interval has to be narrow twice
        fewest = {Policy.FIXED: self.trials, Policy.UNTIL_INTERVAL: looks, Policy.BUDGET: 1}
        return fewest.get(self.policy, self.minimum)

    @property
    def most(self) -> int | None:
        """The largest number of trials; None if only time limits it."""
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


QUICK_LOOK = Repetition(trials=1)
"""One trial of each step: the alternative to the default."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Hosts x steps x repetition x order. Everything a run does follows from it."""

    name: str
    hosts: tuple[str, ...]
    steps: tuple[Step, ...]
    question: str = ""
    repetition: Repetition = field(default_factory=Repetition)
    order: Order = Order.BLOCK
    seed: int | None = None  # of the random order
    tuning: Tuning = field(default_factory=Tuning)
    acknowledged: tuple[Acknowledged, ...] = ()  # this and what follows do not affect the tests: not hashed
    changed: tuple[RemediedValue, ...] = ()
    goals: tuple[Goal, ...] = ()
    telemetry_interval: float = TELEMETRY_DEFAULT  # seconds between samples of the hosts

    def __post_init__(self) -> None:
        """Name the partner of each step of a duet. A duet restricted to one of its steps keeps it.

        A value that no host uses, since each has its own, becomes that of the first host.
        """
        if any(step.by_host for step in self.steps):
            object.__setattr__(self, "steps", tuple(_used_values(step, self.hosts) for step in self.steps))
        if self.order is not Order.DUET:
            object.__setattr__(self, "steps", tuple(step.alone for step in self.steps))
        elif len(self.steps) == 2:
            object.__setattr__(self, "steps", _partnered(*(step.alone for step in self.steps)))

    def hash(self) -> str:
        """Return the hash of what one session does; the number of sessions and the time between them do not count."""
        given = self.repetition
        fixed = given.policy is Policy.FIXED
        tuned = {"tuning": tuning_values(self.tuning)} if self.tuning.changes_hosts else {}
        return _digest(
            {
                **tuned,
                "hosts": self.hosts,
                "steps": [
                    [step.name, step.suite_id, dict(step.values), step.peer, *([_plain(step)] if step.by_host else [])]
                    for step in self.steps
                ],
                # Defaults hash as in format 1, so that the hash of an old plan stays the same.
                "repetition": [given.trials, given.warm_ups, given.pause] if fixed else _hashed(given),
                "order": [self.order, self.seed] if self.order.drawn else self.order,
            }
        )

    def session_key(self) -> str:
        """Return a hash that sessions of the same plan share: that of hash(), without the seed of the random order.

        Parameters that an older plan lacks have the tool's default.
        """
        steps = tuple(replace(step, values=_whole_values(step)) for step in self.steps)
        return replace(self, steps=steps, seed=None).hash()

    @property
    def format(self) -> str:
        """The oldest format that can hold the plan, so that older versions can read it."""
        if self.repetition.profile or any(step.by_host for step in self.steps):
            return FORMATS[5]
        if self.order is Order.DUET:
            return FORMATS[4]
        if self.repetition != self.repetition.one_session:
            return FORMATS[3]
        if self.acknowledged or self.changed or self.goals or self.telemetry_interval != TELEMETRY_DEFAULT:
            return FORMATS[2]
        other = self.repetition.policy is not Policy.FIXED or self.order.drawn or self.tuning != Tuning()
        return FORMATS[other]

    def steps_on(self, host: str) -> tuple[Step, ...]:
        """Return the steps with the values that they have on `host`."""
        return tuple(step.on(host) for step in self.steps)

    def step(self, name: str) -> Step:
        """Return the step `name`; raise PlanError if there is none."""
        for step in self.steps:
            if step.name == name:
                return step
        raise PlanError(f"The plan has no step “{name[:60]}”.", f"Its steps: {', '.join(s.name for s in self.steps)}.")


def _plain(step: Step) -> dict[str, dict[str, Value]]:
    return {name: dict(values) for name, values in step.by_host.items()}


def _used_values(step: Step, hosts: tuple[str, ...]) -> Step:
    """Return `step` without values that none of `hosts` uses."""
    used = {name: found[hosts[0]] for name, found in step.by_host.items() if hosts and set(hosts) <= set(found)}
    return replace(step, values={**step.values, **used}) if used else step


def _partnered(first: Step, second: Step) -> tuple[Step, Step]:
    """Return both steps of a duet, each with the other as its partner."""
    return replace(first, partner=second.fingerprint()), replace(second, partner=first.fingerprint(), second=True)


def _whole_values(step: Step) -> Mapping[str, Value]:
    try:
        return step.whole_values()
    except UnknownSuiteError:
        return step.values


def _find_suite(suite_id: str) -> Suite:
    """Return a suite by its id. The import is local because loading all suites delays the start of the window."""
    from suites.registry import suite

    return suite(suite_id)


def make_step(suite_id: str, given: Mapping[str, object], *, name: str = "", peer: str | None = None) -> Step:
    """Return a step with defaults for parameters not given; raise for an unknown suite or parameter, or a bad value.

    A value may be a table with one for each host, and with OTHER_HOSTS one for those without.
    """
    chosen = _find_suite(suite_id)
    tables = {key: value for key, value in given.items() if isinstance(value, Mapping)}
    others = {key: value[OTHER_HOSTS] for key, value in tables.items() if OTHER_HOSTS in value}
    values = complete_values(chosen, {key: value for key, value in given.items() if key not in tables} | others)
    if chosen.needs_peer and peer is None:
        peer = LOCAL
    step = Step(name or suite_id, suite_id, values, peer if chosen.needs_peer else None)
    return replace(step, by_host=_values_by_host(chosen, tables)) if tables else step


def _values_by_host(suite: Suite, tables: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, Value]]:
    """Return the values of single hosts; raise ParameterError for a parameter that all hosts share, or a bad value."""
    complete_values(suite, dict.fromkeys(tables.keys() - {each.name for each in suite.parameters}))  # names the unknown
    found: dict[str, dict[str, Value]] = {}
    for parameter in suite.parameters:
        table = {host: value for host, value in tables.get(parameter.name, {}).items() if host != OTHER_HOSTS}
        if table and parameter.identity:
            places = ", ".join(each.name for each in suite.parameters if not each.identity)
            raise ParameterError(
                f"{suite.id}: {parameter.name} decides what is measured, so all hosts share it.",
                f"A host may have its own {places}." if places else "Set one value.",
            )
        for host, value in table.items():
            try:
                found.setdefault(parameter.name, {})[host] = parameter.parse(value)
            except ParameterError as error:
                raise ParameterError(f"{suite.id} on {host}: {error.message}", error.remedy) from None
    return found


def value_text(step: Step, parameter: Parameter) -> str:
    """Return the value of a parameter as text, with that of each host that has its own: ``db-1: /srv, others: /``."""
    own = {host_label(host): value for host, value in step.by_host.get(parameter.name, {}).items()}
    shared = step.values.get(parameter.name, parameter.default)
    if not own:
        return parameter.format(shared)
    return ", ".join(f"{host}: {parameter.format(value)}" for host, value in {**own, "others": shared}.items())


def token_of(name: str, parameter: Parameter | None) -> str:
    """Return the tool's own word for a parameter: its first long option, else the name."""
    option = None if parameter is None else re.match(r"--([\w-]+)", parameter.option)
    return name if option is None else option[1]


def value_tables(step: Step) -> dict[str, dict[str, Value]]:
    """Return the values of parameters that differ by host, as make_step() takes them."""
    return {name: {**values, OTHER_HOSTS: step.values[name]} for name, values in step.by_host.items()}


def with_seed(plan: Plan) -> Plan:
    """Return `plan` with a seed for its random order, so that the stored plan reproduces it."""
    if not plan.order.drawn or plan.seed is not None:
        return plan
    return replace(plan, seed=secrets.randbelow(2**31))


def _hashed(repetition: Repetition) -> dict[str, object]:
    """Return the fields of an adaptive policy; no margin hashes as the 5 % that were its default in older versions."""
    ruling = repetition.ruling()
    if ruling.get("margin", 0.0) is None:
        ruling |= {"margin": 0.05} | ({"margins": repetition.margins} if repetition.margins else {})
    return ruling


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
