"""SQLite as a suite: its commands, what is warned of, and what is read of the shell's output."""

import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.sqlite import COARSE, PHASES, Sqlite, SqliteParser
from tests.disk_host import disk_host, outcomes, tuned_step
from tests.suites.captured_outputs import capture, figures
from tests.suites.host_facts import evidence, raised

SUITE = Sqlite()


def test_the_command_is_one_script() -> None:
    (command,) = SUITE.commands(complete_values(SUITE, {"journal_mode": "wal", "rows": 5000}), Context())
    assert shlex.join(command.argv) == "sh sqlite.sh 1000 5000 wal full"


@pytest.mark.parametrize(("name", "value"), [("journal_mode", "off"), ("rows", 1), ("transactions", "1;x")])
def test_values_that_could_be_something_else_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(SUITE, {name: value})


def test_tuning_raises_nothing() -> None:
    assert tuned_values(SUITE, Context(disk_host()))["directory"] == "/srv"
    assert outcomes(tuned_step(SUITE)) == {}


@pytest.mark.parametrize("given", [{"synchronous": "off"}, {"synchronous": "normal", "journal_mode": "wal"}])
def test_commits_that_do_not_wait_are_warned_of(given: dict[str, object]) -> None:
    step = evidence(SUITE, Context(disk_host()), **given)
    changes = raised(step)["sqlite-not-durable"].changes
    assert "sqlite-not-durable" not in raised(replace(step, values=complete_values(SUITE, {**step.values, **changes})))
    assert SUITE.workload(step.values).commits is False


@pytest.mark.parametrize("name", ["3.34.1/wal", "3.40.1/full", "3.46.1/full"])
def test_the_rates_are_the_counts_by_the_times_that_are_printed(name: str) -> None:
    output = capture(f"sqlite/{name}")
    found = output.parse(SqliteParser())
    phases = re.split(rb"benchwright-phase \w+.*\n", output.stdout)[1:4]
    times = [sum(float(time) for time in re.findall(rb"real (\S+)", phase)) for phase in phases]
    assert found.complete
    assert [note.partition(":")[0] for note in found.notes] == [
        phase for phase, time in zip(PHASES, times, strict=True) if time < COARSE
    ]
    assert figures(found) == pytest.approx({
        "transactions_per_second": 50 / times[0],
        "inserts_per_second": 100_000 / times[1],
        "lookups_per_second": 100_000 / times[2],
    })  # fmt: skip


def test_the_clock_times_a_thousand_transactions_at_once(tmp_path: Path) -> None:
    (command,) = SUITE.commands(complete_values(SUITE, {"transactions": 2500, "rows": 1000}), Context())
    (tmp_path / command.files[0].name).write_text(command.files[0].text)
    (tmp_path / "sqlite3").write_text("#!/bin/sh\ncat\n")
    (tmp_path / "sqlite3").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(command.argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("INSERT INTO one")]
    assert [line.count("INSERT INTO one") for line in lines] == [1000, 1000, 500]


def test_how_it_failed_is_said() -> None:
    found = capture("sqlite/3.40.1/failed").parse(SqliteParser())
    assert (found.complete, found.figures) == (False, ())
    assert 'near "x": syntax error' in " ".join(found.notes)
    parser = SqliteParser()
    parser.feed(b"sh: 1: sqlite3: not found\n", "stderr")
    assert "sqlite3: not found" in parser.finish(127).notes[0]
