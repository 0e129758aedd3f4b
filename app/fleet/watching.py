"""The events of a host-run under way for a view that is opened meanwhile: those stored so far, then the new ones."""

import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from app.events import (
    Event,
    FindingRaised,
    RunDetached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.fleet_study import HostRun
from app.plans.plan import Plan
from app.runs.control import Control
from app.store.errors import StoreBusyError, StoreError, StoreLostError
from app.store.store import Store
from suites.vocab import Sample

LOOK_EVERY = 1.0
"""Seconds without an event after which it is checked whether the host-run is still carried."""


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run that this process carries. `control` stops or detaches it, `events` yields its events to its end."""

    id: str
    plan: Plan
    control: Control
    events: Callable[[], Generator[Event]]


class HostRunEvents:
    """Passes the events of the host-runs of a study to those that watch them. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watching: dict[int, list[SimpleQueue[Event]]] = defaultdict(list)

    def put(self, one: HostRun, event: Event) -> None:
        """Pass an event on; without a watcher nothing is kept."""
        with self._lock:
            for each in self._watching.get(one.number, ()):
                each.put(event)

    def watch(self, store: Store, one: HostRun, is_carried: Callable[[], bool]) -> Generator[Event]:
        """Yield the events of the run of a host-run until it ends or is no longer carried.

        Samples of the last half second before (see Recorder) may be missing. Raises StoreError if the library cannot
        be read.
        """
        with self._arriving(one.number) as arriving:
            known = _Known()
            for event in _stored(store, one.run):
                known.note(event)
                yield event
            while True:
                try:
                    event = arriving.get(timeout=LOOK_EVERY)
                except Empty:
                    if is_carried():
                        continue
                    break
                if (new := known.new_part(event)) is not None:
                    yield new
                if isinstance(event, RunEnded | RunDetached):
                    return
        record = store.load(one.run)
        if record.summary.state is not State.RUNNING:  # it ended before it was watched
            yield RunEnded(one.run, record.summary.state, record.reason)

    @contextmanager
    def _arriving(self, number: int) -> Iterator[SimpleQueue[Event]]:
        arriving: SimpleQueue[Event] = SimpleQueue()
        with self._lock:
            self._watching[number].append(arriving)
        try:
            yield arriving
        finally:
            with self._lock:
                self._watching[number].remove(arriving)


def _stored(store: Store, run: str) -> Iterator[Event]:
    """Yield what is stored of a run: nothing of one that has not begun."""
    from app.runs.run import stored_events  # the engine of runs takes its time to import

    try:
        record = store.load(run)
    except (StoreLostError, StoreBusyError):
        raise
    except StoreError:
        return
    yield from stored_events(record, store, running=True)


class _Known:
    """What was read of the library: events that arrived meanwhile may be among it."""

    def __init__(self) -> None:
        self._seen: set[object] = set()
        self._last: dict[object, float] = {}  # time of the last sample of each series

    def note(self, event: Event) -> None:
        """Note a stored event."""
        match event:
            case TrialAttached(trial=trial, samples=samples):
                self._seen.add((TrialStarted, trial.id))
                for sample in samples:
                    self._last[_series(trial.id, sample)] = sample.time
            case SampleRead(trial=trial_id, sample=sample):
                self._last[_series(trial_id, sample)] = sample.time
            case TelemetryRead(host=host, samples=samples):
                for sample in samples:
                    self._last[_series(host, sample)] = sample.time
            case _:
                self._seen.add(_key(event))

    def new_part(self, event: Event) -> Event | None:
        """Return the part of an event that was not noted; None without one."""
        match event:
            case SampleRead(trial=trial, sample=sample):
                return event if self._is_new(trial, sample) else None
            case TelemetryRead(host=host, samples=samples):
                new = tuple(sample for sample in samples if self._is_new(host, sample))
                return replace(event, samples=new) if new else None
        key = _key(event)
        return None if key is not None and key in self._seen else event

    def _is_new(self, source: int | str, sample: Sample) -> bool:
        return sample.time > self._last.get(_series(source, sample), float("-inf"))


def _series(source: int | str, sample: Sample) -> object:
    return source, sample.metric.name, sample.labels


def _key(event: Event) -> object:
    """Return what identifies an event that comes once in a run; None for others."""
    match event:
        case TrialStarted(trial=trial):
            return TrialStarted, trial.id
        case TrialEnded(trial=trial_id):
            return TrialEnded, trial_id
        case FindingRaised(finding=finding):
            return FindingRaised, finding.id, finding.step, finding.host, finding.measured
        case RunStarted(run_id=run):
            return RunStarted, run
        case _:
            return None
