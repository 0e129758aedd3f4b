"""How long the window's thread was ever away from its events: what people feel as a freeze."""

import contextlib
import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Qt, QTimer

LONGEST = 0.1
"""Seconds the window may be away on a computer that has nothing else to do."""

_CONTROL = """
import select, time
slow, late = 1.0, 0.0
while True:
    began, worked = time.monotonic(), time.process_time()
    while time.process_time() - worked < 0.02:
        pass
    slow = max(slow, (time.monotonic() - began) / 0.02)
    began = time.monotonic()
    if select.select([0], [], [], 0.08)[0]:
        break
    late = max(late, time.monotonic() - began - 0.08)
print(slow, late)
"""
"""How much longer a fiftieth of a second of work took at worst, and how late a program was woken."""


@dataclass(slots=True)
class Heart:
    """The gaps between two beats of the window's event loop, in seconds."""

    gaps: list[float] = field(default_factory=list)


@contextlib.contextmanager
def beating(parent: QObject, fewest: int = 20) -> Iterator[Heart]:
    """Fail where the event loop, run within the block, was away from its events for too long.

    On a computer that is busy with other things everybody takes longer: a program beside this one says by how much.
    """
    gc.collect()
    gc.freeze()  # what earlier tests left for the collector to look through is not this one's cost
    heart, timer = Heart(), QTimer(parent)
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        now = time.monotonic()
        heart.gaps.append(now - last)
        last = now

    timer.timeout.connect(beat)
    words = [sys.executable, "-S", "-E", "-c", _CONTROL]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as control:
        last = time.monotonic()
        timer.start(5)
        try:
            yield heart
        finally:
            timer.stop()
            gc.unfreeze()
            said, _ = control.communicate()
    slow, late = map(float, said.split())
    assert len(heart.gaps) * slow >= fewest
    away = max(heart.gaps)
    assert away < LONGEST * slow + late, f"the window was away for {away:.3f} s; others took {slow:.1f} times as long"
