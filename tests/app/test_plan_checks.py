"""The checks of before, run on whole plans."""

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app import checks
from app.checks.before import CheckReport, SkippedCheck, check_plan
from app.checks.catalogue import AFTER_IDS, OF_EVERY_SUITE, blocking_ids, catalogue
from app.plans.plan import Order, Plan, Repetition, Step, make_step
from app.plans.presets import tuned_plan
from suites.facts import Facts, Tool
from suites.registry import SUITES
from suites.vocab import Severity
from tests.disk_host import DATA, GIB, disk_host, without_tool
from tests.messages import messages

MESSAGES = messages("app-checks", "test_plan_checks")


def host(**changes: Any) -> Facts:
    facts = disk_host()
    tools = (*facts.tools, Tool(name="sysbench", version="1.0.20"), Tool(name="iperf3", version="3.12"))
    return replace(facts, **{"tools": tools, **changes})


def plan(*steps: Step, hosts: tuple[str, ...] = ("web-1",), order: Order = Order.BLOCK) -> Plan:
    return Plan("p", hosts, steps, repetition=Repetition(trials=6), order=order)


def grave(report: CheckReport) -> list[tuple[str, str | None, str | None]]:
    return [(found.id, found.step, found.host) for found in report.findings if found.severity is not Severity.INFO]


def test_every_check_is_complete_and_has_a_name_of_its_own_within_its_suite() -> None:
    for check in (*OF_EVERY_SUITE, *(check for suite in SUITES for check in suite.checks)):
        assert check.id == check.id.lower().replace("_", "-").replace(" ", "-")
        assert all((check.title, check.why, check.remedy, check.source))
        assert "!" not in check.title + check.why + check.remedy
    for suite in SUITES:
        names = [check.id for check in suite.checks]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("suite", ["fio", "dd"])
def test_the_tuned_plan_of_a_quiet_host_raises_no_warning(suite: str) -> None:
    facts = {"web-1": host()}
    report = check_plan(tuned_plan(["web-1"], [suite], facts, "p"), facts)
    assert grave(report) == []
    assert report.cannot_tell == ()


def test_each_host_and_step_is_checked_with_its_own_facts() -> None:
    full = host(directories=(replace(DATA, free=GIB // 2),))
    step = make_step("fio", {"directory": "/srv", "direct": True, "runtime": 30}, name="disk")
    other = make_step("dd", {"directory": "/srv", "flush": "direct", "block_size": "1m", "count": 4096}, name="copy")
    report = check_plan(plan(step, other, hosts=("web-1", "web-2")), {"web-1": host(), "web-2": full})
    assert grave(report) == [("no-space", "disk", "web-2"), ("no-space", "copy", "web-2")]


def test_the_gravest_come_first() -> None:
    step = make_step("dd", {"directory": "/srv"})
    report = check_plan(plan(step), {"web-1": without_tool(host(), "dd")})
    levels = [found.severity for found in report.findings]
    assert levels[0] is Severity.ERROR
    assert levels == sorted(levels, key=[Severity.ERROR, Severity.WARNING, Severity.INFO].index)


def test_a_host_without_facts_is_not_judged() -> None:
    report = check_plan(plan(make_step("fio", {"direct": True, "runtime": 30})), {})
    assert grave(report) == []
    assert SkippedCheck("tool-missing", "The host's facts have not been read.", "fio", "web-1") in report.cannot_tell


def test_only_what_needs_no_facts_is_said_without_them() -> None:
    report = check_plan(plan(make_step("fio", {"direct": True, "runtime": 3, "iodepth": 32})), {})
    assert {name for name, _step, _host in grave(report)} == {"short-runtime", "depth-without-async-engine"}


def test_the_other_end_needs_the_tool_too() -> None:
    step = make_step("iperf3", {}, peer="web-2")
    facts = {"web-1": host(), "web-2": without_tool(host(), "iperf3")}
    missing = [found for found in check_plan(plan(step), facts).findings if found.id == "tool-missing"]
    assert [(found.host, found.measured) for found in missing] == [("web-2", MESSAGES["iperf3_was_not_found_on_web"])]


def test_the_same_is_not_said_twice() -> None:
    step = make_step("iperf3", {}, peer="web-2")
    bare = without_tool(host(), "iperf3")
    report = check_plan(plan(step, hosts=("web-1", "web-2")), {"web-1": bare, "web-2": bare})
    missing = [found.host for found in report.findings if found.id == "tool-missing"]
    assert sorted(str(name) for name in missing) == ["web-1", "web-2"]


@pytest.mark.parametrize(("order", "refused"), [(Order.BLOCK, []), (Order.INTERLEAVED, ["second"])])
def test_the_files_of_all_steps_must_fit_where_trials_take_turns(order: Order, refused: list[str]) -> None:
    values = {"directory": "/srv", "direct": True, "runtime": 30, "size": "60 GiB"}
    steps = (make_step("fio", values, name="first"), make_step("fio", values, name="second"))
    report = check_plan(plan(*steps, order=order), {"web-1": host()})
    assert [found.step for found in report.findings if found.id == "no-space"] == refused


def test_a_step_knows_those_before_it() -> None:
    writer = make_step("dd", {"directory": "/srv", "flush": "direct"}, name="write it")
    reader = make_step("dd", {"directory": "/srv", "input": "file", "block_size": "1m"}, name="read it")
    report = check_plan(plan(writer, reader), {"web-1": host()})
    (found,) = [found for found in report.findings if found.id == "read-after-write"]
    assert found.step == "read it"
    assert "write it" in found.measured


@pytest.mark.parametrize(
    ("trials", "words"), [(1, None), (2, "2 trials per step: no verdict of a comp"), (3, "no verdict of a"), (6, None)]
)
def test_few_trials_are_mentioned_once(trials: int, words: str | None) -> None:
    few = replace(plan(make_step("fio", {}), make_step("dd", {})), repetition=Repetition(trials=trials))
    found = [finding for finding in check_plan(few, {"web-1": host()}).findings if finding.id == "few-trials"]
    assert len(found) == (0 if words is None else 1)
    if words is not None:
        assert words in found[0].measured
        assert found[0].severity is Severity.INFO


def test_the_findings_that_keep_a_step_from_being_started_are_known() -> None:
    assert blocking_ids() == {
        "tool-missing", "no-space", "directory-not-writable", "directory-unsafe", "device-unusable", "device-in-use",
        "command-writes-device", "command-unjudged", "command-empty", "command-unreadable", "command-no-figure",
        "command-scan", "curl-no-url", "http-no-url", "http-few-connections", "mtr-no-target",
        "job-file-unreadable", "job-file-variable", "job-file-unjudged", "job-file-writes-device",
        "database-not-named", "oltp-needs-sysbench-1", "probe-no-compiler", "probe-no-compiler-peer",
        "duet-cpus", "duet-one-device", "volume-without-load", "one-device-twice",
        "engine-missing", "direct-refused", "unaligned-direct", "block-over-file", "trim-on-file", "fio-before-3",
        "no-active-range", "block-under-sector", "block-beyond-set", "job-file-unknown-pattern",
        "linpack-no-path", "linpack-no-mpi", "unixbench-nowhere", "geekbench-nowhere", "speccpu-nowhere",
        "sysbench-memory-block-refused", "blocks-refused", "net-blocks-refused", "sockperf-memory",
        "iperf3-length-refused", "iperf3-bidir-too-old",
    }  # fmt: skip


def test_an_error_before_the_run_keeps_the_step_from_being_started_unless_it_would_have_a_figure() -> None:
    errors = {one.id for one in catalogue() if one.when == "before" and one.severity is Severity.ERROR}
    confirmed, with_a_figure = {"destroys-data"}, {"no-data-moved", "memory-too-small"}
    assert errors - blocking_ids() == confirmed | with_a_figure


def test_a_check_blocks_alike_in_all_suites_that_have_it() -> None:
    assert {entry.id for entry in catalogue()} >= AFTER_IDS
    for entry in catalogue():
        assert len({one.check.blocks for one in entry.variants}) == 1, entry.id


@pytest.mark.parametrize("folder", ["checks", "verdict"])
def test_no_check_outside_the_suites_names_a_suite(folder: str) -> None:
    ids = {suite.id for suite in SUITES}
    source = Path(checks.__file__).parent.parent / folder
    named = [
        (path.name, node.lineno, node.value)
        for path in source.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in ids
    ]
    assert named == []
