"""A view that is opened while a host-run is under way gets each event once: what is stored, then what is new."""

from collections.abc import Iterable

import pytest

from app.events import (
    Event,
    FindingRaised,
    RunAttached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.fleet.watching import HostRunEvents
from app.fleet_study import HostRun
from app.store.store import Store
from suites.outputs import ParsedTrial
from suites.vocab import Sample
from tests.app.run_events import CPU_BUSY, FINDING, IOPS, plan, trial
from tests.app.stores import RUN, store

__all__ = ["store"]  # a fixture

ONE = HostRun(1, 1, "web-1", "web", run=RUN)
ENDED = TrialEnded(1, State.DONE, 0, ParsedTrial((), (), (), complete=True))


def sample(time: float) -> SampleRead:
    return SampleRead(1, Sample(time, IOPS, 1000.0 * time))


def watched(*times: float) -> TelemetryRead:
    return TelemetryRead("web-1", tuple(Sample(time, CPU_BUSY, 10.0) for time in times))


STORED = [
    RunStarted(RUN, plan(), "2026-11-20T14:15:30.000+00:00"), TrialStarted(trial(1), 2.0), FindingRaised(FINDING),
    sample(1), sample(2), watched(1, 2),
]  # fmt: skip


def stored(store: Store, events: Iterable[Event]) -> None:
    with store.recorder(RUN) as recorder:
        for event in events:
            recorder.record(event)


def times(events: Iterable[Event]) -> list[float]:
    """Return the times of the samples of the trial, in their order."""
    found: list[float] = []
    for event in events:
        if isinstance(event, TrialAttached):
            found += [one.time for one in event.samples]
        elif isinstance(event, SampleRead):
            found.append(event.sample.time)
    return found


def test_what_is_stored_comes_first_and_nothing_twice(store: Store) -> None:
    stored(store, STORED)
    events = HostRunEvents()
    reading = events.watch(store, ONE, lambda: True)
    seen = [next(reading)]
    for event in [*STORED[1:], sample(3), watched(2, 3), ENDED, RunEnded(RUN, State.DONE, "")]:
        events.put(ONE, event)  # the first of them before they were read from the library
    events.put(HostRun(2, 1, "web-2", "web"), sample(9))
    seen += list(reading)
    assert times(seen) == [1, 2, 3]
    assert [one.time for event in seen if isinstance(event, TelemetryRead) for one in event.samples] == [1, 2, 3]
    kinds = [type(event) for event in seen if not isinstance(event, SampleRead | TelemetryRead)]
    assert kinds == [RunStarted, RunAttached, FindingRaised, TrialAttached, TrialEnded, RunEnded]


def test_a_run_that_has_not_begun_is_watched_from_its_beginning(store: Store) -> None:
    events, rest = HostRunEvents(), [*STORED, ENDED, RunEnded(RUN, State.DONE, "")]
    carried = [True]

    def is_carried() -> bool:
        while rest:
            events.put(ONE, rest.pop(0))
        return carried[0]

    seen = list(events.watch(store, ONE, is_carried))
    assert times(seen) == [1, 2]
    assert isinstance(seen[-1], RunEnded)


def test_a_run_that_ended_meanwhile_has_its_end(store: Store) -> None:
    stored(store, [*STORED, ENDED, RunEnded(RUN, State.PARTIAL, "stopped")])
    seen = list(HostRunEvents().watch(store, ONE, lambda: False))
    assert isinstance(seen[-1], RunEnded)
    assert (seen[-1].state, seen[-1].reason) == (State.PARTIAL, "stopped")


@pytest.mark.parametrize("ends", [True, False])
def test_without_a_watcher_nothing_is_kept(store: Store, ends: bool) -> None:  # noqa: FBT001 (a parameter)
    stored(store, STORED)
    events = HostRunEvents()
    events.put(ONE, sample(5))
    reading = events.watch(store, ONE, lambda: False)
    seen = list(reading) if ends else [next(reading)]
    reading.close()
    assert 5 not in times(seen)
    assert not any(events._watching.values())
