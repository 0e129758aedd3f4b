"""Values that rise or fall in the order in which the hosts of a study started."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from app.fleet.drift import Orders, drift_notes
from app.fleet.results import ONE_AFTER_THE_OTHER, results_of
from app.fleet.study import FleetMetric
from app.fleet_study import FleetStudy, HostOrder
from app.margins import Margins
from tests.app.fleet.studies import fleet_plan, numbered
from tests.simulation.fleets import RATE, SimulatedFleet, fleet_of


def drifting(slope: float, groups: int, *, grouped: bool = False, session: str = "1") -> tuple[FleetMetric, Orders]:
    """Return a study of twelve hosts whose values change by `slope` from the first host to the last of a session."""
    rng = np.random.default_rng(3)
    names = [(f"g{number % groups}", f"h{number}") for number in range(12)]
    order = {host: place for place, (_, host) in enumerate(sorted(names) if grouped else names, 1)}
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for group, host in names:
        factor = np.exp(np.log1p(slope) * (order[host] - 1) / 11)
        values = [float(1000 * factor * (1 + 0.003 * rng.normal())) for _ in range(3)]
        found.setdefault(group, {})[host] = {session: values}
    return FleetMetric("cpu", RATE, (), found), {session: order}


def test_values_that_follow_the_order_of_start_are_a_note_with_session_and_amount() -> None:
    for slope, way in ((-0.2, "fall"), (0.25, "rise")):
        (note,) = drift_notes(*drifting(slope, 1, session="2"))
        assert "session 2" in note
        assert way in note
        amount = float(note.partition(" by ")[2].partition(" %")[0]) / 100
        assert abs(amount - abs(slope)) < 0.02


def test_drift_within_groups_that_started_one_after_the_other_is_found() -> None:
    for groups, grouped in ((2, False), (2, True), (3, True)):
        assert len(list(drift_notes(*drifting(-0.25, groups, grouped=grouped)))) == 1


def test_drift_within_the_margin_and_few_hosts_are_no_note() -> None:
    assert not list(drift_notes(*drifting(-0.03, 1)))
    one, orders = drifting(-0.3, 1)
    few = replace(one, groups={"g0": dict(list(one.groups["g0"].items())[:7])})
    assert not list(drift_notes(few, orders))


def test_hosts_without_drift_have_no_note() -> None:
    def notes(seeds: Iterable[int]) -> int:
        found = 0
        for seed in seeds:
            one = fleet_of(np.random.default_rng(seed), SimulatedFleet(2, 10, 3, 3, instance=0.1))
            order = {host: place for place, host in enumerate(h for group in one.groups.values() for h in group)}
            found += bool(list(drift_notes(one, dict.fromkeys("123", order))))
        return found

    assert notes(range(100)) <= 3  # of 100 at 1 %: 98 % of cases


def test_groups_that_start_one_after_the_other_have_a_note() -> None:
    for order, count in ((HostOrder.GROUPED, 1), (HostOrder.INTERLEAVED, 0)):
        plan = replace(fleet_plan(numbered(2, 2)), order=order)
        study = FleetStudy("f1", "short", plan, "2026-01-01T00:00:00+00:00")
        assert results_of(study, (), {}, Margins()).notes.count(ONE_AFTER_THE_OTHER) == count
