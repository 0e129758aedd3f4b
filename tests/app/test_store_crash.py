"""What was acknowledged survives kill -9, a full disk, and another window on the same library."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.events import OutputRead, RunEnded, RunStarted, State
from app.store.errors import StoreError, StoreFullError
from app.store.recorder import COMMIT_INTERVAL, Recorder
from app.store.store import Store
from tests.app import run_events
from tests.app.recording_process import ROUNDS_PER_FINDING
from tests.messages import messages

MESSAGES = messages("app-store", "test_store_crash")

SCRIPT = Path(__file__).with_name("recording_process.py")


@contextmanager
def recording(path: Path, run_id: str, count: int = 0) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that records, and end it with the block."""
    folders = os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": folders}
    command = [sys.executable, str(SCRIPT), str(path), run_id, str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What a process said before it was killed."""

    finding: int
    clock: float


def killed_while_recording(path: Path, run_id: str, seconds: float) -> Acknowledged:
    """Let a process record for `seconds`, kill it, and return what it had been told was kept."""
    with recording(path, run_id) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        timer = threading.Timer(seconds, process.send_signal, [signal.SIGKILL])
        timer.start()
        lines += process.stdout.read().splitlines(keepends=True)
        timer.join()
    whole = [line.split() for line in lines if line.endswith("\n")]  # the kill may cut the last line
    findings = [int(number) for word, number in whole if word == "finding"]
    clocks = [float(number) for word, number in whole if word == "clock"]
    return Acknowledged(findings[-1], clocks[-1])


def check_integrity(path: Path) -> None:
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


def test_kill_9_loses_nothing_acknowledged_and_at_most_a_second_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    dice = random.Random(20261120)
    for round_number in range(2):
        run_id = f"20261120-14153{round_number}-kill"
        shown = killed_while_recording(path, run_id, dice.uniform(0.0, 1.2))
        store = Store(path)
        assert store.mark_interrupted() == [run_id]
        check_integrity(path)
        found = store.load(run_id)
        assert (found.summary.state, found.reason) == (State.PARTIAL, MESSAGES["benchwright_ended_while_it"])
        kept = [int(finding.id) for finding in found.findings]
        assert set(range(0, shown.finding + 1, ROUNDS_PER_FINDING)) <= set(kept)
        (samples,) = store.samples(run_id).values()
        assert [sample.value for sample in samples] == [float(index) for index in range(len(samples))]
        assert len(samples) >= 50 * (shown.finding + 1)
        assert shown.clock - samples[-1].time < 1.0
        output = store.output(run_id, 1)["stdout"]
        assert output == b"".join(b"%08d" % index for index in range(len(output) // 8))
        assert len(output) // 8 >= 50 * (shown.finding + 1)


@pytest.mark.slow
def test_two_windows_record_at_once_and_leave_each_others_runs_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    names = [f"20261120-141530-{letter * 4}" for letter in "abcd"]
    with (
        recording(path, names[0], 40) as one,
        recording(path, names[1], 40) as two,
        recording(path, names[2], 40) as three,
        recording(path, names[3]) as endless,
    ):
        assert endless.stdout is not None
        endless.stdout.readline()
        store = Store(path)
        assert store.mark_interrupted() == []  # every owner is alive
        for process in (one, two, three):
            process.communicate(timeout=60)
            assert process.returncode == 0
        assert store.mark_interrupted() == []
        with pytest.raises(StoreError, match="in progress"):
            store.delete(names[3])
    assert store.mark_interrupted() == [names[3]]
    check_integrity(path)
    assert {line.id: line.state for line in store.runs()} == dict.fromkeys(names[:3], State.DONE) | {
        names[3]: State.PARTIAL
    }
    for name in names[:3]:
        (samples,) = store.samples(name).values()
        assert [sample.value for sample in samples] == [float(index) for index in range(2000)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 1 MiB."""
    mount = tmp_path / "small"
    mount.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {tried.stderr.strip()}")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def fill(recorder: Recorder) -> int:
    """Record output until the disk is full; return how many bytes were handed over."""
    for size in range(10_000, 2_000_000, 10_000):
        recorder.record(OutputRead(1, "stdout", b"x" * 10_000))
        try:
            recorder.flush()
        except StoreFullError:
            return size
    pytest.fail("the disk was never full")


def test_a_full_disk_is_reported_and_earlier_data_is_kept(small_disk: Path) -> None:
    run_id = "20261120-141530-full"
    store = Store(small_disk / "runs.sqlite3")
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(200_000))
    with store.recorder(run_id) as recorder:
        recorder.record(RunStarted(run_id, run_events.plan(), "2026-11-20T14:15:30+00:00"))
        written = fill(recorder)
        with pytest.raises(StoreFullError, match=r"No space .* is stored up to .* UTC\. Free space"):
            recorder.flush()
        kept = store.output(run_id, 1)["stdout"]
        assert 100_000 <= len(kept) < written
        ballast.unlink()
        recorder.record(RunEnded(run_id, State.PARTIAL, "The disk was full."))  # what waited is written with it
    assert store.output(run_id, 1)["stdout"] == b"x" * written
    assert store.load(run_id).reason == "The disk was full."
    check_integrity(store.path)


def test_gathering_is_short_enough_for_the_promise() -> None:
    assert COMMIT_INTERVAL <= 0.5
