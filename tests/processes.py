"""Processes that are not our children, for tests of what is left on a host: find them, wait for their end."""

import os
import select
import time
from collections.abc import Callable
from pathlib import Path


def processes_with(text: str, file: str = "environ") -> list[int]:
    """Return the processes whose `file` in /proc, such as environ or cmdline, has `text` in it."""
    found = []
    for path in Path("/proc").glob(f"[0-9]*/{file}"):
        try:
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue  # it ended meanwhile
    return found


def ends(pid: int, timeout: float = 60.0) -> bool:
    """Wait for a process to end; return whether it did."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([process], [], [], timeout)
    os.close(process)
    return bool(ready)


def until(holds: Callable[[], bool], timeout: float = 30.0) -> None:
    """Wait until a condition holds. Raises AssertionError if it does not in time."""
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
