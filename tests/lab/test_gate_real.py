"""Real gates on this computer: the same command passes against its baseline, one that takes 12 % longer fails."""

from pathlib import Path

import pytest

from tests.program import benchwright

pytestmark = [pytest.mark.lab, pytest.mark.slow]

TRIALS = "8"


def test_the_same_command_passes_and_a_slower_one_fails(tmp_path: Path) -> None:
    job, plan, store = tmp_path / "job.sh", tmp_path / "plan.toml", ("--store", tmp_path / "runs.sqlite3")
    job.write_text("sleep 1\n")
    suite = ("--suite", "command", "--set", f"command.command=sh {job}", "--trials", TRIALS)
    assert benchwright(*store, "plan", "new", *suite, "-o", plan).status == 0
    assert benchwright(*store, "run", plan, "--yes", "--anyway").status == 0
    assert benchwright(*store, "baseline", "pin", "last", "main").status == 0

    def gated() -> tuple[int, str, int]:
        words = ("--against", "baseline:main", "--fail-if", "wall_time worse by 5 %", "--trials", TRIALS)
        found = benchwright(*store, "gate", plan, *words, "--yes", "--anyway", "--json")
        return found.status, found.json["outcome"], len(found.json["runs"])

    for _ in range(3):
        status, outcome, _ = gated()
        assert (status, outcome) == (0, "pass")
    job.write_text("sleep 1.12\n")
    assert gated() == (1, "fail", 2)
