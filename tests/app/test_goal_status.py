"""A run whose trials show that a goal is missed exits with 1; one that meets it, or does not show it, with 0.

So does one with a step that an error of a check blocks.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.checks.catalogue import entry
from app.cli.main import benchwright


@pytest.mark.quick(1)
@pytest.mark.usefixtures("few_programs")
@pytest.mark.parametrize(
    ("plans", "goal", "trials", "status", "outcome"),
    [
        (1, "wall_time <= 1 us", 6, 1, ": missed ("),
        pytest.param(2, "wall_time <= 1 us", 6, 1, ": missed (", marks=pytest.mark.slow),
        (2, "wall_time <= 1000 s", 6, 0, ": met ("),
        (1, "wall_time <= 1 us", 3, 0, ": not decided ("),
    ],
    ids=["missed", "two missed", "two met", "not decided"],
)
def test_a_missed_goal_is_the_exit_status_of_run(
    tmp_path: Path, goal: str, trials: int, status: int, outcome: str, *, plans: int
) -> None:
    files = [str(tmp_path / f"{number}.toml") for number in range(plans)]
    store = ["--store", str(tmp_path / "runs.sqlite3")]
    words = ["plan", "new", "--suite", "command", "--set", "command.command=true", "--trials", str(trials)]
    for file in files:
        written = CliRunner().invoke(benchwright, [*store, *words, "--goal", goal, "-o", file])
        assert written.exit_code == 0, written.output
    found = CliRunner().invoke(benchwright, [*store, "run", *files, "--yes", "--anyway", "--json"])
    assert outcome in found.stdout
    assert found.exit_code == status, found.output


@pytest.mark.usefixtures("few_programs")
def test_yes_starts_no_step_that_an_error_of_a_check_blocks(tmp_path: Path) -> None:
    store, file = ["--store", str(tmp_path / "runs.sqlite3")], str(tmp_path / "plan.toml")
    words = ["plan", "new", "--suite", "geekbench", "--suite", "command", "--trials", "1", "-o", file]
    written = CliRunner().invoke(benchwright, [*store, *words, "--set", "command.command=true"])
    assert written.exit_code == 0, written.output
    found = CliRunner().invoke(benchwright, [*store, "run", file, "--yes", "--anyway", "--json"])
    assert found.exit_code == 1, found.output
    blocked, other = json.loads(found.stdout)["trials"]
    assert (blocked["state"], blocked["exit_status"], other["state"]) == ("failed", None, "done")
    check = entry("geekbench-nowhere")
    assert blocked["reason"].startswith(check.title)
    assert blocked["reason"].endswith(check.variants[0].check.remedy)
