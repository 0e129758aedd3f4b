"""What telemetry's script costs a host beside the tools that people leave running: vmstat 1, iostat 1 and sar 1."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.perf.outcome import Outcome, mean

WINDOW = 15.0
ROUNDS = 5
AIM = 0.005
SCRIPT = Path(__file__).parents[2] / "resources" / "telemetry.sh"
OTHERS = ("vmstat", "iostat", "sar")


def run() -> list[Outcome]:
    """Return the share of one core that the script takes at one look a second, and what the others take."""
    programs = {"telemetry": ["sh", "-s", "0123456789abcdef", "1"]}
    programs |= {name: [name, "1"] for name in OTHERS if shutil.which(name) is not None}
    shares: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, share in _round(programs).items():
            shares[name].append(share)
    found = mean(shares["telemetry"])
    neighbours = ", ".join(
        f"{name} 1: {mean(shares[name]).value:.2%}" if name in shares else f"{name} 1: not installed" for name in OTHERS
    )
    what = f"telemetry's script alone, share of one core at 1 Hz, {ROUNDS} windows of {WINDOW:g} s ({neighbours})"
    interval = f"{found.low:.2%} to {found.high:.2%}"
    return [Outcome(what, f"{found.value:.2%}", interval, f"under {AIM:.1%}", found.under(AIM))]


def _round(programs: dict[str, list[str]]) -> dict[str, float]:
    """Let all run at the same time for one window; return the share of one core that each took, with its children."""
    began = time.monotonic()
    running = {name: _started(words) for name, words in programs.items()}
    time.sleep(WINDOW)
    shares = {}
    for name, process in running.items():
        os.killpg(process.pid, signal.SIGTERM)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        shares[name] = (used.ru_utime + used.ru_stime) / (time.monotonic() - began)
    return shares


def _started(words: list[str]) -> subprocess.Popen[bytes]:
    with SCRIPT.open("rb") as script:
        return subprocess.Popen(
            words, stdin=script, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
