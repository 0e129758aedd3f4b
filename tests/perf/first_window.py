"""How long until the window is painted, beside the barest window with the same libraries; a process each."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.perf.host import move_home
from tests.perf.outcome import Outcome, paired_ratio

PAIRS = 12
AIM = 1.3
ROOT = Path(__file__).parent.parent.parent


def run() -> list[Outcome]:
    """Return the time to the first painted window as a ratio to a bare PySide6 and pyqtgraph window."""
    with tempfile.TemporaryDirectory() as folder:
        move_home(Path(folder) / "home")
        bare: list[float] = []
        ours: list[float] = []
        for name in ("bare", "benchwright"):
            _seconds(name)  # what the disk has to give is warm from here on
        for number in range(PAIRS):
            sides = [("bare", bare), ("benchwright", ours)]
            for name, times in sides if number % 2 else reversed(sides):
                times.append(_seconds(name))
    ratio = paired_ratio(ours, bare)
    medians = [sorted(times)[len(times) // 2] for times in (ours, bare)]
    what = f"first painted window by a bare one ({medians[0]:.2f} s by {medians[1]:.2f} s), {PAIRS} pairs, warm"
    return [
        Outcome(what, f"{ratio.value:.2f}", f"{ratio.low:.2f} to {ratio.high:.2f}", f"under {AIM}", ratio.under(AIM))
    ]


def _seconds(name: str) -> float:
    words = [sys.executable, "-m", "tests.perf.first_paint", name]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    began = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, cwd=ROOT) as process:
        assert process.stdout is not None
        shown = process.stdout.readline()
        passed = time.perf_counter() - began
    if shown != b"painted\n":
        raise RuntimeError(f"the window of {name} was not painted")
    return passed
