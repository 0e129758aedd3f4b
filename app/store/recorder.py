"""Writes down a run as it happens."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, select, update

from app.events import (
    Activity,
    Event,
    LibraryChanged,
    LinkChanged,
    OutputRead,
    Progress,
    RunAttached,
    RunEnded,
    RunLeft,
    SampleRead,
    StepEnded,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
)
from app.moments import now
from app.records import RunRecord, SampleSeries
from app.runs.left import LeftRun
from app.store import reading, schema
from app.store.batch import Batch, Known
from app.store.database import Database
from app.store.errors import (
    UNCHANGED,
    DamagedError,
    ReadOnlyError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    TakenOverError,
    cannot_write,
)
from app.store.held import Held
from app.store.library_file import PATIENCE, make_new, remove_library
from app.store.read_back import Written, read_back
from app.store.run_connection import RunConnection
from app.store.run_writer import RunWriter
from suites.vocab import Sample

log = logging.getLogger(__name__)

GATHERING = 0.5
"""Seconds for which samples and output are gathered before they are committed."""

BEAT = 5.0
"""Seconds after which a recorder that has nothing to write gives a sign of life: it dates the run anew."""

LOOK = 2.0
"""Seconds for which the pages of a library are looked at when a run ends there; every row of the run is read."""

_live: set[str] = set()
"""Runs that this process records now. A run that names this process as its owner and is not here was given up."""


def is_recorded_here(run_id: str) -> bool:
    """Return whether a recorder of this process still writes the run."""
    return run_id in _live


class Recorder:
    """Takes the events of one run, from any thread, and keeps them.

    What happened once (a trial began, ended, a finding) is on disk when record() returns. Samples and output are
    gathered for GATHERING seconds, so a crash costs less than a second of them. What could not be written because
    of a StoreError waits, and is tried again with the next event.

    Every transaction is refused with TakenOverError once another process has taken the run over.
    """

    def __init__(
        self,
        database: Database,
        run_id: str,
        left: LeftRun | None = None,
        take_over: Callable[[], int] | None = None,
    ) -> None:
        """Write down the run `run_id`, or go on with one that was `left` to itself.

        With `take_over`, which returns the epoch to write under, nothing is written before own() has called it.
        """
        self._run_id = run_id
        self._lock = threading.Lock()
        self._library = RunConnection(database, run_id)
        self._batch = Batch()
        self._waiting: list[Event] = []
        self._known = Known()
        self._held = Held()
        self._writer = RunWriter(run_id, database.path, left)
        self._committed = time.monotonic()
        self._kept_until = ""
        self.patience = PATIENCE
        """Seconds to wait, at each event, for another program that has the library locked."""
        self._failure: StoreError | None = None  # why the library takes nothing
        self._kept = ("", "")  # what of the run is kept after a failure, and its message
        self._samples: dict[int, list[Sample]] = {}
        self._epoch = 0 if left is None else left.epoch
        self._begun = left is not None  # the run is in the store
        self._over = False  # its end is, or that it was detached
        self._taken_over: TakenOverError | None = None
        self.when_taken_over: Callable[[], None] = lambda: None
        """Called, from a thread of the recorder's own, where nothing is recorded when it is seen."""
        self._take_over = take_over
        if left is not None:
            self._hold_stored()
        if self.owns:
            _live.add(run_id)
        self._closing = threading.Event()
        self._beating = threading.Thread(target=self._beat, name=f"beat {run_id}", daemon=True)
        self._beating.start()

    def _hold_stored(self) -> None:
        """Hold all that is stored of a run that is gone on with: of a library that is emptied nothing can be read."""
        try:
            with self._library.database.transaction(self._library.connected()) as connection:
                self._known.written = read_back(connection, self._run_id) or Written()
                self._held = Held.of_stored(connection, self._run_id)
        except BaseException:
            self._library.close()
            raise

    @property
    def run_id(self) -> str:
        """The run that is written down."""
        return self._run_id

    @property
    def folder(self) -> Path | None:
        """The folder of the library, None where it is gone."""
        return self._library.folder()

    @property
    def path(self) -> Path:
        """Where the run is written down now."""
        return self._library.database.path

    def record(self, event: Event) -> None:
        """Keep `event`; raise StoreError where the store cannot take it, saying what is kept."""
        with self._lock:
            self._refuse_taken_over()
            self._take(event)
            if self.owns and (self._waiting or time.monotonic() - self._committed >= GATHERING):
                self._commit()

    def put_by(self, event: Event) -> None:
        """Keep `event` with what waits, for when the store takes something again: it has just refused."""
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case Activity() | LibraryChanged() | Progress() | LinkChanged() | RunAttached() | StepEnded():
                return
            case OutputRead(trial, stream, data):
                self._batch.add_output(trial, stream, data)
            case SampleRead(trial, sample):
                self._batch.add_samples(trial, None, [sample])
                self._samples.setdefault(trial, []).append(sample)
            case TelemetryRead(host, samples):
                self._batch.add_samples(None, host, samples)
            case TrialAttached(trial, _, samples):
                self._samples[trial.id] = list(samples)
                self._waiting.append(event)
            case TrialEnded(trial, parsed=parsed):
                if parsed.samples == tuple(self._samples.pop(trial, ())):  # nothing but what was committed as it came
                    event = replace(event, parsed=replace(parsed, samples=()))
                self._waiting.append(event)
            case _:
                self._waiting.append(event)

    def flush(self, patience: float | None = None) -> None:
        """Commit what was gathered; wait `patience` seconds for another program, or as long as at each event."""
        with self._lock:
            self._refuse_taken_over()
            if self.owns and (self._batch or self._waiting):
                self._commit(patience)

    @property
    def owns(self) -> bool:
        """Whether this process records the run; until then, what is to be recorded waits in memory."""
        return self._take_over is None

    def own(self) -> None:
        """Take the run over, where that was put off; raise StoreError where it is not to be had any more."""
        with self._lock:
            if self._take_over is not None:
                self._epoch, self._take_over = self._take_over(), None
                self._writer.epoch = self._epoch
                _live.add(self._run_id)

    @property
    def taken_over(self) -> bool:
        """Whether another process has taken the run over, as far as was seen."""
        return self._taken_over is not None

    def _refuse_taken_over(self) -> None:
        if self._taken_over is not None:
            raise self._taken_over

    def _beat(self) -> None:
        """Give signs of life until close(): they tell Benchwrights that cannot see this process that it lives."""
        while not self._closing.wait(BEAT):
            with self._lock, contextlib.suppress(StoreError):  # what is recorded next will meet it, and say so
                quiet = time.monotonic() - self._committed >= BEAT
                if self.owns and self._begun and not self._over and self._taken_over is None and quiet:
                    self._write(patience=0.0)
            if self._taken_over is not None:
                self.when_taken_over()
                return

    def stored(self) -> RunRecord:
        """Return what is stored of the run by now, without its samples."""
        self.flush(None if self._failure else PATIENCE)
        with self._library.database.reading() as connection:
            return reading.record(connection, self._run_id)

    def stored_samples(
        self, trials: Sequence[int], host: str, window: tuple[float, float]
    ) -> tuple[SampleSeries, Mapping[str, tuple[Sample, ...]]]:
        """Return the stored samples of `trials`, and the telemetry of `host` in a window on its monotonic clock."""
        with self._library.database.reading() as connection:
            return (
                reading.samples(connection, self._run_id, trials),
                reading.telemetry(connection, self._run_id, host, window),
            )

    def verify(self) -> None:
        """Read over a new connection every row of the run at the store's path, and look at the store's pages.

        Raises StoreError where that cannot be read, StoreLostError where it is not what was written.
        """
        with self._lock:
            if not self.owns:
                return
            try:
                self._library.check(self._known.written, LOOK)
            except StoreError as error:
                self._failure = error
                raise

    def save_as(self, path: Path) -> str:
        """Write the library and what waits of the run to a new file at `path`, and go on there; return what is lost.

        The library is copied over the connection that is open, wherever its file is by now. Where it is damaged, where
        it is still at its place and takes nothing, or where the copy is not sound, the run alone is written, from
        memory. All of it is read back. Raises StoreError: nothing is changed then, and nothing is at `path`.
        """
        with self._lock:
            if self._copies():
                try:
                    return self._move_to(path, self._copy)
                except TakenOverError:
                    raise
                except StoreError:
                    log.info("no sound copy of %s", self.path, exc_info=True)
            self._refuse_elsewhere()
            return self._move_to(path, self._write_again)

    def _copies(self) -> bool:
        """Whether the pages of the library are worth a copy."""
        if isinstance(self._failure, StoreFullError | StoreBusyError):  # what else it holds stays there
            return not self._held.whole
        return not isinstance(self._failure, DamagedError | ReadOnlyError)

    def _move_to(self, path: Path, begin: Callable[[RunConnection], str]) -> str:
        """Let `begin` write what was committed to a new file at `path`, add what waits, check it, and go on there."""
        make_new(path)
        old, known = self._library, self._known
        self._library, self._writer.path = RunConnection(Database(path), self._run_id), path
        try:
            missing = begin(old)
            new, moment = self._transact()
            self._library.check(new.written)
        except BaseException as error:
            self._library.close()
            self._library, self._known, self._writer.path = old, known, old.database.path
            remove_library(path)
            if isinstance(error, OSError):
                raise cannot_write(path, error) from error
            raise
        self._have_written(new, moment)
        old.discard()
        return missing

    def close(self) -> None:
        """Commit what was gathered and let go of the store. A run that has not ended counts as interrupted."""
        self._closing.set()
        self._beating.join()
        try:
            if self._taken_over is None:
                self.flush(PATIENCE)
        finally:
            with self._lock:
                if self.owns:
                    _live.discard(self._run_id)
                self._library.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError:
            if not isinstance(error, StoreError):  # which says it already
                raise

    def _commit(self, patience: float | None = None) -> None:
        """Write what waits; where that fails, say what is kept."""
        try:
            self._write(self.patience if patience is None else patience)
        except TakenOverError:
            raise
        except StoreError as error:
            self._failure = error
            self._library.regain(error, self._known.written)
            message = error.message.removesuffix(UNCHANGED).strip()  # by us it was
            raise type(error)(f"{message} {self._kept_text(message)}", error.remedy) from error

    def _write(self, patience: float) -> None:
        """Write what waits in one transaction; where that fails, all of it goes on waiting."""
        try:
            known, moment = self._transact(patience)
        except TakenOverError as error:
            self._taken_over = error
            raise
        self._have_written(known, moment)

    def _transact(self, patience: float = PATIENCE) -> tuple[Known, str]:
        known, moment = self._known.copy(), now()
        with self._library.database.transaction(self._library.connected(patience)) as connection:
            self._check_epoch(connection)
            self._writer.write(connection, self._batch, self._waiting, known, moment, over=self._over)
        return known, moment

    def _have_written(self, known: Known, moment: str) -> None:
        """Take note that what waited was written at `moment`."""
        self._failure, self._kept = None, ("", "")
        self._held.add(self._batch, self._waiting, moment)
        self._known = known
        self._begun = True
        self._over = self._over or any(isinstance(event, RunEnded | RunLeft) for event in self._waiting)
        self._batch = Batch()
        self._waiting = []
        self._committed = time.monotonic()
        self._kept_until = f"{datetime.now(UTC):%H:%M:%S} UTC"

    def _kept_text(self, failure: str) -> str:
        """Return what is kept of the run, as far as it can be read back; it is read once for each `failure`."""
        if self._kept[0] != failure:
            found = None
            with contextlib.suppress(StoreError):
                found = self._library.read_back() if self._begun else None
            said = f"The run {self._run_id} is stored up to {self._kept_until or 'when it was detached'}."
            if not self._known.written.agrees(found):
                said = f"The measurements of the run {self._run_id} are in memory only."
            self._kept = (failure, said)
        return self._kept[1]

    def _copy(self, old: RunConnection) -> str:
        """Copy the library of `old`; return what is lost by that."""
        old.copy_to(self.path)
        return ""

    def _write_again(self, old: RunConnection) -> str:
        """Write what was committed of the run from memory; return what is lost by that."""
        measured = self._known.written
        self._known = Known()
        self.path.write_bytes(self._held.stored())
        with self._library.database.transaction(self._library.connected()) as connection:
            self._known.written = read_back(connection, self._run_id) or Written()
            own = update(schema.runs).where(schema.runs.c.id == self._run_id)  # it was held before it was taken over
            connection.execute(own.values(epoch=self._epoch))
        for batch, events, moment in self._held.commits():
            with self._library.database.transaction(self._library.connected()) as connection:
                self._writer.write(connection, batch, events, self._known, moment, over=self._over)
        others = "The other runs of the library are not in it."
        if isinstance(self._failure, StoreFullError | StoreBusyError):
            others = f"{old.database.path} still holds the other runs and the beginning of this one."
        if self._known.written.agrees(measured):
            return others
        return f"{others} Some samples and output of this run are missing."

    def _refuse_elsewhere(self) -> None:
        """Raise TakenOverError where the library, if it can be read, says that another process records the run."""
        try:
            with self._library.database.reading() as connection:
                self._check_epoch(connection)
        except TakenOverError as error:
            self._taken_over = error
            raise
        except StoreError:
            log.info("%s does not say who records %s", self.path, self._run_id, exc_info=True)

    def _check_epoch(self, connection: Connection) -> None:
        """Raise TakenOverError where the run was taken over since this recorder began."""
        table = schema.runs.c
        query = select(table.epoch, table.owner_host, table.owner_pid).where(table.id == self._run_id)
        found = connection.execute(query).one_or_none()
        if found is not None and found.epoch != self._epoch:
            by = f" by Benchwright on {found.owner_host} (process {found.owner_pid})" if found.owner_pid else ""
            raise TakenOverError(
                f"The run {self._run_id} was taken over{by}: this Benchwright records nothing more of it.",
                "Its commands continue on the hosts. “benchwright attach --list” shows whether the run waits.",
            )
