"""The queue of runs: add, order, start and end entries; shared with other processes through its file."""

import secrets
import time
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.events import Event, LinkChanged, Progress, RunAttached, RunStarted
from app.library_location import Location
from app.natural_order import natural_key
from app.plans.plan import LOCAL, Plan, host_label
from app.queue.entries import EntryState, QueueEntry, QueuePlace, again, moved, placed
from app.queue.machines import BOOT, Machine
from app.queue.queue_file import QueueContent, QueueFile
from app.runs.control import BusyPolicy, HostInUseError
from app.store.ownership import READABLE, this_process
from suites.errors import BenchwrightError

RETRY_AFTER = 15.0
"""Seconds until a run tries again whose host another process measures."""

_LIST = "List the queue with: benchwright queue"


class WaitsAgainError(HostInUseError):
    """A machine did not admit a run that was taken from the queue; its entry waits again."""


class QueueError(BenchwrightError):
    """The queue has no such entry, or its state does not allow the change."""


class RunQueue:
    """Runs that wait for their machines, and those under way, of all processes of the user on this computer.

    `machines` returns the machines of a plan. Methods may be called from any thread, but may block for a moment.
    """

    def __init__(self, path: Path, machines: Callable[[Plan], tuple[Machine, ...]]) -> None:
        self._file, self._machines = QueueFile(path), machines

    @property
    def path(self) -> Path:
        """The file of the queue, replaced at each change."""
        return self._file.path

    @staticmethod
    def is_own(entry: QueueEntry) -> bool:
        """Return whether this process runs an entry, or will."""
        return entry.owner == this_process()

    def places(self) -> tuple[QueuePlace, ...]:
        """Return every entry, those under way first, each with the reason why it waits."""
        return self._file.update(_placed)

    def add(
        self,
        plan: Plan,
        library: Location,
        *,
        owned: bool = True,
        session_series: str = "",
        detached: str = "",
        busy: BusyPolicy = BusyPolicy.REFUSE,
        waits: bool = True,
        stays: bool = True,
    ) -> QueueEntry:
        """Add a run of `plan` at the end; with `owned`, only this process starts it. The rest is as in QueueEntry."""
        made = QueueEntry(
            id="q" + "".join(secrets.choice(READABLE) for _ in range(4)),
            plan=plan,
            library=str(library),
            machines=self._machines(plan),
            session_series=session_series,
            detached=detached,
            busy=busy,
            waits=waits,
            stays=stays,
            owner=this_process() if owned else None,
        )
        self._file.update(lambda content: content.entries.append(made))
        return made

    def take(self, chosen: Collection[str] | None = None) -> list[QueueEntry]:
        """Mark the entries of this process that may start (of `chosen`, if given) as running, and return them."""
        me, started = this_process(), list[QueueEntry]()

        def take_next(content: QueueContent) -> bool:
            for place in _placed(content):
                if place.ready and place.entry.owner == me and (chosen is None or place.entry.id in chosen):
                    started.append(replace(place.entry, state=EntryState.RUNNING, refused=""))
                    _put(content, started[-1])
                    return True
            return False

        while self._file.update(take_next):  # one at a time: each changes what the others wait for
            pass
        return started

    def put_back(self, entries: Collection[QueueEntry]) -> None:
        """Let entries that take() returned, and that were not begun, wait again in their places."""

        def change(content: QueueContent) -> None:
            for entry in entries:
                _put(content, replace(entry, state=EntryState.WAITING))

        self._file.update(change)

    def adopt(self, library: Location, *, paused: bool = False) -> list[QueueEntry]:
        """Make this process the one that starts the entries of `library` that no process will start; return them.

        Those that are paused are left out, unless `paused`.
        """
        me = this_process()

        def change(content: QueueContent) -> list[QueueEntry]:
            free = [entry for entry in content.entries if entry.owner is None and entry.library == str(library)]
            adopted = [replace(entry, owner=me) for entry in free if paused or entry.state is EntryState.WAITING]
            for entry in adopted:
                _put(content, entry)
            return adopted

        return self._file.update(change)

    def move(self, entry_id: str, to: int) -> None:
        """Move a waiting entry to position `to`, from 1, among those that wait; raise QueueError."""

        def change(content: QueueContent) -> None:
            _waiting(content, entry_id)
            content.entries = moved(content.entries, entry_id, to)

        self._file.update(change)

    def pause(self, entry_id: str, *, paused: bool = True) -> None:
        """Pause a waiting entry, or resume it; raise QueueError."""
        state = EntryState.PAUSED if paused else EntryState.WAITING
        self._file.update(
            lambda content: _put(content, replace(_waiting(content, entry_id), state=state, refused="", retry_at=0.0))
        )

    def run_anyway(self, entry_id: str) -> None:
        """Let a waiting entry start although its machines are in use; raise QueueError."""
        self._file.update(
            lambda content: _put(content, replace(_waiting(content, entry_id), busy=BusyPolicy.ANYWAY, refused=""))
        )

    def remove(self, entry_id: str) -> QueueEntry:
        """Remove a waiting entry and return it; raise QueueError."""

        def change(content: QueueContent) -> QueueEntry:
            found = _waiting(content, entry_id)
            content.entries.remove(found)
            return found

        return self._file.update(change)

    def discard(self, entry_id: str) -> None:
        """Remove an entry if it waits."""
        with suppress(QueueError):
            self.remove(entry_id)

    @contextmanager
    def under_way(self, plan: Plan, library: Location, busy: BusyPolicy, entry_id: str = "") -> Iterator["RunMark"]:
        """Show a run of `plan` as under way in this context: the entry `entry_id` that take() returned, or a new one.

        If a machine does not admit an entry that `waits`, or another run of the queue uses that machine, the entry
        waits again, and WaitsAgainError is raised.
        """
        mark = RunMark(self._file, self._begin(plan, library, busy, entry_id))
        try:
            yield mark
        except HostInUseError as error:
            why = error.message
            if entry_id and self._file.update(lambda content: _refuse(content, entry_id, why)):
                raise WaitsAgainError(error.message, error.remedy) from error
            raise
        finally:
            self.drop(mark.entry_id)

    def drop(self, entry_id: str) -> None:
        """Remove an entry whose run is over; no effect on one that waits."""
        self._file.update(lambda content: _drop(content, entry_id))

    def _begin(self, plan: Plan, library: Location, busy: BusyPolicy, entry_id: str) -> str:
        if entry_id:
            return entry_id
        made = self.add(plan, library, busy=busy, waits=False, stays=False)
        self._file.update(lambda content: _put(content, replace(made, state=EntryState.RUNNING)))
        return made.id


@dataclass(slots=True)
class RunMark:
    """The entry of a run under way. Called on the threads of the run."""

    _file: QueueFile
    entry_id: str
    _admitted: set[str] = field(default_factory=set)
    _lost: set[str] = field(default_factory=set)

    def admit(self, host: str, boot: str) -> str:
        """Return which other run uses the machine of `host`, whose boot id is `boot`; empty if none does.

        A machine that was admitted once stays so for the run.
        """

        def change(content: QueueContent) -> str:
            own = _find(content, self.entry_id)
            machine = None if own is None else next((one for one in own.machines if one.name == host), None)
            if own is None or machine is None or not boot or host in self._admitted:
                return ""
            content.boots |= {key: boot for key in machine.keys if not key.startswith(BOOT)}
            return _user_of(content, own, host)

        in_use = self._file.update(change)
        if not in_use:
            self._admitted.add(host)
        return in_use

    def streams(self) -> list[str]:
        """Return the other hosts whose runs stream their results through this computer now."""

        def read(content: QueueContent) -> list[str]:
            others = [entry for entry in content.entries if entry.running and entry.id != self.entry_id]
            return sorted({machine.name for entry in others for machine in entry.machines} - {LOCAL}, key=natural_key)

        return self._file.update(read)

    def noted(self, events: Generator[Event]) -> Generator[Event]:
        """Yield `events`, and show the progress of the run in the queue."""
        with closing(events):
            for event in events:
                self._note(event)
                yield event

    def _note(self, event: Event) -> None:
        if isinstance(event, RunStarted | RunAttached):
            self._file.update(lambda content: _note(content, self.entry_id, run=event.run_id))
        elif isinstance(event, Progress):
            ends = None if event.remaining is None else time.time() + event.remaining
            done = f"{event.done}/{'?' if event.total is None else event.total}"
            self._file.update(lambda content: _note(content, self.entry_id, done=done, ends=ends))
        elif isinstance(event, LinkChanged) and event.state.broken is (event.host not in self._lost):
            self._lost ^= {event.host}
            hosts = ", ".join(map(host_label, sorted(self._lost, key=natural_key)))
            lost = f"connection to {hosts} lost" if hosts else ""
            self._file.update(lambda content: _note(content, self.entry_id, lost=lost, ends=None))


def _user_of(content: QueueContent, own: QueueEntry, host: str) -> str:
    """Return which run that is under way uses the machine of `host`, too."""
    known = {machine.name: machine.known(content.boots) for machine in own.machines}
    for other in content.entries:
        if other.id == own.id or not other.running or (own.run and other.run == own.run):
            continue  # the entry of a run that is attached may be left by its former process
        for its in (machine.known(content.boots) for machine in other.machines):
            if its.keys & known[host].keys:
                alias = "" if its.name == host else f", as {host_label(its.name)}"
                return f"the run {other.run or f'“{other.plan.name}”'} measures on {host_label(host)}{alias}"
    return ""


def _placed(content: QueueContent) -> tuple[QueuePlace, ...]:
    content.entries.sort(key=lambda entry: not entry.running)
    known = [
        replace(entry, machines=tuple(machine.known(content.boots) for machine in entry.machines))
        for entry in content.entries
    ]
    return placed(known, time.time())


def _find(content: QueueContent, entry_id: str) -> QueueEntry | None:
    return next((entry for entry in content.entries if entry.id == entry_id), None)


def _waiting(content: QueueContent, entry_id: str) -> QueueEntry:
    found = _find(content, entry_id)
    if found is None:
        raise QueueError(f"The queue has no entry “{entry_id[:40]}”.", _LIST)
    if found.running:
        raise QueueError(f"{entry_id} is under way: run {found.run or 'not begun'}.", "Stop it where it was started.")
    return found


def _put(content: QueueContent, entry: QueueEntry) -> None:
    content.entries = [entry if one.id == entry.id else one for one in content.entries]


def _note(content: QueueContent, entry_id: str, **changes: str | float | None) -> None:
    if (entry := _find(content, entry_id)) is not None:
        _put(content, replace(entry, **changes))  # type: ignore[arg-type]


def _refuse(content: QueueContent, entry_id: str, why: str) -> bool:
    """Let an entry wait again that was taken from the queue and whose host is in use; return whether it does."""
    entry = _find(content, entry_id)
    if entry is None:
        return False
    by_queue = any(_user_of(content, entry, machine.name) for machine in entry.machines)
    if by_queue or entry.waits:
        _put(content, again(entry, "" if by_queue else why.rstrip("."), 0.0 if by_queue else time.time() + RETRY_AFTER))
    return by_queue or entry.waits


def _drop(content: QueueContent, entry_id: str) -> None:
    content.entries = [entry for entry in content.entries if entry.id != entry_id or not entry.running]
