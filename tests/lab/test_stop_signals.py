"""Signals end the program in time, though a clean-up command hangs."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab.survival import assert_no_leftovers
from tests.lab.test_hosts_independent import live
from tests.lab.test_stop_clean_up import HANGS
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.program import BENCHWRIGHT, FAILED, benchwright, environment

MESSAGES = messages("lab", "test_stop_signals")

Start = Callable[..., LabHost]


def plan_file(folder: Path) -> Path:
    path = folder / "plan.toml"
    benchwright("plan", "new", "--defaults", "-o", path, "--suite", "command", "--set", "command=sleep 60", "--set",
                f"clean_up={HANGS}", "--trials", "1", "--host", "web-1")  # fmt: skip
    return path


@contextmanager
def started(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run the program until its first trial has begun."""
    with subprocess.Popen(
        [*BENCHWRIGHT, "run", "--yes", str(path)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("command on"):
                break
        yield process


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_program_though_a_clean_up_hangs(
    start_lab_host: Start, tmp_path: Path, number: signal.Signals
) -> None:
    host = live(start_lab_host, 1)["web-1"]
    with started(plan_file(tmp_path)) as process:
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 20.0
    assert process.returncode == FAILED
    assert re.search(r"waiting for the clean-up on web-1, at most \d+ s", err)
    assert MESSAGES["could_not_clean_up_on_web_1"] in out + err
    assert "Traceback" not in err
    assert_no_leftovers(host.home)


@pytest.mark.slow
def test_stop_twice_is_stopped_by_the_user(start_lab_host: Start, tmp_path: Path) -> None:
    live(start_lab_host, 1)
    path = plan_file(tmp_path)
    with started(path) as process:
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 20.0
    assert "Traceback" not in err
    shown = benchwright("show", "last", "--json")
    assert json.loads(shown.out)["reason"].startswith("command: Stopped by you.")
    assert json.loads(shown.out)["state"] == "partial"
