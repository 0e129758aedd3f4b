"""Fleet plans: their host-runs in order, the plan of each, what is refused, and their JSON."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.fleet_study import (
    MOST_HOST_RUNS,
    FleetHost,
    FleetLimits,
    FleetPlan,
    HostOrder,
    HostRun,
    Topology,
    check_fleet,
)
from app.formats import FormatError, fleet_plan_from_json, fleet_plan_to_json, host_attributes_from_json, read_json
from app.host_attributes import HostAttributes
from app.json_converter import published
from app.plans.plan import MAXIMUM_SEED, Plan, PlanError, Step
from tests.app.fleet.studies import CPU, NETWORK, fleet_plan, numbered, short_plan

SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def hosts_of(plan: FleetPlan, session: int = 1) -> list[str]:
    return [one.title for one in plan.host_runs() if one.session == session]


def test_interleaved_groups_share_every_moment() -> None:
    assert hosts_of(fleet_plan(numbered(3, 1, 2))) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_grouped_is_one_group_after_the_other() -> None:
    plan = replace(fleet_plan(tuple(reversed(numbered(2, 2)))), order=HostOrder.GROUPED)
    assert hosts_of(plan) == ["b2", "b1", "a2", "a1"]


@given(SIZES, st.integers(0, MAXIMUM_SEED))
def test_a_random_order_is_that_of_its_seed_and_another_in_each_session(sizes: list[int], seed: int) -> None:
    made = replace(fleet_plan(numbered(*sizes), short_plan(sessions=2)), order=HostOrder.RANDOMISED, seed=seed)
    assert list(made.host_runs()) == list(replace(made).host_runs())
    for session in (1, 2):
        assert sorted(hosts_of(made, session)) == sorted(host.name for host in made.hosts)


def test_sessions_and_seeds_have_random_orders_of_their_own() -> None:
    made = replace(fleet_plan(numbered(30), short_plan(sessions=2)), order=HostOrder.RANDOMISED)
    orders = [hosts_of(replace(made, seed=seed), session) for seed in (0, 1) for session in (1, 2)]
    assert len(set(map(tuple, orders))) == 4


@given(SIZES, st.sampled_from(HostOrder), st.sampled_from(Topology), st.integers(1, 3))
def test_numbers_are_unique_and_as_many_as_are_counted(
    sizes: list[int], order: HostOrder, topology: Topology, sessions: int
) -> None:
    network = NETWORK if topology is not Topology.FIXED else replace(NETWORK, peer="a1")
    made = replace(
        fleet_plan(numbered(*sizes), short_plan(CPU, network, sessions=sessions), topology=topology), order=order
    )
    found = list(made.host_runs())
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert Counter(one.host for one in found if one.peer is None) == {host.name: sessions for host in made.hosts}
    assert all(one.host != one.peer for one in found)
    assert all(one.group == made.by_name[one.host].group for one in found)
    if topology is not Topology.FIXED:
        groups = {host.name: host.group for host in made.hosts}
        assert all(groups[one.host] == groups[one.peer] for one in found if one.peer is not None)


@pytest.mark.parametrize("size", range(2, 12))
def test_pairs_are_a_round_robin_tournament(size: int) -> None:
    """Over n - 1 sessions, n of odd sizes, every two hosts meet once, and no host twice in a session."""
    rounds = size - 1 if size % 2 == 0 else size
    plan = fleet_plan(numbered(size), short_plan(NETWORK, sessions=rounds), topology=Topology.PAIRS)
    met = Counter(frozenset(one.hosts) for one in plan.host_runs())
    assert len(met) == size * (size - 1) // 2
    assert set(met.values()) == {1}
    for session in range(1, rounds + 1):
        hosts = [host for one in plan.host_runs() if one.session == session for host in one.hosts]
        assert len(hosts) == len(set(hosts)) == size - size % 2
    assert plan.unpaired() == size % 2


def test_a_mesh_connects_every_two_hosts_of_a_group_in_each_session() -> None:
    plan = fleet_plan(numbered(4, 3), short_plan(NETWORK, sessions=2), topology=Topology.MESH)
    met = Counter(frozenset(one.hosts) for one in plan.host_runs())
    assert (len(met), set(met.values())) == (6 + 3, {2})


def test_fixed_peers_are_those_of_the_steps() -> None:
    steps = (replace(NETWORK, name="near", peer="a1"), replace(NETWORK, name="far", peer="gate"))
    plan = fleet_plan(numbered(2), short_plan(CPU, *steps))
    assert hosts_of(plan) == ["a1", "a2", "a1 – gate", "a2 – a1", "a2 – gate"]
    last = list(plan.host_runs())[-1]
    assert [(step.name, step.peer) for step in plan.plan_of(last).steps] == [("far", "gate")]


def test_the_plan_of_a_host_run_is_of_one_host_and_one_session() -> None:
    by_host = Step("cpu", CPU.suite_id, CPU.values, by_host={"threads": {"a2": 3}})
    made = fleet_plan(numbered(2), replace(short_plan(by_host, NETWORK, sessions=3), seed=MAXIMUM_SEED))
    made = replace(made, topology=Topology.PAIRS)
    plans = {one.title: made.plan_of(one) for one in made.host_runs() if one.session == 1}
    assert plans["a1"].hosts == ("a1",)
    assert plans["a1"].repetition.sessions == 1
    assert [plans[host].steps[0].whole_values()["threads"] for host in ("a1", "a2")] == [1, 3]
    assert [(step.name, step.peer) for step in plans["a1 – a2"].steps] == [("network", "a2")]
    seeds = [made.plan_of(one).seed for one in made.host_runs()]
    assert len(set(seeds)) == len(seeds)
    assert all(seed is not None and 0 <= seed <= MAXIMUM_SEED for seed in seeds)
    assert made.plan_of(next(made.host_runs())) == made.plan_of(next(made.host_runs()))
    assert {replace(made, plan=short_plan()).plan_of(one).seed for one in made.host_runs() if one.peer is None} == {
        None
    }


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (fleet_plan(()), "no host"),
        (fleet_plan((*numbered(2), FleetHost("a1", "b"))), "a1 is in two groups"),
        (fleet_plan(numbered(1), limits=FleetLimits(0)), "A limit of 0"),
        (fleet_plan(numbered(1), limits=FleetLimits(per_zone=-1)), "A limit of -1"),
        (fleet_plan(numbered(2), topology=Topology.PAIRS), "no network test for pairs"),
        (fleet_plan(numbered(2, 1), short_plan(NETWORK), topology=Topology.MESH), "The group b has one host"),
        (fleet_plan(numbered(2), short_plan(NETWORK)), "network needs a peer"),
        (fleet_plan(numbered(10_001, 10_000)), "20,001 hosts"),
        (fleet_plan(numbered(1100), short_plan(NETWORK), topology=Topology.MESH), f"at most {MOST_HOST_RUNS:,}"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_invalid_fleet_is_refused(plan: FleetPlan, fault: str) -> None:
    with pytest.raises(PlanError, match=fault):
        check_fleet(plan)


def test_a_large_fleet_is_not() -> None:
    check_fleet(fleet_plan(numbered(1000), short_plan(NETWORK), topology=Topology.MESH))


ATTRIBUTES = st.builds(
    HostAttributes,
    instance_type=st.text(max_size=8),
    zone=st.text(max_size=8),
    price=st.none() | st.floats(0.001, 1e6),
    currency=st.sampled_from(["", "EUR"]),
    groups=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)


FLEETS = st.builds(
    FleetPlan,
    st.just(short_plan(CPU, NETWORK, sessions=3)),
    SIZES.map(lambda sizes: numbered(*sizes)),
    st.sampled_from(Topology),
    st.sampled_from(HostOrder),
    st.integers(0, MAXIMUM_SEED),
    st.builds(FleetLimits, st.integers(1, 9), *[st.none() | st.integers(1, 9)] * 3),
    st.integers(0, 100),
)


@given(FLEETS, ATTRIBUTES)
def test_a_fleet_plan_survives_its_json(plan: FleetPlan, attributes: HostAttributes) -> None:
    hosts = tuple(replace(host, attributes=attributes) for host in plan.hosts)
    plan = replace(plan, hosts=hosts)
    written = json.dumps(fleet_plan_to_json(plan))
    assert fleet_plan_from_json(read_json(written, "the plan"), hosts) == plan
    assert host_attributes_from_json(json.loads(json.dumps(published(attributes)))) == attributes


@pytest.mark.parametrize(
    "change",
    [
        {"format": "benchwright-fleet/2"}, {"plan": None}, {"plan": []}, {"topology": "ring"}, {"order": 3},
        {"seed": "x"}, {"seed": -1}, {"seed": 10**30}, {"limits": None}, {"limits": {"at_once": 0}},
        {"limits": {"at_once": True}}, {"limits": {"per_zone": -4}}, {"retries": -1}, {"retries": 10**9},
    ],
    ids=str,
)  # fmt: skip
def test_a_malformed_fleet_plan_is_refused(change: dict[str, object]) -> None:
    written = {**fleet_plan_to_json(fleet_plan(numbered(2))), **change}
    with pytest.raises(FormatError):
        fleet_plan_from_json(json.loads(json.dumps(written)), numbered(2))


def test_a_pair_is_one_title() -> None:
    assert HostRun(1, 1, "a1", "a", "a2").title == "a1 – a2"
    assert isinstance(short_plan(), Plan)
