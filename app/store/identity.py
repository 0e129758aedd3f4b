"""Names for runs, and whether the process that records one is still alive."""

import getpass
import os
import secrets
import socket
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
    """A process, told apart from any later one with the same number by its boot and start time (clock ticks).

    `pid` is its number as /proc shows it in the PID namespace `space`; None where an older Benchwright did not note
    that. `where` is its account and computer, for people.
    """

    pid: int
    boot: str
    started: int
    space: str | None = None
    where: str = ""


def this_process() -> Owner:
    """Return the process that calls."""
    pid = _own_pid()
    return Owner(pid, _boot_id(), _start_time(pid) or 0, _own_space(), this_computer())


def this_computer() -> str:
    """Return the account and the computer of this process, for people elsewhere."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in containers
        account = str(os.getuid())
    return f"{account}@{socket.gethostname()}"


def is_alive(owner: Owner) -> bool | None:
    """Return whether `owner` still runs; None where it cannot be seen from here.

    The number of a process of another boot, computer or PID namespace (pid_namespaces(7)) says nothing here.
    """
    if not owner.pid:
        return False
    if owner.boot != _boot_id():
        return None
    if owner.space is None:  # by an older Benchwright: its number proves life, but not death
        return _start_time(owner.pid) == owner.started or None
    return _start_time(owner.pid) == owner.started if owner.space == _own_space() else None


def is_of_this_boot(owner: Owner) -> bool:
    """Return whether `owner` began since this computer started: its end may not be seen from here all the same."""
    return owner.boot == _boot_id()


def _own_pid() -> int:
    """Return our number as /proc shows it, which is another one where /proc is of an outer PID namespace."""
    try:
        return int(str(Path("/proc/self").readlink()))
    except (OSError, ValueError):
        return os.getpid()


def _own_space() -> str:
    """Return the PID namespace of this process (namespaces(7)); empty where the kernel does not show it."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())  # such as pid:[4026531836]
    except OSError:
        return ""


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
