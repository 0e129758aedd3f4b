"""This computer's disk fails while a run is recorded: it is full, or it no longer takes what was written."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import Activity, Event, SampleRead, State, TrialStarted
from app.runs import recording
from app.runs.control import Control
from app.services import Workstation
from app.store.errors import StoreFullError
from suites import registry
from tests.lab.counting import Counting, counting_plan, output
from tests.lab.survival import QUICK, assert_no_leftovers, assert_whole, attach, end, lab, run, workstation
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.small_disk import fill, small_disk

MESSAGES = messages("lab", "test_faults_storage")

__all__ = ["lab", "small_disk", "workstation"]

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int broken(void) { const char *flag = getenv("DISK_BROKEN"); return flag && access(flag, F_OK) == 0; }
#define FAILING(name) \\
    int name(int fd) { \\
        if (broken()) { errno = EIO; return -1; } \\
        return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); \\
    }
FAILING(fsync)
FAILING(fdatasync)
"""
"""A disk that takes no more: every fsync fails with EIO once the file DISK_BROKEN names is there."""


@pytest.fixture
def cramped(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workstation]:
    """Return a workstation whose library is on the small disk, and which looks often whether there is room again."""
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))
    monkeypatch.setattr(recording, "FULL_RETRY", 0.1)
    made = Workstation(small_disk / "runs.sqlite3", small_disk / "hosts.toml", patience=QUICK)
    yield made
    made.close()


def on_full(disk: Path, act: Callable[[Path, Control], None]) -> Callable[[Event, Control], None]:
    """Return a hand that fills the disk once the trial has counted to ten, and acts once the run says that it waits."""
    ballast: list[Path] = []

    def hand(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value >= 10 and not ballast:
            ballast.append(fill(disk))
        elif isinstance(event, Activity) and event.text.startswith("paused: No space left for the library"):
            act(ballast[0], control)

    return hand


@pytest.mark.slow
def test_a_full_disk_here_pauses_the_run_until_there_is_room(cramped: Workstation, lab: LabHost) -> None:
    events = run(
        cramped, counting_plan(60, trials=2), on_full(cramped._store.path.parent, lambda file, _: file.unlink())
    )
    assert end(events).state is State.DONE
    words = [event.text for event in events if isinstance(event, Activity)]
    paused = next(index for index, text in enumerate(words) if text.startswith("paused: "))
    assert "Free space" in words[paused]
    assert words[paused + 1] == MESSAGES["there_is_room_again_the_run"]
    for trial in (1, 2):
        assert_whole(cramped, trial, 60)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_nothing_else_begins_while_the_disk_is_full(cramped: Workstation, lab: LabHost) -> None:
    began: list[Event] = []
    stop = on_full(cramped._store.path.parent, lambda _file, control: control.stop())

    def hand(event: Event, control: Control) -> None:
        began.extend([event] if isinstance(event, TrialStarted) else [])
        stop(event, control)

    full = cramped.library_path
    events = run(cramped, counting_plan(3000, trials=2), hand)
    assert end(events).state is State.PARTIAL
    assert len(began) == 1
    assert cramped.library_path.parent not in {full.parent, Path()}
    shown = " ".join(event.text for event in events if isinstance(event, Activity))
    assert f"Run saved to {cramped.library_path} and verified." in shown
    assert [trial.state for trial in cramped.load("last").trials] == [State.PARTIAL]
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_run_detached_on_a_full_disk_is_read_completely_later(cramped: Workstation, lab: LabHost) -> None:
    disk = cramped._store.path.parent
    with pytest.raises(StoreFullError):
        run(cramped, counting_plan(100), on_full(disk, lambda _file, control: control.detach()))
    (disk / "ballast").unlink()
    assert end(attach(cramped)).state is State.DONE
    assert_whole(cramped, 1, 100)
    assert_no_leftovers(lab.home)


@pytest.fixture
def failing_disk(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a program for which fsync fails once the file DISK_BROKEN names is there."""
    if shutil.which("cc") is None:
        pytest.skip("letting fsync fail needs a C compiler")
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return os.environ | {"LD_PRELOAD": str(library), "DISK_BROKEN": str(tmp_path / "broken")}


@pytest.mark.slow
def test_a_disk_that_does_not_keep_what_was_written_stops_the_run(
    workstation: Workstation, lab: LabHost, tmp_path: Path, failing_disk: dict[str, str]
) -> None:
    store = tmp_path / "runs.sqlite3"
    words = [sys.executable, "-m", "tests.lab.counting", str(store), "lab", "3000", "2", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=failing_disk) as other:
        assert other.stdout is not None
        for line in other.stdout:
            if float(line) >= 30:
                break
        Path(failing_disk["DISK_BROKEN"]).touch()
        _, complaint = other.communicate(timeout=30)
    assert other.returncode == 1
    assert MESSAGES["the_disk_reports_an_error"] in complaint
    assert "is stored up to" in complaint
    assert_no_leftovers(lab.home)
    connection = sqlite3.connect(store)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    values = [sample.value for sample in workstation.samples("last")[1]]
    assert values == [float(number) for number in range(1, len(values) + 1)]
    assert len(values) >= 10
    assert output(3000)["stdout"].startswith(workstation.output("last", 1)["stdout"])
    assert workstation.load("last").summary.state is State.PARTIAL
