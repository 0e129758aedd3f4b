"""The planner of fleet studies."""

import math
from dataclasses import replace

import numpy as np
import pytest

from app.comparison.power import NestedVariance, SampleDesign
from app.comparison.variance import VarianceComponent, components_of
from app.fleet.levels import fleet_levels
from app.fleet.planner import AT_UPPER_LIMITS, FleetCost, FleetGoal, FleetRequest, half_width, plan_text, propose_fleet
from app.fleet.proposals import Proposals
from app.fleet.study import FleetError, FleetMetric
from app.ranking.candidates import Price
from app.sample_size.designs import DesignLimits, Effort, NoiseEstimate
from tests.simulation.fleets import RATE, SimulatedFleet, fleet_of

COMPONENTS = fleet_levels(
    fleet_of(np.random.default_rng(1), SimulatedFleet(3, 10, 3, 3, trial=0.02, session=0.02))
).components
REQUEST = FleetRequest(FleetGoal.HALF_WIDTH, 0.02, types=3, limits=DesignLimits(30, 8, 20))
COST = FleetCost(Effort(60.0, 120.0, price=Price(0.4, "USD")))


def test_the_half_width_is_students_of_the_mean_of_hosts() -> None:
    noise, design = NestedVariance(4e-4, 1e-4, 9e-4), SampleDesign(4, 2, 5)
    error = math.sqrt(9e-4 / 4 + 1e-4 / 8 + 4e-4 / 40)
    assert half_width(noise, design) == pytest.approx(math.expm1(3.182446 * error), rel=1e-5)
    assert half_width(noise, SampleDesign(2, 9, 9)) is None  # no claim on a type from two instances
    assert half_width(replace(noise, host=None), design) is None


def test_a_design_reaches_the_goal_with_the_fewest_trials_and_the_cheapest_is_first() -> None:
    found = propose_fleet(COMPONENTS, REQUEST, COST)
    noise = NoiseEstimate.of(COMPONENTS).found
    assert found
    for one in found:
        assert one.shown <= REQUEST.wanted
        assert one.design.hosts >= 3
        fewer = replace(one.design, trials=one.design.trials - 1)
        assert one.design.trials == 3 or (half_width(noise, fewer) or 1) > REQUEST.wanted
        assert one.cautious is not None
        assert one.cautious >= one.shown
    costs = [one.cost for one in found if one.cost is not None]
    assert costs == sorted(costs)
    assert len({one.design.hosts for one in found}) == len(found) == len(costs)
    assert found[0].hours == pytest.approx(3 * COST.hours(found[0].design))
    assert found[0].cost == pytest.approx(0.4 * found[0].hours)
    assert plan_text(found[0], REQUEST, COST).endswith(f"{found[0].cost:.2f} USD")


def test_expensive_instances_move_effort_to_sessions_and_trials() -> None:
    plain = propose_fleet(COMPONENTS, REQUEST, COST)[0].design
    for dear in (replace(COST, instance=5.0), replace(COST, start=36_000.0)):
        chosen = propose_fleet(COMPONENTS, REQUEST, dear)[0].design
        assert chosen.hosts < plain.hosts
        assert chosen.sessions * chosen.trials > plain.sessions * plain.trials


def test_a_difference_needs_a_design_that_shows_it_with_the_power() -> None:
    wide, narrow = (
        propose_fleet(COMPONENTS, replace(REQUEST, goal=FleetGoal.DIFFERENCE, wanted=wanted), COST)[0]
        for wanted in (0.2, 0.05)
    )
    assert wide.design.hosts < narrow.design.hosts
    assert narrow.shown <= 0.05


def test_moments_are_in_the_half_width_and_not_in_a_difference() -> None:
    noise, design = NestedVariance(4e-4, 1e-4, 9e-4), SampleDesign(4, 2, 5)
    error = math.sqrt(9e-4 / 4 + 1e-4 / 8 + 4e-4 / 40 + 6e-4 / 2)
    assert half_width(noise, design, 6e-4) == pytest.approx(math.expm1(3.182446 * error), rel=1e-5)
    shared = replace(REQUEST, moments=4e-4)
    assert propose_fleet(COMPONENTS, shared, COST)[0].design.sessions > 1
    difference = replace(REQUEST, goal=FleetGoal.DIFFERENCE, wanted=0.05)
    with_moments, without = (propose_fleet(COMPONENTS, replace(difference, moments=one), COST) for one in (4e-4, 0.0))
    assert with_moments == without


def test_identical_values_are_refused() -> None:
    same: dict[str, dict[str, dict[str, list[float]]]]
    same = {"a": {f"a{host}": {"1": [5.0] * 3} for host in range(4)}}
    with pytest.raises(FleetError):
        propose_fleet(fleet_levels(FleetMetric("cpu", RATE, (), same)).components, REQUEST, COST)


def test_a_design_states_what_it_shows_at_the_upper_limits() -> None:
    (one, *_) = propose_fleet(COMPONENTS, replace(REQUEST, wanted=0.05), COST)
    text = plan_text(one, REQUEST, COST)
    assert AT_UPPER_LIMITS in text
    assert "1 session x" in text


def test_the_notes_name_power_moments_and_outliers() -> None:
    one = fleet_of(np.random.default_rng(1), SimulatedFleet())
    shared = Proposals(one, replace(REQUEST, moments=9e-4), COST, ())
    assert any("3 %" in line for line in shared.notes)
    assert len(Proposals(one, REQUEST, COST, (), "x").notes) == len(Proposals(one, REQUEST, COST, ()).notes) + 1
    difference = replace(REQUEST, goal=FleetGoal.DIFFERENCE)
    designs = tuple(propose_fleet(COMPONENTS, replace(difference, wanted=0.2), COST))
    (power,) = Proposals(one, difference, COST, designs).notes
    assert "80 %" in power


def test_without_a_design_no_note_speaks_of_one() -> None:
    one = fleet_of(np.random.default_rng(1), SimulatedFleet())
    for goal in FleetGoal:
        assert Proposals(one, replace(REQUEST, goal=goal), COST, (), unknown=("no time",)).notes == []


def test_without_a_price_the_least_hours_are_first() -> None:
    found = propose_fleet(COMPONENTS, REQUEST, replace(COST, effort=replace(COST.effort, price=None)))
    assert {one.cost for one in found} == {None}
    assert [one.hours for one in found] == sorted(one.hours for one in found)


def test_a_goal_out_of_reach_has_no_design() -> None:
    assert propose_fleet(COMPONENTS, replace(REQUEST, wanted=1e-4), COST) == []


def test_more_sessions_than_suffice_with_the_fewest_trials_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = list[SampleDesign]()

    def counted(noise: NestedVariance, design: SampleDesign) -> float | None:
        computed.append(design)
        return half_width(noise, design)

    monkeypatch.setattr("app.fleet.planner._measure", lambda _request: counted)
    found = propose_fleet(COMPONENTS, replace(REQUEST, limits=DesignLimits(500, 30, 30)), COST)
    assert len(found) > 400
    assert len(computed) < 10 * len(found)


def test_sessions_that_were_not_repeated_are_one() -> None:
    once = components_of(fleet_of(np.random.default_rng(1), SimulatedFleet(1, 10, 1, 3)).nested())
    assert {one.design.sessions for one in propose_fleet(once, REQUEST, COST)} == {1}


@pytest.mark.parametrize("plan", [SimulatedFleet(3, 1, 3, 3), SimulatedFleet(1, 10, 3, 1)])
def test_levels_that_were_not_repeated_are_refused(plan: SimulatedFleet) -> None:
    components: tuple[VarianceComponent, ...] = components_of(fleet_of(np.random.default_rng(1), plan).nested())
    with pytest.raises(FleetError):
        propose_fleet(components, REQUEST, COST)
