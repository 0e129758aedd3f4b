"""Run ids, and ownership of runs: which process records a run, whether it is alive, and taking a run over."""

import getpass
import hashlib
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, select, update

from app.events import State
from app.store import schema
from app.store.dialects import dialect_of
from app.store.errors import StoreError
from app.timestamps import seconds_between

HEARTBEAT = 5.0
"""Interval of heartbeats in seconds: an idle recorder updates the run's `touched`."""

HEARTBEAT_TIMEOUT = 30.0
"""Seconds after its last heartbeat for which a recorder on another computer or in a container counts as alive.

Six times HEARTBEAT, to allow for a slow disk or network.
"""

recorded_in_process: set[str] = set()
"""Runs that this process records now. A run owned by this process and not in this set is no longer recorded."""

READABLE = "abcdefghjkmnpqrstuvwxyz23456789"  # without the easily confused i, l, o, 0 and 1


DRAWN = 8
"""Random characters of a run id: of 200 runs started in one second, two get the same with a probability of 2e-8."""


def new_run_id(now: datetime) -> str:
    """Return a new run id such as ``20261120-141530-k3f9x2ab``: UTC time, then random characters. Older ids had 4."""
    drawn = "".join(secrets.choice(READABLE) for _ in range(DRAWN))
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{drawn}"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, identified by PID, boot id and start time (clock ticks), so that PIDs may be reused.

    `pid` is the PID in the PID namespace `space`, which is None if recorded by an older Benchwright. `where` is its
    account and computer, for messages.
    """

    pid: int
    boot: str
    started: int
    space: str | None = None
    where: str = ""

    @property
    def number(self) -> int:
        """A number that no other process has, below 2**56."""
        identity = repr((self.pid, self.boot, self.started, self.space))
        return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:7])


def this_process() -> Owner:
    """Return the identity of this process, which is read once."""
    return _process(os.getpid())


@cache
def _process(_pid: int) -> Owner:
    """Return the identity of this process, which a fork would change with its number."""
    pid = _proc_pid()
    return Owner(pid, _boot_id(), _start_time(pid) or 0, _pid_namespace(), this_computer())


def this_computer() -> str:
    """Return ``account@computer`` of this process, for messages."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in containers
        account = str(os.getuid())
    return f"{account}@{socket.gethostname()}"


def is_alive(owner: Owner) -> bool | None:
    """Return whether `owner` still runs; None if unknown.

    The PID of a process of another boot, computer or PID namespace (pid_namespaces(7)) cannot be checked here.
    """
    if not owner.pid:
        return False
    if owner.boot != _boot_id():
        return None
    if owner.space is None:  # recorded without a namespace: a match proves it alive, a mismatch proves nothing
        return _start_time(owner.pid) == owner.started or None
    return _start_time(owner.pid) == owner.started if owner.space == _pid_namespace() else None


def is_of_this_boot(owner: Owner) -> bool:
    """Return whether `owner` started in this boot of this computer, perhaps in another PID namespace."""
    return owner.boot == _boot_id()


def _proc_pid() -> int:
    """Return this process's PID in /proc, which differs from getpid() if /proc is of an outer PID namespace."""
    try:
        return int(str(Path("/proc/self").readlink()))
    except (OSError, ValueError):
        return os.getpid()


def _pid_namespace() -> str:
    """Return the PID namespace of this process (namespaces(7)); empty if not readable."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())  # such as pid:[4026531836]
    except OSError:
        return ""


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_time(pid: int) -> int | None:
    """Return the start time of `pid`, field 22 of /proc/PID/stat (proc(5)); None if it does not run."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, *fields = status.rpartition(")")[2].split()  # comm, in parentheses, may contain spaces and ")"
    return None if state in {"Z", "X"} else int(fields[18])


def owner_row() -> Mapping[str, str | int | None]:
    """Return the columns that make this process the owner of a run."""
    owner = this_process()
    return {
        "owner_pid": owner.pid,
        "owner_boot": owner.boot,
        "owner_started": owner.started,
        "owner_space": owner.space,
        "owner_host": owner.where,
        "left_at": None,
    }


@dataclass(frozen=True, slots=True)
class RecordingOwner:
    """Owner of a run that has not ended; `touched` is its last heartbeat and `read` when this was read.

    Both are UTC, ISO 8601; on a server by its clock, in a file by those of the computers.
    """

    owner: Owner
    touched: str | None
    epoch: int
    read: str

    @property
    def silent(self) -> float:
        """Seconds since the last heartbeat; negative if the clocks differ."""
        return float("inf") if self.touched is None else seconds_between(self.touched, self.read)


def running(connection: Connection) -> dict[str, RecordingOwner]:
    """Return the runs that have not ended, with their current or last owner."""
    runs = schema.runs.c
    columns = (runs.owner_pid, runs.owner_boot, runs.owner_started, runs.owner_space, runs.owner_host)
    query = select(runs.id, runs.touched, runs.epoch, *columns).where(runs.state == State.RUNNING.value)
    rows = connection.execute(query).all()
    read = dialect_of(connection).moment(connection) if rows else ""
    return {
        run: RecordingOwner(Owner(pid, boot, started, space, where or ""), touched, epoch, read)
        for run, touched, epoch, pid, boot, started, space, where in rows
    }


def is_recorded(run_id: str, recording: RecordingOwner) -> bool:
    """Return whether a process records the run, without waiting.

    A process in another PID namespace or on another computer counts as alive by its heartbeats in the library.
    """
    owner = recording.owner
    if owner == this_process():
        return run_id in recorded_in_process
    alive = is_alive(owner)
    return abs(recording.silent) <= HEARTBEAT_TIMEOUT if alive is None else alive


def unrecorded_runs(connection: Connection) -> list[str]:
    """Return the runs that have not ended and that no process records."""
    return [run for run, recording in running(connection).items() if not is_recorded(run, recording)]


def recorded_runs(connection: Connection) -> frozenset[str]:
    """Return the runs that a process records."""
    return frozenset(run for run, recording in running(connection).items() if is_recorded(run, recording))


def refuse_recorded(run_id: str, recording: RecordingOwner) -> None:
    """Raise StoreError if a process records the run."""
    if not is_recorded(run_id, recording):
        return
    owner = recording.owner
    if is_alive(owner):
        raise StoreError(f"The run {run_id} is in progress: process {owner.pid} records it.", "Stop it first.")
    raise _in_progress_error(run_id, recording, f"{max(0.0, recording.silent):.0f} s ago")


def _in_progress_error(run_id: str, recording: RecordingOwner, seen: str) -> StoreError:
    where = recording.owner.where or "another computer or container"
    return StoreError(
        f"The run {run_id} is in progress: Benchwright on {where} (process {recording.owner.pid}) recorded it {seen}.",
        f"Stop it there. If it has ended, try again {HEARTBEAT_TIMEOUT:.0f} s after that.",
    )


def refuse_if_alive(run_id: str, before: RecordingOwner | None, after: RecordingOwner | None) -> None:
    """Raise StoreError if the heartbeat changed between two reads of the run; independent of clock differences."""
    if before is not None and after is not None and before.owner == after.owner and before.touched != after.touched:
        raise _in_progress_error(run_id, after, "a moment ago")


def is_unseen(connection: Connection, run_id: str) -> bool:
    """Return whether the end of the run's last recorder cannot be verified from this process."""
    owner = running(connection)[run_id].owner
    return not owner.pid or is_alive(owner) is None


def watch_seconds(recording: RecordingOwner) -> float:
    """Return the seconds to watch for heartbeats before taking a run over: the other computer's clock may differ, or
    a locked library may have delayed its heartbeats."""
    owner = recording.owner
    other_host = owner.where not in {"", this_computer()} or is_of_this_boot(owner)
    unseen = other_host and is_alive(owner) is None
    return 2 * HEARTBEAT if unseen and abs(recording.silent) > HEARTBEAT_TIMEOUT else 0.0


def take_over(connection: Connection, run_id: str) -> int:
    """Make this process the owner of the run; the new epoch stops the former owner's writes. Return the epoch."""
    table = schema.runs
    epoch = next_epoch(connection, [run_id])
    row = {**owner_row(), "touched": dialect_of(connection).moment(connection)}
    connection.execute(update(table).where(table.c.id == run_id).values(row))
    return epoch


def next_epoch(connection: Connection, runs: Sequence[str]) -> int:
    """Increment the epoch of runs, which stops their recorders' writes; return the epoch of the first."""
    table = schema.runs
    connection.execute(update(table).where(table.c.id.in_(runs)).values(epoch=table.c.epoch + 1))
    found = connection.execute(select(table.c.epoch).where(table.c.id.in_(runs))).scalars()
    return int(next(iter(found), 0))
