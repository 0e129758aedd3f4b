"""Store: the interface of the library."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, delete, update

from app.detached_runs import DetachedRun
from app.events import State
from app.investigation import Investigation
from app.library_location import Location
from app.library_rows import Annotation
from app.plans.plan import Plan
from app.records import (
    Calibration,
    ChangeRecord,
    ComputedVerdicts,
    HistoryRow,
    RunRecord,
    RunSummary,
)
from app.sample_statistics import WithinTrials
from app.store import (
    baselines,
    fleet_transfer,
    fleets,
    host_log,
    host_runs,
    investigations,
    library_reader,
    ownership,
    packed_samples,
    record_reader,
    run_locks,
    run_progress,
    run_reader,
    run_summaries,
    run_writer,
    schema,
    series_statistics,
    sessions,
    stored_evidence,
    verdict_history,
)
from app.store.backup import BackedUp, back_up
from app.store.errors import TRANSIENT, StoreError, StoreFullError
from app.store.full_disk import on_full_disk
from app.store.library_merge import Merged, merge
from app.store.library_version import LibraryVersion, version_of
from app.store.opening import database_of
from app.store.ownership import RecordingOwner
from app.store.recorder import Recorder
from app.store.retention import Deleted, delete_runs
from app.store.run_transfer import Exported, Imported, RowChange, export_runs, import_runs
from app.store.verdict_history import NewVerdicts
from suites.facts import Facts

INTERRUPTED = "Benchwright ended while it ran"
"""Reason of a partial run whose recorder ended."""


LOCKED = 0.25
"""Seconds for which statistics of old runs lock the library at a time: recorders wait to write."""


P = ParamSpec("P")
T = TypeVar("T")


def _reading(query: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["Store", P], T]:
    """Return `query` as a method of the store, in a transaction of its own."""

    @wraps(query)
    def method(store: "Store", /, *args: P.args, **named: P.kwargs) -> T:
        with store.database.reading() as connection:
            return query(connection, *args, **named)

    return method


def _reading_run(query: Callable[Concatenate[Connection, str, P], T]) -> Callable[Concatenate["Store", str, P], T]:
    """Return `query` about a run as a method that takes what run_reader.find() takes: an id, a prefix, "last"."""

    @wraps(query)
    def method(store: "Store", run: str, /, *args: P.args, **named: P.kwargs) -> T:
        with store.database.reading() as connection:
            return query(connection, run_reader.find(connection, run), *args, **named)

    return method


def _writing(change: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["Store", P], T]:
    """Return `change` as a method of the store, in a transaction of its own."""

    @wraps(change)
    def method(store: "Store", /, *args: P.args, **named: P.kwargs) -> T:
        with store.database.writing() as connection:
            return change(connection, *args, **named)

    return method


class Store:
    """Runs in a file or in a database on a server, opened on first use. Methods may be called from any thread.

    All methods raise StoreError if the library cannot be used.
    """

    def __init__(self, location: Location) -> None:
        self.database = database_of(location)
        self.computed: dict[str, ComputedVerdicts] = {}  # by run, of those without stored verdicts; never stored

    # Queries in one transaction each, documented where they are defined
    metric_values = _reading(library_reader.metric_values)
    session_series = _reading(sessions.all_series)
    find_series = _reading(sessions.find)
    fleet_studies = _reading(fleets.all_studies)
    find_fleet_study = _reading(fleets.find)
    host_runs_of = _reading(host_runs.host_runs)
    measured_host_runs = _reading(host_runs.measured)
    moments_of = _reading(host_runs.moments_of)
    host_runs_under_way = _reading(host_runs.under_way)
    fleet_studies_of = _reading(fleets.studies_of)
    runs_of_host_runs_under_way = _reading(host_runs.runs_under_way)
    recorded_runs = _reading(ownership.recorded_runs)
    progress_of = _reading(run_progress.progress_of)
    actions = _reading(host_log.actions)
    workspaces = _reading(host_log.workspaces)
    output_in_order = _reading(run_reader.output_in_order)
    library = _reading(library_reader.library)
    run_of_output = _reading(run_reader.run_of_output)
    kept = _reading(run_locks.kept)
    outdated = _reading(verdict_history.outdated)
    unjudged = _reading(verdict_history.unjudged)
    missing_evidence = _reading(stored_evidence.missing)
    known_runs = _reading(investigations.known_runs)
    find_investigation = _reading(investigations.find)
    unreadable_investigations = _reading(investigations.unreadable)

    load = _reading_run(record_reader.record)
    samples = _reading_run(run_reader.samples)
    telemetry = _reading_run(run_reader.telemetry)
    output = _reading_run(run_reader.output)
    imported_content = _reading_run(run_reader.imported_content)
    sessions_of = _reading_run(sessions.sessions_of)

    lock = _writing(run_locks.lock)
    unlock = _writing(run_locks.unlock)
    begin_fleet_study = _writing(fleets.begin)
    start_host_runs = _writing(host_runs.start)
    claim_host_run = _writing(host_runs.claim)
    set_run_of_host_run = _writing(host_runs.set_run)
    confirm_host_run = _writing(host_runs.confirm)
    settle_host_run = _writing(host_runs.settle)
    leave_host_run = _writing(host_runs.leave)
    release_host_runs = _writing(host_runs.release)
    pause_fleet_study = _writing(fleets.pause)
    end_fleet_study = _writing(fleets.end)
    retry_host_runs = _writing(fleets.again)
    skip_host_runs = _writing(fleets.skip)
    unskip_host_runs = _writing(fleets.unskip)
    add_fleet_hosts = _writing(fleets.add_hosts)
    delete_fleet_study = _writing(fleet_transfer.delete_study)
    restore_fleet_study = _writing(fleet_transfer.restore_study)
    save_search = _writing(library_reader.save_search)
    begin_investigation = _writing(investigations.begin)
    change_investigation = _writing(investigations.change)
    remove_investigation = _writing(investigations.remove)
    keep_investigation = _writing(investigations.keep)
    pin = _writing(baselines.pin)
    keep_calibration = _writing(baselines.keep_calibration)
    forget_calibrations = _writing(baselines.forget_calibrations)
    unpin = _writing(baselines.remove)
    begin_series = _writing(sessions.begin)
    claim_session = _writing(sessions.claim)
    release_session = _writing(sessions.release)
    end_series = _writing(sessions.end)
    put_back = _writing(host_log.write_change)
    dismiss_recalls = _writing(verdict_history.dismiss_recalls)
    begin_action = _writing(host_log.begin_action)
    end_action = _writing(host_log.end_action)

    investigations = _reading(investigations.investigations)  # these hide their modules from the lines below
    baselines = _reading(baselines.baselines)

    @property
    def location(self) -> Location:
        """Where the library is."""
        return self.database.location

    @property
    def path(self) -> Path:
        """The file of the library. Raises StoreError for one on a server."""
        return self.database.path

    def read_only(self, lately: float = 0.0) -> StoreError | None:
        """Return why the library cannot be written (newer format, full or read-only disk); None if it can.

        A commit in the last `lately` seconds is enough.
        """
        return self.database.read_only(lately)

    def recorder(self, run_id: str, taken: DetachedRun | None = None) -> Recorder:
        """Return the recorder of the run `run_id`; its first event is RunStarted, unless it was `taken` over."""
        return Recorder(self.database, run_id, taken)

    def later_recorder(self, detached: DetachedRun) -> Recorder:
        """Return a recorder of a `detached` run that takes it over, as take_over() does, when claim() is called."""
        return Recorder(self.database, detached.id, detached, lambda: self.take_over(detached.id, detached).epoch)

    def runs(self) -> list[RunSummary]:
        """Return every run but those in the bin, newest first."""
        return [row.summary for row in self.library().rows if not row.binned]

    def version(self, known: LibraryVersion | None = None) -> LibraryVersion:
        """Return the version of library(); cheap if nothing was written since the version `known`."""
        stamps = self.database.stamps()
        if known is not None and known.holds(stamps):
            return known
        with self.database.reading() as connection:
            return version_of(connection, stamps)

    def calibrations(self, host: str | None = None) -> tuple[Calibration, ...]:
        """Return the calibrations of `host`, or of all hosts, newest first."""
        with self.database.reading() as connection:
            return baselines.calibrations(connection, None if host is None else [host])

    def complete_summaries(self) -> Iterator[tuple[int, int]]:
        """Write the summaries that older versions did not; yield how many of how many are written.

        Each transaction is short: recorders wait to write. Ends at once in a library that cannot be written.
        """
        with self.database.reading() as connection:
            missing = run_summaries.missing(connection)
        done = 0
        while done < len(missing):
            try:
                with self.database.writing() as connection:
                    done += run_summaries.complete(connection, missing[done:], LOCKED)
            except StoreError:
                return
            yield done, len(missing)

    def pack_samples(self) -> Generator[tuple[int, int]]:
        """Pack the samples of ended runs that have them in rows; yield how many of how many runs are packed.

        Each transaction is short and whole: what is packed stays so if this ends early. Ends at once in a library that
        cannot be written.
        """
        with self.database.reading() as connection:
            runs = packed_samples.unpacked_runs(connection)
        done = 0
        while done < len(runs):
            yield done, len(runs)
            try:
                with self.database.writing() as connection:
                    done += not packed_samples.pack(connection, runs[done])
            except StoreError:
                return
        if runs:
            yield done, done

    def annotate(self, changed: Mapping[str, Annotation]) -> Mapping[str, Annotation]:
        """Replace the annotations of runs; return the former ones.

        Raises StoreError for a run that is missing, or is to be binned while it is recorded or detached.
        """
        with self.database.writing() as connection:
            for run, annotation in changed.items():
                if annotation.binned is not None:
                    _refuse_active(connection, run)
                    run_locks.refuse_locked(connection, run)
            return library_reader.annotate(connection, changed)

    @contextmanager
    def loading(self, expected: Sequence[str] = ()) -> Iterator[Callable[[str], RunRecord]]:
        """Give a load() for many runs in one snapshot of the library; runs with `expected` ids are read together."""
        with self.database.reading() as connection:
            yield record_reader.loader(connection, expected)

    def within(self, run_ids: Sequence[str]) -> WithinTrials:
        """Return the statistics of the samples of the runs' counted trials, without the samples of the warm-up.

        Those that an older version did not store are stored now, if the library can be written.
        """
        with self.database.reading() as connection:
            whole = not series_statistics.is_incomplete(connection, run_ids)
        with suppress(StoreError):
            while not whole:
                with self.database.writing(0.0) as connection:
                    whole = series_statistics.complete(connection, run_ids, LOCKED)
        with self.database.reading() as connection:
            return series_statistics.read(connection, run_ids)

    def change_acknowledged(self, run_id: str, change: Callable[[Plan], Plan]) -> None:
        """Replace the acknowledged findings in a run's plan by those of the plan that `change` returns."""
        with self.database.writing() as connection:
            run_writer.change_acknowledged(connection, run_reader.find(connection, run_id), change)

    def replace_verdicts(
        self, found: Sequence[NewVerdicts], version: int, kept: Mapping[str, str] | None = None
    ) -> list[NewVerdicts]:
        """Store verdicts of a `version` of the checks; return those of runs that have changed since they were read.

        `kept` is why the checks cannot judge others again, by run.
        """
        with self.database.writing() as connection:
            verdict_history.keep_verdicts(connection, kept or {}, version)
            refused = [one for one in found if not verdict_history.replace_verdicts(connection, one, version)]
        for one in found:
            if one not in refused:
                self.computed.pop(one.record.summary.id, None)
        return refused

    def recorded(self) -> frozenset[str]:
        """Return the ids of the runs that a process records now."""
        with self.database.reading() as connection:
            return frozenset(ownership.running(connection).keys() - ownership.unrecorded_runs(connection))

    def delete(self, run_id: str) -> None:
        """Delete a run, also on a full disk; raise StoreError while it is recorded, detached, locked or pinned."""
        try:
            with self.database.writing() as connection:
                _delete(connection, run_id)
        except StoreFullError:
            if not isinstance(self.location, Path):
                raise
            on_full_disk(self.path, lambda connection: _delete(connection, run_id))

    def delete_runs(self, runs: Sequence[str]) -> Generator[Deleted]:
        """Delete runs, one transaction each; yield what is done so far, at last with the bytes freed."""
        return delete_runs(self.database.size, runs, self.delete)

    def export_runs(
        self, runs: Sequence[str], path: Path, change: RowChange | None = None, about: Sequence[Investigation] = ()
    ) -> Generator[Exported]:
        """Write finished runs to a new library at `path`, with a `change` if given; yield what is done so far.

        `about` are the investigations that it gets, as they are.
        """
        return export_runs(self.database, runs, path, change, about)

    def import_runs(self, path: Path, runs: Sequence[str] = ()) -> Generator[Imported]:
        """Copy finished runs, by default all, from the library at `path`; yield what is done so far."""
        return import_runs(path, self.database, runs)

    def merge(self, path: Path, check_table: Callable[[str], object]) -> Generator[Merged]:
        """Copy what this library lacks from the library at `path`; yield what is done so far."""
        return merge(path, self.database, check_table)

    def back_up(self, path: Path) -> Generator[BackedUp]:
        """Copy the whole library to the new file `path`; yield what was verified."""
        return back_up(self.database, path)

    def metric_names(self) -> frozenset[str]:
        """Return the names of all metrics that runs of the library have."""
        with self.database.reading() as connection:
            return frozenset(metric.name for metric in run_reader.metrics_by_id(connection).values())

    @contextmanager
    def history(
        self, hosts: Sequence[str], metric: str
    ) -> Iterator[tuple[list[HistoryRow], Mapping[str, Plan], Callable[[str, Sequence[str]], tuple[Facts, ...]]]]:
        """Give the figures of a metric on hosts in all runs, the plans by hash, and a reader of a run's facts."""
        with self.database.reading() as connection:
            rows = run_reader.history_rows(connection, hosts, metric)
            plans = run_reader.plans_of(connection, rows)
            yield rows, plans, lambda run, of: run_reader.facts_before(connection, run, of)

    def mark_interrupted(self) -> list[str]:
        """Mark interrupted runs that cannot be attached as PARTIAL; return their ids. Runs of host-runs continue.

        Does nothing in a library that cannot be written.
        """
        if self.read_only() is not None:
            return []
        with suppress(*TRANSIENT), self.database.writing(0.0) as connection:
            unrecorded = ownership.unrecorded_runs(connection)
            carried = host_runs.runs_under_way(connection) if unrecorded else set()
            dead = [run for run in unrecorded if run not in carried and not host_log.is_attachable(connection, run)]
            _end(connection, dead, INTERRUPTED)
            return dead
        return []

    def interrupted(self) -> list[DetachedRun]:
        """Return the interrupted runs that were not detached by the user and have no directories on hosts."""
        with self.database.reading() as connection:
            unrecorded = ownership.unrecorded_runs(connection)
            return [
                record_reader.detached_run(connection, run)
                for run in unrecorded
                if not host_log.stays_detached(connection, run)
            ]

    def detached_runs(self) -> list[DetachedRun]:
        """Return the detached runs, newest first."""
        with self.database.reading() as connection:
            unrecorded = ownership.unrecorded_runs(connection)
            found = [
                record_reader.detached_run(connection, run)
                for run in unrecorded
                if host_log.is_attachable(connection, run)
            ]
            return sorted(found, key=lambda run: run.since, reverse=True)

    def detached(self, run: str) -> DetachedRun:
        """Return a detached run without taking it over. Raises the errors of take_over()."""
        before = self._watched(run)
        with self.database.reading() as connection:
            return _detached(connection, _find_detached(connection, run, before))

    def take_over(self, run: str, seen: DetachedRun | None = None) -> DetachedRun:
        """Make this process the recorder of a detached run and return it; a former recorder can no longer write.

        Raises StoreError if the run has ended, if a process records it (one on another computer is given time for a
        heartbeat), or if the run was written to since it was `seen`.
        """
        before = None if seen is not None else self._watched(run)
        with self.database.writing() as connection:
            taken = _detached(connection, _find_detached(connection, run, before))
            if seen is not None and (seen.epoch, seen.since) != (taken.epoch, taken.since):
                raise StoreError(
                    f"Another Benchwright has taken over the run {taken.id}.",
                    "List detached runs with: benchwright attach --list",
                )
            return replace(taken, epoch=ownership.take_over(connection, taken.id))

    def _watched(self, run: str) -> RecordingOwner | None:
        """Return the owner of a run, after the time within which a recorder elsewhere writes a heartbeat.

        The time starts in a write transaction: while the library was locked, no recorder could write one.
        """
        with self.database.writing() as connection:
            recording = ownership.running(connection).get(run_reader.find(connection, run))
        if recording is not None:
            time.sleep(ownership.watch_seconds(recording))
        return recording

    def forget(self, run: str, reason: str) -> str:
        """End a detached run as PARTIAL with `reason`; return its id. Its directories on hosts stay stored.

        Raises StoreError if it has ended, is locked, or a process records it.
        """
        before = self._watched(run)
        with self.database.writing() as connection:
            found = _find_detached(connection, run, before)
            run_locks.refuse_locked(connection, found)
            ownership.next_epoch(connection, [found])
            _end(connection, [found], reason)
            return found

    def running(self) -> frozenset[str]:
        """Return the ids of the runs that have not ended, recorded or not."""
        with self.database.reading() as connection:
            return frozenset(ownership.running(connection))

    def forget_workspace(self, nonce: str) -> None:
        """Record that a directory was removed from its host."""
        with self.database.writing() as connection:
            connection.execute(delete(schema.workspaces).where(schema.workspaces.c.nonce == nonce))

    def pending_changes(self, host: str | None = None) -> list[ChangeRecord]:
        """Return the changed settings not restored, on `host` or all hosts, oldest first.

        Excludes runs being recorded, which restore their own.
        """
        with self.database.reading() as connection:
            recorded = ownership.running(connection).keys() - ownership.unrecorded_runs(connection)
            return [change for change in host_log.pending(connection, host) if change.run_id not in recorded]

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self.database.close()


def _delete(connection: Connection, run_id: str) -> None:
    found = run_reader.find(connection, run_id)
    _refuse_active(connection, found)
    run_locks.refuse_kept(connection, found)
    connection.execute(delete(schema.runs).where(schema.runs.c.id == found))
    baselines.forget_empty(connection)
    run_summaries.forget_unused(connection)


def _refuse_active(connection: Connection, run_id: str) -> None:
    """Raise StoreError while a run is recorded or detached."""
    recorded = ownership.running(connection).get(run_id)
    if recorded is not None:
        ownership.refuse_recorded(run_id, recorded)
        if host_log.is_attachable(connection, run_id):
            raise StoreError(f"The run {run_id} is detached.", "Attach or forget it first.")


def _find_detached(connection: Connection, run: str, before: RecordingOwner | None) -> str:
    """Return the id of a detached run; raise StoreError if it is not detached.

    `before` is its owner at the first read.
    """
    found = run_reader.find(connection, run)
    recording = ownership.running(connection).get(found)
    if recording is None:
        raise StoreError(f"The run {found} has ended.", "List detached runs with: benchwright attach --list")
    ownership.refuse_recorded(found, recording)
    ownership.refuse_if_alive(found, before, recording)
    return found


def _detached(connection: Connection, run_id: str) -> DetachedRun:
    epoch, unseen = ownership.running(connection)[run_id].epoch, ownership.is_unseen(connection, run_id)
    return replace(record_reader.detached_run(connection, run_id), epoch=epoch, unseen=unseen)


def _end(connection: Connection, runs: Sequence[str], reason: str) -> None:
    """Mark runs and their running trials as PARTIAL."""
    for table, key in ((schema.runs, schema.runs.c.id), (schema.trials, schema.trials.c.run_id)):
        under_way = key.in_(runs) & (table.c.state == State.RUNNING.value)
        connection.execute(update(table).where(under_way).values(state=State.PARTIAL.value, reason=reason))
    for run in runs:
        run_summaries.write(connection, run)
    stored_evidence.write(connection, runs)
