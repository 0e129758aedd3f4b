"""Places of single hosts in one plan: read, written, checked and run host by host."""

from dataclasses import replace
from typing import Any

import pytest

from app.checks.before import check_plan
from app.comparison.comparability import Profile, Weight, differences
from app.formats import plan_from_json, plan_to_json
from app.plans.plan import Plan, PlanError, make_step, value_text
from app.plans.plan_changes import apply_remedy
from app.plans.plan_file import format_plan, parse_plan
from app.plans.validation import validate
from app.runs.schedule import Schedule
from suites.errors import ParameterError
from suites.facts import Directory, Facts
from suites.vocab import Finding, Severity
from tests.messages import messages
from tests.program import benchwright

MESSAGES = messages("app", "test_values_by_host")

OWN = {"db-1": "/srv", "db-2": "/data"}
HOSTS = ("db-1", "db-2", "db-3")


def plan_of(hosts: tuple[str, ...] = HOSTS, suite: str = "fio", **given: Any) -> Plan:
    return Plan("places", hosts, (make_step(suite, {"directory": {**OWN, "*": "/opt"}, **given}),))


def paths(plan: Plan) -> list[object]:
    return [step.values["directory"] for host in plan.hosts for step in plan.steps_on(host)]


@pytest.mark.parametrize("suite", ["fio", "dd", "ioping", "cp", "pgbench", "sysbench-fileio", "fio-snia", "sqlite"])
def test_each_host_has_its_directory_and_the_others_that_of_all(suite: str) -> None:
    plan = plan_of(suite=suite)
    assert paths(plan) == ["/srv", "/data", "/opt"]
    assert next(iter(Schedule(plan).slots())).step.values["directory"] == "/srv"


def test_a_file_has_one_table_and_is_read_back() -> None:
    plan = plan_of()
    text = format_plan(plan)
    assert 'directory = {db-1 = "/srv", db-2 = "/data", "*" = "/opt"}' in text
    assert parse_plan(text) == plan
    assert plan_from_json(plan_to_json(plan)) == plan
    assert plan.format == "benchwright-plan/6"
    assert plan_of(("db-1",), directory="/srv").format == "benchwright-plan/1"


def test_the_test_is_the_same_and_the_plan_is_another() -> None:
    plan, shared = plan_of(), replace(plan_of(), steps=(make_step("fio", {"directory": "/opt"}),))
    assert plan.steps[0].fingerprint() == shared.steps[0].fingerprint()
    assert plan.hash() != shared.hash()


def test_what_no_host_uses_is_no_part_of_the_plan() -> None:
    both = plan_of(HOSTS[:2])
    assert both.steps[0].values["directory"] == "/srv"
    assert check_plan(both, {}).findings == check_plan(replace(both, steps=(make_step("fio", {}),)), {}).findings


def test_hosts_without_an_own_place_are_named() -> None:
    (found,) = [one for one in check_plan(plan_of(), {}).findings if one.id == "shared-place"]
    assert found.measured == MESSAGES["shared"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"directory": {"db-9": "/srv"}}, MESSAGES["unknown"]),
        ({"device": {"db-1": "/dev/sdb"}}, MESSAGES["another_test"]),
    ],
)
def test_a_table_that_does_not_fit_the_hosts_is_an_error(given: dict[str, object], shown: str) -> None:
    with pytest.raises(PlanError) as raised:
        validate(Plan("places", HOSTS, (make_step("fio", given),)))
    assert str(raised.value) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"iodepth": {"db-1": 4}}, MESSAGES["identity"]),
        ({"directory": {"db-1": "srv"}}, MESSAGES["relative"]),
        ({"folder": {"db-1": "/srv"}}, MESSAGES["no_parameter"]),
    ],
)
def test_a_value_of_a_host_is_checked(given: dict[str, object], shown: str) -> None:
    with pytest.raises(ParameterError) as raised:
        make_step("fio", given)
    assert shown in str(raised.value)


def test_a_raw_device_of_each_host_is_one_test() -> None:
    plan = Plan("devices", HOSTS[:2], (make_step("fio", {"device": {"db-1": "/dev/sdb", "db-2": "/dev/sdc"}}),))
    assert validate(plan).steps_on("db-2")[0].values["device"] == "/dev/sdc"


def test_checks_see_the_place_of_their_host() -> None:
    facts = {host: _facts(host, path) for host, path in (*OWN.items(), ("db-3", "/opt"))}
    full = {one.host: one.measured for one in check_plan(plan_of(), facts).findings if one.id == "no-space"}
    assert full == {"db-2": MESSAGES["full"]}


def _facts(host: str, path: str) -> Facts:
    free = 2**20 if host == "db-2" else 2**40
    return Facts(
        host=host,
        read_at="2026-01-01T00:00:00Z",
        directories=(Directory(path=path, mount=path, kind="ext4", free=free, writable=True),),
    )


def test_a_remedy_moves_one_host_only() -> None:
    finding = Finding(
        "not-a-disk", Severity.WARNING, "", "", "", "", "", changes={"directory": "/mnt"}, step="fio", host="db-2"
    )
    moved = apply_remedy(plan_of(), finding)
    assert paths(moved) == ["/srv", "/mnt", "/opt"]
    (change,) = moved.changed
    assert change.after == value_text(moved.steps[0], moved.steps[0].suite.parameters[0]) == MESSAGES["moved"]


def test_a_comparison_of_two_hosts_names_both_directories() -> None:
    plan = plan_of()
    ours, theirs = (Profile(plan.steps, (host,)) for host in HOSTS[:2])
    (found,) = [one for one in differences(ours, theirs) if one.what == "directory"]
    assert (found.ours, found.baseline, found.weight) == ("/srv", "/data", Weight.HARMLESS)


def test_the_command_line_sets_the_place_of_a_host() -> None:
    hosts = [word for host in HOSTS for word in ("--host", host)]
    sets = [
        "--set",
        "iodepth=2",
        "--set",
        "directory@db-1=/srv",
        "--set",
        "fio.directory@db-2=/data",
        "--set",
        "directory=/opt",
    ]
    result = benchwright("plan", "new", *hosts, "--suite", "fio", "--defaults", *sets)
    assert paths(parse_plan(result.out)) == ["/srv", "/data", "/opt"]
    result = benchwright("plan", "new", *hosts, "--suite", "fio", "--defaults", "--set", "directory@db-9=/srv")
    assert MESSAGES["unknown"].partition(". ")[0] in result.err


def test_the_name_of_a_suite_sets_all_its_steps() -> None:
    sets = ["--set", "rows=5000", "--set", "sqlite.rows=6000", "--set", "write-ahead log.rows=7000"]
    made = parse_plan(benchwright("plan", "new", "--preset", "sqlite", "--defaults", *sets).out)
    assert [step.values["rows"] for step in made.steps] == [6000, 7000]
    made = parse_plan(benchwright("plan", "new", "--preset", "sqlite", "--defaults", *sets[:2]).out)
    assert [step.values["rows"] for step in made.steps] == [5000, 5000]
