"""What can be said of a plan as a whole: its question, the order of its hosts, and how they differ."""

from dataclasses import replace

import pytest

from app.checks.before import SkippedCheck, evaluate
from app.checks.plans import PLAN_CHECKS, PlanEvidence
from app.plans.plan import Order, Plan, Repetition, make_step
from suites.facts import Facts
from suites.vocab import Finding, Severity
from tests.app.test_false_warnings import server
from tests.messages import messages

MESSAGES = messages("app-checks", "test_plan_wide_checks")

HOSTS = ("web-1", "web-2")
LONG = make_step("sysbench-cpu", {"threads": 8, "time": 120.0})
PLAN = Plan("p", HOSTS, (LONG,), "Which is faster?", Repetition(trials=10), Order.INTERLEAVED)
FACTS = {name: server(name) for name in HOSTS}


def shown(plan: Plan, facts: dict[str, Facts] | None = None) -> dict[str, Finding | SkippedCheck]:
    return {word.id: word for word in evaluate(PLAN_CHECKS, PlanEvidence(plan, FACTS if facts is None else facts))}


def test_a_plan_of_an_expert_draws_nothing() -> None:
    assert shown(PLAN) == {}


def test_hosts_that_are_measured_long_after_each_other_are_warned_of() -> None:
    found = shown(replace(PLAN, order=Order.BLOCK))["one-host-after-another"]
    assert isinstance(found, Finding)
    assert found.severity is Severity.WARNING
    assert MESSAGES["on_web_1_come_before_those"] in found.measured


@pytest.mark.parametrize(
    "plan",
    [
        replace(PLAN, order=Order.BLOCK, hosts=("web-1",)),
        replace(
            PLAN, order=Order.BLOCK, repetition=Repetition(trials=6), steps=(make_step("sysbench-cpu", {"time": 30}),)
        ),
        replace(PLAN, order=Order.ABBA),
    ],
)
def test_hosts_that_take_turns_or_are_soon_done_are_not(plan: Plan) -> None:
    assert "one-host-after-another" not in shown(plan)


def test_how_far_apart_work_without_an_end_lies_cannot_be_told() -> None:
    endless = replace(PLAN, order=Order.BLOCK, steps=(make_step("unixbench", {}), make_step("geekbench", {})))
    assert isinstance(shown(endless)["one-host-after-another"], SkippedCheck)


def test_what_hosts_differ_in_is_told_and_what_is_absent_is_no_difference() -> None:
    other = FACTS["web-2"]
    old = replace(other, system=replace(other.system, kernel="4.19.0"), cpu=replace(other.cpu, governor="powersave"))
    found = shown(PLAN, {**FACTS, "web-2": old})["hosts-differ"]
    assert isinstance(found, Finding)
    assert found.measured == "The hosts differ in governor: performance, powersave; kernel: 6.1.0-32-amd64, 4.19.0."
    assert isinstance(shown(PLAN, {"web-1": FACTS["web-1"]})["hosts-differ"], SkippedCheck)


DISKS = replace(PLAN, steps=(make_step("fio", {"directory": "/srv"}, name="disk"),))


def test_hosts_differ_in_tools_storage_and_memory_too() -> None:
    other = FACTS["web-2"]
    tools = tuple(replace(tool, version="fio-3.39") if tool.name == "fio" else tool for tool in other.tools)
    memory = replace(other.memory, total=32 * 2**30)
    devices = tuple(replace(device, scheduler="mq-deadline") for device in other.block_devices)
    directories = tuple(replace(directory, kind="xfs") for directory in other.directories)
    changed = replace(other, tools=tools, memory=memory, block_devices=devices, directories=directories)
    found = shown(DISKS, {**FACTS, "web-2": changed})["hosts-differ"]
    assert isinstance(found, Finding)
    for what in (
        "memory: 64 GiB, 32 GiB",
        "fio: fio-3.33, fio-3.39",
        "file system: ext4, xfs",
        "scheduler mq-deadline",
    ):
        assert what in found.measured
    assert "hosts-differ" not in shown(DISKS)


def test_two_names_of_one_machine_are_warned_of() -> None:
    other = FACTS["web-2"]
    same = replace(other, system=replace(other.system, boot_id=FACTS["web-1"].system.boot_id))
    found = shown(PLAN, {**FACTS, "web-2": same})["one-host-twice"]
    assert isinstance(found, Finding)
    assert found.measured.startswith("web-1 and web-2 report ")
    assert "one-host-twice" not in shown(PLAN)
    assert "one-host-twice" not in shown(PLAN, {"web-1": FACTS["web-1"]})
