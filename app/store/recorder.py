"""Recorder of a run: buffers its events and commits them to the library."""

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, select, update

from app.detached_runs import DetachedRun
from app.events import (
    Activity,
    Event,
    LibraryChanged,
    LimitSeen,
    LinkChanged,
    OutputRead,
    Progress,
    RunAttached,
    RunDetached,
    RunEnded,
    SampleRead,
    StepEnded,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
)
from app.library_location import Location
from app.records import RunRecord, SampleSeries
from app.store import packed_samples, record_reader, run_reader, schema
from app.store.database import PATIENCE, Database
from app.store.errors import (
    DamagedError,
    ReadOnlyError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreLostError,
    TakenOverError,
    UnknownOutcomeError,
    cannot_write,
)
from app.store.file_database import FileDatabase
from app.store.library_file import create_file, remove_library
from app.store.opening import run_connection
from app.store.ownership import HEARTBEAT, recorded_in_process
from app.store.rows import Written
from app.store.run_connection import MemoryCopy, RunConnection, read_back
from app.store.run_writer import RunWriter, WriteBuffer, WrittenIds
from app.timestamps import now
from suites.vocab import Sample

log = logging.getLogger(__name__)

COMMIT_INTERVAL = 0.5
"""Seconds for which samples and output are buffered before a commit."""

PACKING = 5.0
"""Seconds for packing the samples of an ended run."""

PAGE_CHECK_TIME = 2.0
"""Seconds for checking the library's pages at the end of a run; the run's rows are always read in full."""


@dataclass(frozen=True, slots=True)
class _Unconfirmed:
    """What a transaction wrote at `moment` whose outcome is not known; `known` holds if it was committed."""

    batch: str
    known: WrittenIds
    moment: str
    buffer: WriteBuffer
    waiting: list[Event]


class Recorder:
    """Recorder of the events of one run, from any thread.

    Single events (start and end of a trial, a finding) are on disk when record() returns. Samples and output are
    buffered for COMMIT_INTERVAL seconds, so that a crash loses less than a second of them. After a StoreError, events
    stay queued and are retried with the next one.

    Every transaction raises TakenOverError once another process has taken the run over.
    """

    def __init__(
        self,
        database: Database,
        run_id: str,
        detached_run: DetachedRun | None = None,
        take_over: Callable[[], int] | None = None,
    ) -> None:
        """Record the run `run_id`, or continue the `detached_run`.

        With `take_over`, which returns the epoch to write under, nothing is written before claim() calls it.
        """
        self._run_id = run_id
        self._lock = threading.Lock()
        self._library = run_connection(database, run_id)
        self._buffer = WriteBuffer()
        self._waiting: list[Event] = []
        self._unconfirmed: _Unconfirmed | None = None
        self._known = WrittenIds()
        self._memory_copy = MemoryCopy()
        self._writer = RunWriter(run_id, database.location, detached_run)
        self._committed = time.monotonic()
        self._stored_until = ""
        self.patience = PATIENCE
        """Seconds to wait at each event for a locked library."""
        self._failure: StoreError | None = None  # why the last commit failed
        self._stored_text_cache = ("", "")  # message of the failure, and the text about what is stored of the run
        self._samples: dict[int, list[Sample]] = {}
        self._epoch = 0 if detached_run is None else detached_run.epoch
        self._begun = detached_run is not None  # the run is in the library
        self._over = False  # so is its end, or that it was detached
        self._taken_over: TakenOverError | None = None
        self.when_taken_over: Callable[[], None] = lambda: None
        """Called in the heartbeat thread when that finds that the run was taken over."""
        self._take_over = take_over
        if detached_run is not None:
            self._copy_stored()
        if self.owns:
            recorded_in_process.add(run_id)
        self._closing = threading.Event()
        self._beating = threading.Thread(target=self._beat, name=f"beat {run_id}", daemon=True)
        self._beating.start()

    def _copy_stored(self) -> None:
        """Copy the stored part of a continued run to memory: it could not be read from a library emptied later."""
        try:
            with self._library.transaction() as connection:
                self._known.written = read_back(connection, self._run_id) or Written()
                self._memory_copy = MemoryCopy.of_stored(connection, self._run_id)
        except BaseException:
            self._library.close()
            raise

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._run_id

    @property
    def folder(self) -> Path | None:
        """The folder of the library, None if it is gone."""
        return self._library.folder()

    @property
    def location(self) -> Location:
        """Where the current library is."""
        return self._library.database.location

    @property
    def path(self) -> Path:
        """The file of the current library. Raises StoreError for one on a server."""
        return self._library.database.path

    def record(self, event: Event) -> None:
        """Record `event`; raise StoreError if the library cannot be written, with what is stored of the run."""
        with self._lock:
            self._refuse_taken_over()
            self._take(event)
            if self.owns and (self._waiting or time.monotonic() - self._committed >= COMMIT_INTERVAL):
                self._commit()

    def defer(self, event: Event) -> None:
        """Queue `event` without trying to write it."""
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case Activity() | LibraryChanged() | Progress() | LinkChanged() | RunAttached() | StepEnded() | LimitSeen():
                return
            case OutputRead(trial, stream, data):
                self._buffer.add_output(trial, stream, data)
            case SampleRead(trial, sample):
                self._buffer.add_samples(trial, None, [sample])
                self._samples.setdefault(trial, []).append(sample)
            case TelemetryRead(host, samples):
                self._buffer.add_samples(None, host, samples)
            case TrialAttached(trial, _, samples):
                self._samples[trial.id] = list(samples)
                self._waiting.append(event)
            case TrialEnded(trial, parsed=parsed):
                if parsed.samples == tuple(self._samples.pop(trial, ())):  # already recorded as they arrived
                    event = replace(event, parsed=replace(parsed, samples=()))
                self._waiting.append(event)
            case _:
                self._waiting.append(event)

    def flush(self, patience: float | None = None) -> None:
        """Commit what is queued; wait `patience` seconds for a locked library, by default as at each event."""
        with self._lock:
            self._refuse_taken_over()
            if self.owns and (self._buffer or self._waiting or self._unconfirmed):
                self._commit(patience)

    @property
    def owns(self) -> bool:
        """Whether this process owns the run; until then events are queued in memory."""
        return self._take_over is None

    def claim(self) -> None:
        """Take the run over if that was deferred; raise StoreError if another process has it."""
        with self._lock:
            if self._take_over is not None:
                self._epoch, self._take_over = self._take_over(), None
                self._writer.epoch = self._epoch
                recorded_in_process.add(self._run_id)

    @property
    def taken_over(self) -> bool:
        """Whether another process was found to have taken the run over."""
        return self._taken_over is not None

    def _refuse_taken_over(self) -> None:
        if self._taken_over is not None:
            raise self._taken_over

    def _beat(self) -> None:
        """Write heartbeats until close(), for processes elsewhere that cannot see this one."""
        while not self._closing.wait(HEARTBEAT):
            with self._lock, contextlib.suppress(StoreError):  # reported by the next record()
                quiet = time.monotonic() - self._committed >= HEARTBEAT
                if self.owns and self._begun and not self._over and self._taken_over is None and quiet:
                    self._write(patience=0.0)
            if self._taken_over is not None:
                self.when_taken_over()
                return

    def stored(self) -> RunRecord:
        """Return the stored part of the run, without samples."""
        self.flush(None if self._failure else PATIENCE)
        with self._library.database.reading() as connection:
            return record_reader.record(connection, self._run_id)

    def stored_samples(
        self, trials: Sequence[int], windows: Mapping[str, tuple[float, float]]
    ) -> tuple[SampleSeries, Mapping[str, tuple[Sample, ...]]]:
        """Return the stored samples of `trials`, and the telemetry of hosts in windows on their monotonic clocks."""
        with self._library.database.reading() as connection:
            watched: dict[str, tuple[Sample, ...]] = {}
            for host, window in windows.items():
                watched |= run_reader.telemetry(connection, self._run_id, host, window)
            return run_reader.samples(connection, self._run_id, trials), watched

    def verify(self) -> None:
        """Read every row of the run over a new connection at the library's path, and check the library's pages.

        Raises StoreError if that fails, StoreLostError if the rows differ from those written.
        """
        with self._lock:
            if not self.owns:
                return
            try:
                self._library.check(self._known.written, PAGE_CHECK_TIME)
            except StoreError as error:
                error.message = error.fault  # not “unchanged”: this process has written to it
                self._failure = error
                raise

    def save_as(self, path: Path) -> str:
        """Save the library and the queued events to a new file at `path` and continue there; return what is lost.

        The library is copied over the open connection, even if its file was moved. If it is damaged, full or locked,
        or if the copy fails its check, only this run is written, from memory. The new file is verified. On StoreError
        nothing is changed and `path` does not exist.
        """
        with self._lock:
            if self._copies():
                try:
                    return self._move_to(path, self._copy)
                except TakenOverError:
                    raise
                except StoreError:
                    log.info("no sound copy of %s", self.location, exc_info=True)
            self._check_owner()
            return self._move_to(path, self._rewrite)

    @property
    def _damaged(self) -> bool:
        return isinstance(self._failure, DamagedError)

    def _copies(self) -> bool:
        """Whether to copy the whole library."""
        if not self._library.copyable:
            return False
        if isinstance(self._failure, StoreFullError | StoreBusyError):  # intact: its other runs stay in it
            return not self._memory_copy.whole
        return not self._damaged and not isinstance(self._failure, ReadOnlyError)

    def _move_to(self, path: Path, begin: Callable[[RunConnection], str]) -> str:
        """Let `begin` write the committed part to a new file at `path`, add the queue, check it, and continue there."""
        create_file(path)
        self._settle(committed=False)  # the new file lacks it
        old, known, damaged = self._library, self._known, self._damaged
        self._library, self._writer.location = run_connection(FileDatabase(path), self._run_id), path
        try:
            missing = begin(old)
            new, moment = self._transact()
            self._library.check(new.written)
        except BaseException as error:
            self._library.close()
            self._library, self._known, self._writer.location = old, known, old.database.location
            remove_library(path)
            if isinstance(error, OSError):
                raise cannot_write(path, error) from error
            raise
        self._have_written(new, moment)
        old.discard(damaged=damaged)
        return missing

    def close(self) -> None:
        """Commit the queue and close the library. A run without an end then counts as interrupted."""
        self._closing.set()
        self._beating.join()
        try:
            if self._taken_over is None:
                self.flush(PATIENCE)
        finally:
            with self._lock:
                if self.owns:
                    recorded_in_process.discard(self._run_id)
                self._library.close(damaged=self._damaged)
        if self._over and self._failure is None:
            self._pack()

    def _pack(self) -> None:
        """Pack the samples of an ended run; Store.pack_samples() packs what takes longer than PACKING, or fails.

        After each step it leaves the library to other processes for as long.
        """
        until = time.monotonic() + PACKING
        try:
            while time.monotonic() < until:
                with self._library.database.writing(adding=True) as connection:
                    began = time.monotonic()
                    if not packed_samples.pack(connection, self._run_id):
                        return
                time.sleep(time.monotonic() - began)
        except StoreError:
            log.info("samples of %s not packed", self._run_id, exc_info=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError:
            if not isinstance(error, StoreError):  # a StoreError already reports it
                raise

    def _commit(self, patience: float | None = None) -> None:
        """Write the queue; on failure, but for the first time that it is locked, add to the message what is stored."""
        try:
            self._write(self.patience if patience is None else patience)
        except TakenOverError:
            raise
        except StoreError as error:
            brief = isinstance(error, StoreBusyError) and self._failure is None  # other runs write to it, too
            self._failure = error
            if brief:
                raise
            self._library.regain(error, self._known.written)
            message = error.fault  # not “unchanged”: this process has written to it
            kind = StoreLostError if isinstance(error, UnknownOutcomeError) else type(error)
            raise kind(f"{message} {self._stored_text(message)}", error.remedy) from error

    def _write(self, patience: float) -> None:
        """Write the queue in one transaction; on failure, all of it stays queued."""
        if (before := self._unconfirmed) is not None:
            self._settle(committed=self._library.was_committed(before.batch))
        try:
            known, moment = self._transact(patience)
        except TakenOverError as error:
            self._taken_over = error
            raise
        self._have_written(known, moment)

    def _transact(self, patience: float = PATIENCE) -> tuple[WrittenIds, str]:
        known, moment, batch = self._known.copy(), now(), secrets.token_hex(8) if self._library.marked else None
        try:
            with self._library.transaction(patience) as connection:
                self._check_epoch(connection)
                self._writer.write(connection, self._buffer, self._waiting, known, moment, over=self._over, batch=batch)
        except UnknownOutcomeError:
            self._unconfirmed = _Unconfirmed(batch or "", known, moment, self._buffer, self._waiting)
            self._buffer, self._waiting = WriteBuffer(), []
            raise
        return known, moment

    def _settle(self, *, committed: bool) -> None:
        """Count what is unconfirmed as written if it was `committed`, else write it again before the queue."""
        before, self._unconfirmed = self._unconfirmed, None
        if before is None:
            return
        later = self._buffer, self._waiting
        self._buffer, self._waiting = before.buffer, before.waiting
        if committed:
            self._have_written(before.known, before.moment)
        self._buffer.extend(later[0])
        self._waiting += later[1]

    def _have_written(self, known: WrittenIds, moment: str) -> None:
        """Clear the queue, which was written at `moment`."""
        self._failure, self._stored_text_cache = None, ("", "")
        self._memory_copy.add(self._buffer, self._waiting, moment)
        self._known = known
        self._begun = True
        self._over = self._over or any(isinstance(event, RunEnded | RunDetached) for event in self._waiting)
        self._buffer = WriteBuffer()
        self._waiting = []
        self._committed = time.monotonic()
        self._stored_until = f"{datetime.now(UTC):%H:%M:%S} UTC"

    def _stored_text(self, failure: str) -> str:
        """Return what is stored of the run, verified by reading it back, once for each `failure`."""
        if self._stored_text_cache[0] != failure:
            found, until = None, self._stored_until or "when it was detached"
            with contextlib.suppress(StoreError):
                found = self._library.read_back() if self._begun else None
            text = f"The run {self._run_id} is stored up to {until}."
            if found is None and self._begun and not self._library.copyable:  # no word from the server
                text = f"The run {self._run_id} was stored there up to {until}; what followed is in memory only."
            elif not self._known.written.agrees(found):
                text = f"The measurements of the run {self._run_id} are in memory only."
            self._stored_text_cache = (failure, text)
        return self._stored_text_cache[1]

    def _copy(self, old: RunConnection) -> str:
        """Copy the library of `old`; return what is lost: nothing."""
        old.copy_to(self.path)
        return ""

    def _rewrite(self, old: RunConnection) -> str:
        """Write the committed part of the run from memory; return what is lost."""
        measured = self._known.written
        self._known = WrittenIds()
        self.path.write_bytes(self._memory_copy.stored())
        with self._library.transaction() as connection:
            self._known.written = read_back(connection, self._run_id) or Written()
            own = update(schema.runs).where(schema.runs.c.id == self._run_id)  # copied before its take-over
            connection.execute(own.values(epoch=self._epoch))
        for buffer, events, moment in self._memory_copy.commits():
            with self._library.transaction() as connection:
                self._writer.write(connection, buffer, events, self._known, moment, over=self._over)
        others = "It does not contain the other runs of the library."
        if isinstance(self._failure, StoreFullError | StoreBusyError) or not old.copyable:
            others = f"{old.database.location} still contains the other runs and the beginning of this one."
        if self._known.written.agrees(measured):
            return others
        return f"{others} Some samples and output of this run are missing."

    def _check_owner(self) -> None:
        """Raise TakenOverError if the library is readable and another process owns the run in it."""
        try:
            with self._library.database.reading() as connection:
                self._check_epoch(connection)
        except TakenOverError as error:
            self._taken_over = error
            raise
        except StoreError:
            log.info("owner of %s not readable in %s", self._run_id, self.location, exc_info=True)

    def _check_epoch(self, connection: Connection) -> None:
        """Raise TakenOverError if the epoch shows that the run was taken over since this recorder began."""
        table = schema.runs.c
        query = select(table.epoch, table.owner_host, table.owner_pid).where(table.id == self._run_id)
        found = connection.execute(query).one_or_none()
        if found is not None and found.epoch != self._epoch:
            by = f" by Benchwright on {found.owner_host} (process {found.owner_pid})" if found.owner_pid else ""
            raise TakenOverError(
                f"The run {self._run_id} was taken over{by}. This Benchwright no longer records it.",
                "Its commands continue on the hosts. List detached runs with: benchwright attach --list",
            )
