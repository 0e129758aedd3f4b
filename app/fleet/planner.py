"""Planner of fleet studies: instances x sessions x trials for a half width or a difference, the cheapest first."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from app.centres import student
from app.comparison.power import NestedVariance, PlannedTest, SampleDesign, error_parts, least_detectable
from app.comparison.variance import UPPER, VarianceComponent
from app.comparison.verdicts import FEWEST, Level
from app.fleet.study import FleetError
from app.ranking.candidates import amount_text
from app.sample_size.designs import DesignLimits, Effort, NoiseEstimate
from app.sample_size.report import hours_text
from suites.quantities import count_text, exact_share_text, share_text

LEAST_TRIALS = 3
"""Fewest trials of a session: with three, the median leaves out an outlier."""


AT_UPPER_LIMITS = f"at the upper {exact_share_text(UPPER)} limits of the variance"


class FleetGoal(StrEnum):
    """What the next study shows: the mean of each type within a half width, or a difference between two types."""

    HALF_WIDTH = "half width"
    DIFFERENCE = "difference"


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """The half width of the 95 % interval of the mean of a type, or the difference of two types, as a share.

    `test` are power and number of metrics of a difference. `types` is the number of types that are measured, `moments`
    the variance of effects that all hosts of a session share (FleetLevels.moment_variance): types that are measured at
    the same moments differ by none of it.
    """

    goal: FleetGoal
    wanted: float
    types: int = 1
    test: PlannedTest = field(default_factory=PlannedTest)
    limits: DesignLimits = field(default_factory=DesignLimits)
    moments: float = 0.0


@dataclass(frozen=True, slots=True)
class FleetCost:
    """The cost of a study: `effort` of trials and sessions, and of each instance besides.

    `start` are the seconds until a new instance can be measured, which are paid too; `instance` is a fixed cost of an
    instance, such as the least time that is billed or its volume, in the currency of the price.
    """

    effort: Effort
    start: float = 0.0
    instance: float = 0.0

    def hours(self, design: SampleDesign) -> float:
        """Return the instance-hours of a design for one type."""
        session = self.effort.setup + design.trials * self.effort.trial
        return design.hosts * (self.start + design.sessions * session) / 3600

    def amount(self, design: SampleDesign) -> float:
        """Return the cost of a design for one type; instance-hours without a price."""
        hours = self.hours(design)
        return hours if self.effort.price is None else hours * self.effort.price.amount + design.hosts * self.instance


@dataclass(frozen=True, slots=True)
class FleetDesign:
    """A design for each type, what it shows as a share, by the estimated components and by their upper limits.

    `hours` and `cost` are those of all types together; `cost` is None without a price.
    """

    design: SampleDesign
    shown: float
    cautious: float | None
    hours: float
    cost: float | None


def half_width(noise: NestedVariance, design: SampleDesign, moments: float = 0.0) -> float | None:
    """Return the half width of the 95 % interval of the mean of a type, as a share of it.

    exp(t s) - 1 for the error s of the mean of the hosts (error_parts()) and Student's t with hosts - 1 degrees of
    freedom. Hosts share the effects of `moments`, whose variance only more sessions reduce. None for fewer hosts than a
    claim on a type needs, or if a level that counts is not known.

    With a CoV of moments of 3 %, estimated from 3 sessions of 10 instances of 3 types, the mean of the next study is
    within the half width of 2 % in 87 % of cases, and in 46 % by designs without moments (150 simulated studies).
    """
    parts = error_parts(noise, design)
    if parts is None or design.hosts < FEWEST[Level.HOST]:
        return None
    error = math.sqrt(parts.whole + moments / design.sessions)
    return math.expm1(min(student(design.hosts - 1) * error, 50.0))


def propose_fleet(components: Sequence[VarianceComponent], request: FleetRequest, cost: FleetCost) -> list[FleetDesign]:
    """Return the designs that reach the goal by the estimated components, the cheapest first; empty if none does.

    Each number of instances, from FEWEST of Level.HOST, and of sessions has the fewest trials that suffice, and of a
    number of instances only the cheapest is kept. `components` are those of components_of() or fleet_levels(). Raises
    FleetError if instances or trials were not repeated, or if all values are identical.
    """
    trial, session, host = components[:3]
    if host.variance is None or trial.variance is None:
        level, few = ("instances", "instances of one type") if host.variance is None else ("trials", "trials a session")
        raise FleetError(f"The variation between {level} is not known.", f"Measure at least 3 {few} in a first study.")
    if not trial.high and not host.high:
        raise FleetError("All values are identical: the variance is not known.", "Choose a metric that varies.")
    noise, limits = NoiseEstimate.of(components), request.limits
    shown = _measure(request)
    most = 1 if session.variance is None else limits.sessions
    found = [
        min(designs, key=cost.amount) for hosts in range(FEWEST[Level.HOST], limits.hosts + 1)
        if (designs := _sufficient(hosts, most, noise.found, request))
    ]  # fmt: skip
    found.sort(key=lambda design: (cost.amount(design), design.hosts))
    return [_planned(design, noise, request, cost, shown) for design in found]


_Measure = Callable[[NestedVariance, SampleDesign], float | None]


def _measure(request: FleetRequest) -> _Measure:
    """Return the function of what a design shows."""
    if request.goal is FleetGoal.HALF_WIDTH:
        return lambda noise, design: half_width(noise, design, request.moments)
    return lambda noise, design: least_detectable(noise, design, request.test)


def _sufficient(hosts: int, most: int, noise: NestedVariance, request: FleetRequest) -> list[SampleDesign]:
    """Return the designs of so many hosts that reach the goal, with the fewest trials for 1 to `most` sessions.

    Those with more sessions than one that needs only the least trials cost more, and are left out.
    """
    found = []
    for sessions in range(1, most + 1):
        design = _fewest_trials(SampleDesign(hosts, sessions, 1), noise, request)
        if design is not None:
            found.append(design)
            if design.trials <= LEAST_TRIALS:
                break
    return found


def _fewest_trials(design: SampleDesign, noise: NestedVariance, request: FleetRequest) -> SampleDesign | None:
    """Return the design with the fewest trials that reach the goal; None if the limit does not."""
    measure = _measure(request)

    def shown(trials: int) -> float:
        found = measure(noise, replace(design, trials=trials))
        return math.inf if found is None else found

    counts = range(min(LEAST_TRIALS, request.limits.trials), request.limits.trials + 1)
    index = bisect_left(counts, -request.wanted, key=lambda trials: -shown(trials))
    return replace(design, trials=counts[index]) if index < len(counts) else None


def _planned(
    design: SampleDesign, noise: NoiseEstimate, request: FleetRequest, cost: FleetCost, shown: _Measure
) -> FleetDesign:
    hours = request.types * cost.hours(design)
    amount = None if cost.effort.price is None else request.types * cost.amount(design)
    return FleetDesign(design, shown(noise.found, design) or 0.0, shown(noise.upper, design), hours, amount)


def plan_text(one: FleetDesign, request: FleetRequest, cost: FleetCost) -> str:
    """Return a design as a line: ``8 instances x 2 sessions x 3 trials of each type: half width 2 % (...), 4 h``."""
    design, price = one.design, cost.effort.price
    units = ((design.hosts, "instance"), (design.sessions, "session"), (design.trials, "trial"))
    counts = " x ".join(count_text(*each) for each in units)
    upper = "" if one.cautious is None else f" ({share_text(one.cautious)} {AT_UPPER_LIMITS})"
    amount = "" if one.cost is None or price is None else f", {amount_text(one.cost, price.currency)}"
    shown = f"{exact_share_text(round(one.shown, 4))}{upper}"
    return f"{counts} of each type: {request.goal} {shown}, {hours_text(one.hours)} h{amount}"
