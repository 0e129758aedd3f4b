"""The estimate of a study, by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.fleet.estimate import SETUP, estimate_lines, estimate_of
from app.fleet_study import FleetLimits, FleetPlan, HostRun, Topology, check_fleet
from app.host_attributes import HostAttributes
from app.plans.plan import PlanError
from app.plans.totals import Totals
from app.services import Workstation
from tests.app.fleet.studies import CPU, NETWORK, fleet_plan, numbered, short_plan, with_attributes

MINUTE = 60.0 - SETUP
"""Seconds of trials with which a host-run takes a minute."""


def totals_of(_one: HostRun) -> Totals:
    return Totals(trials=3, duration=MINUTE, written=10, space=0, network=5, open=frozenset())


ONE = HostRun(1, 1, "a1", "a")


def study(*sizes: int, at_once: int = 2, sessions: int = 1, every: float = 3600.0) -> FleetPlan:
    return fleet_plan(numbered(*sizes), short_plan(sessions=sessions, every=every), FleetLimits(at_once))


def test_four_hosts_two_at_once() -> None:
    found = estimate_of(study(3, 1), totals_of)
    assert (found.hosts, found.host_runs, found.trials, found.at_once) == (4, 4, 12, 2)
    assert (found.session, found.whole, found.written, found.network) == (120.0, 120.0, 40, 20)
    assert (found.measured, found.unpriced, found.resting, found.open) == ({}, 4, 0, False)


def test_the_time_to_write_test_files_is_not_known() -> None:
    found = estimate_of(study(3, 1), lambda one: replace(totals_of(one), prepared=2**30))
    assert found.prepared == 4 * 2**30
    assert "Time: at least 2 min, and 4 GiB of test files are written first" in estimate_lines(found)
    assert "Time: 2 min" in estimate_lines(estimate_of(study(3, 1), totals_of))


def test_a_cost_whose_time_is_a_lower_bound_is_one() -> None:
    known = replace(estimate_of(study(1), totals_of), measured={"USD": 1.0}, kept={"USD": 2.0})
    for found, bound in ((known, False), (replace(known, open=True), True), (replace(known, prepared=2**30), True)):
        (cost,) = (line for line in estimate_lines(found) if line.startswith("Cost: "))
        assert cost.startswith("Cost: at least 1.00 USD") == bound


def test_what_the_results_decide_is_a_bound() -> None:
    adaptive = replace(totals_of(ONE), trials=7, most=30, longest=4 * MINUTE, grows=True)
    first, time, *rest = estimate_lines(estimate_of(study(2), lambda _one: adaptive))
    assert "14 to 60 trials" in first
    assert time.startswith("Time: up to ")
    assert all("at least" in line for line in rest if line.startswith(("Written", "Network")))
    budget = replace(adaptive, most=None, longest=None)
    first, time, *_ = estimate_lines(estimate_of(study(2), lambda _one: budget))
    assert "at least 14 trials" in first
    assert "up to" not in time


def test_sessions_are_spread_over_days() -> None:
    day = 86400.0
    found = estimate_of(study(2, at_once=1, sessions=3, every=day), totals_of)
    assert (found.session, found.whole) == (120.0, 2 * day + 120.0)


def test_prices_are_of_the_hours_measured_and_of_the_whole_time() -> None:
    plan = study(4, at_once=1)
    stated = [HostAttributes(price=6.0, currency="EUR"), HostAttributes(price=12.0, currency="USD"), HostAttributes()]
    found = estimate_of(replace(plan, hosts=with_attributes(plan.hosts, stated)), totals_of)
    assert found.measured == pytest.approx({"EUR": 2 * 6 / 60, "USD": 12 / 60})
    assert found.kept == pytest.approx({"EUR": 2 * 6 * 4 / 60, "USD": 12 * 4 / 60})
    assert found.unpriced == 1
    (cost,) = (line for line in estimate_lines(found) if line.startswith("Cost: "))
    assert all(figure in cost for figure in ("0.20 EUR", "0.80", "0.20 USD"))


def test_pairs_across_zones_and_hosts_without_a_partner_are_counted() -> None:
    zones = [HostAttributes(zone="east"), HostAttributes(zone="west")]
    hosts = with_attributes(numbered(3), zones)
    plan = fleet_plan(hosts, short_plan(NETWORK, sessions=3), FleetLimits(1), Topology.PAIRS)
    found = estimate_of(plan, totals_of)
    assert (found.host_runs, found.across_zones, found.resting) == (3, 2, 1)


def test_a_study_of_the_services_is_estimated(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "library.db", tmp_path / "hosts.toml")
    found = workstation.fleet_estimate(fleet_plan(numbered(2), short_plan(CPU, trials=5), FleetLimits(1)))
    workstation.close()
    assert found.trials == 10
    assert found.whole >= 2 * (5 * 1 + SETUP)


def test_an_unknown_volume_is_not_left_out() -> None:
    plan = study(2)
    lacks = replace(totals_of(next(plan.host_runs())), network=0, open=frozenset({"network", "written"}))
    found = estimate_of(plan, lambda _one: lacks)
    assert found.unknown == ("network", "written")
    lines = estimate_lines(found)
    assert [line for line in lines if line.startswith("Network: ")] == ["Network: unknown volume"]
    assert [line for line in lines if line.startswith("Written: ")] == ["Written: at least 20 B"]


def test_a_small_cost_is_not_zero() -> None:
    found = replace(estimate_of(study(1), totals_of), measured={"USD": 0.00312}, kept={"USD": 12.345})
    (cost,) = (line for line in estimate_lines(found) if line.startswith("Cost: "))
    assert "0.00312 USD" in cost
    assert "12.35 USD" in cost or "12.34 USD" in cost


def test_the_peer_of_every_test_is_not_measured() -> None:
    step = replace(NETWORK, peer="a1")
    assert estimate_of(fleet_plan(numbered(3), short_plan(step)), totals_of).resting == 1
    with pytest.raises(PlanError, match="only host"):
        check_fleet(fleet_plan(numbered(1), short_plan(step)))
