"""A plan: hosts, steps, repetition and order; frozen before it runs, and hashed."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from suites.base import Suite, complete_values
from suites.errors import BenchwrightError, UnknownSuiteError
from suites.parameters import Value
from suites.registry import suite as find_suite

LOCAL = "local"
"""The name of this computer as a host."""

MAXIMUM_TRIALS = 1000


class PlanError(BenchwrightError):
    """A plan cannot be read or does not make sense."""


class Order(StrEnum):
    """In which order trials run. One measures at a time, so that hosts cannot disturb each other.

    BLOCK: all trials of a step on a host, then the next host, then the next step.
    INTERLEAVED: trial 1 of every step on every host, then trial 2, and so on; drift then hits all alike.
    """

    BLOCK = "block"
    INTERLEAVED = "interleaved"


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
        return find_suite(self.suite_id)

    def identity(self) -> dict[str, Value]:
        """Return the values that decide what is measured: not where files lie, and nothing without effect.

        A parameter that an older plan does not have yet stands at the tool's own default.
        """
        try:
            parameters = self.suite.parameters
        except UnknownSuiteError:  # of a stored run whose suite has gone: what it asked for is all that is known
            return dict(self.values)
        values = {parameter.name: parameter.default for parameter in parameters} | dict(self.values)
        silent = {known.name for known in parameters if not (known.identity and known.applies(values))}
        return {name: value for name, value in values.items() if name not in silent}

    def fingerprint(self) -> str:
        """Return a hash of what is measured: steps that agree in it measure the same thing."""
        return _digest({"suite": self.suite_id, "values": self.identity()})


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often each step runs on each host. Warm-ups are trials, marked as such, never mixed in."""

    trials: int = 3
    warm_ups: int = 0
    pause: float = 0.0  # seconds between trials


@dataclass(frozen=True, slots=True)
class Plan:
    """Hosts x steps x repetition x order. Everything a run does follows from it."""

    name: str
    hosts: tuple[str, ...]
    steps: tuple[Step, ...]
    question: str = ""
    repetition: Repetition = field(default_factory=Repetition)
    order: Order = Order.BLOCK

    def hash(self) -> str:
        """Return the hash of the plan's content."""
        return _digest(
            {
                "hosts": self.hosts,
                "steps": [[step.name, step.suite_id, dict(step.values), step.peer] for step in self.steps],
                "repetition": [self.repetition.trials, self.repetition.warm_ups, self.repetition.pause],
                "order": self.order,
            }
        )

    def step(self, name: str) -> Step:
        """Return the step `name`; raise PlanError where there is none."""
        for step in self.steps:
            if step.name == name:
                return step
        raise PlanError(f"The plan has no step “{name[:60]}”.", f"It has {', '.join(s.name for s in self.steps)}.")


def make_step(suite_id: str, given: Mapping[str, object], *, name: str = "", peer: str | None = None) -> Step:
    """Return a step with every parameter given or defaulted; raise for an unknown suite, parameter or bad value."""
    chosen = find_suite(suite_id)
    values = complete_values(chosen, given)
    if chosen.needs_peer and peer is None:
        peer = LOCAL
    return Step(name or suite_id, suite_id, values, peer if chosen.needs_peer else None)


def validate(plan: Plan) -> Plan:
    """Return `plan` if it can run; raise PlanError naming what cannot."""
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
    if not 1 <= plan.repetition.trials <= MAXIMUM_TRIALS:
        raise PlanError(f"repetition.trials is {plan.repetition.trials}.", f"Give 1 to {MAXIMUM_TRIALS}.")
    if not 0 <= plan.repetition.warm_ups <= MAXIMUM_TRIALS:
        raise PlanError(f"repetition.warm_ups is {plan.repetition.warm_ups}.", f"Give 0 to {MAXIMUM_TRIALS}.")
    return plan


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
