"""Who records a run: whether that Benchwright still lives, wherever it is, and how another takes the run over."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from app.events import State
from app.moments import now
from app.runs.left import seconds_since
from app.store import schema
from app.store.errors import StoreError
from app.store.identity import Owner, is_alive, is_of_this_boot, this_computer, this_process
from app.store.recorder import BEAT, is_recorded_here
from app.store.rows import owner_row

FRESH = 30.0
"""Seconds after its last sign of life for which a recorder that cannot be seen from here counts as alive.

A recorder gives one at least every BEAT seconds; the rest is for a disk or a network that is slow.
"""


@dataclass(frozen=True, slots=True)
class Recording:
    """Who records a run that has not ended; `touched` is the last sign of life: UTC, ISO 8601."""

    owner: Owner
    touched: str | None
    epoch: int

    @property
    def silent(self) -> float:
        """The seconds since the last sign of life, by this computer's clock; below 0 where the clocks differ."""
        return float("inf") if self.touched is None else seconds_since(self.touched)


def running(connection: Connection) -> dict[str, Recording]:
    """Return the runs that have not ended, and who records each, or did."""
    runs = schema.runs.c
    columns = (runs.owner_pid, runs.owner_boot, runs.owner_started, runs.owner_space, runs.owner_host)
    query = select(runs.id, runs.touched, runs.epoch, *columns).where(runs.state == State.RUNNING.value)
    return {
        run: Recording(Owner(pid, boot, started, space, where or ""), touched, epoch)
        for run, touched, epoch, pid, boot, started, space, where in connection.execute(query)
    }


def is_recorded(run_id: str, recording: Recording) -> bool:
    """Return whether somebody records the run, as far as can be told without waiting.

    A process that cannot be seen from here, because it is in another PID namespace or on another computer, is judged
    by its signs of life in the library.
    """
    owner = recording.owner
    if owner == this_process():
        return is_recorded_here(run_id)
    alive = is_alive(owner)
    return abs(recording.silent) <= FRESH if alive is None else alive


def gone(connection: Connection) -> list[str]:
    """Return the runs that have not ended and that nobody records."""
    return [run for run, recording in running(connection).items() if not is_recorded(run, recording)]


def refuse_recorded(run_id: str, recording: Recording) -> None:
    """Raise StoreError where somebody records the run."""
    if not is_recorded(run_id, recording):
        return
    owner = recording.owner
    if is_alive(owner):
        raise StoreError(f"The run {run_id} is under way.", "Stop it first, where it runs.")
    raise _elsewhere(run_id, recording, f"{max(0.0, recording.silent):.0f} s ago")


def _elsewhere(run_id: str, recording: Recording, seen: str) -> StoreError:
    where = recording.owner.where or "another computer or container"
    return StoreError(
        f"The run {run_id} is under way: Benchwright on {where} (process {recording.owner.pid}) recorded it {seen}.",
        f"Stop it there. If it has ended, try again {FRESH:.0f} s after that.",
    )


def refuse_beating(run_id: str, before: Recording | None, after: Recording | None) -> None:
    """Raise StoreError where a recorder gave a sign of life between two looks at the run: no clock deceives here."""
    if before is not None and after is not None and before.owner == after.owner and before.touched != after.touched:
        raise _elsewhere(run_id, after, "a moment ago")


def is_unseen(connection: Connection, run_id: str) -> bool:
    """Return whether it cannot be seen from here that the Benchwright which recorded the run has ended."""
    owner = running(connection)[run_id].owner
    return not owner.pid or is_alive(owner) is None


def watch_seconds(recording: Recording) -> float:
    """Return for how long to look for signs of life before a run is taken over: the clock of another computer may
    differ from ours, and another program may have had the library locked for long."""
    owner = recording.owner
    elsewhere = owner.where not in {"", this_computer()} or is_of_this_boot(owner)
    unseen = elsewhere and is_alive(owner) is None
    return 2 * BEAT if unseen and abs(recording.silent) > FRESH else 0.0


def take_over(connection: Connection, run_id: str) -> int:
    """Make this process the one that records the run, whose former recorder writes nothing from now on.

    Return the epoch that does.
    """
    table = schema.runs
    epoch = next_epoch(connection, [run_id])
    connection.execute(update(table).where(table.c.id == run_id).values({**owner_row(), "touched": now()}))
    return epoch


def next_epoch(connection: Connection, runs: Sequence[str]) -> int:
    """Take runs away from whoever records them; return the epoch of the first."""
    table = schema.runs
    connection.execute(update(table).where(table.c.id.in_(runs)).values(epoch=table.c.epoch + 1))
    found = connection.execute(select(table.c.epoch).where(table.c.id.in_(runs))).scalars()
    return int(next(iter(found), 0))
