"""Comparisons of sessions, pairs and families of metrics whose truth is known."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.comparison.estimates import Ratio, beyond_p, holm, ratio_of, within_p
from app.comparison.replication import Units, units_of
from app.comparison.verdicts import ComparisonVerdict, VerdictEvidence, decide
from app.summary import MetricSummary
from tests.simulation.experiments import RATE, Share, generators, share
from tests.simulation.noise import Numbers, autoregressive, normal

MARGIN = 0.05
CLAIMED = frozenset({ComparisonVerdict.BETTER, ComparisonVerdict.WORSE})


def side_of(values: Numbers, prefix: str, *, hosts: bool = False) -> MetricSummary:
    """Return trials as a side: a row of `values` is a session, or with `hosts` the session of a host."""
    runs, trials = values.shape
    flat = tuple(float(value) for value in values.ravel())
    names = tuple(f"web-{run if hosts else 0}" for run in range(runs) for _ in range(trials))
    keys = tuple((f"{prefix}{run}", trial) for run in range(runs) for trial in range(trials))
    return MetricSummary("step", "host", RATE, (), flat, names, keys)


def sessions(rng: np.random.Generator, runs: int, trials: int, *, between: float, within: float) -> Numbers:
    """Return log-normal trials around 1, a row a session."""
    level = between * rng.normal(size=(runs, 1))
    return np.asarray(np.exp(level + within * rng.normal(size=(runs, trials))))


@dataclass(frozen=True, slots=True)
class Fared:
    """How often the interval held the true ratio, and how often a difference beyond the margin was claimed."""

    covered: Share
    claimed: Share


def judged(units: Units, margin: float = MARGIN) -> ComparisonVerdict:
    """Return the verdict on units that are tested alone."""
    ratio = units.ratio()
    assert isinstance(ratio, Ratio)
    evidence = VerdictEvidence(
        RATE, margin, units.counts, units.level, units.pairs, units.scope,
        p=beyond_p(ratio, margin), p_same=within_p(ratio, margin),
    )  # fmt: skip
    return decide(ratio, evidence)[0]


def of_sessions(
    counts: tuple[int, int], trials: int, tries: int, *, between: float = 0.03, within: float = 0.01,
    factor: float = 1.0, margin: float = MARGIN, seed: int = 31, ours_of: int | None = None,
) -> Fared:  # fmt: skip
    """Return how sessions of the same thing times `factor` fare; `counts` are the sessions of both sides.

    The sessions of the first side have `ours_of` trials, if given.
    """
    covered, claimed = 0, 0
    for rng in generators(tries, seed):
        ours, theirs = (sessions(rng, count, trials, between=between, within=within) for count in counts)
        units = units_of(side_of(factor * ours[:, :ours_of], "b"), side_of(theirs, "a"))
        covered += _covers(units.ratio(), factor)
        claimed += judged(units, margin) in CLAIMED
    return Fared(Share(covered, tries), Share(claimed, tries))


def of_trials(trials: int, tries: int, *, between: float = 0.03, within: float = 0.01, seed: int = 31) -> Fared:
    """Return the same where the trials of one session each are taken for the values: what no claim rests on."""
    covered, claimed = 0, 0
    for rng in generators(tries, seed):
        ours, theirs = (sessions(rng, 1, trials, between=between, within=within).ravel().tolist() for _ in range(2))
        ratio = ratio_of(ours, theirs)
        assert isinstance(ratio, Ratio)
        covered += _covers(ratio, 1.0)
        claimed += beyond_p(ratio, MARGIN) < 0.05
    return Fared(Share(covered, tries), Share(claimed, tries))


def _covers(ratio: Ratio | str, truth: float) -> bool:
    return isinstance(ratio, Ratio) and (ratio.low or math.inf) <= truth <= (ratio.high or 0.0)


def paired_hosts(count: int, factor: float, tries: int, *, paired: bool = True, seed: int = 32) -> Fared:
    """Return how hosts that differ by 5 % fare, before and after a change by `factor`; trials vary by 0.5 %."""
    covered, claimed = 0, 0
    for rng in generators(tries, seed):
        machines = np.exp(0.05 * rng.normal(size=(count, 1)))
        others = machines if paired else np.exp(0.05 * rng.normal(size=(count, 1)))
        before, after = (level * np.exp(0.005 * rng.normal(size=(count, 5))) for level in (machines, factor * others))
        ours, theirs = side_of(after, "b", hosts=True), side_of(before, "a", hosts=True)
        units = units_of(ours, theirs)
        if not paired:
            units = Units(units.level, units.values, units.baseline)
        covered += _covers(units.ratio(), factor)
        claimed += judged(units) in CLAIMED
    return Fared(Share(covered, tries), Share(claimed, tries))


@dataclass(frozen=True, slots=True)
class Rounds:
    """The mean width of the interval, and how often it excluded 1."""

    width: float
    found: Share


def rounds(factor: float, tries: int, *, paired: bool, count: int = 10, seed: int = 33) -> Rounds:
    """Return how two interleaved steps fare on a host that drifts: by 2 % with an autocorrelation of 0.8."""
    keys = tuple(("run", trial) for trial in range(count))
    numbers = {key: key[1] for key in keys} if paired else None
    widths, found = [], 0
    for rng in generators(tries, seed):
        drift = 0.02 * autoregressive(rng, 2 * count, 0.8)
        values = np.exp(drift + 0.01 * rng.normal(size=2 * count))
        ours, theirs = (
            MetricSummary("step", "web-1", RATE, (), tuple(map(float, one)), (), keys)
            for one in (factor * values[1::2], values[::2])
        )
        ratio = units_of(ours, theirs, numbers).ratio()
        assert isinstance(ratio, Ratio)
        widths.append((ratio.high or 0.0) - (ratio.low or 0.0))
        found += not _covers(ratio, 1.0)
    return Rounds(float(np.mean(widths)), Share(found, tries))


def family(
    count: int, factor: float, wrong: Callable[[ComparisonVerdict], bool], tries: int, *, corrected: bool = True,
    cov: float = 0.03, trials: int = 10, seed: int = 34,
) -> Share:  # fmt: skip
    """Return how often at least one of `count` metrics with a true ratio of `factor` has a wrong verdict."""

    def alarms(rng: np.random.Generator) -> bool:
        pairs = [(normal(cov)(rng, trials), normal(cov)(rng, trials)) for _ in range(count)]
        ratios = [ratio_of([factor * value for value in ours], theirs) for ours, theirs in pairs]
        return any(wrong(verdict) for verdict in _family([one for one in ratios if isinstance(one, Ratio)], corrected))

    return share(map(alarms, generators(tries, seed)))


def _family(ratios: Sequence[Ratio], corrected: bool) -> list[ComparisonVerdict]:  # noqa: FBT001
    beyond, within = ([p_of(ratio, MARGIN) for ratio in ratios] for p_of in (beyond_p, within_p))
    if corrected:
        beyond, within = holm(beyond), holm(within)
    return [
        decide(ratio, VerdictEvidence(RATE, MARGIN, (10, 10), p=p, p_same=p_same))[0]
        for ratio, p, p_same in zip(ratios, beyond, within, strict=True)
    ]
