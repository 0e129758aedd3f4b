"""Names for runs, and whether the process that records one is still alive."""

import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_READABLE = "abcdefghjkmnpqrstuvwxyz23456789"  # without i, l, o, 0 and 1, which are mistaken for each other


def new_run_id(now: datetime) -> str:
    """Return a run's id, such as ``20261120-141530-k3f9``: it sorts by time and can be read out.

    Four characters that are drawn tell apart the runs of one second.
    """
    drawn = "".join(secrets.choice(_READABLE) for _ in range(4))
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{drawn}"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from any later one with the same number by its boot and start time (clock ticks)."""

    pid: int
    boot: str
    started: int


def this_process() -> Owner:
    """Return the process that calls."""
    return Owner(os.getpid(), _boot_id(), _start_time(os.getpid()) or 0)


def is_alive(owner: Owner) -> bool:
    """Return whether `owner` still runs on this computer."""
    return owner.boot == _boot_id() and _start_time(owner.pid) == owner.started


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_time(pid: int) -> int | None:
    """Return when `pid` started: field 22 of /proc/PID/stat (proc(5)); None where it runs no more."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, *fields = status.rpartition(")")[2].split()  # the name before may hold spaces and brackets
    return None if state in {"Z", "X"} else int(fields[18])
