"""The variance of a fleet by trial, session, instance and type, and moments that all hosts share."""

from dataclasses import replace

import numpy as np
import pytest

from app.comparison.variance import GROUP, HOST, RUN, TRIAL, components_of, components_with_groups
from app.fleet.levels import ABSENT, IDENTICAL, UNSEPARATED, FleetLevels, fleet_levels
from app.fleet.moments import moment_effects
from app.fleet.study import FleetError, FleetMetric
from tests.simulation.fleets import RATE, SimulatedFleet, component_coverage, fleet_of

NOMINAL = 0.95


def levels(plan: SimulatedFleet, seed: int = 1) -> FleetLevels:
    return fleet_levels(fleet_of(np.random.default_rng(seed), plan))


def test_the_balanced_components_are_those_of_the_mean_squares() -> None:
    one = fleet_of(np.random.default_rng(3), SimulatedFleet(4, 5, 3, 2))
    logs = np.log(np.array(one.nested()))
    trial, run, host, group = (logs.mean(axis=tuple(range(depth, 4))) for depth in (4, 3, 2, 1))
    squares = [
        trial.var(axis=3, ddof=1).mean(), run.var(axis=2, ddof=1).mean(),
        host.var(axis=1, ddof=1).mean(), group.var(ddof=1),
    ]  # fmt: skip
    wanted = [squares[0], squares[1] - squares[0] / 2, squares[2] - squares[1] / 3, squares[3] - squares[2] / 5]
    found = components_with_groups(one.nested())
    assert [each.variance for each in found] == pytest.approx(wanted)
    assert [each.n for each in found] == [120, 60, 20, 4]
    assert [each.freedom for each in found] == [60, 40, 16, 3]
    assert components_of(one.nested()) == found[:3]


def test_known_components_are_within_the_intervals_and_shares_sum_to_one() -> None:
    found = levels(SimulatedFleet(9, 10, 4, 3, instance=0.03))
    truth = {TRIAL: 0.01, RUN: 0.01, HOST: 0.03, GROUP: 0.1}
    for level in found.levels:
        assert level.low is not None
        assert level.high is not None
        assert level.low < truth[level.name] < level.high
    assert sum(level.share or 0.0 for level in found.levels) == pytest.approx(1)
    assert found.level(HOST).text.startswith("instance: CoV ")


@pytest.mark.parametrize(
    ("plan", "level", "reason"),
    [
        (SimulatedFleet(1, 6, 2, 3), GROUP, ABSENT[GROUP]),
        (SimulatedFleet(3, 1, 2, 3), HOST, ABSENT[HOST]),
        (SimulatedFleet(2, 6, 1, 3), RUN, ABSENT[RUN]),
        (SimulatedFleet(2, 6, 2, 1), TRIAL, ABSENT[TRIAL]),
        (SimulatedFleet(2, 6, 1, 1), HOST, UNSEPARATED),
    ],
)
def test_a_level_that_was_not_repeated_is_absent_with_the_reason(plan: SimulatedFleet, level: str, reason: str) -> None:
    found = levels(plan).level(level)
    assert (found.cov, found.low, found.high, found.share) == (None, None, None, None)
    assert found.reason == reason
    assert reason in found.text


def test_identical_values_have_no_interval_of_zero() -> None:
    groups = {name: {f"{name}{host}": {"1": [5.0] * 3, "2": [5.0] * 3} for host in range(4)} for name in "ab"}
    found = fleet_levels(FleetMetric("cpu", RATE, (), groups))
    assert {(level.cov, level.reason) for level in found.levels} == {(None, IDENTICAL)}


def test_identical_trials_leave_the_variance_of_instances() -> None:
    groups = {"a": {f"a{host}": {"1": [5.0 + host] * 3} for host in range(4)}}
    found = fleet_levels(FleetMetric("cpu", RATE, (), groups))
    assert found.level(TRIAL).reason == IDENTICAL
    assert found.level(HOST).low is not None


def test_one_distant_unit_widens_the_interval_of_its_level_alone() -> None:
    one = fleet_of(np.random.default_rng(1), SimulatedFleet(2, 10, 2, 3))
    hosts = dict(one.groups["type-0"])
    hosts["h0-0"] = {name: [0.5 * value for value in own] for name, own in hosts["h0-0"].items()}
    groups = [list(group.values()) for group in (hosts, one.groups["type-1"])]
    sides = [[list(host.values()) for host in group] for group in groups]
    usual, wide = (components_with_groups(sides, tails=tails)[:3] for tails in (False, True))
    assert [(one.variance, one.freedom) for one in usual] == [(one.variance, one.freedom) for one in wide]
    widened = [(after.high or 0.0) / (before.high or 1.0) for before, after in zip(usual, wide, strict=True)]
    assert widened[2] > 1.5
    assert max(widened[:2]) < 1.3


def test_failed_hosts_and_missing_sessions_are_left_out() -> None:
    one = fleet_of(np.random.default_rng(4), SimulatedFleet(3, 8, 3, 3, uneven=True))
    groups = {name: dict(group) for name, group in one.groups.items()}
    groups["type-0"]["h0-0"] = {"1": []}
    groups["type-9"] = {"h9-0": {}}
    found = fleet_levels(FleetMetric("cpu", RATE, (), groups))
    assert (found.level(HOST).n, found.level(GROUP).n) == (23, 3)
    assert all(level.cov is not None for level in found.levels)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_value_without_a_logarithm_is_refused(value: float) -> None:
    with pytest.raises(FleetError):
        FleetMetric("cpu", RATE, (), {"a": {"h": {"1": [1.0, value]}}})


def test_a_host_in_two_groups_is_refused() -> None:
    with pytest.raises(FleetError):
        FleetMetric("cpu", RATE, (), {"a": {"h": {"1": [1.0]}}, "b": {"h": {"1": [1.0]}}})


def test_a_moment_that_all_hosts_share_is_estimated_beside_the_sessions() -> None:
    plan = SimulatedFleet(3, 10, 4, 3, moments=(0.0, -0.04, 0.0, 0.0))
    found = levels(plan, 2)
    (moment,) = [each for each in found.shared_moments if each.ratio < 0.98]
    assert moment.session == "2"
    assert moment.hosts == 30
    assert moment.low < np.exp(-0.04) < moment.high
    assert moment.text.startswith("session 2, all hosts: −")
    assert found.moment_variance**0.5 == pytest.approx(0.02, rel=0.2)  # of 0, -4 %, 0 and 0
    assert len(found.moment_lines) == 1 + len(found.shared_moments)
    session = found.level(RUN)
    assert session.low is not None
    assert session.high is not None
    assert session.low < 0.01 < session.high  # not the 2 % of the moments


def test_a_moment_of_one_group_is_none_of_the_others() -> None:
    one = fleet_of(np.random.default_rng(6), SimulatedFleet(3, 8, 3, 3))
    group = {
        host: {name: [0.8 * value if name == "2" else value for value in own] for name, own in sessions.items()}
        for host, sessions in one.groups["type-1"].items()
    }
    found = fleet_levels(replace(one, groups={**one.groups, "type-1": group}))
    slower = [each for each in found.shared_moments if each.ratio < 0.9]
    assert [(each.session, each.group, each.hosts) for each in slower] == [("2", "type-1", 8)]
    assert slower[0].low < 0.8 < slower[0].high
    assert "type-1" in slower[0].text
    assert all(abs(each.ratio - 1) < 0.02 for each in found.moments if each.group != "type-1")
    session = found.level(RUN)
    assert session.low is not None
    assert session.high is not None
    assert session.low < 0.01 < session.high


def test_a_moment_of_all_groups_is_of_no_group() -> None:
    for seed in range(20):
        plan = SimulatedFleet(3, 6, 3, 3, moments=(0.0, -0.04, 0.0))
        assert {each.group for each in levels(plan, seed).moments} == {""}


def test_missing_sessions_do_not_pass_for_a_moment() -> None:
    """Fast hosts that miss a session are no moment at which all are slow."""
    groups = {"a": {f"h{host}": {str(k): [100.0 * (1 + host) + 0.01 * ((3 * host + 5 * k) % 7) for _ in range(2)]
                                 for k in range(3) if host < 4 or k != 1} for host in range(8)}}  # fmt: skip
    assert all(abs(each.ratio - 1) < 0.001 for each in moment_effects(FleetMetric("cpu", RATE, (), groups)))


@pytest.mark.parametrize("plan", [SimulatedFleet(sessions=1), SimulatedFleet(instances=2)])
def test_too_few_shared_sessions_have_no_moments(plan: SimulatedFleet) -> None:
    assert levels(plan).moments == ()


def test_groups_whose_sessions_are_not_shared_have_no_moments() -> None:
    one = fleet_of(np.random.default_rng(5), SimulatedFleet(2, 6, 3, 3))
    later = {host: {f"later {name}": own for name, own in sessions.items()}
             for host, sessions in one.groups["type-1"].items()}  # fmt: skip
    assert moment_effects(one)
    assert moment_effects(FleetMetric("cpu", RATE, (), {**one.groups, "type-1": later})) == ()


def test_independent_sessions_are_no_moments() -> None:
    found = [levels(SimulatedFleet(1, 6, 3, 2), seed).shared_moments for seed in range(100)]
    assert sum(map(bool, found)) <= 11  # of 100 at 5 %: 99 % of cases


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "tries"),
    [
        (SimulatedFleet(9, 10, 4, 3, instance=0.03), 600),
        (SimulatedFleet(9, 10, 4, 3, instance=0.03, uneven=True), 600),
        (SimulatedFleet(9, 10, 4, 3, instance=0.03, moments=(0.0, -0.04, 0.0, 0.0)), 600),
        (SimulatedFleet(3, 6, 2, 3, instance=0.03), 1000),
        (SimulatedFleet(2, 3, 2, 2, instance=0.03), 1000),
    ],
)
def test_the_intervals_contain_the_known_components(plan: SimulatedFleet, tries: int) -> None:
    for level, found in component_coverage(plan, tries).items():
        low, high = found.interval
        assert low <= 0.97, level
        assert high >= NOMINAL - 0.01, level


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "level", "least"),
    [
        (SimulatedFleet(2, 10, 2, 3, shape="t3"), HOST, 0.75),
        (SimulatedFleet(2, 10, 2, 3, shape="skewed"), HOST, 0.86),
        (SimulatedFleet(2, 10, 2, 3, heavy_trials=True), TRIAL, 0.75),
    ],
)
def test_tails_leave_less_of_the_coverage(plan: SimulatedFleet, level: str, least: float) -> None:
    assert component_coverage(plan, 300)[level].value >= least
