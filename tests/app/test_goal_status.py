"""A run whose trials show that a goal is missed exits with 1; one that meets it, or does not show it, with 0."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright


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
