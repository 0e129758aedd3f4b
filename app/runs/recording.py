"""Recording of a run's events: waiting for a library that cannot be written, and saving the run to another file."""

import shlex
import time
from collections.abc import Callable, Iterator

from app.events import Activity, Event, LibraryChanged, RunDetached, RunEnded
from app.library_location import Location
from app.runs.control import Control
from app.store.errors import (
    TRANSIENT,
    DamagedError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreLostError,
    TakenOverError,
)
from app.store.full_disk import move_to_new_file
from app.store.recorder import Recorder
from suites.errors import BenchwrightError

FULL_RETRY = 2.0
"""Seconds between retries while the disk is full."""

BUSY_RETRY = 0.25
"""Seconds between retries while another program locks the library."""

BUSY_REPORTED = 5.0
"""Seconds of a locked library after which the wait is reported."""

STOPPING = 12.0
"""Seconds after Stop during which a run waits for a locked library."""


class RecordingStage:
    """Stage that records events; if the library cannot be written, it waits or saves the run to another file.

    If the disk is full or the library is locked, missing or damaged, commands on hosts continue and their output
    waits to be read, but no new command starts until the library is writable or another file is named. On Stop the run
    is saved to a new file (for a locked library, after STOPPING). A detached run is saved only if its library is lost;
    otherwise the next start finds it there as detached.
    """

    def __init__(self, recorder: Recorder, control: Control, use_library: Callable[[Location], None]) -> None:
        """`use_library` is called with the location of the library as often as it becomes writable."""
        self._recorder = recorder
        self._recorder.patience = BUSY_RETRY  # retries happen here, where they are reported
        self._control, self._use_library = control, use_library
        self._deferred = False  # no write is tried before the end
        self._reached = False  # the end was recorded or queued
        self.hurried = False  # wait for nothing

    def __call__(self, event: Event) -> Iterator[Event]:
        """Record `event`, then yield it after the events about waiting for the library."""
        yield from self._recorded(event)
        yield event

    def _recorded(self, event: Event) -> Iterator[Event]:
        """Record `event`; at the end of the run also verify what is stored.

        Yields events about waiting. Raises StoreError if the run is stopped and cannot be saved anywhere.
        """
        self._reached = self._reached or isinstance(event, RunEnded | RunDetached)
        if self._deferred:
            self._recorder.defer(event)
            if not self._reached:
                return
        taken, self._deferred = self._deferred, False
        waited: StoreError | None = None
        before, began = self._recorder.location, time.monotonic()
        while True:
            try:
                _record(event, self._recorder, taken=taken)
            except (*TRANSIENT, DamagedError) as error:
                taken = True
                if self._defers(error):
                    return
                if self._control.over and not self._waits_for(error):
                    yield from self._moved_to_new_file(error)
                elif not self._is_brief(error, time.monotonic() - began):
                    yield from self._paused(error, waited)
                    waited = error
            else:
                if waited is not None and self._recorder.location == before:  # a move was reported by _moved()
                    yield Activity(f"{_texts(waited)[1]}: run resumed")
                    yield self._writable()
                return

    def _defers(self, error: StoreError) -> bool:
        """Whether events that the library refused with `error` stay queued in memory."""
        if isinstance(error, StoreBusyError) and self._control.over and not self._reached:
            self._deferred = True  # first stop or detach the commands on the hosts
            return True
        intact = isinstance(error, StoreFullError | StoreBusyError)
        return self._control.detached and intact and not self._waits_for(error)

    def _waits_for(self, error: StoreError) -> bool:
        """Whether a run that is over still waits for its library."""
        return isinstance(error, StoreBusyError) and not self._out_of_time()

    def _is_brief(self, error: StoreError, seconds: float) -> bool:
        """Whether a library locked for `seconds` is not reported yet: other runs write to it, too."""
        return isinstance(error, StoreBusyError) and seconds < BUSY_REPORTED and not self._control.over

    def _paused(self, error: StoreError, before: StoreError | None) -> Iterator[Event]:
        """Report once why the run waits; wait; move to another library if one was named."""
        over = self._control.over
        if over and (before is None or error.message != before.message):
            yield Activity(f"{error.message} Waiting for it until {STOPPING:.0f} s after the stop.")
        elif before is None:
            yield Activity(f"paused: {error} The run resumes once {_texts(error)[0]}.")
        yield LibraryChanged(self._recorder.location, error.message, error.remedy, "" if over else _texts(error)[2])
        self._wait(BUSY_RETRY if isinstance(error, StoreBusyError) else FULL_RETRY)
        yield from self._moved()

    def wind_up(self, events: Iterator[Event], otherwise: Event | None) -> None:
        """Drain the events of a stopped run and record what the store accepts; `otherwise` is its end if it has none.

        Raises StoreError at the end if something could not be recorded; its message says where the run is saved.
        """
        failure: StoreError | None = None
        for event in self._to_the_end(events, otherwise):
            try:
                (self._recorder.defer if failure or self._deferred else self._recorder.record)(event)
            except TakenOverError as error:
                self._control.note_taken_over()
                failure = error
            except StoreError as error:
                failure = error
        if not isinstance(failure, TakenOverError):
            failure = self._flushed(failure)
        if failure is None:
            return
        if isinstance(failure, TakenOverError) or (
            self._control.detached and isinstance(failure, StoreFullError | StoreBusyError)
        ):
            raise failure
        raise save_to_new_file(self._recorder, failure)

    def _to_the_end(self, events: Iterator[Event], otherwise: Event | None) -> Iterator[Event]:
        for event in events:
            self._reached = self._reached or isinstance(event, RunEnded | RunDetached)
            yield event
        if not self._reached and otherwise is not None:
            yield otherwise

    def _flushed(self, failure: StoreError | None) -> StoreError | None:
        """Write the queued events; return the error if that fails, for a locked library after the time limit."""
        while True:
            try:
                self._recorder.flush()
            except StoreBusyError as error:
                if self._out_of_time():
                    return error
                time.sleep(BUSY_RETRY)
            except StoreError as error:
                return failure or error
            else:
                return None

    def _out_of_time(self) -> bool:
        return self.hurried or not self._control.remaining(STOPPING)

    def _wait(self, seconds: float) -> None:
        """Wait `seconds`; if the run is not over yet, at most until it is."""
        if self._control.over:
            time.sleep(seconds)
        else:
            self._control.wait(seconds)

    def _moved(self) -> Iterator[Event]:
        """Move the run to another library if one was named."""
        recorder, path = self._recorder, self._control.take_library()
        if path is None:
            return
        try:
            missing = recorder.save_as(path)
        except StoreError as error:
            yield Activity(f"not saved: {error}")
            yield LibraryChanged(recorder.location, error.message, error.remedy, _texts(error)[2])
        else:
            yield Activity(_saved(recorder, missing))
            yield self._writable()

    def _moved_to_new_file(self, failure: StoreError) -> Iterator[Event]:
        yield Activity(f"saving the run to a new file: {failure.message}")
        missing = move_to_new_file(self._recorder)
        yield Activity(_saved(self._recorder, missing))
        yield self._writable()

    def _writable(self) -> LibraryChanged:
        """Have the library used that is written again; return the event."""
        self._use_library(self._recorder.location)
        return LibraryChanged(self._recorder.location)


def _record(event: Event, recorder: Recorder, *, taken: bool) -> None:
    """Record an event, one that the recorder has `taken` already by waiting for the library."""
    if taken:
        recorder.flush()
    else:
        recorder.record(event)
    if isinstance(event, RunEnded | RunDetached):
        recorder.flush()
        recorder.verify()


def _texts(error: StoreError) -> tuple[str, str, str]:
    """Return when a run resumes whose library fails with `error`, that it did, and what a stop does."""
    if isinstance(error, StoreBusyError):
        later = f"if the library is still locked {STOPPING:.0f} s later, the run is saved to a new file"
        return "the library is unlocked or another file is chosen", "library unlocked", later
    if isinstance(error, StoreFullError):
        later = "the run is saved to a new file if another disk has space"
        return "the disk has space", "disk space available", later
    later = "the run is saved to a new file"
    return "the library is available or another file is chosen", "library available", later


def _saved(recorder: Recorder, missing: str) -> str:
    return f"Run saved to {recorder.location} and verified. {missing}".strip()


def save_to_new_file(recorder: Recorder, failure: BenchwrightError) -> StoreError:
    """Save a run whose library cannot be written to a new file; return the error that names it, or the failure."""
    intact = isinstance(failure, StoreFullError | StoreBusyError)
    try:
        missing = move_to_new_file(recorder)
    except TakenOverError as error:
        return error
    except StoreError as error:
        remedy = error.remedy or failure.remedy
        if intact:
            remedy = f"{remedy} Then end the run there with: benchwright attach {recorder.run_id} --stop"
        return StoreError(f"{failure.message} {error.message}", remedy.strip())
    store = shlex.quote(str(recorder.location))
    return StoreLostError(
        f"{failure.message} {_saved(recorder, missing)}", f"Open it with: benchwright --store {store}"
    )
