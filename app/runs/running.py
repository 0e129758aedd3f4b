"""Runs under way: every event stored before anybody else hears of it, from the first to the last, or to the next
time that somebody goes on with the run."""

import shlex
from collections.abc import Generator, Iterator

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
from app.store import Recorder, Store, StoreError
from app.store.errors import DamagedError, StoreFullError, StoreLostError, TakenOverError
from app.store.rescue import rescue
from remote.errors import ConnectError, RemoteError
from suites.base import Parsed
from suites.errors import BenchwrightError

FULL_AGAIN = 2.0
"""Seconds between two looks at whether a full disk has room again."""


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
    with store.recorder(engine.run_id, taken) as recorder:
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
                    yield from concluded(taken, recorder, baseline, str(error))
                    return
                if engine.refused or not replayed:  # else its end is recorded, or waits to be
                    recorder.record(RunLeft(engine.run_id))
                    _name_way_out(error, taken)
            except (StoreLostError, DamagedError) as lost:
                raise _put_elsewhere(recorder, f"{error.message} {lost.message}") from error
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


def _put_elsewhere(recorder: Recorder, why: str) -> StoreLostError:
    """Save a run whose library was lost to a new file, and return what says so."""
    missing = rescue(recorder)
    store = shlex.quote(str(recorder.path))
    return StoreLostError(f"{why} {_saved(recorder, missing)}", f"Open it with: benchwright --store {store}")


def _stored(engine: Engine, recorder: Recorder, control: Control) -> Generator[Event]:
    recorder.when_taken_over = control.lose
    watching = Watching() if engine.left is None else watching_again(engine.left.record)
    events = with_verdicts(watching.follow(engine.events()), recorder, resumed=engine.left is not None)
    ended = False
    try:
        for event in events:
            yield from _kept(event, recorder, control)
            ended = isinstance(event, RunEnded | RunLeft)
            yield event
    finally:
        if not ended:
            (control.lose if recorder.taken_over else control.stop)()
            ended = _wound_up(events, recorder, control)
        if not ended and not engine.refused:
            recorder.record(RunEnded(engine.run_id, State.FAILED, "Benchwright failed while it ran; see the log."))


def _wound_up(events: Iterator[Event], recorder: Recorder, control: Control) -> bool:
    """Let a run that was stopped end in order, whatever the store takes of it; return whether it came to its end.

    Raises, after that, the first StoreError there was; where the library was lost, it says where everything is now.
    """
    failure: StoreError | None = None
    ended = False
    for event in events:
        try:
            (recorder.put_by if failure else recorder.record)(event)
        except TakenOverError as error:
            control.lose()
            failure = error
        except StoreError as error:
            failure = error
        ended = isinstance(event, RunEnded | RunLeft)
    if isinstance(failure, StoreLostError | DamagedError):
        raise _put_elsewhere(recorder, failure.message)
    if failure is not None:
        raise failure
    return ended


def _kept(event: Event, recorder: Recorder, control: Control) -> Iterator[Event]:
    """Record `event`, and read back what is stored of the run before its end is told.

    Where this computer's disk is full, or the library is gone, wait until it takes everything, or until another place
    is named: what measures on a host goes on there, its output waits to be read, and nothing else begins. Where the
    user stops or leaves the run, it is saved to a new file if the library is gone. Raises StoreFullError where the
    user stops the run, and what keeps it from being saved.

    A run that is let go of on a full disk is not told to the store: it is found, at the next start, to be nobody's.
    """
    waited: StoreError | None = None
    taken, before = False, recorder.path
    while True:
        try:
            taken = _record(event, recorder, taken=taken)
        except (StoreFullError, StoreLostError, DamagedError) as error:
            taken = True
            if control.over and not isinstance(error, StoreFullError):
                yield from _rescued(recorder)
                continue
            if control.left:
                return
            if control.stopped:
                raise
            if waited is None:
                yield Activity(f"paused: {error} The run continues once {_once(error)}.")
            waited = error
            yield LibraryChanged(recorder.path, error.message, error.remedy)
            control.wait(FULL_AGAIN)
            yield from _moved(recorder, control)
        else:
            if waited is not None and recorder.path == before:  # where it is elsewhere, that was said
                yield Activity(f"{_again(waited)}: the run goes on")
                yield LibraryChanged(recorder.path)
            return


def _record(event: Event, recorder: Recorder, *, taken: bool) -> bool:
    if taken:
        recorder.flush()
    else:
        recorder.record(event)
    if isinstance(event, RunEnded | RunLeft):
        recorder.flush()
        recorder.verify()
    return True


def _once(error: StoreError) -> str:
    return "there is room" if isinstance(error, StoreFullError) else "it is back, or another file is named"


def _again(error: StoreError) -> str:
    return "there is room again" if isinstance(error, StoreFullError) else "the library takes the run again"


def _moved(recorder: Recorder, control: Control) -> Iterator[Event]:
    """Go on in another library, where one was named."""
    path = control.take_library()
    if path is None:
        return
    try:
        missing = recorder.save_as(path)
    except StoreError as error:
        yield Activity(f"not saved: {error}")
        yield LibraryChanged(recorder.path, error.message, error.remedy)
    else:
        yield Activity(_saved(recorder, missing))
        yield LibraryChanged(recorder.path)


def _rescued(recorder: Recorder) -> Iterator[Event]:
    missing = rescue(recorder)
    yield Activity(_saved(recorder, missing))
    yield LibraryChanged(recorder.path)


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
