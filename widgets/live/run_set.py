"""The runs of the window: those under way, and those that wait in the queue."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.plans.plan import host_label
from app.questions import Asker
from app.queue.entries import EntryState, QueueEntry, QueuePlace
from app.queue.run_queue import RunQueue
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import duration_text
from widgets.jobs import BackgroundJob
from widgets.live.run_controller import STARTING, RunController, RunStart
from widgets.run_strip import LineState, QueueAction, StripLine

RETRY = 5000
"""Milliseconds between looks at the queue while a run waits: a host becomes free without notice."""

SETTLE = 300
"""Milliseconds after a change of the queue's file by another process until it is read."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What a look at the queue found: entries that were started, and every place."""

    started: tuple[QueueEntry, ...]
    places: tuple[QueuePlace, ...]


class RunSet(QObject):
    """Starts runs as the queue allows, side by side; each has a controller. `held`: nothing starts any more."""

    added = Signal(object)  # a RunController
    adopted = Signal(object)  # the first RunController of a queue that an earlier Benchwright left
    changed = Signal()
    ended = Signal(object)  # a RunController
    others_ended = Signal()  # a run of another process has ended, or its process

    def __init__(self, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation, self._asker = workstation, asker
        self.controllers: list[RunController] = []
        self._places: tuple[QueuePlace, ...] = ()
        self._looking: BackgroundJob | None = None
        self.held = False
        self._look_again = False
        self._to_add: deque[RunController] = deque()
        self._retry = QTimer(self, interval=RETRY)
        self._retry.timeout.connect(self.look)
        self._settle = QTimer(self, singleShot=True, interval=SETTLE)
        self._settle.timeout.connect(self.look)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._note_change)
        self.look()

    @property
    def active(self) -> list[RunController]:
        """The runs that are not over: under way or waiting."""
        return [one for one in self.controllers if not one.over]

    @property
    def running(self) -> list[RunController]:
        """The runs under way."""
        return [one for one in self.controllers if one.running]

    def start(self, request: RunStart) -> RunController:
        """Start a run, or let it wait; return its controller at once."""
        made = self._add(request)
        if request.stop or request.watched is not None:
            made.begin(None)
            return made
        self._to_add.append(made)
        if len(self._to_add) == 1:
            self._add_to_queue(made)
        return made

    def _add_to_queue(self, made: RunController) -> None:
        """Add a run to the queue; one after another, so that the order is that of the user."""
        request, queue, library = made.start_request, self._workstation.queue, self._workstation.library_location

        def add() -> QueueEntry:
            request.made()
            return queue.add(
                request.plan,
                library,
                busy=request.busy,
                session_series=request.series,
                detached="" if request.detached is None else request.detached.id,
            )

        BackgroundJob(add, self).start(
            lambda entry: self._added(made, entry),
            lambda error: made.end_waiting(str(error)),
            finished=self._add_next,
        )

    def _add_next(self) -> None:
        self._to_add.popleft()
        if self._to_add:
            self._add_to_queue(self._to_add[0])

    def adopt(self) -> None:
        """Start the entries that an earlier Benchwright left in the queue."""
        workstation = self._workstation
        BackgroundJob(lambda: workstation.queue.adopt(workstation.library_location, paused=True), self).start(
            self._adopted
        )

    def _adopted(self, entries: list[QueueEntry]) -> None:
        for entry in entries:
            request = RunStart(entry.plan, entry.busy, series=entry.session_series)
            self._add(request).entry = entry
        if entries:
            self.adopted.emit(self.controllers[-len(entries)])
        self.look()

    def _add(self, request: RunStart) -> RunController:
        made = RunController(request, self._workstation, self._asker, self)
        made.changed.connect(self.changed)
        made.ended.connect(lambda: self._end(made))
        self.controllers.append(made)
        self.added.emit(made)
        return made

    def _added(self, made: RunController, entry: QueueEntry) -> None:
        made.entry = entry
        if made.control.over:  # stopped meanwhile
            self.remove(made)
        self.look()

    def hold(self) -> None:
        """Start nothing from now on: the window closes, and the runs that wait stay in the queue."""
        self.held = True

    def look(self) -> None:
        """Start what may start, and read what the rest waits for."""
        if self.held:
            return
        if self._looking is not None:
            self._look_again = True
            return
        queue = self._workstation.queue
        mine = {one.entry.id for one in self.controllers if one.entry is not None and not one.running and not one.over}

        def work() -> _Look:
            return _Look(tuple(queue.take(mine)) if mine else (), queue.places())

        self._looking = BackgroundJob(work, self).start(self._looked, finished=self._look_ended)

    def _looked(self, found: _Look) -> None:
        before, self._places = self._under_way_elsewhere(), found.places
        if before - self._under_way_elsewhere():
            self.others_ended.emit()
        if not self._watcher.directories():  # the look has made it
            self._watcher.addPath(str(self._workstation.queue.path.parent))
        if self.held and found.started:  # taken while the window closed
            BackgroundJob(lambda: self._workstation.queue.put_back(found.started), self).start()
            return
        started = {entry.id: entry for entry in found.started}
        places = {place.entry.id: place for place in found.places}
        for one in self.active:
            if one.entry is None or one.running:
                continue
            if one.entry.id in started:
                one.begin(started[one.entry.id])
            elif (place := places.get(one.entry.id)) is None:
                one.end_waiting("Removed from the queue.")
            else:
                one.entry = place.entry
                one.wait(place.waits or STARTING, paused=place.entry.state is EntryState.PAUSED)
        self.changed.emit()

    def _under_way_elsewhere(self) -> set[str]:
        """Return the entries that other processes run."""
        return {place.entry.id for place in self._places if place.entry.running and not RunQueue.is_own(place.entry)}

    def _look_ended(self) -> None:
        """Look again while something may happen without notice: a host becomes free, a process is killed."""
        self._looking = None
        waiting = any(not one.running for one in self.active) or bool(self._under_way_elsewhere())
        (self._retry.start if waiting else self._retry.stop)()
        if self._look_again:
            self._look_again = False
            self.look()

    def _note_change(self) -> None:
        if not self._settle.isActive():
            self._settle.start()

    def _end(self, one: RunController) -> None:
        self.ended.emit(one)
        if any(not other.running for other in self.active):
            self.look()

    # Changes by the user

    def stop(self, one: RunController) -> None:
        """Stop a run that is under way, take one that waits from the queue, or forget one that is over."""
        if one.over:
            self.forget(one)
        elif one.running:
            one.stop()
        else:
            one.control.stop()
            self.remove(one)

    def remove(self, one: RunController) -> None:
        """Take a run that waits from the queue."""
        if (entry := one.entry) is not None:
            self._change(lambda: self._workstation.queue.discard(entry.id))

    def act(self, one: RunController, action: QueueAction) -> None:
        """Apply `action` to a run that waits."""
        if (entry := one.entry) is None:
            return
        queue = self._workstation.queue
        works: dict[QueueAction, Callable[[], object]] = {
            QueueAction.FRONT: lambda: queue.move(entry.id, 1),
            QueueAction.PAUSE: lambda: queue.pause(entry.id),
            QueueAction.RESUME: lambda: queue.pause(entry.id, paused=False),
            QueueAction.ANYWAY: lambda: queue.run_anyway(entry.id),
            QueueAction.REMOVE: lambda: queue.discard(entry.id),
        }
        self._change(works[action])

    def _change(self, work: Callable[[], object]) -> None:
        BackgroundJob(work, self).start(failed=self._changed_meanwhile, finished=self.look)

    def _changed_meanwhile(self, _error: BenchwrightError) -> None:
        """The entry has started or gone: the look that follows shows it."""

    def forget(self, one: RunController) -> None:
        """Remove a run that is over from the list."""
        self.controllers.remove(one)
        one.deleteLater()
        self.changed.emit()

    # Texts

    def lines(self, now: float) -> list[StripLine]:
        """Return every run of this window at `now`, then those of other processes, for the strip."""
        own = {one.entry.id for one in self.controllers if one.entry is not None}
        own |= {one.model.run_id for one in self.controllers if one.model.run_id}
        others = [place for place in self._places if not {place.entry.id, place.entry.run} & own and place.entry.owner]
        groups: dict[object, list[QueuePlace]] = {}
        for place in others:
            groups.setdefault((place.entry.owner, place.entry.plan.name, place.entry.running), []).append(place)
        return [*(one.line(now) for one in self.controllers), *map(_line_elsewhere, groups.values())]


def _line_elsewhere(places: Sequence[QueuePlace]) -> StripLine:
    """Return a run of another process: ``3/6 trials · about 4 min left · in another Benchwright``.

    Several runs with one plan, those of a fleet study, are one card: ``web-1 +7 · disk check``.
    """
    place, entry = places[0], places[0].entry
    left = "" if entry.ends is None else f"about {duration_text(max(0.0, entry.ends - time.time()))} left"
    done = f"{entry.done} trials" if entry.done else ""
    where = "" if RunQueue.is_own(entry) else "another Benchwright"
    detail = " · ".join(filter(None, [place.waits, done, left, where]))
    state = LineState.ELSEWHERE if entry.running else LineState.QUEUED
    hosts = tuple(dict.fromkeys(host for each in places for host in each.entry.plan.hosts))
    more = f" +{len(hosts) - 1}" if len(places) > 1 else ""
    title = f"{host_label(hosts[0])}{more} · {entry.plan.name}"
    lost = hosts if entry.running and place.waits and len(hosts) == 1 else ()
    return StripLine(f"entry-{entry.id}", title, detail, state, left=left, hosts=hosts, plan=entry.plan.name, lost=lost)
