"""A plan of somebody else's, from the command line: nothing of it is executed, copied or changed before a yes."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from app.events import RunStarted, TrialEnded
from app.paths import consent_path, store_path
from app.plans.plan_file import read_plan
from app.runs.control import Control
from app.services import Workstation
from tests.lab_sshd import AnsweringAsker
from tests.messages import messages
from tests.program import BAD_INPUT, BENCHWRIGHT, DONE, Ran, benchwright, environment
from tests.terminal import terminal

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_consent")

PARTS = ("prepare", "before", "command", "clean_up")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan_file(suite: str, more: str = "", *, name: str = "plan", **values: object) -> Path:
    """Write the plan of a stranger: one trial of `suite` on this computer."""
    given = "\n".join(f"{key} = {_toml(value)}" for key, value in values.items())
    path = Path(f"{name}.toml")
    path.write_text(
        f'name = "{name}"\nhosts = ["local"]\n{more}\n[repetition]\ntrials = 1\n'
        f'[[step]]\nsuite = "{suite}"\n[step.parameters]\n{given}\n'
    )
    return path


def _toml(value: object) -> str:
    return f"'''{value}'''" if isinstance(value, str) else str(value).lower()


def marking(folder: Path) -> Path:
    """Write a plan each of whose commands leaves a marker."""
    return plan_file("command", **{part: f"touch {folder}/marker-{part}" for part in PARTS})


def markers(folder: Path) -> set[str]:
    return {path.name.removeprefix("marker-") for path in folder.glob("marker-*")}


def refused(ran: Ran) -> str:
    """Return what was shown by a call that did nothing because nobody agreed."""
    assert ran.status == BAD_INPUT, ran.err
    assert "pass --yes" in ran.err
    assert MESSAGES["not_agreed_to_nothing_was"] in ran.err
    assert ran.out == ""
    return ran.err


def asks_nothing(ran: Ran) -> None:
    assert MESSAGES["does_more_than_run_benchmark"] not in ran.err


def test_nothing_of_a_foreign_plan_is_executed_without_consent(folder: Path) -> None:
    shown = refused(benchwright("run", marking(folder)))
    assert markers(folder) == set()
    for part in PARTS:
        assert f"    touch {folder}/marker-{part}\n" in shown
    assert MESSAGES["executes_on_this_computer"] in shown
    assert benchwright("list", "--json").json == []


def test_consent_covers_the_same_content_only(folder: Path) -> None:
    path = marking(folder)
    agreed = benchwright("run", path, "--yes")
    assert agreed.status == DONE, agreed.err
    assert f"touch {folder}/marker-clean_up" in agreed.err  # what was agreed to is in the log of a script
    assert markers(folder) == set(PARTS)
    path.write_text(path.read_text().replace("trials = 1", "trials = 2").replace('name = "plan"', 'name = "other"'))
    asks_nothing(again := benchwright("run", path))
    assert again.status == DONE, again.err

    path.write_text(path.read_text().replace("marker-clean_up", "marker-clean_uq"))
    assert "marker-clean_uq" in refused(benchwright("run", path))
    assert markers(folder) == set(PARTS)


@pytest.mark.parametrize("written", ["file", pytest.param("printed", marks=pytest.mark.slow)])
def test_a_plan_made_here_does_not_ask_until_it_is_edited(folder: Path, written: str) -> None:
    words = ["plan", "new", "--defaults", "--trials", "1", "--suite", "command"]
    words += ["--set", f"command=touch {folder}/marker-command"]
    path = folder / "made.toml"
    made = benchwright(*words, *(("-o", path) if written == "file" else ()))
    assert made.status == DONE, made.err
    if written == "printed":
        path.write_text(made.out)
    ran = benchwright("run", path)
    assert ran.status == DONE, ran.err
    asks_nothing(ran)
    assert markers(folder) == {"command"}
    path.write_text(path.read_text().replace("marker-command", "marker-other"))
    refused(benchwright("run", path))
    assert markers(folder) == {"command"}


def test_writing_a_checked_copy_of_a_strangers_plan_agrees_to_nothing(folder: Path) -> None:
    path = marking(folder)
    path.write_text(path.read_text().replace("trials = 1", "trials = 2"))
    assert benchwright("check", path, "--acknowledge", "few-trials=a look", "-o", "copy.toml").status == DONE
    refused(benchwright("run", "copy.toml"))
    assert markers(folder) == set()


@pytest.mark.parametrize("words", [("check",), ("check", "--json"), ("plan", "show"), ("plan", "show", "--json")])
def test_looking_at_a_strangers_plan_executes_and_reads_nothing(folder: Path, words: tuple[str, ...]) -> None:
    ran = benchwright(*words, marking(folder))
    assert ran.status == DONE, ran.err
    assert markers(folder) == set()
    os.mkfifo(folder / "pipe")  # whoever opens it waits for ever
    assert benchwright(*words, plan_file("unixbench", archive=str(folder / "pipe"))).status == DONE


def test_a_local_file_is_named_before_it_is_copied(folder: Path) -> None:
    secret = folder / "id_ed25519"
    secret.write_text("secret\n")
    (folder / "archive.tgz").symlink_to(secret)
    path = plan_file("unixbench", archive=str(folder / "archive.tgz"))
    shown = refused(benchwright("run", path))
    assert (
        f"Copies a file of this computer to this computer (unixbench: as unixbench-archive):\n    {folder}/archive.tgz"
        in shown
    )
    assert f"resolves to {secret}" in shown
    assert "make -C unixbench all" in shown
    benchwright("run", path, "--yes")
    asks_nothing(benchwright("run", path))
    secret.write_text("another program\n")
    refused(benchwright("run", path))


@pytest.mark.slow
def test_a_pipe_as_a_local_file_keeps_nobody_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    path = plan_file("unixbench", archive=str(folder / "pipe"))
    assert MESSAGES["not_a_regular_file_it_cannot"] in refused(benchwright("run", path))
    ran = benchwright("run", path, "--yes")
    assert MESSAGES["pipe_on_this_computer_is_not"] in ran.out + ran.err


@pytest.mark.parametrize(
    "option", ["exec_prerun=touch {}/marker-job", "ioengine=exec\nprogram=/bin/touch\narguments={}/marker-job"]
)
def test_a_job_file_that_runs_programs_asks_wherever_it_was_imported(folder: Path, option: str) -> None:
    job = folder / "job.fio"
    job.write_text(f"[job]\nrw=read\nsize=4k\n{option.format(folder)}\n")
    words = ("plan", "new", "--defaults", "--fio-job", job, "--set", f"directory={folder}", "-o", "job.toml")
    assert benchwright(*words).status == DONE
    shown = refused(benchwright("run", "job.toml"))
    assert f"touch {folder}/marker-job\n" in shown
    assert MESSAGES["on_this_computer_job_job"] in shown
    assert markers(folder) == set()


def test_a_job_file_that_cannot_be_judged_is_shown_whole(folder: Path) -> None:
    path = plan_file("fio-job", job="[job]\nnonsense nonsense\nexec_prerun=touch x\n")
    assert MESSAGES["job_nonsense_nonsense_exec"] in refused(benchwright("run", path))
    assert not (folder / "x").exists()


def test_a_change_of_a_host_asks_and_shows_the_command() -> None:
    path = plan_file("sysbench-cpu", '[tuning]\ndrop_caches = true\ngovernor = "performance"', time=1)
    shown = refused(benchwright("run", path))
    assert MESSAGES["changes_this_computer_page"] in shown
    assert MESSAGES["echo_performance_tee_sys"] in shown


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_plan_that_only_runs_benchmark_tools_never_asks(folder: Path) -> None:
    job = "[job]\nrw=randwrite\nsize=1m\nioengine=psync\n"
    path = plan_file("fio", directory=str(folder), rw="read", size=2**20, runtime=1, ioengine="psync")
    steps = [plan_file("fio-job", name="job", directory=str(folder), job=job)]
    if shutil.which("sysbench"):
        steps.append(plan_file("sysbench-cpu", name="cpu", time=1))
    for step in steps:
        path.write_text(path.read_text() + "[[step]]" + step.read_text().partition("[[step]]")[2])
    ran = benchwright("run", path)
    assert ran.status == DONE, ran.err
    asks_nothing(ran)
    assert not consent_path().exists()


@pytest.mark.slow
def test_on_a_terminal_only_a_yes_agrees(folder: Path) -> None:
    path = marking(folder)
    for answer in ("", "no", "y"):
        with terminal("run", str(path)) as screen:
            screen.expect("Run it (yes or no)")
            assert f"touch {folder}/marker-clean_up" in screen.seen
            screen.type(answer)
            assert screen.status() == BAD_INPUT
        assert markers(folder) == set()
    with terminal("run", str(path)) as screen:
        screen.expect("Run it (yes or no)")
        screen.type("yes")
        assert screen.status() == DONE, screen.seen
    assert markers(folder) == set(PARTS)


def test_a_long_command_is_shown_to_its_end_and_nothing_in_it_drives_the_terminal(folder: Path) -> None:
    hidden = f"true {' ' * 3000}; touch {folder}/marker-hidden"
    assert f"    {hidden}\n" in refused(benchwright("run", plan_file("command", command=hidden)))
    path = plan_file("command", command="TRICKS", name="NAME")
    tricks = r'"echo \u007f\u009b31m \u202e\u2066 \u2028 safe"'
    path.write_text(path.read_text().replace("'''TRICKS'''", tricks).replace('"NAME"', r'"a\u202eplan"'))
    shown = refused(benchwright("run", path))
    assert r"echo \x7f\x9b31m \u202e\u2066 \u2028 safe" in shown
    assert r"The plan “a\u202eplan”" in shown
    assert shown.replace("\n", "").isprintable()


TRICKS = "\u009b31m \u202e \u2066 \u200b"


def test_a_foreign_job_file_cannot_control_the_terminal_and_is_unchanged_in_a_file(folder: Path) -> None:
    path = plan_file("fio-job", job=f"; {TRICKS}\n[job]\n\trw=read\nsize=4k\n")
    written = benchwright("plan", "show", "--fio-job", path)
    assert f"; {TRICKS}\n" in written.out
    (folder / "job.fio").write_text(written.out)
    for words in (("plan", "show", "--fio-job", str(path)), ("plan", "new", "--defaults", "--fio-job", "job.fio")):
        with terminal(*words) as screen:
            assert screen.status() == DONE, screen.seen
        assert r"\x9b31m \u202e \u2066 \u200b" in screen.seen
        assert not set(TRICKS.replace("31m ", "")) - {" "} & set(screen.seen)
    assert "\trw=read" in written.out


@pytest.mark.slow
def test_the_name_of_a_strangers_run_drives_no_terminal(folder: Path) -> None:
    benchwright("run", plan_file("command", command="true", name="NAME"), "--yes")
    with sqlite3.connect(store_path()) as library:
        (text,) = library.execute("select plan from runs").fetchone()
        library.execute("update runs set name = ?, plan = ?", (TRICKS, text.replace("NAME", json.dumps(TRICKS)[1:-1])))
    library.close()
    with terminal("delete", "last", "--for-good") as screen:
        screen.expect("permanently?")
        assert r"\x9b31m \u202e \u2066 \u200b" in screen.seen
        screen.type("n")
        screen.status()


def test_a_local_file_replaced_after_consent_is_not_copied(folder: Path) -> None:
    archive = folder / "archive.tgz"
    archive.write_bytes(b"agreed")
    plan = read_plan(plan_file("unixbench", archive=str(archive)))
    workstation = Workstation()
    reasons = []
    for event in workstation.run(plan, AnsweringAsker(), Control()):
        if isinstance(event, RunStarted):
            archive.write_bytes(b"another")
        if isinstance(event, TrialEnded):
            reasons.append(event.reason)
    workstation.close()
    assert len(reasons) == 1
    assert f"{archive} on this computer has changed since the run began and was not copied" in reasons[0]


def test_what_is_too_much_to_read_is_refused_even_with_a_yes(folder: Path) -> None:
    steps = "".join(
        f'[[step]]\nsuite = "command"\nname = "{number}"\n[step.parameters]\ncommand = "touch {folder}/marker-{number} '
        f'{"x" * 4000}"\n'
        for number in range(30)
    )
    path = Path("long.toml")
    path.write_text(f'name = "long"\nhosts = ["local"]\n{steps}')
    ran = benchwright("run", path, "--yes")
    assert ran.status == BAD_INPUT
    assert "can be shown" in ran.err
    assert markers(folder) == set()


@pytest.mark.slow
def test_a_run_from_a_foreign_library_continues_only_with_consent(folder: Path) -> None:
    slow = {"command": "sleep 60", "clean_up": f"touch {folder}/marker-clean_up"}
    words = [*BENCHWRIGHT, "run", str(plan_file("command", **slow)), "--yes"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment()) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(b"command on"):
                break
        process.send_signal(signal.SIGHUP)
        process.communicate()
    consent_path().unlink()  # as on a computer that the library was carried to
    assert "sleep 60" in refused(benchwright("attach"))
    assert "clean_up" in refused(benchwright("attach", "--stop"))
    assert markers(folder) == set()
    assert len(benchwright("attach", "--list", "--json").json) == 1
    ended = benchwright("attach", "--stop", "--yes")
    assert "ended early" in ended.out, ended.err
    assert markers(folder) == {"clean_up"}


@pytest.mark.slow
def test_a_second_opinion_runs_a_strangers_program_after_a_yes_alone(folder: Path) -> None:
    program = folder / "stream"
    program.write_text(f"#!/bin/sh\ntouch {folder}/marker-stream\n")
    program.chmod(0o755)
    benchwright("run", plan_file("stream", program=str(program)), "--yes")
    consent_path().unlink()
    (folder / "marker-stream").unlink()
    assert benchwright("second-opinion", "last").status == DONE
    ran = benchwright("second-opinion", "last", "--run")
    assert ran.status == BAD_INPUT
    assert f"    {program}\n" in ran.err
    assert markers(folder) == set()


@pytest.mark.slow
def test_what_the_user_types_to_calibrate_is_not_asked(folder: Path) -> None:
    ran = benchwright("calibrate", "local", "--suite", "command", "--set", f"command=touch {folder}/marker-aa")
    asks_nothing(ran)
    assert markers(folder) == {"aa"}, ran.err
