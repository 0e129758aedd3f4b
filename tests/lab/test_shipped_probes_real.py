"""A host without a compiler: the probes that are shipped run there, and each result names the one that ran."""

import hashlib
import os
import platform
import statistics
from pathlib import Path
from typing import Any

import pytest

import resources
from app.events import State
from app.plans.plan import Plan, Repetition, make_step
from app.plans.plan_file import write_plan
from tests.lab.probe_runs import run_once, workstation_in
from tests.messages import messages
from tests.program import DONE, benchwright

MESSAGES = messages("lab", "test_shipped_probes_real")

SHIPPED = Path(resources.__file__).parent / "probes" / "bin" / platform.machine()

GIVEN: dict[str, dict[str, Any]] = {
    "stream": {"array_size": "8 MiB", "times": 2, "threads": 1},
    "compute": {"time": 1, "threads": 1, "operation": "integer"},
    "memory-blocks": {"time": 0.1, "memory": "16 MiB", "largest_set": "64 KiB", "blocks": "4096", "threads": 1},
}
PROGRAMS = {"stream": "stream", "compute": "compute", "memory-blocks": "blocks"}

pytestmark = pytest.mark.skipif(not SHIPPED.is_dir(), reason="no probes are shipped for this architecture")


@pytest.fixture
def plain(tmp_path: Path) -> str:
    """Return a PATH with all this computer has but compilers."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).iterdir() if Path(directory).is_dir() else ():
            compiler = program.name in {"cc", "c99", "c89", "clang", "tcc"} or "gcc" in program.name
            if not compiler and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.slow
def test_one_plan_measures_with_every_probe_and_the_results_name_them(plain: str, tmp_path: Path) -> None:
    steps = tuple(make_step(suite, given) for suite, given in GIVEN.items())
    plan = tmp_path / "plan.toml"
    write_plan(Plan("plain", ("local",), steps, repetition=Repetition(trials=1)), plan)
    ran = benchwright("run", plan, PATH=plain)
    assert ran.status == DONE, ran.err
    shown = benchwright("show", "last", "--json").json
    versions = {trial["step"]: trial["tool_version"] for trial in shown["trials"]}
    for suite, program in PROGRAMS.items():
        digest = hashlib.sha256((SHIPPED / program).read_bytes()).hexdigest()
        assert versions[suite].endswith(f"shipped, sha256 {digest[:16]}"), suite
    assert "shipped, sha256" in benchwright("show", "last").out


def test_a_probe_that_has_to_be_built_is_refused_before_the_run(plain: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    step = make_step("stream", {**GIVEN["stream"], "build": "host"})
    write_plan(Plan("plain", ("local",), (step,), repetition=Repetition(trials=1)), plan)
    checked = benchwright("check", plan, PATH=plain)
    assert MESSAGES["c_compiler_gcc_cc_was_not"] in checked.out + checked.err
    ran = benchwright("run", plan, PATH=plain)
    assert ran.status != DONE
    assert MESSAGES["c_compiler_gcc_cc_was_not"] in ran.out + ran.err


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize(
    ("suite", "metric", "given"),
    [
        ("stream", "triad", {"array_size": "64 MiB", "times": 5, "threads": 1}),
        ("compute", "floating_point_rate", {"time": 1, "threads": 1, "operation": "float"}),
        ("compute", "integer_rate", {"time": 1, "threads": 1, "operation": "integer"}),
    ],
    ids=["triad", "float", "integer"],
)
def test_the_shipped_one_measures_what_one_built_on_the_host_does(
    suite: str, metric: str, given: dict[str, Any], tmp_path: Path
) -> None:
    """In turns, so that both meet the same moods of the computer."""
    found: dict[str, list[float]] = {"shipped": [], "host": []}
    with workstation_in(tmp_path) as workstation:
        for _ in range(5):
            for build, values in found.items():
                ended, _ = run_once(workstation, suite, "local", build=build, **given)
                assert ended.state is State.DONE
                values.append(max(figure.value for figure in ended.parsed.figures if figure.metric.name == metric))
    assert 0.8 < statistics.median(found["shipped"]) / statistics.median(found["host"]) < 1.25
