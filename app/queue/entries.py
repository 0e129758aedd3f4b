"""Entries of the queue, and the decision which of them may run now."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.plans.plan import Plan, host_label
from app.queue.machines import Machine
from app.runs.control import BusyPolicy
from app.store.ownership import Owner
from suites.quantities import duration_text

NOT_STARTED = "not started yet"
"""Why an entry waits that no process will start."""


class EntryState(StrEnum):
    """State of an entry. A paused entry waits until it is resumed, and lets others pass."""

    WAITING = "waiting"
    PAUSED = "paused"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A run that waits or is under way. `owner` is the process that runs it or will start it; None: no process yet.

    `session_series` and `detached` name what it continues: a session series, or a detached run. `run` is its run id
    once it has begun, `done` its progress such as ``3/6``, and `ends` when it is expected to end (seconds since the
    epoch), None if unknown; `lost` names lost connections. `refused` is why a host did not admit it, `retry_at` when
    it tries again; its turn passes to others until then. `waits`: it waits for a host that another process measures,
    instead of ending. `stays`: it remains in the queue when its process ends before it began.
    """

    id: str
    plan: Plan
    library: str
    machines: tuple[Machine, ...]
    state: EntryState = EntryState.WAITING
    session_series: str = ""
    detached: str = ""
    busy: BusyPolicy = BusyPolicy.REFUSE
    waits: bool = True
    stays: bool = True
    owner: Owner | None = None
    run: str = ""
    done: str = ""
    ends: float | None = None
    lost: str = ""
    refused: str = ""
    retry_at: float = 0.0

    @property
    def running(self) -> bool:
        """Whether it is under way."""
        return self.state is EntryState.RUNNING

    def shared(self, other: "QueueEntry") -> tuple[Machine, Machine] | None:
        """Return the first machine that it shares with `other`, as each of them names it; None if there is none."""
        pairs = ((mine, its) for mine in self.machines for its in other.machines if mine.keys & its.keys)
        return next(pairs, None)


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """An entry with the reason why it `waits`, empty if it may start; under way, only for a lost connection."""

    entry: QueueEntry
    waits: str = ""

    @property
    def ready(self) -> bool:
        """Whether it may start now."""
        return self.entry.state is EntryState.WAITING and not self.waits


def placed(entries: Sequence[QueueEntry], now: float) -> tuple[QueuePlace, ...]:
    """Return each entry with the reason why it waits at `now` (seconds since the epoch).

    First come, first served on each machine: an entry waits for those that run, and for those before it in the queue
    that will start as soon as their machines are free.
    """
    return tuple(_places(entries, now))


def _places(entries: Sequence[QueueEntry], now: float) -> Iterator[QueuePlace]:
    ahead = [entry for entry in entries if entry.running]
    for entry in entries:
        if entry.running:
            yield QueuePlace(entry, entry.lost)
            continue
        if entry.state is EntryState.PAUSED or entry.owner is None:
            yield QueuePlace(entry, "paused" if entry.owner is not None else NOT_STARTED)
            continue
        waits = "" if entry.busy is BusyPolicy.ANYWAY else _waits(entry, ahead, now)
        if not waits and entry.refused and entry.retry_at > now:
            waits = f"{entry.refused}; next try in {duration_text(max(1.0, entry.retry_at - now))}"
        else:
            ahead.append(entry)
        yield QueuePlace(entry, waits)


def _waits(entry: QueueEntry, ahead: Iterable[QueueEntry], now: float) -> str:
    """Return what `entry` waits for: ``waits for web-1: run R2, about 4 min left``; empty for nothing."""
    before = [(other, pair) for other in ahead if (pair := entry.shared(other)) is not None]
    if not before:
        return ""
    other, (mine, its) = before[0]
    alias = "" if mine.name == its.name else f" (the same machine as {host_label(its.name)})"
    more = f"; {len(before) - 1} more before it" if len(before) > 1 else ""
    return f"waits for {host_label(mine.name)}{alias}: {_what(other, now)}{more}"


def _what(entry: QueueEntry, now: float) -> str:
    if not entry.running:
        return f"“{entry.plan.name}” is first"
    left = ""
    if entry.ends is not None:
        seconds = entry.ends - now
        rough = 5 * round(seconds / 5) if seconds > 20 else round(seconds)
        left = f", about {duration_text(rough)} left" if rough > 0 else ", about to end"
    return f"run {entry.run or f'“{entry.plan.name}”'}{left}"


def moved(entries: Sequence[QueueEntry], entry_id: str, to: int) -> list[QueueEntry]:
    """Return `entries` with one that waits at position `to` (from 1) among those that wait."""
    under_way = [entry for entry in entries if entry.running]
    others = [entry for entry in entries if not entry.running and entry.id != entry_id]
    chosen = [entry for entry in entries if not entry.running and entry.id == entry_id]
    at = max(0, min(to - 1, len(others)))
    return [*under_way, *others[:at], *chosen, *others[at:]]


def again(entry: QueueEntry, refused: str, retry_at: float) -> QueueEntry:
    """Return `entry`, whose start was refused, as one that waits; its owner remains if only that may start it."""
    return replace(
        entry, state=EntryState.WAITING, run="", done="", ends=None, lost="", refused=refused, retry_at=retry_at
    )
