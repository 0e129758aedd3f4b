"""Admission of host-runs: never over a limit, never two on a host, never stuck; the same for one look and for many."""

import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.fleet.admission import AdmissionQueue, startable
from app.fleet.simulation import RETRY, SimulatedRun, simulated
from app.fleet_study import FleetLimits, FleetPlan, HostRun, Topology
from app.host_attributes import HostAttributes
from tests.app.fleet.studies import CPU, NETWORK, broken_limits, fleet_plan, numbered, short_plan, with_attributes

LIMIT = st.none() | st.integers(1, 3)


@st.composite
def plans(draw: st.DrawFn) -> FleetPlan:
    """Give plans of few hosts that share zones, storage and links."""
    hosts = numbered(*draw(st.lists(st.integers(2, 4), min_size=1, max_size=3)))
    shared = st.sampled_from(["", "x", "y"])
    attributes = st.builds(HostAttributes, zone=shared, storage=shared, link=shared)
    drawn = with_attributes(hosts, draw(st.lists(attributes, min_size=1, max_size=4)))
    limits = FleetLimits(draw(st.integers(1, 6)), draw(LIMIT), draw(LIMIT), draw(LIMIT))
    steps = draw(st.sampled_from([(CPU,), (NETWORK,), (CPU, NETWORK)]))
    topology = Topology.FIXED if steps == (CPU,) else draw(st.sampled_from([Topology.PAIRS, Topology.MESH]))
    return fleet_plan(drawn, short_plan(*steps, sessions=draw(st.integers(1, 3)), every=100.0), limits, topology)


@given(plans(), st.integers(0, 2**31).map(Random))
def test_one_look_after_another_keeps_every_limit_and_never_gets_stuck(plan: FleetPlan, random: Random) -> None:
    waiting = {one.number: one for one in plan.host_runs()}
    under_way: list[HostRun] = []
    while waiting or under_way:
        started = startable(iter(list(waiting.values())), under_way, plan)
        assert started or under_way, "nothing runs, and nothing starts"
        assert [one.number for one in started] == sorted(one.number for one in started)
        under_way += [waiting.pop(one.number) for one in started]
        assert broken_limits(plan, under_way) == []
        free = [one for one in waiting.values() if not broken_limits(plan, [*under_way, one])]
        assert free == [], "one that may start waits"
        under_way.remove(random.choice(under_way))


@given(plans(), st.integers(0, 2**31).map(Random))
def test_a_queue_starts_what_one_look_after_another_starts(plan: FleetPlan, random: Random) -> None:
    queue, waiting = AdmissionQueue(plan), {one.number: one for one in plan.host_runs()}
    for one in waiting.values():
        queue.add(one)
    under_way: list[HostRun] = []
    while waiting or under_way:
        expected = startable(iter(list(waiting.values())), under_way, plan)
        assert list(queue.start()) == expected
        under_way += [waiting.pop(one.number) for one in expected]
        for _ in range(random.randint(1, len(under_way))):
            queue.end(ended := random.choice(under_way))
            under_way.remove(ended)
            if random.random() < 0.3:  # it waits again
                waiting = dict(sorted({**waiting, ended.number: ended}.items()))
                queue.add(ended)


def test_a_blocked_host_run_lets_later_ones_pass() -> None:
    hosts = with_attributes(numbered(3, 1), [HostAttributes(zone="east")] * 3 + [HostAttributes(zone="west")])
    plan = fleet_plan(hosts, limits=FleetLimits(4, per_zone=1))
    assert [one.host for one in startable(plan.host_runs(), [], plan)] == ["a1", "b1"]


def test_waiting_host_runs_are_read_only_as_far_as_necessary() -> None:
    plan = fleet_plan(numbered(50))
    runs = plan.host_runs()
    assert len(startable(runs, [], plan, at_most=2)) == 2
    assert next(runs).number == 3
    assert startable(runs, [HostRun(n, 1, f"other{n}", "z") for n in range(4)], plan) == []
    assert next(runs).number == 4


def test_two_host_runs_share_neither_a_peer_nor_a_link() -> None:
    hosts = with_attributes(numbered(6), [HostAttributes(link="uplink")] * 4 + [HostAttributes()] * 2)
    plan = fleet_plan(hosts, short_plan(NETWORK), FleetLimits(9), Topology.MESH)
    started = startable(plan.host_runs(), [], plan)
    assert [one.hosts for one in started] == [("a1", "a2"), ("a5", "a6")]


def spans(found: list[SimulatedRun]) -> list[tuple[float, float]]:
    return [(one.start, one.end) for one in found]


def test_a_simulation_by_hand() -> None:
    """Three hosts, two at once, 10 s each; a session is due each 100 s."""
    plan = fleet_plan(numbered(3), short_plan(sessions=2, every=100.0), FleetLimits(2))
    found = simulated(plan, lambda _one: 10.0)
    assert spans(found) == [(0, 10), (0, 10), (10, 20), (100, 110), (100, 110), (110, 120)]


def test_a_session_that_is_due_starts_beside_one_that_takes_long() -> None:
    plan = fleet_plan(numbered(2), short_plan(sessions=2, every=100.0), FleetLimits(2))
    found = simulated(plan, lambda one: 1000.0 if one.number == 1 else 10.0)
    assert [(one.one.number, one.start) for one in found] == [(1, 0), (2, 0), (4, 100), (3, 1000)]


def test_a_failed_attempt_waits_and_is_made_again_as_often_as_the_plan_has_retries() -> None:
    plan = fleet_plan(numbered(1))
    found = simulated(plan, lambda _one: 10.0, lambda _one, _attempt: True)
    assert spans(found) == [(0, 10), (10 + RETRY, 20 + RETRY), (20 + 3 * RETRY, 30 + 3 * RETRY)]
    assert all(one.failed for one in found)


@given(plans(), st.integers(0, 2**31).map(Random))
def test_a_simulated_study_with_failures_ends_every_host_run_once(plan: FleetPlan, random: Random) -> None:
    seconds = {one.number: random.uniform(1.0, 50.0) for one in plan.host_runs()}
    found = simulated(plan, lambda one: seconds[one.number], lambda _one, _attempt: random.random() < 0.3)
    ended = [one.one.number for one in found if not one.failed]
    attempts = {number: sum(one.one.number == number for one in found) for number in seconds}
    lost = [number for number, count in attempts.items() if number not in ended and count != plan.retries + 1]
    assert (sorted(ended), lost) == (sorted(set(ended)), [])
    assert max(one.end for one in found) >= sum(one.end - one.start for one in found) / plan.limits.at_once
    for one in found:
        beside = [each.one for each in found if each.start <= one.start < each.end]
        assert broken_limits(plan, beside) == []


@pytest.mark.slow
@pytest.mark.parametrize("per_zone", [None, 1])
def test_a_large_study_is_simulated_in_time(per_zone: int | None, elapsed: Callable[[], float]) -> None:
    hosts = with_attributes(numbered(2500, 2500, 2500, 2500), [HostAttributes(zone=f"z{n}") for n in range(3)])
    plan = fleet_plan(hosts, short_plan(sessions=4), FleetLimits(200, per_zone=per_zone))
    assert len(simulated(plan, lambda one: 50.0 + one.number % 20)) == 40_000
    assert elapsed() < 20


@pytest.fixture
def elapsed() -> Callable[[], float]:
    """Give the processor time that the test has taken: others use the processors too."""
    begun = time.process_time()
    return lambda: time.process_time() - begun
