"""perf: its command line, its counters, its folded stacks, and why a host does not allow it."""

import shlex
import subprocess
from pathlib import Path

import pytest

from remote.script import script
from suites.base import Command, Purpose
from suites.perf import (
    EVENTS,
    HARDWARE,
    MOST_FREQUENCY,
    frequency,
    is_profiled,
    profiled_commands,
    read_counters,
    read_stacks,
    refusal_of,
)
from tests.messages import messages

MESSAGES = messages("suites", "test_perf")
DATA = Path(__file__).parents[1] / "data/perf"


def counted(name: str) -> dict[str, float | None]:
    return {one.event: one.value for one in read_counters((DATA / name).read_text().splitlines())}


def test_the_command_is_what_an_expert_types() -> None:
    peer = Command(("mpstat",), on_peer=True)
    commands = (Command(("server",), Purpose.SERVE), Command(("fio", "--x=a b")), peer, Command(("fio", "2")))
    server, first, unprofiled, second = profiled_commands(commands, 99)
    assert (server, unprofiled) == (commands[0], peer)
    assert shlex.join(first.argv) == MESSAGES["the_command"]
    assert "perf-1.data" in second.argv
    assert is_profiled([server, first])
    assert not is_profiled(commands)


def test_samples_are_bounded_whatever_the_time_and_the_processors() -> None:
    assert frequency(None, 10.0) == MOST_FREQUENCY
    assert frequency(None, None) == MOST_FREQUENCY
    assert frequency(None, 10_000.0) == 10
    assert frequency(None, 1e9) == 1


def test_documented_hardware_counters_are_read() -> None:
    found = counted("5.12/documented.csv")
    assert found["cycles"] == 92645028
    assert found["branch-misses"] == 441719
    assert "cpu-clock" not in found


def test_without_a_pmu_the_counters_are_absent_and_never_zero() -> None:
    found = counted("6.1/no_pmu.csv")
    assert [event for event, value in found.items() if value is None] == [one for one in EVENTS if one in HARDWARE]
    assert found["task-clock"] is not None
    assert found["context-switches"] == 6457


def test_several_commands_and_kinds_of_core_are_summed() -> None:
    lines = [
        "10,,cpu_core/cycles/,5,100.00,,", "<not counted>,,cpu_atom/cycles/,0,0.00,,", "5,,cycles:u,5,40.00,1.0,GHz"
    ]  # fmt: skip
    (found,) = read_counters(lines)
    assert (found.value, found.running, found.user_only) == (15, 0.4, True)


@pytest.mark.parametrize(
    "line", ["", ",,,,", "1e9,,cycles,1,1", "-5,,cycles,5,100.00", "1,,evil;\x1b[2J,1,100", "9" * 99]
)
def test_hostile_counters_are_ignored(line: str) -> None:
    assert read_counters([line]) == ()


def test_hostile_stacks_are_ignored_or_bounded() -> None:
    assert read_stacks(["", "a", "a;b x", "a;b -1", "a;b 0", "a;b ٣", " 5", "a " + "9" * 20]) == {}
    found = read_stacks(["f" * 1000 + " 1", ";".join("a" * 999) + " 2", "a b;c 3", "a b;c 4"])
    assert max(len(frame) for stack in found for frame in stack) == 300
    assert max(map(len, found)) == 256
    assert found["a b", "c"] == 7
    assert len(read_stacks(f"{number} 1" for number in range(60_000))) == 50_000


LIMITED = {"status": "255", "error": "Access to performance monitoring and observability operations is limited."}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({}, MESSAGES["missing"]),
        ({**LIMITED, "paranoid": "4", "user": "1000"}, MESSAGES["paranoid"]),
        ({**LIMITED, "paranoid": "2", "user": "1000"}, MESSAGES["seccomp"]),
        ({**LIMITED, "paranoid": "4", "user": "0"}, MESSAGES["seccomp"]),
        ({"status": "2", "error": "WARNING: perf not found for kernel 6.8.0-31"}, MESSAGES["other"]),
        ({"status": "0"}, ""),
    ],
)
def test_why_a_host_does_not_profile(answers: dict[str, str], reason: str) -> None:
    assert refusal_of(answers) == reason


PERF = """#!/bin/sh
# Stands in for perf: refuses, or prints a captured script.
case $1 in
record) echo "Access to performance monitoring and observability operations is limited." >&2; exit 255 ;;
script) cat "$(dirname "$0")/script.txt" ;;
esac
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "perf").write_text(PERF)
    (tmp_path / "perf").chmod(0o700)
    (tmp_path / "script.txt").write_bytes((DATA / "6.1/script.txt").read_bytes())
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def run_perf(folder: Path, *arguments: str) -> str:
    words = ["sh", "-c", script("perf.sh").decode(), "perf.sh", *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_refusal_is_reported_by_the_host(stand_in: Path) -> None:
    printed = run_perf(stand_in, "probe", "perf", "record")
    answers = {key: value for key, _, value in (line.partition(" ") for line in printed.splitlines())}
    assert answers["status"] == "255"
    assert answers["error"].startswith("Access to")


def test_stacks_are_folded_on_the_host(stand_in: Path) -> None:
    (stand_in / "perf-0.data").touch()
    (stand_in / "perf-0.csv").write_bytes((DATA / "6.1/no_pmu.csv").read_bytes())
    lines = run_perf(stand_in, "fold", "1").splitlines()
    assert len(read_counters(line[2:] for line in lines if line.startswith("c "))) == len(EVENTS)
    assert not any("[unknown];[unknown]" in line for line in lines)
    found = read_stacks(line[2:] for line in lines if line.startswith("s "))
    assert sum(found.values()) == (DATA / "6.1/script.txt").read_text().count("\n\n")
    assert {"light", "heavy"} <= {frame for stack in found for frame in stack}
    assert found["fio", "main", "[unknown]"] == 1
    assert all(stack[0] in {"split", "perf", "perf-exec", "fio"} for stack in found)
