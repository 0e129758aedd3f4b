"""Simulated fleet studies: instances with known variances, lemons, and instance effects of several shapes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.comparison.variance import GROUP, HOST, RUN, TRIAL
from app.fleet.lemons import find_lemons
from app.fleet.levels import fleet_levels
from app.fleet.study import FleetMetric
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind
from tests.simulation.experiments import Share, generators, share
from tests.simulation.noise import Numbers, autoregressive

RATE = Metric("rate", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)

Shape = Callable[[np.random.Generator, int], Numbers]
"""Draws the effects of so many instances, with a standard deviation of 1."""

SHAPES: Mapping[str, Shape] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "t3": lambda rng, count: rng.standard_t(3, size=count) / 3**0.5,
    "skewed": lambda rng, count: -(np.exp(0.5 * rng.normal(size=count)) - 1.133) / 0.604,
    "exponential": lambda rng, count: 1 - rng.exponential(size=count),
    "noisy neighbour": lambda rng, count: (rng.normal(size=count) - 3 * (rng.random(count) < 0.3)) / 1.7,
    "two levels": lambda rng, count: (rng.normal(size=count) - 8 * (rng.random(count) < 0.5)) / 4.1,
}
"""Shapes of instance effects."""


@dataclass(frozen=True, slots=True)
class SimulatedFleet:
    """The design and the standard deviations of logarithms; `correlated` is the autocorrelation of trials.

    With `uneven`, hosts have different numbers of trials, and some lack a session; `heavy_trials` have tails as t3.
    """

    types: int = 1
    instances: int = 10
    sessions: int = 2
    trials: int = 3
    trial: float = 0.01
    session: float = 0.01
    instance: float = 0.02
    type: float = 0.1
    shape: str = "normal"
    correlated: float = 0.0
    uneven: bool = False
    heavy_trials: bool = False
    moments: Sequence[float] = field(default=())


def fleet_of(
    rng: np.random.Generator,
    plan: SimulatedFleet,
    slower: Mapping[int, float] | None = None,
    noisier: int | None = None,
) -> FleetMetric:
    """Return a simulated study; `slower` are the factors of instances of the first type, by index.

    The trials of instance `noisier` of the first type vary five times as much.
    """
    groups = {}
    for kind in range(plan.types):
        own = plan.type * rng.normal() + plan.instance * SHAPES[plan.shape](rng, plan.instances)
        hosts = {}
        for host in range(plan.instances):
            factor = (slower or {}).get(host, 1.0) if kind == 0 else 1.0
            noise = 5.0 if kind == 0 and host == noisier else 1.0
            hosts[f"h{kind}-{host}"] = _sessions(rng, plan, float(own[host] + np.log(factor)), noise)
        groups[f"type-{kind}"] = hosts
    return FleetMetric("cpu", RATE, (), groups)


def _sessions(rng: np.random.Generator, plan: SimulatedFleet, own: float, noise: float) -> dict[str, list[float]]:
    found = {}
    for number in range(plan.sessions):
        count = plan.trials + (int(rng.integers(0, 4)) if plan.uneven else 0)
        level = own + plan.session * rng.normal() + (plan.moments[number] if plan.moments else 0.0)
        trials = autoregressive(rng, count, plan.correlated) if plan.correlated else rng.normal(size=count)
        trials = rng.standard_t(3, size=count) / 3**0.5 if plan.heavy_trials else trials
        if not (plan.uneven and number and rng.random() < 0.2):
            found[str(number + 1)] = [float(value) for value in 1000 * np.exp(level + noise * plan.trial * trials)]
    return found


def component_coverage(plan: SimulatedFleet, tries: int, seed: int = 71) -> dict[str, Share]:
    """Return for each level how often the interval of its component contains the known one."""
    truth = {TRIAL: plan.trial, RUN: plan.session, HOST: plan.instance, GROUP: plan.type}
    found = [fleet_levels(fleet_of(rng, plan)).components for rng in generators(tries, seed)]
    return {
        one.name: share(
            component.low is not None and component.high is not None
            and component.low <= truth[one.name] ** 2 <= component.high
            for components in found for component in components if component.name == one.name
        )
        for one in found[0]
    }  # fmt: skip


def false_lemons(plan: SimulatedFleet, tries: int, seed: int = 72) -> Share:
    """Return how often a clean study has a lemon."""
    return share(bool(find_lemons([fleet_of(rng, plan)]).lemons) for rng in generators(tries, seed))


def found_lemons(plan: SimulatedFleet, slower: Mapping[int, float], tries: int, seed: int = 73) -> Share:
    """Return how often all slower instances are found, each of them and no other."""
    wanted = {f"h0-{index}" for index in slower}
    return share(
        {one.host for one in find_lemons([fleet_of(rng, plan, slower)]).lemons} == wanted
        for rng in generators(tries, seed)
    )


def found_noisy(plan: SimulatedFleet, tries: int, seed: int = 74) -> Share:
    """Return how often the instance with five times the spread is found."""
    return share(
        any(one.host == "h0-0" for one in find_lemons([fleet_of(rng, plan, noisier=0)]).lemons)
        for rng in generators(tries, seed)
    )
