"""The halves of a host's CPUs: by node, core and sibling, and the commands that are pinned to them."""

from dataclasses import replace

import pytest

from app.plans.duet import Halves, cpu_list, cpus_of_trial, facts_seen, halves_of, pinned
from app.plans.plan import Order, Plan, make_step
from suites.base import Command, Purpose
from suites.facts import Absent, Core, CpuFacts, Facts
from tests.messages import messages

MESSAGES = messages("app", "test_duet_halves")


def core(*cpus: int, node: int = 0, package: int = 0) -> Core:
    return Core(cpus=cpus, node=node, package=package)


def host(*cores: Core) -> Facts:
    cpu = CpuFacts(usable=sum(len(one.cpus) for one in cores), layout=cores)
    return Facts(host="web-1", read_at="2026-11-20T14:15:30+00:00", cpu=cpu)


def duet(trials: tuple[str, str] = ("a", "b")) -> Plan:
    first, second = (make_step("sysbench-cpu", {}, name=name) for name in trials)
    return Plan("p", ("web-1",), (first, second), order=Order.DUET)


@pytest.mark.parametrize(
    ("cores", "halves"),
    [
        ((core(0), core(1)), Halves(((0,), (1,)))),
        ((core(0, 2), core(1, 3)), Halves(((0, 2), (1, 3)))),
        ((core(0, 1), core(2, 3), core(4, 5)), Halves(((0, 1), (2, 3)), (4, 5))),
        # Nodes whose CPUs alternate: each node is a half.
        (
            (core(0, node=0), core(2, node=0), core(1, node=1), core(3, node=1)),
            Halves(((0, 2), (1, 3))),
        ),
        # An odd number of nodes: the cores are divided.
        (
            (core(0, node=0), core(1, node=0), core(2, node=1), core(3, node=1), core(4, node=2), core(5, node=2)),
            Halves(((0, 1, 2), (3, 4, 5))),
        ),
        # Affinity left more of one node: both halves have as many cores.
        ((core(0, node=0), core(1, node=0), core(8, node=1)), Halves(((0,), (8,)), (1,))),
        # Cores with and without SMT: each half has as many of both.
        (
            (core(0, 1), core(2, 3), core(4), core(5), core(6), core(7)),
            Halves(((0, 1, 4, 5), (2, 3, 6, 7))),
        ),
        # One core of each kind: one CPU of each.
        ((core(0, 1), core(2)), Halves(((0,), (2,)), (1,))),
        ((core(0, 1),), Halves(((0,), (1,)), one_core=True)),
        ((core(0, 1, 2),), Halves(((0,), (1,)), (2,), one_core=True)),
    ],
)
def test_halves_keep_cores_and_nodes_whole(cores: tuple[Core, ...], halves: Halves) -> None:
    assert halves_of(host(*cores)) == halves


def test_halves_have_as_many_cpus_and_share_none() -> None:
    for count in range(2, 40):
        found = halves_of(host(*(core(2 * n, 2 * n + 1, node=n * 4 // count) for n in range(count))))
        assert isinstance(found, Halves)
        first, second = found.cpus
        assert len(first) == len(second) > 0
        assert not set(first) & set(second)
        assert len(first) + len(second) + len(found.unused) == 2 * count


def test_one_cpu_and_an_unknown_topology_have_no_halves() -> None:
    assert halves_of(host(core(0))) == MESSAGES["one_cpu"]
    unread = host(core(0))
    unread = replace(unread, cpu=replace(unread.cpu, layout=Absent("no topology in /sys")))
    assert halves_of(unread) == MESSAGES["no_topology"]


def test_cpus_are_written_as_kernel_lists() -> None:
    assert cpu_list((3, 0, 1, 2, 8)) == "0-3,8"
    assert cpu_list(()) == ""


def test_sides_swap_halves_with_each_trial() -> None:
    plan, facts = duet(), host(core(0), core(1))
    found = [[cpus_of_trial(plan, step, number, facts) for step in "ab"] for number in (1, 2, 3)]
    assert found == [[(0,), (1,)], [(1,), (0,)], [(0,), (1,)]]


def test_a_duet_restricted_to_one_step_keeps_its_half() -> None:
    plan, facts = duet(), host(core(0), core(1))
    alone = replace(plan, steps=plan.steps[1:])
    assert cpus_of_trial(alone, "b", 1, facts) == (1,)


def test_other_orders_are_not_pinned() -> None:
    plan = replace(duet(), order=Order.INTERLEAVED)
    assert cpus_of_trial(plan, "a", 1, host(core(0), core(1))) == ()


def test_what_measures_or_serves_on_the_host_is_pinned() -> None:
    commands = [
        Command(("prepare",), Purpose.PREPARE),
        Command(("serve",), Purpose.SERVE),
        Command(("serve",), Purpose.SERVE, on_peer=True),
        Command(("measure", "-x"), root=True),
        Command(("clean",), Purpose.CLEAN_UP),
    ]
    found = [command.argv for command in pinned(commands, (0, 1))]
    prefix = ("taskset", "-c", "0-1")
    assert found == [("prepare",), (*prefix, "serve"), ("serve",), (*prefix, "measure", "-x"), ("clean",)]
    assert list(pinned(commands, ())) == commands


def test_steps_of_a_duet_see_the_cpus_of_a_half() -> None:
    facts = {"web-1": host(core(0), core(1), core(2), core(3)), "peer": host(core(0), core(1))}
    seen = facts_seen(duet(), facts)
    assert [seen[name].cpu.usable for name in facts] == [2, 2]
    assert facts_seen(replace(duet(), order=Order.BLOCK), facts) is facts
