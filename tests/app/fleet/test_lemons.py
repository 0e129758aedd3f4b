"""Lemons: found and named among normal instances, and none in clean fleets."""

import math
from dataclasses import replace

import numpy as np
import pytest

from app.fleet.distances import FEWEST_PER_GROUP, LEVEL_TAIL, SPREAD_TAIL, HostScore, robust_distances
from app.fleet.lemons import BETTER, WORSE, LemonKind, find_lemons
from app.fleet.study import FleetMetric, host_centre
from suites.vocab import Better
from tests.simulation.fleets import RATE, SHAPES, SimulatedFleet, false_lemons, fleet_of, found_lemons, found_noisy

STAGED = SimulatedFleet(instances=10, sessions=2, trials=3)
"""Containers of one image on one host, as a staged study has them."""


def staged(seed: int = 1) -> FleetMetric:
    """Return ten instances, two slowed by a quota to half, one by a delay to 70 %."""
    return fleet_of(np.random.default_rng(seed), STAGED, {2: 0.5, 5: 0.5, 7: 0.7})


def test_two_slowed_by_a_quota_and_one_by_a_delay_are_found_and_named() -> None:
    found = find_lemons([staged()])
    assert {one.host for one in found.lemons} == {"h0-2", "h0-5", "h0-7"}
    assert found.outliers == found.lemons
    for one in found.lemons:
        wanted = 0.7 if one.host == "h0-7" else 0.5
        assert one.low < one.ratio < one.high
        assert one.ratio == pytest.approx(wanted, rel=0.08)
        assert (one.group, one.kind, one.direction) == ("type-0", LemonKind.LEVEL, WORSE)
        assert (one.sessions, one.trials, one.others) == (2, 6, 7)
        assert one.p_adjusted < 0.05


def test_there_is_no_lemon_in_twenty_clean_fleets() -> None:
    for types in (1, 3):
        found = [find_lemons([fleet_of(np.random.default_rng([9, seed]), replace(STAGED, types=types))])
                 for seed in range(20)]  # fmt: skip
        assert [one.outliers for one in found] == [()] * 20


def test_where_less_is_better_the_slow_one_is_a_lemon_and_the_fast_one_only_an_outlier() -> None:
    one = fleet_of(np.random.default_rng(2), STAGED, {1: 4.0, 4: 0.5})
    less = replace(one, metric=replace(RATE, better=Better.LOWER))
    assert {each.host: each.direction for each in find_lemons([one]).outliers} == {"h0-1": BETTER, "h0-4": WORSE}
    assert [each.host for each in find_lemons([less]).lemons] == ["h0-1"]


def test_a_difference_within_the_margin_is_no_lemon_however_tight_the_group() -> None:
    plan = replace(STAGED, instance=1e-5, session=1e-5, trial=1e-5)
    one = fleet_of(np.random.default_rng(3), plan, {3: 0.96})
    assert find_lemons([one]).outliers == ()
    (found,) = find_lemons([replace(one, margin=0.03)]).lemons
    assert found.host == "h0-3"


def test_a_host_whose_trials_vary_more_is_a_lemon_by_spread() -> None:
    plan = replace(STAGED, types=4, trials=10, sessions=3)
    (found,) = find_lemons([fleet_of(np.random.default_rng(4), plan, noisier=3)]).lemons
    assert (found.host, found.kind) == ("h0-3", LemonKind.SPREAD)
    assert found.low < found.ratio < found.high
    assert found.ratio > 2
    quiet = replace(plan, trial=1e-4, session=1e-4)  # five times as much, and nothing to a reader of results
    assert find_lemons([fleet_of(np.random.default_rng(4), quiet, noisier=3)]).outliers == ()


def test_few_hosts_have_no_scale() -> None:
    one = fleet_of(np.random.default_rng(5), replace(STAGED, instances=FEWEST_PER_GROUP - 1), {0: 0.2})
    found = find_lemons([one])
    assert (found.outliers, found.tests) == ((), 0)
    assert len(found.untested) == 1
    assert "5 instances" in found.untested[0]


def test_the_error_is_that_of_all_hosts_groups_and_metrics_together() -> None:
    one = fleet_of(np.random.default_rng(6), STAGED, {0: 0.6})
    (alone,) = find_lemons([one]).lemons
    among = find_lemons([one, *(fleet_of(np.random.default_rng(seed), STAGED) for seed in range(7, 9))])
    assert among.tests > 2.5 * find_lemons([one]).tests
    assert next((each.p_adjusted for each in among.outliers if each.host == "h0-0"), 1.0) > alone.p_adjusted


def test_two_populations_are_two_levels_and_no_lemons() -> None:
    one = fleet_of(np.random.default_rng(7), replace(STAGED, instances=14), dict.fromkeys(range(7), 0.7))
    found = find_lemons([one])
    assert found.outliers == ()
    (levels,) = found.populations
    assert set(levels.low_hosts) == {f"h0-{host}" for host in range(7)}
    assert levels.low / levels.high == pytest.approx(0.7, rel=0.05)
    assert levels.text.startswith("type-0: Rate of cpu ")
    assert levels.text.count("(7 instances)") == 2
    slower = {**dict.fromkeys(range(1, 7), 0.7), 0: 0.6}
    slow = fleet_of(np.random.default_rng(7), replace(STAGED, instances=14, instance=0.005, session=0.002), slower)
    assert [each.host for each in find_lemons([slow]).lemons] == ["h0-0"]


def test_a_bad_session_of_three_does_not_make_a_lemon() -> None:
    one = fleet_of(np.random.default_rng(8), replace(STAGED, sessions=3))
    hosts = dict(one.groups["type-0"])
    hosts["h0-0"] = {**hosts["h0-0"], "2": [300.0, 310.0, 290.0]}
    found = find_lemons([replace(one, groups={"type-0": hosts})])
    assert not any(each.kind is LemonKind.LEVEL for each in found.outliers)


def test_trials_that_are_slow_now_and_then_do_not_make_a_lemon() -> None:
    """Where every fourth trial is preempted, a host may have three of six that are."""
    rng = np.random.default_rng(10)
    false = 0
    for _ in range(40):
        hosts = {f"h{host}": {str(run): [float(1000 * (1 + 0.01 * rng.normal()) * (0.03 if rng.random() < 0.25 else 1))
                                         for _ in range(3)] for run in range(2)} for host in range(10)}  # fmt: skip
        false += bool(find_lemons([FleetMetric("cpu", RATE, (), {"a": hosts})]).lemons)
    assert false <= 5  # of 40 at 5 %: 99 % of cases


def test_a_host_with_fewer_trials_is_given_a_wider_scale() -> None:
    others = [HostScore(f"h{index}", 0.01 * index, 1e-4) for index in range(8)]
    (equal, *_), (few, *_) = (robust_distances([[HostScore("x", -0.5, error), *others]]) for error in (1e-4, 1e-2))
    assert few.scale == pytest.approx(math.hypot(equal.scale, math.sqrt(1e-2 - 1e-4)))
    assert few.p > equal.p
    assert robust_distances([[HostScore("x", -0.5, 0.0), *others]], tail=SPREAD_TAIL)[0].p < equal.p
    assert LEVEL_TAIL < SPREAD_TAIL


def test_a_lemon_does_not_inflate_its_own_threshold() -> None:
    others = [HostScore(f"h{index}", 0.01 * index, 0.0) for index in range(9)]
    near, far = (robust_distances([[*others, HostScore("x", value, 0.0)]])[-1] for value in (-0.5, -5.0))
    assert near.scale == far.scale
    assert near.p > far.p


def test_the_centre_ignores_an_outlier_and_is_the_geometric_mean_of_two() -> None:
    assert host_centre({"1": [100.0, 101.0, 5.0]}) == pytest.approx(100)
    assert host_centre({"1": [100.0], "2": [400.0]}) == pytest.approx(200)


@pytest.mark.slow
@pytest.mark.parametrize("fleet", [(10, 1, 300), (10, 4, 300), (50, 2, 100), (100, 2, 60)])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cov", [0.02, 0.05])
def test_clean_fleets_have_a_lemon_in_at_most_5_percent(shape: str, fleet: tuple[int, int, int], cov: float) -> None:
    """Where effects of 5 % have a tail, it has slow instances in more studies; see METHOD."""
    instances, sessions, tries = fleet
    plan = SimulatedFleet(1, instances, sessions, 6, instance=cov, shape=shape, correlated=0.7, uneven=True)
    most = {"t3": 0.1, "skewed": 0.25, "exponential": 0.25} if cov == 0.05 else {}
    assert false_lemons(plan, tries).interval[0] <= most.get(shape, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("instances", "factor"), [(10, 0.7), (10, 0.5), (50, 0.7), (100, 0.7)])
def test_a_slower_instance_is_found(instances: int, factor: float) -> None:
    assert found_lemons(SimulatedFleet(instances=instances, trials=6), {0: factor}, 60).value >= 0.9


@pytest.mark.slow
def test_the_staged_lemons_are_found() -> None:
    assert found_lemons(STAGED, {2: 0.5, 5: 0.5, 7: 0.7}, 200).value >= 0.8


@pytest.mark.slow
def test_a_noisier_instance_is_found() -> None:
    assert found_noisy(SimulatedFleet(types=3, sessions=3, trials=10), 60).value >= 0.5
