"""Moments that hosts share, in a ratio of hosts: their error by hand, and coverage of simulated groups."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.centres import student
from app.comparison.estimates import Ratio, paired_ratio_of
from app.comparison.moments import MomentError, moment_error
from app.comparison.replication import units_of
from app.comparison.verdicts import ComparisonVerdict, Level, Scope, VerdictEvidence, decide
from app.summary import MetricSummary
from tests.simulation.experiments import RATE, Share, generators
from tests.simulation.replication import judged

BEFORE, AFTER = ("a1", "a2", "a3"), ("b1", "b2", "b3")
MomentsOf = Callable[[int], Sequence[str]]


def means(effects: Mapping[str, float], moments: MomentsOf, hosts: int = 4) -> dict[str, dict[str, float]]:
    """Return the means of hosts at their moments without noise: logarithms are effects, plus one of the host."""
    return {f"h{at}": {name: math.exp(effects[name] + 0.1 * at) for name in moments(at)} for at in range(hosts)}


def test_the_error_is_that_of_the_moments_of_each_side() -> None:
    effects = dict(zip((*BEFORE, *AFTER), (-0.01, 0.0, 0.01, 0.03, 0.0, -0.03), strict=True))
    found = moment_error(means(effects, lambda _at: AFTER), means(effects, lambda _at: BEFORE))
    assert found is not None
    ours, theirs = 0.03**2 / 3, 0.01**2 / 3
    assert found.squared == pytest.approx(ours + theirs)
    assert found.freedom == pytest.approx((ours + theirs) ** 2 / (ours**2 / 2 + theirs**2 / 2))
    assert found.counts == (3, 3)


def test_the_reaches_of_both_errors_are_added_in_squares() -> None:
    hosts = Ratio(1.0, 0.9, 1.1, error=0.02, freedom=7.0)
    found = MomentError((2, 2), 0.01**2, 1.0).added_to(hosts)
    assert math.log(found.high or 0.0) == pytest.approx(math.hypot(0.02 * student(7.0), 0.01 * student(1.0)))


def test_the_error_of_one_moment_is_that_of_the_other_side() -> None:
    effects = {"a1": -0.02, "a2": 0.02, "b1": 0.5}
    found = moment_error(means(effects, lambda _at: ("b1",)), means(effects, lambda _at: ("a1", "a2")))
    assert found is not None
    assert found.squared == pytest.approx(2 * 0.02**2 * (1 + 1 / 2))
    assert (found.freedom, found.counts) == (1, (1, 2))


def test_moments_of_both_sides_cancel_by_their_weights() -> None:
    effects = {"a1": -0.02, "a2": 0.0, "a3": 0.02}
    every, some = means(effects, lambda _at: BEFORE), means(effects, lambda _at: ("a1", "a2"))
    assert moment_error(every, every) is None
    found = moment_error(some, every)
    assert found is not None
    assert found.squared == pytest.approx(0.02**2 * (1 / 36 + 1 / 36 + 1 / 9))


def test_a_moment_counts_by_the_hosts_that_have_it() -> None:
    effects = {"a1": -0.02, "a2": 0.0, "a3": 0.02, **dict.fromkeys(AFTER, 0.0)}
    last = means(effects, lambda at: BEFORE if at == 0 else ("a3",), hosts=9)
    found = moment_error(last, means(effects, lambda _at: AFTER, hosts=9))
    assert found is not None
    weight = (8 + 1 / 3) / 9
    assert found.squared == pytest.approx(found.spread**2 * (weight**2 + 3 / 9))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda _at: ("b1",), lambda _at: ("a1",)),
        (lambda at: (f"b1 of {at}", f"b2 of {at}"), lambda at: (f"a1 of {at}", f"a2 of {at}")),
    ],
)
def test_the_error_of_single_moments_is_unknown_and_that_of_one_host_in_its_spread(
    ours: MomentsOf, theirs: MomentsOf
) -> None:
    effects = {name: 0.01 * at for at in range(4) for name in ("a1", "b1", *ours(at), *theirs(at))}
    found = moment_error(means(effects, ours), means(effects, theirs))
    assert found is None if len(ours(0)) > 1 else found == MomentError((1, 1))


def test_hosts_with_a_zero_do_not_say_how_moments_vary() -> None:
    effects = {"a1": -0.02, "a2": 0.02, "b1": 0.0, "b2": 0.0}
    ours, theirs = means(effects, lambda _at: ("b1", "b2")), means(effects, lambda _at: ("a1", "a2"))
    without = moment_error(ours, theirs)
    ours["h0"]["b2"] = 0.0
    assert without == moment_error(ours, theirs)
    nothing = [{host: dict.fromkeys(own, 0.0) for host, own in side.items()} for side in (ours, theirs)]
    assert moment_error(nothing[0], nothing[1]) == MomentError((2, 2))


def _simulated(rng: np.random.Generator, moments: MomentsOf, effects: Mapping[str, float]) -> MetricSummary:
    found = [(f"h{at}", name) for at in range(8) for name in moments(at)]
    values = tuple(math.exp(effects[host] + effects[name] + 0.01 * rng.normal()) for host, name in found)
    keys = tuple((f"{host} {name}", 1) for host, name in found)
    return MetricSummary("step", "hosts", RATE, (), values, tuple(host for host, _ in found), keys)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda _at: AFTER, lambda _at: BEFORE),
        (lambda _at: ("b1",), lambda _at: BEFORE),
        (lambda at: AFTER[: 2 + at % 2], lambda _at: BEFORE),
        (lambda at: AFTER if at == 0 else ("b3",), lambda at: BEFORE if at == 0 else ("a3",)),
        (lambda at: ("b1", "b2") if at % 2 else ("b3", "b4"), lambda _at: BEFORE),
    ],
    ids=["all", "one", "some incomplete", "most only the last", "halves"],
)
def test_the_interval_of_equal_groups_contains_one(ours: MomentsOf, theirs: MomentsOf) -> None:
    tries, covered, alone = 300, 0, 0
    for rng in generators(tries, 16):
        names = *BEFORE, *AFTER, "b4", *(f"h{at}" for at in range(8))
        effects = dict(zip(names, 0.05 * rng.normal(size=len(names)), strict=True))
        sides = [_simulated(rng, moments, effects) for moments in (ours, theirs)]
        moments = {run: run.partition(" ")[2] for side in sides for run, _ in side.trials}
        units = units_of(sides[0], sides[1], moments=moments)
        ratio, by_hosts = units.ratio(), paired_ratio_of(units.values, units.baseline)
        assert isinstance(ratio, Ratio)
        assert isinstance(by_hosts, Ratio)
        covered += (ratio.low or 0.0) <= 1 <= (ratio.high or 0.0)
        alone += (by_hosts.low or 0.0) <= 1 <= (by_hosts.high or 0.0)
    assert Share(covered, tries).interval[1] > 0.94  # Satterthwaite's freedom is an approximation
    assert alone < 0.8 * tries  # what the error of moments is for


@pytest.mark.parametrize(
    ("ours", "theirs", "scope", "verdict"),
    [
        (("b1",), ("a1",), Scope.BETWEEN_SESSIONS, ComparisonVerdict.DIFFERS),
        (("b1",), BEFORE, Scope.ONE_SESSION, ComparisonVerdict.DIFFERS),
        (AFTER, BEFORE, Scope.ACROSS, ComparisonVerdict.WORSE),
        (BEFORE, BEFORE, Scope.ACROSS, ComparisonVerdict.WORSE),
    ],
)
def test_a_claim_speaks_of_the_moments_that_were_repeated(
    ours: Sequence[str], theirs: Sequence[str], scope: Scope, verdict: ComparisonVerdict
) -> None:
    rng = np.random.default_rng(16)
    effects = {name: 0.003 * rng.normal() for name in (*BEFORE, *AFTER, *(f"h{at}" for at in range(8)))}
    side, other = _simulated(rng, lambda _at: ours, effects), _simulated(rng, lambda _at: theirs, effects)
    moments = {run: run.partition(" ")[2] for each in (side, other) for run, _ in each.trials}
    slower = replace(side, values=tuple(0.8 * value for value in side.values))
    units = units_of(slower, other, moments=moments)
    assert units.scope is scope
    assert judged(units) is verdict


def test_the_verdict_names_the_sessions_that_would_decide() -> None:
    moments = MomentError((2, 3), 0.05**2, 1.5, 0.06)
    ratio = moments.added_to(Ratio(0.89, 0.88, 0.9, 0.01, 0.01, error=0.004, freedom=7.0))
    evidence = VerdictEvidence(RATE, 0.05, (8, 8), Level.HOST, "hosts", moments=moments)
    verdict, text, _ = decide(ratio, evidence)
    assert verdict is ComparisonVerdict.UNDECIDED
    assert "2 against 3 sessions" in text
    level, counts, _ = evidence.deciding(ratio)
    assert (level, counts) == (Level.SESSION, (2, 3))
    calm = replace(evidence, moments=replace(moments, squared=0.0001**2))
    assert calm.deciding(ratio)[0] is Level.HOST
    few = replace(evidence, counts=(2, 2))
    assert few.deciding(ratio)[0] is Level.HOST
