"""Telemetry of this machine: live, cheap, and gone when nobody reads."""

import hashlib
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from remote.local import LocalSession
from remote.script import script
from remote.session import Channel, Session
from remote.telemetry.telemetry import Telemetry, TelemetryError, program
from suites.vocab import Sample
from tests.processes import ends
from tests.remote.test_telemetry_ticks import TELEMETRY_METRICS


@pytest.fixture(params=[False, True], ids=["program", "script"])
def telemetry(shell_session: Session, request: pytest.FixtureRequest) -> Iterator[Telemetry]:
    telemetry = Telemetry.start(shell_session, interval=0.1, script=request.param)
    yield telemetry
    telemetry.stop()


def ticks(telemetry: Telemetry, count: int) -> list[tuple[Sample, ...]]:
    return [telemetry.read(timeout=60.0) for _ in range(count)]


def uptime() -> float:
    return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])


def test_samples_come_on_the_hosts_clock(telemetry: Telemetry) -> None:
    before = uptime()
    levels, *rates = ticks(telemetry, 3)
    assert {sample.metric.name for sample in levels} >= {"load_1_minute", "memory_available"}
    names = {sample.metric.name for sample in rates[-1]}
    assert names >= {"cpu_user", "cpu_idle", "network_received", "swap_in"}
    assert {sample.metric for found in rates for sample in found} <= set(TELEMETRY_METRICS)
    times = [found[0].time for found in (levels, *rates)]
    assert times == sorted(times)
    assert before - 1 <= times[0]  # the first look may be from before the clock was read here
    assert times[-1] <= uptime() + 0.01  # /proc/uptime has a resolution of 10 ms


@pytest.mark.quick(2)
def test_the_cost_is_known_and_small(telemetry: Telemetry) -> None:
    assert telemetry.cost is None
    ticks(telemetry, 10)
    cost = telemetry.cost
    assert cost is not None
    assert 0.0 <= cost < 0.25  # ten ticks a second, in a test on a busy machine; at one a second it is a tenth


def test_a_loop_device_is_watched_where_it_is_asked_for(shell_session: Session) -> None:
    stats = Path("/proc/diskstats").read_text(encoding="ascii").split()
    loops = [name for name in stats if re.fullmatch(r"loop\d+", name)]
    if len(loops) < 2:
        pytest.skip("this kernel shows no loop devices")
    telemetry = Telemetry.start(shell_session, interval=0.1, loops=(loops[1], "loop0|vda) ", "sda"))
    try:
        _first, second = ticks(telemetry, 2)
    finally:
        telemetry.stop()
    devices = {dict(sample.labels).get("device", "") for sample in second}
    assert {name for name in devices if name.startswith("loop")} == {loops[1]}


def test_stop_ends_a_read_and_the_script(shell_session: Session) -> None:
    telemetry = Telemetry.start(shell_session, interval=120.0)
    assert telemetry.read(timeout=60.0)
    stopper = threading.Timer(0.1, telemetry.stop)
    stopper.start()
    started = time.monotonic()
    assert telemetry.read(timeout=100.0) == ()
    assert time.monotonic() - started < 60.0
    stopper.join()
    telemetry.stop()
    assert telemetry.read(timeout=1.0) == ()


def test_the_script_ends_when_nobody_reads() -> None:
    reader, writer = os.pipe()
    script = Path(__file__).parent.parent.parent / "resources" / "telemetry.sh"
    with script.open("rb") as source:
        pid = os.posix_spawnp(
            "setsid",
            ["setsid", "sh", "-s", "mark", "0.1"],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, source.fileno(), 0), (os.POSIX_SPAWN_DUP2, writer, 1)],
        )
    os.close(writer)
    assert os.read(reader, 10)
    os.close(reader)
    assert ends(pid)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("pipe", [True, False], ids=["pipe", "socket"])
def test_the_program_ends_at_once_when_nobody_reads(tmp_path: Path, *, pipe: bool) -> None:
    """An SSH server gives a command pipes or sockets; the end of a socket is a hang-up, not an error (poll(2))."""
    copy = tmp_path / "telemetry"
    copy.write_bytes(program(platform.machine()))
    copy.chmod(0o700)
    ours, its = os.pipe() if pipe else [end.detach() for end in socket.socketpair()]
    with subprocess.Popen([copy, "mark", "60", "", "", "5", "--"], stdout=its) as running:
        os.close(its)
        assert os.read(ours, 10)
        os.close(ours)
        assert running.wait(10.0) == 0
    assert not copy.exists()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_sample_too_large_for_the_buffer_still_has_its_end(tmp_path: Path) -> None:
    """With a buffer that is a little larger than what is kept for the end of a sample, and one process per sample."""
    source = (Path(__file__).parents[2] / "resources/probes/shipped/telemetry.c").read_text()
    for shipped, small in (("OUT = 1 << 20", "OUT = (1 << 16) + 2000"), ("MOST_PRINTED = 1024", "MOST_PRINTED = 1")):
        assert shipped in source
        source = source.replace(shipped, small)
    copy = tmp_path / "telemetry"
    (tmp_path / "telemetry.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-o", copy, tmp_path / "telemetry.c"], check=True)
    with subprocess.Popen([copy, "mark", "0.02", "", "", "1", "--"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(2000)]
        running.kill()
    samples = "".join(lines).split("@@mark tick ")[1:-1]
    assert len(samples) > 5
    assert all(sample.endswith("@@mark end\n") and "@@mark beside" in sample for sample in samples)
    assert all(sample.count("/stat:") - sample.count("/proc/stat:") <= 1 for sample in samples)
    assert max(map(len, samples)) < 4000


def telemetry_processes(lease: Path) -> list[int]:
    """Return the PIDs of running telemetry programs, whose files are deleted, with this lease."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                "/telemetry-" in str((path / "exe").readlink())
                and str(lease).encode() in (path / "cmdline").read_bytes()
            ):
                found.append(int(path.name))
    return found


@pytest.mark.parametrize("script", [False, True], ids=["program", "script"])
def test_it_ends_when_stopped_and_leaves_no_file(tmp_path: Path, *, script: bool) -> None:
    session = LocalSession("testhost")
    telemetry = Telemetry.start(session, interval=0.5, lease=str(tmp_path), script=script)
    ticks(telemetry, 2)
    running = telemetry_processes(tmp_path)
    assert len(running) == (0 if script else 1)
    assert telemetry.instrument == ("script" if script else hashlib.sha256(program(platform.machine())).hexdigest())
    assert [path.name for path in tmp_path.iterdir()] == ["touched"]
    telemetry.stop()
    assert all(ends(pid) for pid in running)
    session.close()


def test_where_no_program_may_run_the_script_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remote.telemetry.telemetry.program", lambda _architecture: b"#!/bin/false\n")
    session = LocalSession("testhost")
    telemetry = Telemetry.start(session, interval=0.1, lease=str(tmp_path))
    ticks(telemetry, 2)
    assert telemetry.instrument == "script"
    assert [path.name for path in tmp_path.iterdir()] == ["touched"]
    telemetry.stop()
    session.close()


def test_a_program_that_was_killed_is_continued_by_the_script(tmp_path: Path) -> None:
    session = LocalSession("testhost")
    telemetry = Telemetry.start(session, interval=0.1, lease=str(tmp_path))
    before = ticks(telemetry, 3)[-1][0].time
    (pid,) = telemetry_processes(tmp_path)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 30.0
    while telemetry.instrument != "script":
        assert time.monotonic() < deadline
        telemetry.read(10.0)
    assert (telemetry.replaced(), telemetry.replaced()) == (True, False)
    after = ticks(telemetry, 2)[-1]
    assert after[0].time > before
    assert "cpu_user" in {sample.metric.name for sample in after}
    telemetry.stop()
    session.close()


def test_an_end_while_the_program_is_copied_leaves_nothing() -> None:
    mark = os.urandom(8).hex()
    made = Path(f"/tmp/benchwright-lease-{mark}")
    text = b"unpack() { sleep 60; }\n" + script("telemetry.sh")
    with subprocess.Popen(
        ["sh", "-s", mark, "1", "", "", "5", "9"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as running:
        assert running.stdin is not None
        running.stdin.write(text)
        running.stdin.close()
        deadline = time.monotonic() + 10.0
        while not any(made.glob("telemetry-*")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGHUP)
        assert running.wait(10.0) == 0
    assert not made.exists()


def test_an_end_that_nobody_asked_for_is_told(behind: Callable[..., Session]) -> None:
    telemetry = Telemetry.start(behind("sh", "-c", "echo no such luck >&2; exit 1"))
    words = r"Telemetry of testhost stopped: its script ended \(no such luck\)"
    with pytest.raises(TelemetryError, match=words):
        ticks(telemetry, 2)
    telemetry.stop()


class Lying(LocalSession):
    """A host whose uptime goes back, whatever the script would say."""

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        mark = argv[3]
        shown = [f"@@{mark} page KernelPageSize:        4 kB", f"@@{mark} disks sda"]
        for uptime in (100.0, 101.0, 50.0, 60.0, 102.0):
            shown += [f"@@{mark} tick 0 {uptime} {1e9 + uptime}", "/proc/loadavg:0.5 0.5 0.5 1/100 1", f"@@{mark} end"]
        return super().open(["printf", "%s\\n", *shown])


def test_time_that_goes_back_is_no_sample() -> None:
    session = Lying("testhost")
    watching = Telemetry.start(session, script=True)
    seen: list[Sample] = []
    with suppress(TelemetryError):  # the end of what it prints
        while True:
            seen += watching.read(1.0)
    watching.stop()
    session.close()
    assert [sample.time for sample in seen if sample.metric.name == "load_1_minute"] == [100.0, 101.0, 102.0]


# Names a process that works as the leader of a job, then prints what sampled it and the metrics of five ticks.
SAMPLED = """
import os, subprocess, sys
from pathlib import Path
from remote.local import LocalSession
from remote.telemetry.telemetry import Telemetry
lease = Path(sys.argv[1], "lease")
lease.mkdir()
with subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) as leader:
    started = Path(f"/proc/{leader.pid}/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (lease / f"job={leader.pid}-{started}-{boot}").touch()
    telemetry = Telemetry.start(LocalSession("testhost"), 0.2, str(lease))
    names = {sample.metric.name for _ in range(5) for sample in telemetry.read(30.0)}
    print(telemetry.instrument, telemetry.refused() + telemetry.refused(), *sorted(names))
    telemetry.stop()
    leader.kill()
"""

FULL = "mount -t tmpfs -o size=4k none /tmp && dd if=/dev/zero of=/tmp/all bs=4k count=1 2>/dev/null"
NOEXEC = "mount -t tmpfs -o noexec none"


@pytest.mark.quick(4)
@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
@pytest.mark.parametrize("shell", ["dash", pytest.param("bash", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("mounts", "instrument"),
    [
        (f"{FULL} && mount -t tmpfs none /dev/shm", "program"),
        (f"{FULL} && {NOEXEC} /dev/shm && {NOEXEC} /var/tmp", "script"),
        (f"mount -t tmpfs -o ro none /tmp && {NOEXEC} /dev/shm && {NOEXEC} /var/tmp", "script"),
        (f"{NOEXEC} /tmp && {NOEXEC} /dev/shm", "program"),
        (f"{NOEXEC} /tmp && {NOEXEC} /var/tmp && {NOEXEC} /dev/shm", "script"),
        (f"mount -t tmpfs none /tmp && {NOEXEC} /dev/shm", "program"),
    ],
    ids=["full", "full and noexec", "read-only and noexec", "noexec but /var/tmp", "noexec", "noexec /dev/shm"],
)
def test_a_host_whose_tmp_is_of_no_use_is_sampled(mounts: str, instrument: str, shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    root, seen = Path(__file__).parents[2], Path("/mnt")  # /tmp, which is mounted over, may hold the project
    shells = root / ".pytest_cache" / f"shells-{os.urandom(8).hex()}"
    shells.mkdir(parents=True)
    python = Path(sys.executable)
    python = seen / python.relative_to(root) if python.is_relative_to(root) else python
    prepared = f'mount --bind "$0" {seen} && cd {seen} && {mounts} && exec "$@"'
    try:
        (shells / "sh").symlink_to(path)
        words = ["unshare", "--mount", "sh", "-c", prepared, str(root), str(python), "-c", SAMPLED, "/dev/shm"]
        first = seen / shells.relative_to(root)
        environment = {**os.environ, "PATH": f"{first}:{os.environ['PATH']}", "PYTHONPATH": str(seen)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
    finally:
        shutil.rmtree(shells)
    assert (done.returncode, done.stderr) == (0, "")
    sampled, refused, *names = done.stdout.split()
    assert sampled == ("script" if instrument == "script" else hashlib.sha256(program(platform.machine())).hexdigest())
    assert refused == str(int(instrument == "script"))  # reported once
    assert {"cpu_user", "tool_cpu_user", "tool_cpu_system"} <= set(names)
