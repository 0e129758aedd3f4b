"""Designs of hosts x sessions x trials that show a difference, their cost, and which of them are worth choosing."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.comparison.estimates import FEWEST_TRIALS
from app.comparison.power import (
    ONE_TEST,
    ErrorParts,
    NestedVariance,
    PlannedTest,
    SampleDesign,
    error_parts,
    least_detectable,
)
from app.comparison.variance import VarianceComponent
from app.comparison.verdicts import FEWEST, Level
from app.plans.plan import DAY
from app.ranking.candidates import Price

SIDES = 2
"""A comparison has two sides of the same design."""


@dataclass(frozen=True, slots=True)
class DesignLimits:
    """The most hosts of each side, sessions on each host, and trials of a session."""

    hosts: int = 10
    sessions: int = 30
    trials: int = 30


@dataclass(frozen=True, slots=True)
class Effort:
    """Seconds of a trial with its pause, of the set-up of a session, and between the starts of two sessions.

    `price` is that of one host for an hour.
    """

    trial: float
    setup: float = 0.0
    every: float = DAY
    price: Price | None = None

    def with_price(self, price: Price | None) -> "Effort":
        """Return the effort at another price."""
        return replace(self, price=price)


@dataclass(frozen=True, slots=True)
class SampleSizeRequest:
    """The difference to show, as a share, by which test, and at which cost.

    `margin` is that of the metric: a verdict “better” or “worse” needs a difference beyond it.
    """

    wanted: float
    margin: float
    effort: Effort
    test: PlannedTest = ONE_TEST
    limits: DesignLimits = field(default_factory=DesignLimits)


@dataclass(frozen=True, slots=True)
class CostedDesign:
    """A design, what it shows, and what it costs on both sides together.

    `detectable` is the smallest detectable difference by the estimated components, `cautious` that by their upper
    limits. `per_host` are the seconds of measuring on each host, `days` those from the first session to the end of the
    last, `host_hours` the hours of all hosts. `cost` is None without a price. `parts` are those of hosts, sessions and
    trials in the variance of a result.
    """

    design: SampleDesign
    detectable: float
    cautious: float
    per_host: float
    days: float
    host_hours: float
    cost: float | None
    parts: ErrorParts

    def beyond(self, margin: float) -> float:
        """Return the smallest difference whose interval is entirely beyond `margin`, as a share."""
        return (1 + margin) * (1 + self.detectable) - 1


def claim_level(noise: NestedVariance, limits: DesignLimits, test: PlannedTest = ONE_TEST) -> Level:
    """Return the highest level that a claim can speak of: the known ones, as far as the limits allow to repeat them.

    Pairs of hosts need no variation between hosts.
    """
    known = noise.session if test.paired else noise.host
    if known is not None and limits.hosts >= FEWEST[Level.HOST]:
        return Level.HOST
    if noise.session is not None and limits.sessions >= FEWEST[Level.SESSION]:
        return Level.SESSION
    return Level.TRIAL


def sufficient_designs(
    noise: NestedVariance, wanted: float, limits: DesignLimits, test: PlannedTest = ONE_TEST
) -> list[SampleDesign]:
    """Return the designs within `limits` that show a difference of `wanted`, each with the fewest trials.

    All are of claim_level(). A session has FEWEST_TRIALS or more where the limits allow: with fewer it cannot show
    outliers and drift.
    """

    def difference(design: SampleDesign) -> float:
        found = least_detectable(noise, design, test)
        return math.inf if found is None else found

    fewest = min(FEWEST_TRIALS, limits.trials)
    found = []
    for hosts, sessions in _repeated(noise, limits, claim_level(noise, limits, test)):
        base = SampleDesign(hosts, sessions, fewest)
        fewer = range(fewest, limits.trials)
        steps = bisect_left(fewer, -wanted, key=lambda trials: -difference(replace(base, trials=trials)))
        found.append(replace(base, trials=fewest + steps))
    return [design for design in found if difference(design) <= wanted]


def _repeated(noise: NestedVariance, limits: DesignLimits, level: Level) -> Iterator[tuple[int, int]]:
    """Yield the hosts and sessions of the designs of a level."""
    if level is Level.TRIAL:
        yield 1, 1
    elif level is Level.SESSION:
        yield from ((1, sessions) for sessions in range(FEWEST[level], limits.sessions + 1))
    else:
        most = 1 if noise.session is None else limits.sessions
        for hosts in range(FEWEST[level], limits.hosts + 1):
            yield from ((hosts, sessions) for sessions in range(1, most + 1))


def shortfall(design: SampleDesign) -> str:
    """Return why a comparison of `design` has no verdict: ``2 sessions, a verdict needs 3``; empty if it may have."""
    fewest = FEWEST[design.level]
    return "" if design.count >= fewest else f"{design.count} {design.level}s on each side, a verdict needs {fewest}"


@dataclass(frozen=True, slots=True)
class NoiseEstimate:
    """The variances as estimated, and at their upper limits, which few units do not leave too small."""

    found: NestedVariance
    upper: NestedVariance

    @classmethod
    def of(cls, components: Sequence[VarianceComponent]) -> "NoiseEstimate":
        """Return the estimate of the components of trials, sessions and hosts, the first three."""
        trial, session, host = components[:3]
        return cls(
            NestedVariance(trial.variance or 0.0, session.variance, host.variance),
            NestedVariance(trial.upper or 0.0, session.upper, host.upper),
        )


def costed(noise: NoiseEstimate, design: SampleDesign, request: SampleSizeRequest) -> CostedDesign | None:
    """Return what a design shows and costs; None if a level that it depends on is not known."""
    detectable, cautious = (least_detectable(one, design, request.test) for one in (noise.found, noise.upper))
    parts = error_parts(noise.found, design, request.test)
    if detectable is None or cautious is None or parts is None:
        return None
    effort = request.effort
    both = design.level is Level.TRIAL  # one session has the trials of both sides
    turns = SIDES if request.test.paired and not both else 1  # the same hosts measure one side after the other
    session = effort.setup + (SIDES if both else 1) * design.trials * effort.trial
    per_host = turns * design.sessions * session
    hours = (1 if both else SIDES) * design.hosts * design.sessions * session / 3600
    interval = max(effort.every, session) if turns * design.sessions > 1 else 0.0
    days = ((turns * design.sessions - 1) * interval + session) / DAY
    price = effort.price
    cost = None if price is None else price.amount * hours
    return CostedDesign(design, detectable, cautious, per_host, days, hours, cost, parts)


def efficient(designs: Iterable[CostedDesign]) -> list[CostedDesign]:
    """Return the designs that no other one beats in host-hours, days and hosts together, the cheapest first."""
    kept: list[CostedDesign] = []
    for one in sorted(designs, key=lambda one: (one.host_hours, one.days, one.design.hosts)):
        if not any(other.days <= one.days and other.design.hosts <= one.design.hosts for other in kept):
            kept.append(one)
    return kept


def proposed(noise: NoiseEstimate, request: SampleSizeRequest) -> list[CostedDesign]:
    """Return the efficient designs that show the wanted difference by the estimated components."""
    return _proposed(noise, noise.found, request)


def proposed_cautious(noise: NoiseEstimate, request: SampleSizeRequest) -> CostedDesign | None:
    """Return the cheapest design that shows the wanted difference with every component at its upper limit."""
    return next(iter(_proposed(noise, noise.upper, request)), None)


def _proposed(noise: NoiseEstimate, used: NestedVariance, request: SampleSizeRequest) -> list[CostedDesign]:
    found = sufficient_designs(used, request.wanted, request.limits, request.test)
    whole = (costed(noise, design, request) for design in found)
    return efficient(one for one in whole if one is not None)


def best_within(noise: NoiseEstimate, request: SampleSizeRequest) -> CostedDesign | None:
    """Return the design that shows the smallest difference within the limits; None without a known level."""
    limits = request.limits
    *_, largest = _repeated(noise.found, limits, claim_level(noise.found, limits, request.test))
    return costed(noise, SampleDesign(*largest, limits.trials), request)


MOST_COUNTED = 1000


def fewest_with_unlimited(noise: NestedVariance, design: SampleDesign, request: SampleSizeRequest) -> int | None:
    """Return the fewest units of the level that dominates a result with unlimited units of all levels below it.

    These are hosts, or sessions on each host of `design`. None for trials, or if MOST_COUNTED do not suffice.
    """
    level = dominating(noise, design, request)
    if level is Level.TRIAL:
        return None
    alone = replace(noise, trial=0.0, session=0.0 if level is Level.HOST else noise.session)
    name = "hosts" if level is Level.HOST else "sessions"

    def difference(count: int) -> float:
        found = least_detectable(alone, replace(design, **{name: count}), request.test)
        return math.inf if found is None else found

    fewest = FEWEST[level] if level is design.level else 1
    counts = range(fewest, MOST_COUNTED)
    found = fewest + bisect_left(counts, -request.wanted, key=lambda count: -difference(count))
    return found if found < MOST_COUNTED else None


def dominating(noise: NestedVariance, design: SampleDesign, request: SampleSizeRequest) -> Level:
    """Return the level with the largest part in the variance of a result."""
    parts = error_parts(noise, design, request.test)
    if parts is None:
        return design.level
    named = {Level.HOST: parts.host, Level.SESSION: parts.session, Level.TRIAL: parts.trial}
    return max(named, key=lambda level: named[level])
