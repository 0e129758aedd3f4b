"""Processes that are not our children, for tests of what is left on a host: find them, wait for their end."""

import contextlib
import os
import re
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


def job_groups(pid: int) -> list[Path]:
    """Return the cgroups made for the job of a process."""
    with contextlib.suppress(OSError):
        names = {line.rpartition("/")[2] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()}
        jobs = {name for name in names if re.fullmatch("benchwright-[0-9a-f]{16}-.+", name)}
        return [path for name in jobs for path in Path("/sys/fs/cgroup").rglob(name)]
    return []


def members(group: Path) -> list[int]:
    """Return the processes in a cgroup."""
    with contextlib.suppress(OSError):
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    return []


def removed(group: Path) -> bool:
    """Remove a cgroup; the kernel refuses for a moment after its last process has ended."""
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


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
