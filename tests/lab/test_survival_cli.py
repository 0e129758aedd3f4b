"""What is detached, and who measures a host, from the command line."""

import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.services import Workstation
from tests.lab.survival import ALIVE, jobs_on, kill_jobs, workspaces_on
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.program import BAD_INPUT, BENCHWRIGHT, DONE, FAILED, benchwright, environment
from tests.terminal import terminal

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_survival_cli")


@pytest.fixture
def lab(lab_host: LabHost) -> Iterator[LabHost]:
    lab_host.add_to_home(more=ALIVE)
    yield lab_host
    kill_jobs(lab_host.home)


def plan(tmp_path: Path, *, seconds: int = 3, trials: int = 1, host: str = "lab") -> Path:
    path = tmp_path / f"{host}-{seconds}.toml"
    words = ("--suite", "sysbench-cpu", "--set", f"time={seconds}", "--trials", str(trials), "--host", host)
    made = benchwright("plan", "new", "--defaults", "-o", path, *words)
    assert made.status == DONE, made.err
    return path


@contextmanager
def measuring(path: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a plan in another process until it measures; it is killed at the end."""
    command = [*BENCHWRIGHT, *words, "run", str(path)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment()
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("sysbench-cpu on"):
                break
        yield process
        process.kill()


@pytest.mark.slow
def test_a_killed_run_is_listed_attached_and_complete(lab: LabHost, tmp_path: Path) -> None:
    with measuring(plan(tmp_path, trials=2)) as process:
        process.kill()
        process.wait()
    (listed,) = benchwright("attach", "--list", "--json").json
    assert (listed["hosts"], listed["by_choice"], listed["trial"]["id"]) == (["lab"], False, 1)
    assert "detached" in benchwright("list").out

    ran = benchwright("attach", "--json")
    assert ran.status == DONE, ran.err
    assert ran.json["state"] == "done"
    assert [trial["state"] for trial in ran.json["trials"]] == ["done", "done"]
    assert ran.json["clock_offset"].keys() == {"lab"}
    assert all(abs(offset) < 1.0 for offset in ran.json["clock_offset"]["lab"].values())
    assert benchwright("attach").out == "No detached runs.\n"
    assert benchwright("attach", "last").status == BAD_INPUT


@pytest.mark.slow
def test_a_terminal_that_closes_lets_go_of_the_run(lab: LabHost, tmp_path: Path) -> None:
    with measuring(plan(tmp_path, seconds=60)) as process:
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert MESSAGES["detached_resume_it_with"] in process.stderr.read()
        process.wait()
    assert jobs_on(lab.home)
    ran = benchwright("attach", "--stop")
    assert ran.status == FAILED
    assert "Stopped by you" in ran.out
    assert jobs_on(lab.home) == []


@pytest.mark.slow
def test_each_proposed_command_works_as_printed(lab: LabHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run in a library of its own, whose host is down by then."""

    def proposed(text: str) -> list[str]:
        (found,) = [line.partition(": benchwright ")[2] for line in text.splitlines() if ": benchwright " in line]
        return shlex.split(found)

    monkeypatch.chdir(tmp_path)
    with measuring(plan(tmp_path, seconds=60), "--store", "own runs.sqlite3") as process:
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        attaching = proposed(process.stderr.read())
        process.wait()
    assert attaching[:3] == ["--store", "own runs.sqlite3", "attach"]
    lab.stop()
    refused = benchwright(*attaching, "--stop")
    assert refused.status == FAILED
    assert "has commands or files on" in refused.err
    forgetting = proposed(refused.err)
    forgotten = benchwright(*forgetting, "--json")
    assert (forgotten.status, forgetting[-1]) == (DONE, "--forget")
    assert (forgotten.json["state"], forgotten.json["hosts"]) == ("partial", ["lab"])
    assert proposed(forgotten.err) == ["--store", "own runs.sqlite3", "hosts", "leftovers", "lab"]
    assert benchwright(*attaching[:3], "--list").out == "No detached runs.\n"


@pytest.mark.slow
def test_leftovers_are_listed_and_only_those_of_this_library_removed(lab: LabHost, tmp_path: Path) -> None:
    with measuring(plan(tmp_path, seconds=60)) as process:
        process.kill()
        process.wait()
    with closing(Workstation()) as workstation:
        workstation.forget("last")
    foreign = lab.home / "benchwright-0123456789abcdef"
    foreign.mkdir()
    listed = benchwright("hosts", "leftovers", "lab", "--json").json
    assert sorted(entry["whose"] for entry in listed if entry["path"].startswith(str(lab.home))) == ["others", "ours"]
    removed = benchwright("hosts", "leftovers", "lab", "--remove")
    assert removed.status == DONE
    assert "Removed 2 from lab." in removed.err  # the directory and the lease
    assert workspaces_on(lab.home) == [foreign]
    assert jobs_on(lab.home) == []


@pytest.mark.slow
def test_a_host_in_use_is_refused_or_waited_for(lab: LabHost, tmp_path: Path) -> None:
    other = ("--store", str(tmp_path / "other.sqlite3"))
    short = plan(tmp_path, seconds=1)
    with measuring(plan(tmp_path, seconds=120, host="local"), *other) as process:
        refused = benchwright("run", short)
        assert refused.status == BAD_INPUT
        assert "measures on lab" in refused.err
        assert refused.out == ""
        command = [*BENCHWRIGHT, "run", str(short), "--wait"]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment()
        ) as waiting:
            assert waiting.stderr is not None
            for line in waiting.stderr:
                if line.startswith("waiting: "):
                    process.send_signal(signal.SIGTERM)
        assert waiting.returncode == DONE
    with closing(Workstation()) as workstation:
        assert len(workstation.runs()) == 1


@pytest.mark.slow
def test_a_library_that_vanishes_is_reported_and_the_run_continues_in_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with terminal("--store", "runs.sqlite3", "run", str(plan(tmp_path, seconds=6, host="local"))) as asked:
        asked.expect("sysbench-cpu on")
        for end in ("", "-wal", "-shm"):
            Path(f"runs.sqlite3{end}").unlink()
        asked.expect("type the name of a new file and press Enter")
        asked.type("saved.sqlite3")
        asked.expect("Run saved to saved.sqlite3 and verified.")
        assert asked.status() == DONE, asked.seen
    assert "is stored up to" not in asked.seen
    assert not Path("runs.sqlite3").exists()
    (listed,) = benchwright("--store", "saved.sqlite3", "list", "--json").json
    assert listed["state"] == "done"


@pytest.mark.slow
def test_a_run_whose_library_vanished_is_saved_when_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with measuring(plan(tmp_path, seconds=30, host="local"), "--store", "runs.sqlite3") as process:
        for end in ("", "-wal", "-shm"):
            Path(f"runs.sqlite3{end}").unlink()
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("paused: "))
        assert "is gone" in line
        assert "is stored up to" not in line
        process.send_signal(signal.SIGINT)
        shown = process.stderr.read()
        assert process.wait(60) == FAILED
    (saved,) = Path().glob("runs-*.sqlite3")
    assert str(saved) in shown
    (listed,) = benchwright("--store", saved, "list", "--json").json
    assert listed["state"] == "partial"
