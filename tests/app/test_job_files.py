"""fio job files on the command line: taken into a plan as they are, and written from one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.plans.job_files import read_text
from app.plans.plan import PlanError
from app.plans.plan_file import read_plan
from suites.parameters import MAXIMUM_TEXT

TEXT = "[global]\nsize=1m\n\n[one]\nrw=randread\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "mine.fio"
    path.write_text(TEXT)
    return path


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(benchwright, [str(word) for word in words])
    return result.exit_code, result.output


def test_a_job_file_becomes_a_step_named_after_it(job: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    status, shown = run("plan", "new", "--defaults", "--suite", "fio", "--fio-job", job, "--fio-job", job, "-o", plan)
    assert status == 0, shown
    steps = read_plan(plan).steps
    assert [step.name for step in steps] == ["fio", "mine", "mine 2"]
    assert steps[1].values["job"] == TEXT
    status, shown = run("plan", "show", plan)
    assert status == 0
    assert "fio --thread=1 job.fio" in shown


def test_steps_are_written_as_job_files(job: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    run("plan", "new", "--defaults", "--fio-job", job, "-o", plan)
    assert run("plan", "show", plan, "--fio-job") == (0, TEXT)
    run("plan", "new", "--defaults", "--suite", "fio", "--suite", "sysbench-cpu", "--fio-job", job, "-o", plan)
    shown = run("plan", "show", plan, "--fio-job")[1]
    assert [line for line in shown.splitlines() if line.startswith("; ----")] == ["; ---- fio", "; ---- mine"]
    run("plan", "new", "--defaults", "--suite", "sysbench-cpu", "-o", plan)
    assert run("plan", "show", plan, "--fio-job")[0] == 2


def test_what_is_no_job_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.fio"
    path.write_text("[one]\nnot an option\n")
    status, shown = run("plan", "new", "--defaults", "--fio-job", path)
    assert status == 2
    assert f"{path}: Line 2 is not an option: “not an option”." in shown


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda path: path.unlink(missing_ok=True), "cannot be read"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not a text file"),
        (lambda path: path.write_text("x" * (MAXIMUM_TEXT + 1)), "is larger than"),
    ],
)
def test_files_that_cannot_be_taken(make: Callable[[Path], object], shown: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    make(path)
    with pytest.raises(PlanError, match=shown):
        read_text(path)
