"""How long the window's thread was ever away from its events: what people feel as a freeze."""

import contextlib
import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer

from tests.event_loop import process_events_while

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
    """The gaps between two beats of the window's event loop, in seconds, without the time in the run queue."""

    gaps: list[float] = field(default_factory=list)


def _queued() -> float:
    """Return the seconds that the threads of this process have waited for a processor (proc(5), schedstat)."""
    waited = 0
    for each in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            waited += int((each / "schedstat").read_text().split()[1])
    return waited / 1e9


@contextlib.contextmanager
def beating(parent: QObject) -> Iterator[Heart]:
    """Fail where the event loop, run within the block, was away from its events for too long.

    A busy computer makes every program slower. The time this process waited in the kernel's run queue is not counted:
    the thread of the window, or one that held the interpreter's lock. A control program measures the rest.
    """
    gc.collect()
    gc.freeze()  # what earlier tests left for the collector to look through is not this one's cost
    heart, timer = Heart(), QTimer(parent)
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    last, waited = time.monotonic(), _queued()

    def beat() -> None:
        nonlocal last, waited
        now, queued = time.monotonic(), _queued()
        heart.gaps.append(max(0.0, now - last - max(0.0, queued - waited)))
        last, waited = now, queued

    timer.timeout.connect(beat)
    words = [sys.executable, "-S", "-E", "-c", _CONTROL]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as control:
        last, waited = time.monotonic(), _queued()
        timer.start(15)  # each beat reads of every thread
        try:
            yield heart
            beats = len(heart.gaps)
            process_events_while(lambda: len(heart.gaps) == beats)  # the last gap ends after the block, and covers it
        finally:
            timer.stop()
            gc.unfreeze()
            shown, _ = control.communicate()
    slow, late = map(float, shown.split())
    away = max(heart.gaps)
    assert away < LONGEST * slow + late, f"the window was away for {away:.3f} s; others took {slow:.1f} times as long"
