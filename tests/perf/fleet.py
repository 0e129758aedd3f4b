"""Many hosts at once: connecting, memory, processor, lines lost, the window's longest stall; beside paramiko and ssh.

The hosts are names of one sshd on loopback, whose own work on this computer is the same for each of the three.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.perf.first_window import ROOT
from tests.perf.host import lab
from tests.perf.outcome import Met, Outcome, paired_ratio

SIZES = (1, 10, 50, 100)
PAIRS = 5
LINES = 9
RATIO, MEMORY, CPU, STALL = 1.2, 2.0**20, 0.08, 0.050

Found = dict[str, float]

IDLE = """
import select, time
last, longest = time.monotonic(), 0.0
while not select.select([0], [], [], 0.005)[0]:
    now = time.monotonic()
    last, longest = now, max(longest, now - last)
print(longest)
"""
"""A program that does nothing but look at the clock: how late it is ever woken is this computer's doing."""


def run() -> list[Outcome]:
    """Return what each number of hosts takes; the aims are for a hundred, and for the window at any number."""
    with lab() as host:
        _name_hosts(host.folder / "ssh_config", max(SIZES))
        return [line for size in SIZES for line in _size(size)]


def _name_hosts(config: Path, count: int) -> None:
    """Give the one host many names."""
    block = config.read_text().partition("\n")[2]
    aliases = " ".join(f"host{number}" for number in range(count))
    (Path.home() / ".ssh" / "config").write_text(f"Host {aliases}\n{block}")


def _size(count: int) -> list[Outcome]:
    pairs = [_connected(count, number) for number in range(PAIRS)]
    ratio = paired_ratio([ours["connect"] for ours, _ in pairs], [theirs["connect"] for _, theirs in pairs])
    sides = {side: _client(side, count, LINES) for side in ("benchwright", "bare", "ssh")}
    ours, least = sides["benchwright"], sorted(theirs["connect"] for _, theirs in pairs)[PAIRS // 2]
    lost = int(ours["lost"])
    aim, met = (f"under {RATIO:g}", ratio.under(RATIO)) if count == max(SIZES) else ("", Met.MET)
    others = f"{least:.2f} s; ssh, with a shell each, {sides['ssh']['connect']:.2f} s"
    connected = f"{count} hosts connected, by paramiko alone ({others})"
    stall, idle = (sorted(found[name] for found, _ in pairs)[PAIRS // 2] for name in ("stall_connecting", "idle"))
    connecting = f"{count} hosts: longest stall of the window while all connect (an idle program: {idle:.3f} s)"
    return [
        Outcome(connected, f"{ratio.value:.2f}", f"{ratio.low:.2f} to {ratio.high:.2f}", aim, met),
        Outcome(connecting, f"{stall:.3f} s", "", f"under {STALL:g} s", _met(stall, STALL)),
        _with_others(f"{count} hosts: MiB of memory a host", sides, "memory", 2**20, MEMORY),
        _with_others(f"{count} hosts: share of a core at a line a second each, %", sides, "cpu", 0.01, CPU),
        Outcome(f"{count} hosts: lines lost of {count * LINES}", str(lost), "", "0", Met.MISSED if lost else Met.MET),
        _following(count, ours),
    ]


def _following(count: int, ours: Found) -> Outcome:
    what = f"{count} hosts: longest stall of the window at a line a second each"
    busy = f" ({ours['stall_starting']:.3f} s while all jobs start at once, an idle program {ours['idle']:.3f} s)"
    return Outcome(what + busy, f"{ours['stall']:.3f} s", "", f"under {STALL:g} s", _met(ours["stall"], STALL))


def _with_others(what: str, sides: dict[str, Found], name: str, scale: float, aim: float) -> Outcome:
    """Return a figure of ours, in units of `scale`, with those of the others beside it."""
    bare, ssh, ours = (sides[side][name] for side in ("bare", "ssh", "benchwright"))
    title = f"{what} (paramiko alone {bare / scale:.2f}, ssh {ssh / scale:.2f})"
    return Outcome(title, f"{ours / scale:.2f}", "", f"under {aim / scale:g}", _met(ours, aim))


def _met(value: float, aim: float) -> Met:
    return Met.MET if value < aim else Met.MISSED


def _connected(count: int, number: int) -> tuple[Found, Found]:
    """Connect to all, with Benchwright and with paramiko, one after the other in an order that alternates."""
    order = ("benchwright", "bare") if number % 2 else ("bare", "benchwright")
    found = {side: _client(side, count, 0) for side in order}
    return found["benchwright"], found["bare"]


def _client(side: str, count: int, lines: int) -> Found:
    """Return what a client found, and as `idle` how late a program that does nothing was woken beside it."""
    words = [sys.executable, "-m", "tests.perf.fleet_client", side, str(count), str(lines)]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    control = [sys.executable, "-S", "-E", "-c", IDLE]
    with subprocess.Popen(control, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as idle:
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, env=environment, cwd=ROOT, timeout=300)
        shown, _ = idle.communicate()
    found: Found = json.loads(done.stdout)
    return found | {"idle": float(shown)}
