"""Sessions of a real plan on this computer, through the installed command: killed, resumed, run by a timer."""

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from app.plans.plan import LOCAL, Order, Plan, Repetition, make_step
from app.session_series import SessionSeries
from app.store.store import Store
from tests.messages import messages
from tests.program import BAD_INPUT, BENCHWRIGHT, DONE, FAILED, PATIENCE, benchwright, environment

MESSAGES = messages("lab", "test_sessions_lab")
pytestmark = pytest.mark.usefixtures("few_programs")

EVERY = 2.0
"""Seconds between sessions. Plans ask for ten minutes at least; a series in the library may have any time."""


def plan(sessions: int, every: float = EVERY) -> Plan:
    step = make_step("sysbench-cpu", {"time": 1})
    repetition = Repetition(1, sessions=sessions, every=every)
    return Plan("clock check", (LOCAL,), (step,), repetition=repetition, order=Order.RANDOMISED)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite3"


def begun(library: Path, wanted: Plan) -> str:
    store = Store(library)
    series = store.begin_series(wanted)
    store.close()
    return series.id


def stored(library: Path) -> SessionSeries:
    store = Store(library)
    (series,) = store.session_series()
    store.close()
    return series


def killed(library: Path, *words: str, when: Callable[[str], bool]) -> str:
    """Run `benchwright sessions` and kill it with -9 at the first line on standard error for which `when`."""
    command = [*BENCHWRIGHT, "--store", str(library), "sessions", *words]
    seen = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            seen.append(line.decode())
            if when(seen[-1]):
                os.kill(process.pid, signal.SIGKILL)
                break
        process.wait(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, "".join(seen)
    return "".join(seen)


@pytest.mark.slow
def test_a_series_killed_between_and_within_its_sessions_is_resumed_to_its_end(library: Path) -> None:
    series = begun(library, plan(3))
    between = killed(library, "resume", series, when=lambda line: "Session 1 of 3 done; next at" in line)
    assert f"“benchwright sessions resume {series}” continues it" in between.replace(f"--store {library} ", "")
    assert [run.number for run in stored(library).runs] == [1]
    killed(library, "resume", series, when=lambda line: "trial 1" in line)
    assert stored(library).under_way is not None
    ended = benchwright("--store", library, "sessions", "resume")
    assert ended.status == DONE
    assert f"The series {series} is over: 3 of 3 sessions done." in ended.err
    assert "attached" in ended.err
    found = stored(library)
    assert [(run.number, run.state) for run in found.runs] == [(1, "done"), (2, "done"), (3, "done")]
    assert found.ended is not None
    for before, after in zip(found.runs, found.runs[1:], strict=False):
        pause = datetime.fromisoformat(after.started) - datetime.fromisoformat(str(before.ended))
        assert pause.total_seconds() >= EVERY / 2 - 0.1
        assert after.started >= after.due
    store = Store(library)
    plans = [store.load(run.run).plan for run in found.runs]
    assert len({one.seed for one in plans}) == 3
    assert len({one.session_key() for one in plans}) == 1
    store.close()
    shown = benchwright("--store", library, "show", "last")
    assert f"Session 3 of 3 of the series {series}" in shown.out
    runs = benchwright("--store", library, "list", "--json").json
    assert [run["session"]["number"] for run in runs] == [3, 2, 1]
    compared = benchwright("--store", library, "compare", "series:clock check", runs[0]["id"])
    assert compared.status == BAD_INPUT  # a run with itself
    assert benchwright("--store", library, "baseline", "pin", f"series:{series}", "days").status == DONE


@pytest.mark.slow
def test_a_plan_with_sessions_waits_and_the_rest_runs_when_due_by_a_timer(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    made = benchwright(
        "plan", "new", "--suite", "sysbench-cpu", "--set", "time=1", "--trials", "1", "--sessions", "2", "--every",
        "10min", "--defaults", "-o", file,
    )  # fmt: skip
    assert MESSAGES["until"] in made.err
    first = benchwright("--store", library, "run", file, "--no-wait")
    assert first.status == DONE
    assert MESSAGES["first_done"] in first.err
    (listed,) = benchwright("--store", library, "sessions", "--json").json["series"]
    assert (listed["done"], listed["sessions"], listed["every"], listed["next"]) == (1, 2, 600.0, 2)
    nothing = benchwright("--store", library, "sessions", "run-due", "--quiet")
    assert (nothing.status, nothing.out, nothing.err) == (DONE, "", "")
    assert "No session is due." in benchwright("--store", library, "sessions", "run-due").err
    later = benchwright("--store", library, "sessions", "resume", "--no-wait")
    assert (later.status, "next at" in later.err) == (DONE, True)
    early = benchwright("--store", library, "sessions", "resume", "--now", "--json")
    assert early.status == DONE
    assert early.json["session"]["number"] == 2
    assert benchwright("--store", library, "sessions", "resume").status == BAD_INPUT


def test_a_timer_runs_what_is_due_and_nothing_that_needs_a_person(library: Path) -> None:
    due = begun(library, plan(2))
    store = Store(library)
    write = make_step("fio", {"rw": "randwrite", "device": "/dev/nothing"}, name="fill")
    by_hand = store.begin_series(replace(plan(2), name="by hand", steps=(write,)))
    store.close()
    ran = benchwright("--store", library, "sessions", "run-due")
    assert ran.status == DONE
    assert f"clock check: Session 1 of 2 of the series {due}: done, " in ran.out
    listed = benchwright("--store", library, "sessions")
    assert MESSAGES["by_hand"] in " ".join(listed.out.split())
    assert benchwright("--store", library, "sessions", "stop", by_hand.id).status == DONE
    states = {one["id"]: one["state"] for one in benchwright("--store", library, "sessions", "--json").json["series"]}
    assert states[by_hand.id] == "ended"


@pytest.mark.slow
def test_a_session_that_fails_is_reported_and_stays_due_later(library: Path) -> None:
    step = make_step("command", {"command": "false"})
    series = begun(library, replace(plan(2, every=3600.0), steps=(step,)))
    refused = benchwright("--store", library, "sessions", "run-due")  # no consent, and nobody to ask
    assert refused.status == FAILED
    assert "Consent was refused" in refused.err
    assert benchwright("--store", library, "sessions", "--json").json["series"] == []  # nothing has run
    series = begun(library, replace(plan(2, every=3600.0), steps=(step,)))
    failed = benchwright("--store", library, "sessions", "resume", series, "--no-wait", "--yes")
    assert failed.status == FAILED
    assert (stored(library).done, stored(library).failures) == (0, 1)


@pytest.mark.slow
def test_the_printed_schedule_runs_the_due_sessions_of_its_library(library: Path) -> None:
    line = benchwright("--store", library, "sessions", "schedule").out
    command = line.removeprefix("*/10 * * * * ").strip()
    assert command.endswith(f"--store {library} sessions run-due --quiet")
    verbose = command.removesuffix("--quiet")
    done = subprocess.run(verbose, shell=True, check=True, capture_output=True, env=environment(), timeout=PATIENCE)  # noqa: S602 (the line as cron runs it)
    assert b"No session is due." in done.stderr
    assert library.exists()
    assert "OnCalendar=*:0/10" in benchwright("--store", library, "sessions", "schedule", "--systemd").out
