"""A plan with several values of a parameter: a step for each, every combination, faults named."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.plans.plan import OTHER_HOSTS, Plan, PlanError, make_step
from app.plans.plan_file import parse_plan
from app.plans.validation import validate
from app.plans.variation import MOST_STEPS, varied
from app.scaling.sweeps import swept_parameter
from suites.errors import ParameterError

DISK = make_step("fio", {"rw": "randread"}, name="disk")
CPU = make_step("sysbench-cpu", {"time": 5}, name="cpu")
PLAN = Plan("check", ("web-1",), (DISK, CPU))


def names(plan: Plan) -> list[str]:
    return [step.name for step in plan.steps]


def test_each_value_is_a_step_and_a_point_of_a_sweep() -> None:
    made = varied(PLAN, ["iodepth=1,8,32"])
    assert names(made) == ["disk iodepth=1", "disk iodepth=8", "disk iodepth=32", "cpu"]
    assert [step.values["iodepth"] for step in made.steps[:3]] == [1, 8, 32]
    assert swept_parameter([step.identity() for step in made.steps[:3]]) == "iodepth"
    assert validate(made) == made
    assert varied(PLAN, []) is PLAN


def test_several_parameters_make_every_combination() -> None:
    made = varied(PLAN, ["fio.block_size=4k,64k", "iodepth=1,8"])
    assert [(step.values["block_size"], step.values["iodepth"]) for step in made.steps[:-1]] == [
        (4096, 1), (4096, 8), (65536, 1), (65536, 8),
    ]  # fmt: skip
    assert len(set(names(made))) == 5


def test_a_word_is_for_the_step_or_the_suite_that_it_names() -> None:
    plan = Plan("check", ("web-1",), (DISK, make_step("fio", {"rw": "randwrite"}, name="log"), CPU))
    assert len(varied(plan, ["log.iodepth=1,8"]).steps) == 4
    assert len(varied(plan, ["fio.iodepth=1,8"]).steps) == 5


@pytest.mark.parametrize(
    "word", ["iodepth", "iodepth=", "=1", "iodepth=1,,2", "colour=1,2", "sysbench-cpu.iodepth=1,2", "iodepth=8,8"]
)
def test_a_word_that_varies_nothing_is_refused(word: str) -> None:
    with pytest.raises(PlanError) as refused:
        varied(PLAN, [word])
    assert refused.value.remedy


def test_values_and_the_number_of_steps_are_bounded() -> None:
    with pytest.raises(ParameterError):
        varied(PLAN, ["iodepth=many"])
    with pytest.raises(PlanError):
        varied(PLAN, [f"iodepth={','.join(map(str, range(1, MOST_STEPS + 1)))}"])


def test_values_of_single_hosts_stay() -> None:
    disk = make_step("fio", {"directory": {"web-1": "/srv", OTHER_HOSTS: "/data"}})
    found = varied(Plan("matrix", ("web-1", "web-2"), (disk,)), ["block_size=4k,64k"])
    assert [step.on("web-1").values["directory"] for step in found.steps] == ["/srv", "/srv"]
    assert [step.on("web-2").values["directory"] for step in found.steps] == ["/data", "/data"]


def test_a_fleet_estimate_counts_every_step(tmp_path: Path) -> None:
    file = str(tmp_path / "plan.toml")

    def call(*words: str) -> str:
        found = CliRunner().invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), *words])
        assert found.exit_code == 0, found.output
        return found.stdout

    call("plan", "new", "--suite", "fio", "--defaults", "--vary", "block_size=4k,64k", "--trials", "3", "-o", file)
    assert len(parse_plan((tmp_path / "plan.toml").read_text()).steps) == 2
    path = tmp_path / "plan.toml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("hosts")))  # the study has its own
    for words, trials in ((), 6), (("--vary", "iodepth=1,8,32"), 18):
        estimate = json.loads(call("fleet", "estimate", file, "local", "--json", *words))
        assert (estimate["host_runs"], estimate["trials"]) == (1, trials)
