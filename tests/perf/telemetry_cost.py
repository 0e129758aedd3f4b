"""What telemetry costs a host beside vmstat 1: its program and its script, with a tree of processes to count."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from remote.telemetry.telemetry import RARELY, program, unpack
from tests.perf.outcome import Outcome, mean

WARM_UP = 3.0
"""Seconds after the start that are not counted: they find what the host has."""

WINDOW = 15.0
ROUNDS = 5
AIMS = {"program, 1 Hz": 0.001, "program, 10 Hz": 0.005, "script, 1 Hz": 0.01}
ARCHITECTURE = os.uname().machine
SCRIPT = Path(__file__).parents[2] / "resources" / "telemetry.sh"

# Eight processes of three threads that wake up often and work a little.
TREE = """
import os, threading, time
for _ in range(3):
    os.fork()
def work():
    while True:
        sum(range(1000))
        time.sleep(0.1)
[threading.Thread(target=work).start() for _ in range(2)]
"""


def run() -> list[Outcome]:
    """Return the share of one core that each takes, side by side, with a tree of 24 threads under test."""
    shares: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="benchwright-cost-") as folder:
        leader = subprocess.Popen([sys.executable, "-c", TREE], start_new_session=True)
        try:
            _name_leader(Path(folder), leader.pid)
            for _ in range(ROUNDS):
                for name, share in _round(Path(folder)).items():
                    shares.setdefault(name, []).append(share)
        finally:
            os.killpg(leader.pid, signal.SIGKILL)
            leader.wait()
    beside = f"; vmstat 1: {mean(shares['vmstat']).value:.3%}" if "vmstat" in shares else ""
    outcomes = []
    for name, aim in AIMS.items():
        found = mean(shares[name])
        what = f"telemetry alone ({name}), share of one core, 24 threads under test, {ROUNDS} windows of {WINDOW:g} s"
        interval = f"{found.low:.3%} to {found.high:.3%}"
        outcomes.append(Outcome(what + beside, f"{found.value:.3%}", interval, f"under {aim:.1%}", found.under(aim)))
    return outcomes


def _name_leader(lease: Path, pid: int) -> None:
    """Name the leader of the tree in the lease, as job.sh does."""
    started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (lease / f"job={pid}-{started}-{boot}").touch()


def _round(lease: Path) -> dict[str, float]:
    """Let all run at the same time for one window; return the share of one core that each took, with its children."""
    running = {
        "program, 1 Hz": _telemetry(lease, 1.0, program(ARCHITECTURE)),
        "program, 10 Hz": _telemetry(lease, 0.1, program(ARCHITECTURE)),
        "script, 1 Hz": _telemetry(lease, 1.0, b""),
    }
    if shutil.which("vmstat") is not None:
        running["vmstat"] = _started(["vmstat", "1"], b"")
    time.sleep(WARM_UP)
    began, before = time.monotonic(), {name: _used(process.pid) for name, process in running.items()}
    time.sleep(WINDOW)
    elapsed = time.monotonic() - began
    shares = {name: (_used(process.pid) - before[name]) / elapsed for name, process in running.items()}
    for process in running.values():
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
    return shares


def _used(pid: int) -> float:
    """Return the CPU seconds of a process with one thread (schedstat, in ns) and of its ended children (in ticks)."""
    own = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    children = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15]
    return own + sum(map(int, children)) / os.sysconf("SC_CLK_TCK")


def _telemetry(lease: Path, interval: float, code: bytes) -> subprocess.Popen[bytes]:
    arguments = (os.urandom(8).hex(), f"{interval:g}", str(lease), "", str(round(RARELY / interval)))
    before = unpack(code) if code else b""
    return _started(["sh", "-s", *arguments, str(len(code) or "")], before + SCRIPT.read_bytes())


def _started(words: list[str], text: bytes) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as source:
        source.write(text)
        source.seek(0)
        return subprocess.Popen(
            words, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
