"""Rates that change within a trial as the lab sets them: the shape is known, the tool and the device are real."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from app.events import SampleRead
from app.records import RunRecord
from app.verdict.listing import listed
from tests.lab.pitfalls import fio, run_events
from tests.lab.staging import MIB, SlowDisk, Stage

IOPS = 1000
TICK = 0.1

Course = Callable[[float, float], float]
"""Returns the share of the rate at a moment of so many seconds."""


def _telegraph(moment: float, seconds: float) -> float:
    lengths = (0.14, 0.2, 0.12, 0.17, 0.15, 0.22)
    part, low = moment / seconds, False
    for length in lengths:
        if part < length:
            break
        part, low = part - length, not low
    return 0.6 if low else 1.0


COURSES: dict[str, Course] = {
    "flat": lambda _moment, _seconds: 1.0,
    "decay": lambda moment, seconds: 1 - 0.5 * moment / seconds,
    "rise": lambda moment, seconds: 0.5 + 0.5 * moment / seconds,
    "dip": lambda moment, seconds: 0.5 if 0.4 <= moment / seconds < 0.55 else 1.0,
    "peak": lambda moment, seconds: 1.0 if 0.4 <= moment / seconds < 0.55 else 0.5,
    "telegraph": _telegraph,
    "periodic stall": lambda moment, seconds: 0.05 if moment % (seconds / 5) > seconds / 5 - 1 else 1.0,
    "step down": lambda moment, seconds: 1.0 if moment < 0.6 * seconds else 0.6,
    "step up": lambda moment, seconds: 0.6 if moment < 0.6 * seconds else 1.0,
    "burst": lambda moment, seconds: 1.0 if moment < 0.25 * seconds else 0.3,
}


NAMED_BY = {
    "decay": "still-on-its-way",
    "rise": "still-on-its-way",
    "dip": "rate-dips",
    "peak": "rate-dips",
    "telegraph": "rate-alternates",
    "periodic stall": "rate-stalls",
    "step down": "changed-late",
    "step up": "changed-late",
    "burst": "token-bucket",
}
"""The check that names each shape; of a flat rate, none does."""

IDS = frozenset(NAMED_BY.values())


@contextmanager
def _followed(disk: SlowDisk, course: Course, seconds: float, start: float) -> Iterator[None]:
    """Let the disk's rate follow a course that began at `start`."""
    end = threading.Event()

    def follow() -> None:
        while not end.wait(TICK):
            disk.limit(iops=IOPS * course(min(seconds, time.monotonic() - start), seconds))

    thread = threading.Thread(target=follow, name="course")
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def run_course(stage: Stage, course: Course, seconds: int) -> RunRecord:
    """Measure random reads of a device whose rate follows a course; return the run."""
    disk = stage.slow_disk(iops=IOPS * course(0, seconds))
    given = {"directory": str(disk.folder), "size": 256 * MIB, "iodepth": 4, "runtime": seconds, "ramp_time": 0}
    plan = replace(fio(stage, **given), hosts=(stage.host()[0],))
    with ExitStack() as stack:
        following = False
        for event in run_events(stage, plan):
            if isinstance(event, SampleRead) and not following:
                following = True
                stack.enter_context(_followed(disk, course, seconds, time.monotonic() - event.sample.time))
    return stage.workstation.load("last")


def shape_found(record: RunRecord) -> frozenset[str]:
    """Return the ids of the shapes among the findings of a run that hold."""
    return frozenset(finding.id for finding in listed(record)) & IDS
