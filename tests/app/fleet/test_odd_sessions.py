"""Sessions in which one instance differs from its other sessions."""

from dataclasses import replace

import numpy as np
import pytest

from app.fleet.odd_sessions import odd_session_notes
from app.fleet.study import FleetMetric
from tests.simulation.fleets import SimulatedFleet, fleet_of

PLAN = SimulatedFleet(2, 8, 3, 3)


def slower(factor: float, host: str = "h1-2", session: str = "2", plan: SimulatedFleet = PLAN) -> FleetMetric:
    """Return a study with a session of a host at `factor`; of every host for "*"."""
    one = fleet_of(np.random.default_rng(4), plan)
    groups = {
        group: {
            name: {
                key: [value * (factor if host in {name, "*"} and key == session else 1.0) for value in own]
                for key, own in sessions.items()
            }
            for name, sessions in hosts.items()
        }
        for group, hosts in one.groups.items()
    }
    return replace(one, groups=groups)


@pytest.mark.parametrize("moments", [(), (0.0, -0.1, 0.1)])
@pytest.mark.parametrize(("factor", "change"), [(0.7, "−30 %"), (1.4, "+40 %")])
def test_the_instance_the_session_and_the_change_are_named(
    moments: tuple[float, ...], factor: float, change: str
) -> None:
    (note,) = odd_session_notes(slower(factor, plan=replace(PLAN, moments=moments)))
    assert "h1-2 in session 2" in note
    shown = int(note.partition("(")[2][1:].partition(" ")[0].partition(".")[0])
    assert abs(shown - abs(int(change[1:3]))) <= 3
    assert f"({change[0]}" in note


def test_a_slow_instance_a_slow_moment_and_small_changes_have_no_note() -> None:
    assert not list(odd_session_notes(slower(0.7, host="*")))
    assert not list(odd_session_notes(slower(0.97)))
    one = fleet_of(np.random.default_rng(4), PLAN, {1: 0.5})
    assert not list(odd_session_notes(one))


def test_two_sessions_do_not_show_which_is_odd() -> None:
    assert not list(odd_session_notes(slower(0.5, plan=replace(PLAN, sessions=2))))


def test_equal_values_have_no_note() -> None:
    one = fleet_of(np.random.default_rng(4), PLAN)
    same = {host: {str(number): [5.0, 5.0] for number in range(4)} for host in one.groups["type-0"]}
    assert not list(odd_session_notes(replace(one, groups={"type-0": same})))


def test_clean_studies_have_few_notes() -> None:
    found = [
        bool(list(odd_session_notes(fleet_of(np.random.default_rng(seed), replace(PLAN, session=0.03)))))
        for seed in range(60)
    ]
    assert sum(found) <= 6  # of 60 at 5 %: 97 % of cases
