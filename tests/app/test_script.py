"""The script of a run passes shellcheck and, run by a shell, starts exactly the commands of the run."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.records import RunRecord
from app.services import Workstation
from app.sharing.script import script_text
from app.summary import summaries
from suites.base import Command, Purpose
from suites.host_files import HostFile
from tests.processes import until
from tests.program import DONE, benchwright
from tests.widgets.library_runs import Made, record

RUN = Made("20260101-000000-0001", iops=(1000.0, 1010.0, 1005.0), cpu=(8000.0, 8010.0), samples=2, name="a\nrm -rf x")


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    record(made, RUN)
    yield made
    made.close()


REAL = ("fio", "sysbench", "dd")

REAL_PLAN = """\
format = "benchwright-plan/3"
name = "real tools"
hosts = ["local"]
[repetition]
trials = 2
[[step]]
name = "disk"
suite = "fio"
[step.parameters]
directory = "{0}"
rw = "randread"
size = "16 MiB"
runtime = "2 s"
ramp_time = "0 s"
direct = "no"
[[step]]
name = "cpu"
suite = "sysbench-cpu"
[step.parameters]
time = "1 s"
[[step]]
name = "copy"
suite = "dd"
[step.parameters]
directory = "{0}"
"""


@pytest.mark.slow
@pytest.mark.skipif(not all(map(shutil.which, REAL)), reason="fio, sysbench or dd is not installed")
def test_the_script_measures_the_same_with_the_real_tools(tmp_path: Path) -> None:
    library, folder, plan = tmp_path / "runs.sqlite3", tmp_path / "data", tmp_path / "plan.toml"
    folder.mkdir()
    plan.write_text(REAL_PLAN.format(folder))
    ran = benchwright("--store", library, "run", plan, "--yes")
    assert ran.status == DONE, ran.err
    script = tmp_path / "run.sh"
    assert benchwright("--store", library, "export", "last", "--script", script).status == DONE
    checked(script)
    made = Workstation(library, tmp_path / "hosts.toml")
    found = made.load("last")
    made.close()
    left, before = folder_content(folder), set(Path(tempfile.gettempdir()).glob("benchwright-*"))
    by_hand = subprocess.run(
        ["sh", script], capture_output=True, cwd=tmp_path, env={**os.environ, "TRIALS": "1"}, check=True, timeout=120
    )
    output = tmp_path / "by-hand.txt"
    output.write_bytes(by_hand.stdout + b"\n" + by_hand.stderr)
    judged = benchwright("judge", "--json", output).json["files"][0]["results"]
    figures = {(each["suite"], one["name"]): one["value"] for each in judged for one in each["metrics"]}
    for step, metric in (("disk", "iops"), ("cpu", "events_per_second"), ("copy", "bandwidth")):
        ours = [one.value for one in summaries(found) if (one.step, one.metric.name) == (step, metric)]
        theirs = [value for (_, name), value in figures.items() if name == metric]
        assert ours, step
        assert any(ours[0] / WIDE < value < ours[0] * WIDE for value in theirs), (step, ours, figures)
    assert folder_content(folder) == left
    assert set(Path(tempfile.gettempdir()).glob("benchwright-*")) <= before


WIDE = 4.0
"""Factor by which a figure of a busy machine may differ from one moment to the next."""


def folder_content(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def checked(script: Path) -> None:
    """Fail for anything that shellcheck reports."""
    shellcheck = Path(sys.executable).with_name("shellcheck")
    found = subprocess.run([shellcheck, script], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def started(script: Path, folder: Path, *programs: str, **variables: str) -> list[tuple[str, ...]]:
    """Run a script in which `programs` only log their words and the file beside them; return what was started."""
    log, shims = folder / "log", folder / "shims"
    shims.mkdir()
    for name in programs:
        shim = shims / name
        shim.write_text(f'#!/bin/sh\nprintf "%s\\0" {name} "$@" >> {log}\nprintf "\\n\\0" >> {log}\n')
        shim.chmod(0o755)
    path = f"{shims}{os.pathsep}{os.environ['PATH']}"
    shell = shutil.which("dash") or "/bin/sh"
    subprocess.run([shell, script], env={**os.environ, "PATH": path, **variables}, cwd=folder, check=True, timeout=60)
    return [tuple(words.split("\0")[:-1]) for words in log.read_text().split("\n\0")[:-1]]


def commands(found: RunRecord, step: str) -> list[tuple[str, ...]]:
    return [one.trial.commands[0].argv for one in found.trials if one.trial.step == step]


def test_the_script_starts_the_commands_of_the_run(workstation: Workstation, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    ran = benchwright("--store", workstation.library_path, "export", "last", "--script", script)
    assert ran.status == DONE, ran.err
    checked(script)
    found = workstation.load("last")
    disk, cpu = (commands(found, step.name) for step in found.plan.steps)
    assert started(script, tmp_path, "fio", "sysbench") == [*disk, cpu[0], cpu[0], cpu[0]]
    assert f"enter {found.plan.steps[0].values['directory']}\n" in script.read_text()


@pytest.mark.parametrize("trials", ["abc", "0", "1.5", "-1"])
def test_a_number_of_trials_that_measures_nothing_is_refused(
    workstation: Workstation, tmp_path: Path, trials: str
) -> None:
    script = script_text(workstation.load("last"))
    ended = subprocess.run(
        ["sh"],
        check=False,
        input=script,
        env={"PATH": "/usr/bin:/bin", "TRIALS": trials},
        cwd=tmp_path,
        text=True,
        capture_output=True,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "TRIALS" in ended.stderr


@pytest.mark.slow
def test_files_peers_servers_and_hostile_words(workstation: Workstation, tmp_path: Path) -> None:
    found = workstation.load("last")
    text = "END\n$(touch owned)\n'\n"
    words = ("fio", "./job.fio", 'a\'b $(touch owned) `touch owned` "x"\nline', "*")
    given = (
        Command(("prepare", "x"), Purpose.PREPARE, files=(HostFile("job.fio", text=text),)),
        Command(("serve", "-s"), Purpose.SERVE, on_peer=True),
        Command(("serve", "-l"), Purpose.SERVE),
        Command(words),
        Command(("tidy",), Purpose.CLEAN_UP),
    )
    first = replace(found.trials[0], trial=replace(found.trials[0].trial, commands=given))
    script = tmp_path / "run.sh"
    script.write_text(script_text(replace(found, trials=(first,))))
    checked(script)
    log = started(script, tmp_path, "fio", "prepare", "serve", "tidy", TRIALS="2")
    expected = [("prepare", "x"), *2 * [("serve", "-l"), words], ("tidy",)]
    assert [one for one in log if one[0] != "kill"] == expected
    assert not list(tmp_path.rglob("owned"))
    (on_peer,) = (line for line in script.read_text().splitlines() if "serve -s" in line)
    assert on_peer.startswith("#")
    assert on_peer.endswith("; do serve -s; done")


@pytest.mark.quick(1)
@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_script_leaves_no_directory_and_no_server(
    workstation: Workstation, tmp_path: Path, shell: str, ends: signal.Signals
) -> None:
    found = workstation.load("last")
    serve = ("sh", "-c", f"echo $$ > {tmp_path}/server; exec sleep 300")
    given = (Command(serve, Purpose.SERVE), Command(("sh", "-c", f"pwd > {tmp_path}/at; exec sleep 300")))
    first = replace(found.trials[0], trial=replace(found.trials[0].trial, commands=given))
    script = tmp_path / "run.sh"
    script.write_text(script_text(replace(found, trials=(first,))))
    with subprocess.Popen([shell, script], start_new_session=True) as process:
        until(lambda: (tmp_path / "at").exists() and (tmp_path / "at").read_text() != "")
        directory, server = Path((tmp_path / "at").read_text().strip()), int((tmp_path / "server").read_text())
        os.killpg(process.pid, ends)
        assert process.wait(20) != 0
    assert directory.name.startswith("benchwright-")
    assert not directory.exists()
    assert not Path(f"/proc/{server}").exists()
