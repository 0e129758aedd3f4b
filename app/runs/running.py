"""Runs under way: every event stored before anybody else hears of it, from the first to the last, or to the next
time that somebody goes on with the run."""

import shlex
import time
from collections.abc import Generator, Iterator
from itertools import chain

from app.events import (
    Activity,
    Event,
    FactsRead,
    FindingRaised,
    LibraryChanged,
    Moment,
    OutputRead,
    RunEnded,
    RunLeft,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.judging.verdict_events import with_verdicts
from app.judging.watching import Watching, watching_again
from app.records import TrialRecord
from app.runs.concluding import Baseline, concluded, is_complete
from app.runs.control import Control, HostInUseError
from app.runs.left import LeftRun
from app.runs.run import Engine
from app.runs.trial import STOPPED
from app.store import Recorder, Store, StoreError
from app.store.errors import DamagedError, StoreBusyError, StoreFullError, StoreLostError, TakenOverError
from app.store.rescue import rescue
from remote.errors import ConnectError, RemoteError
from suites.base import Parsed
from suites.errors import BenchwrightError

FULL_AGAIN = 2.0
"""Seconds between two looks at whether a full disk has room again."""

BUSY_AGAIN = 0.25
"""Seconds between two tries at a library that another program uses."""

BUSY_SAID = 5.0
"""Seconds after which it is said that a run waits for that."""

STOPPING = 12.0
"""Seconds after Stop for which a library that another program uses is waited for."""

FAILED = "Benchwright failed while it ran; see the log."


def recorded(engine: Engine, store: Store, control: Control) -> Generator[Event]:
    """Yield the events of a new run. Left early, it is stopped and its end stored all the same.

    Raises HostInUseError where it was refused a host: nothing is stored then.
    """
    try:
        with store.recorder(engine.run_id) as recorder:
            yield from _stored(engine, recorder, control)
    except HostInUseError:
        store.delete(engine.run_id)
        raise


def attached(engine: Engine, taken: LeftRun, store: Store, control: Control, baseline: Baseline) -> Generator[Event]:
    """Yield what is stored of a detached run, then its events from now on.

    Raises what kept it from being attached: it then stays detached, unless every trial of it is made: then it
    ends without the host that is not reached.
    """
    with store.later_recorder(taken) as recorder:
        engine.take_over = recorder.own
        replayed = False
        try:
            # Read before anything is done: the library may be lost by the time that it is needed.
            output = {trial.trial.id: store.output_in_order(taken.id, trial.trial.id) for trial in taken.under_way}
            engine.stored_output = lambda trial: output.get(trial, ())
            yield from _replayed(taken, store)
            replayed = True
            for event in _stored(engine, recorder, control):
                yield event
                if isinstance(event, TrialAttached):
                    for stream, data in output.get(event.trial.id, ()):
                        yield OutputRead(event.trial.id, stream, data)
        except BenchwrightError as error:
            try:
                if engine.refused and isinstance(error, RemoteError) and is_complete(taken, baseline):
                    recorder.own()
                    yield from concluded(taken, recorder, baseline, str(error))
                    return
                if engine.refused or not replayed:  # else its end is recorded, or waits to be
                    if recorder.owns:
                        recorder.record(RunLeft(engine.run_id))
                    else:
                        store.left_runs()  # raises where the library was lost meanwhile
                    _name_way_out(error, taken)
            except (StoreLostError, DamagedError) as lost:
                lost.message = f"{error.message} {lost.message}"
                raise _put_elsewhere(recorder, lost) from error
            raise


def _name_way_out(error: BenchwrightError, taken: LeftRun) -> None:
    """Say in the remedy of `error`, where a host was not reached, why that matters and how to do without."""
    holding = {used.where for used in taken.workspaces} | {one.trial.host for one in taken.under_way}
    if not isinstance(error, ConnectError) or error.host not in holding:
        return
    error.remedy = (
        f"{error.remedy} Something of the run {taken.id} is still on {error.host}, so it stays detached. To end "
        f"it without its hosts: benchwright attach {taken.id} --forget"
    ).strip()


def _put_elsewhere(recorder: Recorder, failure: BenchwrightError) -> StoreError:
    """Save a run whose library takes nothing to a new file; return what says so, or that it could not be saved."""
    intact = isinstance(failure, StoreFullError | StoreBusyError)
    try:
        missing = rescue(recorder)
    except TakenOverError as error:
        return error
    except StoreError as error:
        remedy = error.remedy or failure.remedy
        if intact:
            remedy = f"{remedy} Then end the run there with: benchwright attach {recorder.run_id} --stop"
        return StoreError(f"{failure.message} {error.message}", remedy.strip())
    store = shlex.quote(str(recorder.path))
    return StoreLostError(
        f"{failure.message} {_saved(recorder, missing)}", f"Open it with: benchwright --store {store}"
    )


def _stored(engine: Engine, recorder: Recorder, control: Control) -> Generator[Event]:
    recorder.when_taken_over = control.lose
    watching = Watching() if engine.left is None else watching_again(engine.left.record)
    source = engine.events()
    events = with_verdicts(watching.follow(source), recorder, resumed=engine.left is not None)
    keeping = _Keeping(recorder, control)
    ended = by_user = False
    try:
        for event in events:
            yield from keeping.keep(event)
            ended = isinstance(event, RunEnded | RunLeft)
            yield event
    except (KeyboardInterrupt, GeneratorExit) as error:
        by_user = True
        keeping.hurried = isinstance(error, KeyboardInterrupt)
        raise
    finally:
        if not ended:
            (control.lose if recorder.taken_over else control.stop)()
            state, reason = (State.PARTIAL, STOPPED) if by_user else (State.FAILED, FAILED)
            # An interrupt ends the generators that it meets, and may leave the engine's as it was.
            keeping.wind_up(chain(events, source), None if engine.refused else RunEnded(engine.run_id, state, reason))


class _Keeping:
    """Records the events of a run, and waits, or saves the run elsewhere, where its library takes nothing.

    Where this computer's disk is full, another program uses the library, or it is gone or damaged, what measures on a
    host goes on there, its output waits to be read, and nothing else begins, until the library takes everything, or
    until another place is named. Where the user stops the run, it is saved to a new file; where another program uses
    the library, once STOPPING has passed. One that is let go of is saved if its library is lost; otherwise it is found
    there, at the next start, to be nobody's.
    """

    def __init__(self, recorder: Recorder, control: Control) -> None:
        self._recorder = recorder
        self._recorder.patience = 0.0  # it is tried again here, and said
        self._control = control
        self._put_by = False  # nothing is tried before the end
        self._reached = False  # the end was recorded, or waits to be
        self.hurried = False  # nothing is waited for any more

    def keep(self, event: Event) -> Iterator[Event]:
        """Record `event`, and read back what is stored of the run before its end is told.

        Yields what is to be said meanwhile. Raises StoreError where the user stops the run, and it can be saved
        nowhere.
        """
        self._reached = self._reached or isinstance(event, RunEnded | RunLeft)
        if self._put_by:
            self._recorder.put_by(event)
            if not self._reached:
                return
        taken, self._put_by = self._put_by, False
        waited: StoreError | None = None
        before, began = self._recorder.path, time.monotonic()
        while True:
            try:
                _record(event, self._recorder, taken=taken)
            except (StoreFullError, StoreLostError, DamagedError, StoreBusyError) as error:
                taken = True
                if self._lets_be(error):
                    return
                if self._control.over and not self._waits_for(error):
                    yield from self._rescued(error)
                elif self._is_brief(error, time.monotonic() - began):
                    self._control.wait(BUSY_AGAIN)
                else:
                    yield from self._paused(error, waited)
                    waited = error
            else:
                if waited is not None and self._recorder.path == before:  # where it is elsewhere, that was said
                    yield Activity(f"{_again(waited)}: the run goes on")
                    yield LibraryChanged(before)
                return

    def _lets_be(self, error: StoreError) -> bool:
        """Whether what the library refused with `error` is left waiting in memory."""
        if isinstance(error, StoreBusyError) and self._control.over and not self._reached:
            self._put_by = True  # first, what runs on the hosts is ended, or let go of
            return True
        intact = isinstance(error, StoreFullError | StoreBusyError)
        return self._control.left and intact and not self._waits_for(error)

    def _waits_for(self, error: StoreError) -> bool:
        """Whether a run that is over waits for its library all the same."""
        return isinstance(error, StoreBusyError) and not self._out_of_time()

    def _is_brief(self, error: StoreError, seconds: float) -> bool:
        """Whether nothing is said of a library that was in use for `seconds`: others write their runs to it, too."""
        return isinstance(error, StoreBusyError) and seconds < BUSY_SAID and not self._control.over

    def _paused(self, error: StoreError, before: StoreError | None) -> Iterator[Event]:
        """Say once why the run waits; wait, and go on elsewhere where another library was named."""
        over = self._control.over
        if over and (before is None or error.message != before.message):
            yield Activity(f"{error.message} It is waited for until {STOPPING:.0f} s after the stop.")
        elif before is None:
            yield Activity(f"paused: {error} {_once(error)}")
        yield LibraryChanged(self._recorder.path, error.message, error.remedy, "" if over else _on_stop(error))
        self._wait(BUSY_AGAIN if isinstance(error, StoreBusyError) else FULL_AGAIN)
        yield from self._moved()

    def wind_up(self, events: Iterator[Event], otherwise: Event | None) -> None:
        """Let a run that was stopped end in order, whatever the store takes of it; record `otherwise` as its end where
        it comes to none.

        Raises, after that, what kept it from being recorded, which says where everything is now.
        """
        failure: StoreError | None = None
        for event in self._to_the_end(events, otherwise):
            try:
                (self._recorder.put_by if failure or self._put_by else self._recorder.record)(event)
            except TakenOverError as error:
                self._control.lose()
                failure = error
            except StoreError as error:
                failure = error
        if not isinstance(failure, TakenOverError):
            failure = self._flushed(failure)
        if failure is None:
            return
        if isinstance(failure, TakenOverError) or (
            self._control.left and isinstance(failure, StoreFullError | StoreBusyError)
        ):
            raise failure
        raise _put_elsewhere(self._recorder, failure)

    def _to_the_end(self, events: Iterator[Event], otherwise: Event | None) -> Iterator[Event]:
        for event in events:
            self._reached = self._reached or isinstance(event, RunEnded | RunLeft)
            yield event
        if not self._reached and otherwise is not None:
            yield otherwise

    def _flushed(self, failure: StoreError | None) -> StoreError | None:
        """Write what waits; return what keeps it from being written, after the time there is for a library in use."""
        while True:
            try:
                self._recorder.flush()
            except StoreBusyError as error:
                if self._out_of_time():
                    return error
                time.sleep(BUSY_AGAIN)
            except StoreError as error:
                return failure or error
            else:
                return None

    def _out_of_time(self) -> bool:
        return self.hurried or not self._control.remaining(STOPPING)

    def _wait(self, seconds: float) -> None:
        """Wait `seconds`; of a run that is not over, until it is."""
        if self._control.over:
            time.sleep(seconds)
        else:
            self._control.wait(seconds)

    def _moved(self) -> Iterator[Event]:
        """Go on in another library, where one was named."""
        recorder, path = self._recorder, self._control.take_library()
        if path is None:
            return
        try:
            missing = recorder.save_as(path)
        except StoreError as error:
            yield Activity(f"not saved: {error}")
            yield LibraryChanged(recorder.path, error.message, error.remedy, _on_stop(error))
        else:
            yield Activity(_saved(recorder, missing))
            yield LibraryChanged(recorder.path)

    def _rescued(self, failure: StoreError) -> Iterator[Event]:
        yield Activity(f"saving the run to a new file: {failure.message}")
        missing = rescue(self._recorder)
        yield Activity(_saved(self._recorder, missing))
        yield LibraryChanged(self._recorder.path)


def _record(event: Event, recorder: Recorder, *, taken: bool) -> None:
    if taken:
        recorder.flush()
    else:
        recorder.record(event)
    if isinstance(event, RunEnded | RunLeft):
        recorder.flush()
        recorder.verify()


def _once(error: StoreError) -> str:
    """Return what a run waits for whose library refuses with `error`."""
    if isinstance(error, StoreBusyError):
        return "The run goes on once the library is free, or another file is named."
    if isinstance(error, StoreFullError):
        return "The run goes on once there is room."
    return "The run goes on once the library is back, or another file is named."


def _again(error: StoreError) -> str:
    if isinstance(error, StoreBusyError):
        return "the library is free again"
    return "there is room again" if isinstance(error, StoreFullError) else "the library takes the run again"


def _on_stop(error: StoreError) -> str:
    if isinstance(error, StoreBusyError):
        return f"if the library is still in use {STOPPING:.0f} s later, the run is saved to a new file"
    if isinstance(error, StoreFullError):
        return "the run is saved to a new file if another disk has room"
    return "the run is saved to a new file"


def _saved(recorder: Recorder, missing: str) -> str:
    return f"The run is in {recorder.path} now, and was read back. {missing}".strip()


def _replayed(taken: LeftRun, store: Store) -> Iterator[Event]:
    """Yield what was stored before the run was detached, but for the trial that was under way."""
    record, run_id = taken.record, taken.id
    yield RunStarted(run_id, record.plan, record.summary.started)
    for host, facts in record.facts_before.items():
        yield FactsRead(host, Moment.BEFORE, facts)
    for finding in record.findings:
        yield FindingRaised(finding)
    for host, watched in store.telemetry(run_id).items():
        yield TelemetryRead(host, watched)
    samples = store.samples(run_id)
    for trial in record.trials:
        if trial.state is not State.RUNNING:
            yield TrialStarted(trial.trial, None)
            for sample in samples.get(trial.trial.id, ()):
                yield SampleRead(trial.trial.id, sample)
            yield _ended(trial)


def _ended(record: TrialRecord) -> TrialEnded:
    parsed = Parsed(record.figures, (), record.notes, record.state is State.DONE)
    return TrialEnded(record.trial.id, record.state, record.exit_status, parsed, record.reason)
