"""Plans of duets: their format, what is refused, the order of their trials, and what is checked before they run."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.checks.before import CheckReport, check_plan
from app.checks.catalogue import blocks
from app.cli.main import benchwright
from app.formats import facts_to_json, plan_from_json, plan_to_json
from app.plans.plan import FORMATS, Order, Plan, PlanError, Policy, Repetition, Step, make_step
from app.plans.plan_file import format_plan, parse_plan
from app.plans.presets import Filled
from app.plans.totals import totals
from app.plans.validation import validate
from app.runs.schedule import Schedule, Slot
from app.services import Workstation
from suites.facts import Absent, BlockDevice, Core, Directory, Facts, Tool
from suites.sysbench.cpu import EVENTS_PER_SECOND
from suites.vocab import Figure, Finding, Severity
from tests.app.test_false_warnings import server
from tests.messages import messages

MESSAGES = messages("app", "test_duet_plans")

A, B = (make_step("sysbench-cpu", {"threads": 1, "time": 60.0}, name=name) for name in "ab")


def plan(*steps: Step, order: Order = Order.DUET, trials: int = 6, hosts: tuple[str, ...] = ("web-1",)) -> Plan:
    return Plan("p", hosts, steps or (A, B), repetition=Repetition(trials=trials), order=order)


# Files


def test_only_a_duet_has_the_newest_format() -> None:
    assert plan().format == FORMATS[4]
    assert plan(order=Order.INTERLEAVED).format == FORMATS[0]
    assert replace(plan(), repetition=Repetition(sessions=3)).format == FORMATS[4]


def test_a_duet_is_written_and_read() -> None:
    made = plan()
    assert parse_plan(format_plan(made)) == made
    assert plan_from_json(plan_to_json(made)) == made
    assert set(plan_to_json(made)["steps"][0]) == {"name", "suite", "values", "peer"}


def test_the_partner_follows_from_the_plan() -> None:
    first, second = plan().steps
    assert (first.partner, second.partner) == (B.fingerprint(), A.fingerprint())
    assert (first.second, second.second) == (False, True)
    assert first.duet == second.duet
    assert first.fingerprint() != A.fingerprint()
    alone = replace(plan(), order=Order.BLOCK)
    assert alone.steps == (A, B)
    assert alone.hash() == plan(order=Order.BLOCK).hash() != plan().hash()


# Validation


@pytest.mark.parametrize("steps", [(A,), (A, B, make_step("sysbench-cpu", {}, name="c"))])
def test_a_duet_has_two_steps(steps: tuple[Step, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        validate(plan(*steps))
    assert caught.value.message == MESSAGES["two_steps"].format(count=len(steps))


@pytest.mark.parametrize("policy", [Policy.UNTIL_INTERVAL, Policy.UNTIL_VERDICT])
def test_policies_of_one_step_are_refused(policy: Policy) -> None:
    repetition = Repetition(policy=policy, baseline="before")
    with pytest.raises(PlanError) as caught:
        validate(replace(plan(), repetition=repetition))
    assert caught.value.message == MESSAGES["policy"].format(policy=policy.value)


def test_a_number_of_trials_and_a_budget_are_accepted() -> None:
    validate(plan())
    validate(replace(plan(), repetition=Repetition(policy=Policy.BUDGET, budget=60.0)))


# Order


def taken(schedule: Schedule, *, fails: str = "") -> list[tuple[Slot, ...]]:
    found = []
    for slots in itertools.islice(schedule.slots_where(lambda _key: True), 100):
        found.append(slots)
        for slot in slots:
            if slot.step.name == fails and slot.number == 2:
                schedule.give_up(slot)
            else:
                schedule.record_trial(slot, [Figure(EVENTS_PER_SECOND, 100.0)], 2.0, 2.0)
    return found


def test_both_steps_get_their_slots_together_host_by_host() -> None:
    given = plan(trials=2, hosts=("x", "y"))
    found = taken(Schedule(replace(given, repetition=Repetition(trials=2, warm_ups=1))))
    assert [[(slot.step.name, slot.host, slot.number, slot.warm_up) for slot in slots] for slots in found] == [
        [(step, host, number, warm_up) for step in "ab"]
        for host in "xy"
        for number, warm_up in ((1, True), (1, False), (2, False))
    ]


def test_a_failed_side_ends_both() -> None:
    found = taken(Schedule(plan(hosts=("x", "y"))), fails="b")
    assert [slots[0].host for slots in found] == ["x", "x", "y", "y"]


def test_a_pair_has_a_number_that_neither_side_has_had() -> None:
    given = plan(trials=3)
    schedule = Schedule(given)
    schedule.record_trial(Slot(given.steps[0], "web-1", 1, warm_up=False), [], 1.0, 1.0)
    first = next(schedule.slots_where(lambda _key: True))
    assert [slot.number for slot in first] == [2, 2]


def test_a_budget_is_spent_by_pairs() -> None:
    given = replace(plan(), repetition=Repetition(policy=Policy.BUDGET, budget=20.0))
    assert len(taken(Schedule(given))) == 10


def test_the_time_left_counts_both_sides_once() -> None:
    schedule = Schedule(plan(trials=4), {("a", "web-1"): 10.0, ("b", "web-1"): 10.0})
    assert schedule.forecast().seconds == 40.0


def test_the_totals_count_both_sides_once(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    try:
        previews = workstation.preview(plan(), {"web-1": facts()})
    finally:
        workstation.close()
    assert totals(plan(), previews).duration == 6 * 60.0
    assert [preview.commands[0].argv[:3] for preview in previews] == [
        ("taskset", "-c", "0-3"),
        ("taskset", "-c", "4-7"),
    ]


# Checks


def facts(*cores: Core) -> Facts:
    found = server("web-1")
    layout = cores or tuple(Core(cpus=(cpu,), node=0, package=0) for cpu in range(8))
    cpu = replace(found.cpu, layout=layout, usable=sum(len(core.cpus) for core in layout))
    return replace(found, cpu=cpu)


def checked(given: Plan, read: Facts) -> CheckReport:
    return check_plan(given, {"web-1": read})


def findings(given: Plan, read: Facts) -> dict[str, Finding]:
    return {one.id: one for one in checked(given, read).findings if one.id.startswith(("duet", "tool"))}


def test_a_duet_of_an_expert_has_no_finding() -> None:
    assert findings(plan(), facts()) == {}


def test_other_orders_are_not_checked_as_duets() -> None:
    assert findings(plan(order=Order.ABBA), facts(Core(cpus=(0,), node=0, package=0))) == {}


def test_one_cpu_blocks_both_steps() -> None:
    report = checked(plan(), facts(Core(cpus=(0,), node=0, package=0)))
    found = [one for one in report.findings if one.id == "duet-cpus"]
    assert [(one.step, blocks(one)) for one in found] == [("a", True), ("b", True)]
    assert found[0].measured == MESSAGES["one_cpu"]


def test_an_unknown_topology_blocks_with_its_reason() -> None:
    read = facts()
    read = replace(read, cpu=replace(read.cpu, layout=Absent("no topology in /sys")))
    assert findings(plan(), read)["duet-cpus"].measured == MESSAGES["no_topology"]


def test_siblings_of_one_core_are_warned_of() -> None:
    found = findings(plan(), facts(Core(cpus=(0, 1), node=0, package=0)))
    assert found["duet-one-core"].severity is Severity.WARNING
    assert found["duet-one-core"].measured == MESSAGES["one_core"]


def test_a_core_that_is_left_over_is_named() -> None:
    found = findings(plan(), facts(*(Core(cpus=(cpu,), node=0, package=0) for cpu in range(3))))
    assert found["duet-unused-cpus"].measured == MESSAGES["unused"]


def test_an_odd_number_of_trials_is_unbalanced() -> None:
    assert findings(plan(trials=7), facts())["duet-unbalanced"].measured == MESSAGES["odd"]
    assert findings(plan(trials=1), facts())["duet-unbalanced"].measured == MESSAGES["single"]


def test_a_missing_taskset_blocks() -> None:
    read = facts()
    missing = Tool(name="taskset", path=Absent("not found"), version=Absent("not found"))
    others = [tool for tool in read.tools if tool.name != "taskset"]
    found = findings(plan(), replace(read, tools=(*others, missing)))["tool-missing"]
    assert MESSAGES["taskset"] in found.measured
    assert found.remedy.endswith(MESSAGES["other_order"])
    assert blocks(found)


def test_a_shared_quota_and_memory_bandwidth_are_said_once() -> None:
    read = facts()
    quota = replace(read, cpu=replace(read.cpu, quota=4.0))
    assert MESSAGES["quota"] in findings(plan(), quota)["duet-shared"].measured
    memory = [make_step("stream", {}, name=name) for name in "ab"]
    report = checked(plan(*memory), read)
    (shared,) = [one for one in report.findings if one.id == "duet-shared"]
    assert MESSAGES["memory"] in shared.measured


def test_two_disk_steps_on_one_disk_compete() -> None:
    steps = [make_step("fio", {"directory": "/data", "rw": "randread"}, name=name) for name in "ab"]
    read = replace(
        facts(),
        block_devices=(BlockDevice(name="vdb"),),
        directories=(Directory(path="/data", device="vdb", volume="vdb", writable=True),),
    )
    assert findings(plan(*steps), read)["duet-shared"].measured == MESSAGES["one_disk"]


def test_a_device_that_one_side_overwrites_blocks_both() -> None:
    steps = [
        make_step("fio", {"device": "/dev/vdb", "rw": rw}, name=name)
        for name, rw in (("a", "randwrite"), ("b", "randread"))
    ]
    report = checked(plan(*steps), facts())
    found = [one for one in report.findings if one.id == "duet-one-device"]
    assert [one.step for one in found] == ["a", "b"]
    assert all(map(blocks, found))
    two_devices = [steps[0], make_step("fio", {"device": "/dev/vdc", "rw": "randread"}, name="b")]
    assert "duet-one-device" not in findings(plan(*two_devices), facts())


def test_threads_are_judged_by_the_half() -> None:
    steps = [make_step("sysbench-cpu", {"threads": 6}, name=name) for name in "ab"]
    report = checked(plan(*steps), facts())
    found = [one for one in report.findings if one.id == "more-threads-than-cpus"]
    assert [one.changes for one in found] == [{"threads": 4}, {"threads": 4}]


def test_a_preset_of_a_duet_is_tuned_to_a_half() -> None:
    given = Filled(
        plan(*(make_step("sysbench-cpu", {}, name=name) for name in "ab")), {"a": frozenset(), "b": frozenset()}
    )
    assert [step.values["threads"] for step in given.tuned({"web-1": facts()}).steps] == [4, 4]
    alone = replace(given, plan=replace(given.plan, order=Order.BLOCK))
    assert [step.values["threads"] for step in alone.tuned({"web-1": facts()}).steps] == [8, 8]


def test_a_new_duet_is_tuned_to_a_half(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(facts_to_json(facts())))
    words = [
        "plan",
        "new",
        "--host",
        "web-1",
        "--suite",
        "sysbench-cpu",
        "--suite",
        "sysbench-cpu",
        "--facts",
        str(path),
    ]
    made = CliRunner().invoke(benchwright, ["--store", str(tmp_path / "s.db"), *words, "--order", "duet"])
    assert made.exit_code == 0, made.output
    assert [step.values["threads"] for step in parse_plan(made.stdout).steps] == [4, 4]


def test_two_commands_of_the_user_are_not_known_to_share_a_disk() -> None:
    steps = [make_step("command", {"command": "true"}, name=name) for name in "ab"]
    assert "duet-shared" not in findings(plan(*steps), facts())
    databases = [make_step("pgbench", {}, name=name) for name in "ab"]
    assert findings(plan(*databases), facts())["duet-shared"].measured == MESSAGES["one_system_disk"]
