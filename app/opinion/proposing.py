"""The plan of a second opinion: the step as it was, and its nearest kin with whatever of it means the same there."""

from dataclasses import dataclass, replace

from app.comparing.intervals import FEWEST_TRIALS
from app.hosts.packages import usable_suites
from app.opinion.kin import Kin
from app.opinion.kinship import kin_of
from app.plans.plan import Order, Plan, Repetition, Step, make_step
from app.records import RunRecord
from suites.base import device_of
from suites.errors import BenchwrightError, ParameterError, UnknownSuiteError
from suites.facts import Facts
from suites.parameters import Parameter, Value
from suites.registry import suite as find_suite


class OpinionError(BenchwrightError):
    """There is no second opinion to be had."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A parameter that means the same in both suites: its names and values there and here, as people write them."""

    ours: str
    theirs: str
    value: str
    written: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A second opinion as a plan to run. `lost` are parameters that the other tool has not, in sentences."""

    kin: Kin
    plan: Plan
    carried: tuple[Carried, ...]
    lost: tuple[str, ...]


def propose(record: RunRecord, step: str = "", other: str = "", trials: int = FEWEST_TRIALS) -> Proposal:
    """Return the plan that asks another tool what `step` of a stored run asked (the first that one can check).

    Raises OpinionError where no suite is kin to it, or `other` is not.
    """
    asked = _step(record, step)
    facts = record.facts_before.get(record.plan.hosts[0])
    found = [_with(asked, kin, facts) for kin in _kin(asked, other)]
    nearest = min(found, key=_weight)  # the first of several that are as near: the table has the nearest first
    kin, theirs = nearest.kin, nearest.step
    mine = replace(asked, name=asked.suite_id)
    plan = Plan(
        name=f"second opinion on {asked.name}",
        hosts=record.plan.hosts,
        steps=(mine, replace(theirs, name=theirs.suite_id)),
        question=f"{kin.asks} Do {asked.suite_id} and {theirs.suite_id} agree?",
        repetition=Repetition(trials=max(trials, 1)),
        order=Order.RANDOMISED,
    )
    return Proposal(kin, plan, nearest.carried, nearest.lost)


def can_check(step: Step) -> bool:
    """Return whether another tool can check a step."""
    try:
        return bool(kin_of(step.suite_id)) and not device_of(step.suite, step.values)
    except UnknownSuiteError:
        return False


def _step(record: RunRecord, name: str) -> Step:
    if name:
        return record.plan.step(name)
    found = next((step for step in record.plan.steps if can_check(step)), None)
    if found is None:
        names = ", ".join(dict.fromkeys(step.suite_id for step in record.plan.steps))
        raise OpinionError(f"No other tool here measures what {names} does.", "Check it on another host instead.")
    return found


def _kin(step: Step, other: str) -> tuple[Kin, ...]:
    if not can_check(step):
        raise OpinionError(f"No other tool here measures what {step.name} does.", "Check it on another host instead.")
    known = kin_of(step.suite_id)
    chosen = tuple(kin for kin in known if not other or kin.other == other)
    if not chosen:
        raise OpinionError(
            f"{other[:60]} cannot check {step.suite_id}.", f"{', '.join(kin.other for kin in known)} can."
        )
    return chosen


@dataclass(frozen=True, slots=True)
class _Found:
    """A kin's step, what was carried over to it, and what was lost; `unlike` where that decides what is asked.

    `missing` is whether the host has not got its tool.
    """

    kin: Kin
    step: Step
    carried: tuple[Carried, ...]
    lost: tuple[str, ...]
    unlike: bool
    missing: bool


def _weight(found: _Found) -> tuple[bool, bool, bool, int]:
    """Return how far a kin lies: first whether it asks otherwise, then whether it is missing, counts another quantity,
    and how much is lost."""
    return found.unlike, found.missing, bool(found.kin.apart), len(found.lost)


def _with(step: Step, kin: Kin, facts: Facts | None) -> _Found:
    """Return the kin's step, and what was carried over and lost."""
    ours = {parameter.name: parameter for parameter in find_suite(kin.suite).parameters}
    theirs = {parameter.name: parameter for parameter in find_suite(kin.other).parameters}
    values = {name: parameter.default for name, parameter in ours.items()} | dict(step.values)
    given: dict[str, Value] = dict(kin.fixed)
    carried: list[Carried] = []
    lost: dict[str, None] = {}
    unlike = False
    for one in kin.carries:
        if not ours[one.ours].applies(values):
            continue
        converted = _taken(theirs[one.theirs], one.there(values[one.ours], values, facts))
        if converted is None:
            unlike = unlike or one.must
            lost[_lost(ours[one.ours], values[one.ours], kin.other)] = None
            continue
        given[one.theirs] = converted
        written = theirs[one.theirs].format(converted)
        carried.append(Carried(one.ours, one.theirs, ours[one.ours].format(values[one.ours]), written))
    known = {one.ours for one in kin.carries} | {name for name, value in kin.fixed_back if values[name] == value}
    for name, parameter in ours.items():
        if name not in known and parameter.identity and parameter.applies(values) and values[name] != parameter.default:
            lost[_lost(parameter, values[name], kin.other)] = None
    other = make_step(kin.other, given, peer=step.peer)
    missing = facts is not None and other.suite not in usable_suites(facts)
    return _Found(kin, other, tuple(_that_apply(carried, other)), tuple(lost), unlike, missing)


def _that_apply(carried: list[Carried], step: Step) -> list[Carried]:
    """Return what has an effect on the kin's step, each of its parameters once."""
    applies = {parameter.name: parameter.applies(step.values) for parameter in step.suite.parameters}
    seen: set[str] = set()
    kept = []
    for one in carried:
        if applies[one.theirs] and one.value and one.theirs not in seen:
            seen.add(one.theirs)
            kept.append(one)
    return kept


def _taken(parameter: Parameter, value: Value | None) -> Value | None:
    """Return `value` where the other suite's parameter takes it."""
    if value is None:
        return None
    try:
        return parameter.parse(value)
    except ParameterError:
        return None


def _lost(parameter: Parameter, value: Value, other: str) -> str:
    return (
        f"{parameter.title} {parameter.format(value)} cannot be carried over: {other} has nothing that means the same."
    )
