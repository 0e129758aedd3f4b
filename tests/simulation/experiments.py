"""What the program's own statistics do on simulated trials. Every share comes with how many times it was tried."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.checks.starts import start_of
from app.comparison.estimates import Ratio, centre_of, holm, ratio_of
from app.comparison.verdicts import ComparisonVerdict
from app.events import Decision
from app.plans.plan import Order, Plan, Repetition, make_step
from app.plans.repetition import Rule
from app.runs.schedule import Schedule
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind
from tests.app.other_tools import judge
from tests.simulation.noise import Draw, autoregressive, hosts, normal, trials_of_samples

RATE = Metric("rate", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
CLAIMS = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}


@dataclass(frozen=True, slots=True)
class Share:
    """How often something happened in so many tries, with the interval of its true frequency."""

    happened: int
    tries: int

    @property
    def value(self) -> float:
        """The share."""
        return self.happened / self.tries

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval (Wilson)."""
        from scipy import stats

        found = stats.binomtest(self.happened, self.tries).proportion_ci(0.95, "wilson")
        return float(found.low), float(found.high)


def share(answers: Iterator[bool]) -> Share:
    """Return how often the answer was yes."""
    found = list(answers)
    return Share(sum(found), len(found))


def generators(tries: int, seed: int) -> Iterator[np.random.Generator]:
    """Yield the generator of each experiment."""
    for number in range(tries):
        yield np.random.default_rng([seed, number])


# The interval of the middle


def coverage(draw: Draw, trials: int, tries: int, seed: int = 1) -> Share:
    """Return how often the interval of so many trials holds the truth."""

    def holds(rng: np.random.Generator) -> bool:
        centre = centre_of(draw(rng, trials))
        return centre.low is not None and centre.high is not None and centre.low <= 1 <= centre.high

    return share(map(holds, generators(tries, seed)))


def near(draw: Draw, trials: int, within: float, tries: int, seed: int = 1) -> Share:
    """Return how often the middle of so many trials lies `within` the truth."""
    return share(abs(centre_of(draw(rng, trials)).value - 1) <= within for rng in generators(tries, seed))


@dataclass(frozen=True, slots=True)
class Followed:
    """How a rule fared: the mean number of trials, how often its interval held the truth, and how often it settled."""

    trials: float
    held: Share
    settled: Share


def followed(rule: Rule, trials: Sequence[float]) -> Decision:
    """Return the decision at which a rule stops; every rule ends at its cap, which is as long as the trials."""
    decisions = (rule.decide(trials[:count]) for count in range(1, len(trials) + 1))
    return next(decision for decision in decisions if decision.stop)


# Comparisons


def ratio_coverage(draw: Draw, counts: tuple[int, int], tries: int, seed: int = 1) -> Share:
    """Return how often the interval of a ratio of 1.1 holds it."""

    def holds(rng: np.random.Generator) -> bool:
        ratio = ratio_of([1.1 * value for value in draw(rng, counts[0])], draw(rng, counts[1]))
        return isinstance(ratio, Ratio) and ratio.low is not None and (ratio.high or 0) >= 1.1 >= ratio.low

    return share(map(holds, generators(tries, seed)))


def claims(
    draw: Draw, counts: tuple[int, int], margin: float, tries: int, *, factor: float = 1.0, seed: int = 1
) -> Share:
    """Return how often a difference is claimed of sets of trials whose true ratio is `factor`."""
    return share(
        judge(RATE, [factor * value for value in draw(rng, counts[0])], draw(rng, counts[1]), margin).verdict in CLAIMS
        for rng in generators(tries, seed)
    )


def beyond(ratio: Ratio | str, margin: float) -> bool:
    """Return whether an interval lies wholly beyond a margin, however few trials it rests on."""
    if isinstance(ratio, str) or ratio.low is None or ratio.high is None:
        return False
    return ratio.low > 1 + margin or ratio.high < 1 / (1 + margin)


def samples_pooled(tries: int, seed: int = 1) -> Share:
    """Return how often seconds, thrown together, make five trials differ from five of the same: what is never done."""
    from scipy import stats

    def differs(rng: np.random.Generator) -> bool:
        ours, theirs = (trials_of_samples(rng, 5).ravel() for _ in range(2))
        return bool(stats.ttest_ind(ours, theirs, equal_var=False).pvalue < 0.05)

    return share(map(differs, generators(tries, seed)))


def samples_as_trials(trials: int, margin: float, tries: int, *, factor: float = 1.0, seed: int = 1) -> Share:
    """Return how often trials of 60 seconds, each one value, are found beyond `margin`; the true ratio is `factor`."""
    return share(
        beyond(
            ratio_of(
                trials_of_samples(rng, trials, factor).mean(axis=1).tolist(),
                trials_of_samples(rng, trials).mean(axis=1).tolist(),
            ),
            margin,
        )
        for rng in generators(tries, seed)
    )


def many_metrics(count: int, how: str, tries: int, seed: int = 1) -> Share:
    """Return how often one metric at least of `count`, none of which differs, is called different.

    `how`: by each metric's own interval ("raw"), after Holm's correction ("holm"), or beyond 5 % ("margin").
    """

    def alarms(rng: np.random.Generator) -> bool:
        ratios = [ratio_of(normal(0.03)(rng, 8), normal(0.03)(rng, 8)) for _ in range(count)]
        p_values = [ratio.p or 1.0 for ratio in ratios if isinstance(ratio, Ratio)]
        if how == "margin":
            return any(beyond(ratio, 0.05) for ratio in ratios)
        return min(p_values if how == "raw" else holm(p_values)) < 0.05

    return share(map(alarms, generators(tries, seed)))


def fleets(count: int, how: str, tries: int, *, factor: float = 1.0, seed: int = 1) -> Share:
    """Return how often fleets of `count` hosts are called different; the true ratio is `factor`.

    `how`: every trial one value ("trials"), or every host one value ("hosts").
    """

    def differs(rng: np.random.Generator) -> bool:
        ours, theirs = hosts(rng, count, factor), hosts(rng, count)
        if how == "trials":
            return beyond(ratio_of(ours.ravel().tolist(), theirs.ravel().tolist()), 0.0)
        return beyond(ratio_of(ours.mean(axis=1).tolist(), theirs.mean(axis=1).tolist()), 0.0)

    return share(map(differs, generators(tries, seed)))


def drifting(order: Order, tries: int, seed: int = 1) -> Share:
    """Return how often eight trials of a thing are called different from eight of itself, on a host that drifts."""
    steps = tuple(make_step("sysbench-cpu", {}, name=name) for name in "ab")

    def differs(rng: np.random.Generator) -> bool:
        plan = Plan("p", ("x",), steps, repetition=Repetition(trials=8), order=order, seed=int(rng.integers(2**31)))
        schedule = Schedule(plan)
        values: dict[str, list[float]] = {"a": [], "b": []}
        host = 1 + 0.02 * autoregressive(rng, 16, 0.8)
        for moment, slot in enumerate(schedule.slots()):
            values[slot.step.name].append(float(host[moment] * (1 + 0.01 * rng.normal())))
            schedule.record_trial(slot, [], 1.0, 1.0)
        return beyond(ratio_of(values["a"], values["b"]), 0.0)

    return share(map(differs, generators(tries, seed)))


# Starts


def slow_start(tries: int, seed: int = 1) -> tuple[float, float, Share]:
    """Return by how much a slow start of 20 of 120 seconds falsifies the figure, by how much once it is left out,
    and how often it is found."""
    shape = np.array([0.4 + 0.6 * second / 20 if second < 20 else 1.0 for second in range(120)])
    before, after, found = [], [], 0
    for rng in generators(tries, seed):
        values = shape * (1 + 0.05 * autoregressive(rng, 120, 0.5))
        start = start_of([float(second + 1) for second in range(120)], values.tolist())
        before.append(abs(float(values.mean()) - 1))
        after.append(abs((start.rest if start is not None else float(values.mean())) - 1))
        found += start is not None
    return float(np.mean(before)), float(np.mean(after)), Share(found, tries)


def steady_called_unsteady(coefficient: float, seconds: int, tries: int, seed: int = 1) -> Share:
    """Return how often a steady trial is said to start differently."""
    times = [float(second + 1) for second in range(seconds)]
    return share(
        start_of(times, (1 + 0.05 * autoregressive(rng, seconds, coefficient)).tolist()) is not None
        for rng in generators(tries, seed)
    )
