"""The plan of a cross-check: a step, and the nearest equivalent suite with translated parameters."""

from dataclasses import dataclass, replace

from app.comparison.estimates import FEWEST_TRIALS
from app.crosscheck.conditions import differing_conditions
from app.hosts.packages import usable_suites
from app.plans.plan import Order, Plan, Repetition, Step, make_step
from app.records import RunRecord
from suites.equivalents import Equivalent, Reason
from suites.errors import BenchwrightError, ParameterError, UnknownSuiteError
from suites.facts import Facts
from suites.parameters import Parameter, Value
from suites.registry import SUITES
from suites.registry import suite as find_suite


class CrossCheckError(BenchwrightError):
    """No other suite can cross-check a step."""


@dataclass(frozen=True, slots=True)
class CarriedParameter:
    """A translated parameter: its names and formatted values in both suites."""

    ours: str
    theirs: str
    value: str
    written: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A cross-check as a plan. `lost` has a sentence for each parameter without equivalent.

    `different` is why the figures of the two steps are not comparable.
    """

    pair: Equivalent
    plan: Plan
    carried: tuple[CarriedParameter, ...]
    lost: tuple[str, ...]
    different: tuple[Reason, ...] = ()


def equivalents_of(suite: str) -> tuple[Equivalent, ...]:
    """Return the suites equivalent to `suite`, the nearest first, declared by either of each pair."""
    return tuple(
        pair if declaring.id == suite else pair.reversed_for(declaring.id)
        for declaring in SUITES
        for pair in declaring.equivalents
        if suite in {declaring.id, pair.other}
    )


def propose(record: RunRecord, step: str = "", other: str = "", trials: int = FEWEST_TRIALS) -> Proposal:
    """Return the plan that repeats `step` of a stored run, by default the first possible, also with another tool.

    Raises CrossCheckError if no suite is equivalent, or `other` is not, or if none measures under the same conditions
    and no `other` is given.
    """
    chosen = _step(record, step)
    facts = record.facts_before.get(record.plan.hosts[0])
    found = [_translated(chosen, pair, facts) for pair in _candidates(chosen, other)]
    nearest = min(found, key=_distance)  # the first of equal ones
    pair, theirs = nearest.pair, nearest.step
    if nearest.different and not other:
        raise CrossCheckError(
            f"No suite measures {chosen.name} under the same conditions. {nearest.different[0].text}",
            f"Choose a tool ({', '.join(one.pair.other for one in found)}) to see what differs.",
        )
    places = {one.theirs: chosen.by_host[one.ours] for one in nearest.carried if one.ours in chosen.by_host}
    mine, theirs = replace(chosen, name=chosen.suite_id), replace(theirs, by_host=places)
    plan = Plan(
        name=f"cross-check of {chosen.name}",
        hosts=record.plan.hosts,
        steps=(mine, replace(theirs, name=theirs.suite_id)),
        question=f"{pair.question} Do {chosen.suite_id} and {theirs.suite_id} agree?",
        repetition=Repetition(trials=max(trials, 1)),
        order=Order.RANDOMISED,
    )
    return Proposal(pair, plan, nearest.carried, nearest.lost, nearest.different)


def can_check(step: Step) -> bool:
    """Return whether another tool can check a step."""
    try:
        return bool(equivalents_of(step.suite_id)) and not step.suite.device(step.values)
    except UnknownSuiteError:
        return False


def _step(record: RunRecord, name: str) -> Step:
    if name:
        return record.plan.step(name)
    found = next((step for step in record.plan.steps if can_check(step)), None)
    if found is None:
        names = ", ".join(dict.fromkeys(step.suite_id for step in record.plan.steps))
        raise CrossCheckError(f"No suite is equivalent to {names}.", "Repeat it on another host instead.")
    return found


def _candidates(step: Step, other: str) -> tuple[Equivalent, ...]:
    if not can_check(step):
        raise CrossCheckError(f"No suite is equivalent to {step.name}.", "Repeat it on another host instead.")
    known = equivalents_of(step.suite_id)
    chosen = tuple(pair for pair in known if not other or pair.other == other)
    if not chosen:
        raise CrossCheckError(
            f"{other[:60]} is not equivalent to {step.suite_id}.", f"Use {', '.join(pair.other for pair in known)}."
        )
    return chosen


@dataclass(frozen=True, slots=True)
class _Translated:
    """The equivalent step, its carried and lost parameters; `unlike`: a required one was lost.

    `missing` is whether the host lacks its tool, `different` why the two steps are not comparable.
    """

    pair: Equivalent
    step: Step
    carried: tuple[CarriedParameter, ...]
    lost: tuple[str, ...]
    unlike: bool
    missing: bool
    different: tuple[Reason, ...]


def _distance(found: _Translated) -> tuple[bool, bool, bool, int]:
    """Return the sort key of candidates: other conditions, tool missing, other quantity, number lost."""
    return found.unlike or bool(found.different), found.missing, bool(found.pair.incomparable), len(found.lost)


def _translated(step: Step, pair: Equivalent, facts: Facts | None) -> _Translated:
    """Translate a step to an equivalent suite."""
    ours = {parameter.name: parameter for parameter in step.suite.parameters}
    theirs = {parameter.name: parameter for parameter in find_suite(pair.other).parameters}
    values = {name: parameter.default for name, parameter in ours.items()} | dict(step.values)
    given: dict[str, Value] = dict(pair.fixed)
    carried: list[CarriedParameter] = []
    lost: dict[str, None] = {}
    unlike = False
    for one in pair.parameters:
        if not ours[one.ours].applies(values):
            continue
        converted = _accepted(theirs[one.theirs], one.forward(values[one.ours], values, facts))
        if converted is None:
            unlike = unlike or one.required
            lost[_lost(ours[one.ours], values[one.ours], pair.other)] = None
            continue
        given[one.theirs] = converted
        written = theirs[one.theirs].format(converted)
        carried.append(CarriedParameter(one.ours, one.theirs, ours[one.ours].format(values[one.ours]), written))
    known = {one.ours for one in pair.parameters} | {
        name for name, value in pair.fixed_backward if values[name] == value
    }
    for name, parameter in ours.items():
        if name not in known and parameter.identity and parameter.applies(values) and values[name] != parameter.default:
            lost[_lost(parameter, values[name], pair.other)] = None
    other = make_step(pair.other, given, peer=step.peer)
    missing = facts is not None and other.suite not in usable_suites(facts)
    different = differing_conditions((step, other), facts)
    return _Translated(pair, other, tuple(_that_apply(carried, other)), tuple(lost), unlike, missing, different)


def _that_apply(carried: list[CarriedParameter], step: Step) -> list[CarriedParameter]:
    """Return the distinct carried parameters that the equivalent step uses."""
    applies = {parameter.name: parameter.applies(step.values) for parameter in step.suite.parameters}
    seen: set[str] = set()
    applied = []
    for one in carried:
        if applies[one.theirs] and one.value and one.theirs not in seen:
            seen.add(one.theirs)
            applied.append(one)
    return applied


def _accepted(parameter: Parameter, value: Value | None) -> Value | None:
    """Return `value` as the other suite's parameter parses it; None if it rejects it."""
    if value is None:
        return None
    try:
        return parameter.parse(value)
    except ParameterError:
        return None


def _lost(parameter: Parameter, value: Value, other: str) -> str:
    return f"{parameter.title} {parameter.format(value)} is not carried over: {other} has no equivalent."
