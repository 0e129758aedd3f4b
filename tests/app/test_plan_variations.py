"""benchwright plan new --vary: a step for each combination of values, also in a fleet study."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.plans.plan import OTHER_HOSTS, Plan, PlanError, make_step
from app.plans.plan_file import parse_plan
from app.plans.variations import MOST_STEPS, varied
from suites.errors import ParameterError

CPU = make_step("sysbench-cpu", {"threads": 1})
DISK = make_step("fio", {"rw": "randread"})
PLAN = Plan("matrix", ("local",), (CPU, DISK))


def test_each_combination_is_a_step() -> None:
    found = varied(PLAN, ["fio.block_size=4k,64k", "fio.iodepth=1,32"])
    assert [step.name for step in found.steps] == [
        "sysbench-cpu",
        "fio block_size=4k iodepth=1",
        "fio block_size=4k iodepth=32",
        "fio block_size=64k iodepth=1",
        "fio block_size=64k iodepth=32",
    ]
    assert [(step.values["block_size"], step.values["iodepth"]) for step in found.steps[1:]] == [
        (4096, 1), (4096, 32), (65536, 1), (65536, 32),
    ]  # fmt: skip
    assert {step.values["rw"] for step in found.steps[1:]} == {"randread"}


@pytest.mark.parametrize(
    "text",
    ["fio.block_size", "fio.block_size=4k", "fio.block_size=4k,", "fio.block_size=4k,4k", "=1,2", "dd.bs=1,2"],
)
def test_what_varies_nothing_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        varied(PLAN, [text])


@pytest.mark.parametrize("text", ["fio.nosuch=1,2", "fio.block_size=4k,large", "block_size=4k,64k"])
def test_an_invalid_value_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        varied(PLAN, [text])


def test_the_number_of_steps_is_limited() -> None:
    values = ",".join(map(str, range(1, MOST_STEPS + 2)))
    for variations in ([f"fio.iodepth={values}"], [f"fio.{name}={values}" for name in ("iodepth", "numjobs")] * 20):
        with pytest.raises(PlanError):
            varied(PLAN, variations)


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
    estimate = json.loads(call("fleet", "estimate", file, "local", "--json"))
    assert (estimate["host_runs"], estimate["trials"]) == (1, 6)
