"""The public JSON gives back what it was made from, and refuses what it cannot mean."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats import (
    FACTS_FORMAT,
    SIZE_LIMIT,
    FormatError,
    command_from_json,
    facts_from_json,
    facts_to_json,
    finding_to_json,
    plan_from_json,
    plan_to_json,
    read_json,
    stored_facts_reader,
)
from app.json_converter import published
from app.plans.plan import Order, Plan, Repetition, Step
from suites.base import Command, Purpose
from suites.facts import Absent, BlockDevice, Cache, CpuFacts, Facts, Interface, MemoryFacts, SystemFacts
from suites.units import Unit
from suites.vocab import Better, Figure, Finding, Metric, MetricKind, Sample, Severity

IOPS = Metric("iops", "IOPS", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)

FACTS = Facts(
    host="web-1",
    read_at="2026-11-20T14:15:30Z",
    system=SystemFacts(kernel="6.1.0", uptime=3.5, clock_offset=-0.2),
    cpu=CpuFacts(flags=("avx2", "sse4_2"), caches=(Cache(level=3, kind="unified", size=32 * 2**20),)),
    memory=MemoryFacts(total=16 * 2**30, limit=Absent("no cgroup limits it")),
    block_devices=(BlockDevice(name="vda", size=2**40, rotational=False),),
    interfaces=(Interface(name="eth0", addresses=("10.0.0.1",)),),
)

PLAN = Plan(
    "disk", ("local", "web-1"), (Step("read", "fio", {"block_size": 4096, "direct": True, "rw": "read", "x": 0.5}),),
    "Is it fast enough?", Repetition(5, 1, 2.0), Order.INTERLEAVED,
)  # fmt: skip


def as_text_and_back(content: object) -> Any:
    return read_json(json.dumps(content, allow_nan=False), "test")


def test_facts_come_back_as_they_were() -> None:
    assert facts_from_json(as_text_and_back(facts_to_json(FACTS))) == FACTS


def test_a_fact_has_a_value_and_unit_or_a_reason() -> None:
    written = facts_to_json(FACTS)
    assert written["format"] == FACTS_FORMAT
    assert written["memory"]["total"] == {"value": 16 * 2**30, "unit": "B"}
    assert written["memory"]["limit"] == {"absent": "no cgroup limits it"}
    assert written["system"]["kernel"] == {"value": "6.1.0", "unit": ""}
    assert written["block_devices"][0]["name"] == "vda"


@given(st.text(max_size=50), st.integers(0, 2**62), st.floats(allow_nan=False, allow_infinity=False))
def test_any_value_survives(text: str, whole: int, number: float) -> None:
    facts = Facts(
        host=text,
        read_at=text,
        system=SystemFacts(kernel=text, clock_offset=number),
        memory=MemoryFacts(total=whole, limit=Absent(text)),
    )
    assert facts_from_json(as_text_and_back(facts_to_json(facts))) == facts
    assert stored_facts_reader()(json.dumps(facts_to_json(facts))) == facts


def test_what_several_stored_facts_share_is_decoded_once() -> None:
    read, later = stored_facts_reader(), replace(FACTS, system=SystemFacts(kernel=', "cpu": {}', uptime=9.0))
    one, other = (read(json.dumps(facts_to_json(facts))) for facts in (FACTS, later))
    assert (one, other) == (FACTS, later)
    assert other.cpu is one.cpu
    assert other.system is not one.system


@pytest.mark.parametrize(
    "damage",
    [
        ('"system": {', '"system": {"memory": {}, "cpu": 3, '),  # of a newer program: a field in a field
        ("}", "} "),
        ("benchwright-facts/1", "benchwright-facts/2"),
        ('"host": "web-1", ', ""),
        ('"unit": "B"', '"unit": "kB"'),
        ("}", ""),
        ('{"format"', '["format"'),
        ('"cpu": {', '"cpu": {}, "cpu": {'),
        ('"tools"', '"tool"'),
    ],
)
def test_stored_facts_are_read_like_any_others(damage: tuple[str, str]) -> None:
    text = json.dumps(facts_to_json(FACTS))
    changed = text.replace(*damage)
    assert changed != text
    outcomes = []
    for read in (stored_facts_reader(), lambda given: facts_from_json(json.loads(given))):
        try:
            outcomes.append(str(read(changed)))
        except (FormatError, ValueError) as error:
            outcomes.append(repr(error))
    assert outcomes[0] == outcomes[1]


def test_facts_left_out_are_absent_and_units_may_be() -> None:
    facts = facts_from_json({"format": FACTS_FORMAT, "host": "h", "read_at": "", "memory": {"total": {"value": 5}}})
    assert facts.memory.total == 5
    assert facts.memory.available == Absent("not read")


def test_fields_that_a_newer_program_added_are_passed_over() -> None:
    written: Any = facts_to_json(FACTS)
    written["moon_phase"] = "full"
    written["system"]["kernel"]["source"] = "uname"
    written["system"]["colour"] = {"value": "red", "unit": ""}
    assert facts_from_json(as_text_and_back(written)) == FACTS


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("format",), "benchwright-facts/2", "benchwright-facts/2"),
        (("host",), 3, "host: expected text, found 3"),
        (("system", "kernel"), "6.1", "system.kernel: expected {"),
        (("system", "kernel"), {"value": "6.1", "absent": "both"}, "system.kernel: expected {"),
        (("system", "uptime"), {"value": 3, "unit": "ms"}, "system.uptime: the unit is 'ms', expected 's'"),
        (("system", "uptime"), {"value": float("nan")}, "system.uptime: expected a finite number"),
        (("system",), [], "system: expected an object"),
        (("memory", "total"), {"value": -1}, "memory.total: -1 B is negative"),
        (("memory", "total"), {"value": True}, "memory.total: expected a whole number, found True"),
        (("memory", "total"), {"value": 1.5}, "memory.total: expected a whole number"),
        (("memory", "total"), {"value": 10**30}, "memory.total: the number is too large"),
        (("cpu", "flags"), {"value": "avx2"}, "cpu.flags: expected a list"),
        (("cpu", "caches", "value", 0, "size"), {"value": "32 MiB"}, "cpu.caches[0].size: expected a whole number"),
        (("block_devices",), "vda", "block_devices: expected a list"),
        (("block_devices", 0), "vda", "block_devices[0]: expected an object"),
        (("block_devices", 0, "model"), {"value": "x" * 70_000}, "block_devices[0].model: the text has 70000"),
    ],
)
def test_wrong_facts_are_refused_by_the_path_of_the_field(
    path: tuple[str | int, ...], value: object, complaint: str
) -> None:
    written: Any = copy.deepcopy(facts_to_json(FACTS))
    place = written
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(FormatError) as caught:
        facts_from_json(written)
    assert complaint in str(caught.value)


def test_a_missing_name_is_said() -> None:
    with pytest.raises(FormatError, match="host: missing"):
        facts_from_json({"format": FACTS_FORMAT, "read_at": ""})


@pytest.mark.parametrize(
    "document",
    [
        "[NaN]", "[Infinity]", "[1e999]", '{"a": 1, "a": 2}', "[" * 100_000, b"\xff", "[" + "9" * 100_000 + "]", "",
        b" " * (SIZE_LIMIT + 1),
    ],
    ids=["nan", "infinity", "too large", "key twice", "deep", "bad utf-8", "long number", "nothing", "endless"],
)  # fmt: skip
def test_hostile_json_is_refused(document: bytes | str) -> None:
    with pytest.raises(FormatError, match=r"facts\.json"):
        read_json(document, "facts.json")


def test_a_plan_comes_back_as_it_was() -> None:
    written = plan_to_json(PLAN)
    assert written["steps"][0]["suite"] == "fio"
    assert plan_from_json(as_text_and_back(written)) == PLAN
    assert plan_from_json(written).hash() == PLAN.hash()


def test_a_plan_of_a_suite_that_has_gone_can_be_read() -> None:
    plan = Plan("old", ("local",), (Step("s", "gone", {"size": 1}),))
    assert plan_from_json(as_text_and_back(plan_to_json(plan))) == plan


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"order": "random"}, "order: expected one of block, interleaved"),
        ({"hosts": "local"}, "hosts: expected a list"),
        (
            {"steps": [{"name": "s", "suite": "fio", "values": {"a": [1]}}]},
            "steps[0].values['a']: expected a parameter",
        ),
        ({"steps": [{"name": "s", "suite": "fio", "values": []}]}, "steps[0].values: expected an object"),
        ({"repetition": {"trials": "3"}}, "repetition.trials: expected a whole number"),
        ({"format": None}, "format is None"),
    ],
)
def test_wrong_plans_are_refused_by_the_path_of_the_field(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        plan_from_json({**plan_to_json(PLAN), **change})
    assert complaint in str(caught.value)


def test_a_finding_has_exactly_its_public_fields() -> None:
    finding = Finding(
        "cache", Severity.WARNING, "Cached", "1 GiB", "why", "do", "fio", "read", "web-1", {"direct": True}
    )
    assert finding_to_json(finding) == {
        "id": "cache", "level": "warning", "title": "Cached", "measured": "1 GiB", "why": "why", "remedy": "do",
        "source": "fio", "step": "read",
    }  # fmt: skip


def test_a_figure_and_a_sample_have_exactly_their_public_fields() -> None:
    labels = (("operation", "read"),)
    assert as_text_and_back(published(Figure(IOPS, 4.5, labels))) == {
        "name": "iops", "value": 4.5, "unit": "1/s", "better": "higher", "labels": {"operation": "read"},
    }  # fmt: skip
    assert as_text_and_back(published(Sample(1.0, IOPS, 4.5, labels, warm_up=True))) == {
        "time": 1.0, "name": "iops", "value": 4.5, "unit": "1/s", "labels": {"operation": "read"}, "warm_up": True,
    }  # fmt: skip


def test_a_command_comes_back_and_shows_its_line() -> None:
    command = Command(("fio", "--name=a b"), Purpose.PREPARE, on_peer=True)
    written = published(command)
    assert written["line"] == "fio '--name=a b'"
    assert command_from_json(as_text_and_back(written)) == command
    with pytest.raises(FormatError, match="purpose: expected one of"):
        command_from_json({**written, "purpose": "destroy"})
