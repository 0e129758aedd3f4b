"""Real gates on this computer: the same command passes against its baseline, one that takes 12 % longer fails."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.program import BENCHWRIGHT, benchwright, environment

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


QUOTA = 0.9
"""Share of a CPU that the quota leaves: it takes 10 %."""

GATES = int(os.environ.get("BENCHWRIGHT_GATES", "20"))
"""Gates with the quota, each of which has to find it, and as many without, of which at most 5 % may fail."""


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Path]:
    """A cgroup with the quota, v2 or v1, whose `cgroup.procs` it returns; skip where none can be made."""
    name = f"benchwright-{os.getpid()}"
    v2, v1 = Path("/sys/fs/cgroup") / name, Path("/sys/fs/cgroup/cpu") / name
    period = 100_000
    files = [
        (v2 / "cpu.max", f"{round(QUOTA * period)} {period}"),
        (v1 / "cpu.cfs_quota_us", str(round(QUOTA * period))),
    ]
    for file, text in files:
        try:
            file.parent.mkdir()
        except OSError:
            continue
        if not file.exists():  # no cgroup, such as the tmpfs above those of v1, or none with this controller
            file.parent.rmdir()
            continue
        file.write_text(text)
        yield file.parent / "cgroup.procs"
        for _ in range(100):  # its processes end with the gate
            with contextlib.suppress(OSError):
                file.parent.rmdir()
                return
            time.sleep(0.1)
        return
    pytest.skip("no cgroup with a CPU quota can be made here")


@pytest.mark.alone
def test_a_cpu_quota_of_10_percent_is_found_each_time(tmp_path: Path, limited: Path) -> None:
    """A real sysbench cpu of one thread; a gate has to exit with 1 under the quota, and without it never does."""
    plan, store = tmp_path / "plan.toml", ("--store", tmp_path / "runs.sqlite3")
    values = ("--set", "sysbench-cpu.threads=1", "--set", "sysbench-cpu.time=3")
    assert (
        benchwright(*store, "plan", "new", "--suite", "sysbench-cpu", *values, "--trials", TRIALS, "-o", plan).status
        == 0
    )
    assert benchwright(*store, "run", plan, "--yes", "--anyway").status == 0
    assert benchwright(*store, "baseline", "pin", "last", "main").status == 0

    def gated(procs: Path | None) -> tuple[int, str]:
        words = [*store, "gate", plan, "--against", "baseline:main", "--fail-if", "events_per_second worse by 5 %"]
        command = [*BENCHWRIGHT, *map(str, words), "--trials", TRIALS, "--yes", "--anyway", "--json"]
        joined = f"echo $$ > {procs}; exec " if procs is not None else "exec "
        ran = subprocess.run(
            ["sh", "-c", f'{joined}"$@"', "sh", *command],
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
        )
        return ran.returncode, ran.stdout + ran.stderr

    found = [gated(limited) for _ in range(GATES)]
    assert [status for status, _ in found] == [1] * GATES, next(text for status, text in found if status != 1)
    free = [gated(None)[0] for _ in range(GATES)]
    assert free.count(1) <= GATES // 20, free
