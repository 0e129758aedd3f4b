"""The command line with shorter waits, for workers that tests kill: python -m tests.lab.fleet_worker_process WORDS.

BENCHWRIGHT_CLOCK_OFFSET sets the wall clock of the process by so many seconds, BENCHWRIGHT_DIES_AT ends it abruptly at
a point of a host-run (a key of POINTS or EVENTS, or "between trials"), and BENCHWRIGHT_TWICE has it put every job in
the queue twice.
"""

import datetime as dt
import os
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

OFFSET = float(os.environ.get("BENCHWRIGHT_CLOCK_OFFSET", "0"))

POINTS = {
    "claimed": ("claim_host_run", False),
    "run set": ("set_run_of_host_run", False),
    "run stored": ("confirm_host_run", True),
    "run ended": ("settle_host_run", True),
}
"""Methods of the library at which the process ends, and whether before or after the call."""

EVENTS = {
    "command planned": ("JobPlanned", False),
    "command started": ("JobBegan", True),
    "trial started": ("TrialStarted", True),
}
"""Events of a measuring command at which the process ends, and whether before or after they are stored."""

_time = time.time


class _Datetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> "_Datetime":
        return cls.fromtimestamp(_time() + OFFSET, tz)


def _set_clock() -> None:
    time.time = lambda: _time() + OFFSET
    dt.datetime = _Datetime  # type: ignore[misc]


def _die_at(point: str) -> None:
    """End the process at a point, as SIGKILL would: a process cannot send that to itself if its PID is 1."""
    from app.cli import worker
    from app.events import TrialEnded
    from app.store.store import Store

    if point in POINTS:
        name, before = POINTS[point]
        original: Callable[..., Any] = getattr(Store, name)

        def call(*arguments: Any, **named: Any) -> None:
            if not before:
                original(*arguments, **named)
            os._exit(137)

        setattr(Store, name, call)
    elif point in EVENTS:
        _die_at_event(*EVENTS[point])
    else:

        def note(_self: object, _study: object, _one: object, event: Any) -> None:
            if isinstance(event, TrialEnded):
                os._exit(137)

        patch.object(worker.WorkerLines, "event", note).start()


def _die_at_event(name: str, before: bool) -> None:  # noqa: FBT001 (as in EVENTS)
    from app.store.recorder import Recorder

    original = Recorder.record

    def record(self: Recorder, event: Any) -> None:
        last = type(event).__name__ == name and "measure" in getattr(event, "directory", "measure")
        if not last or not before:
            original(self, event)
        if last:
            os._exit(137)

    Recorder.record = record  # type: ignore[method-assign]


def _defer_twice() -> None:
    from app.fleet.job_queue import JobQueue

    original = JobQueue.defer

    def defer(self: JobQueue, connection: Any, jobs: Any) -> None:
        original(self, connection, [*jobs, *jobs])

    JobQueue.defer = defer  # type: ignore[method-assign]


if __name__ == "__main__":
    if OFFSET:
        _set_clock()
    from app.__main__ import main
    from remote import probe

    probe.WATCH = 0.0
    if point := os.environ.get("BENCHWRIGHT_DIES_AT"):
        _die_at(point)
    if os.environ.get("BENCHWRIGHT_TWICE"):
        _defer_twice()
    sys.argv[0] = "benchwright"
    main()
