"""The library: what the rest of the workstation may ask of it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, delete, update

from app.baselines.baselines import Baseline, parts_of
from app.baselines.reference import Reference
from app.calibration.calibration import Calibration
from app.comparing.levels import WithinTrials
from app.events import HostPutBack, State
from app.history.history import History, Wanted, history_of
from app.plans.plan import Step
from app.plans.plan_remarks import Acknowledged
from app.records import Band, ChangeRecord, HostAction, RunRecord, RunSummary, SampleSeries
from app.runs.left import LeftRun, StoredWorkspace
from app.store import baselines, calibrations, history, host_log, left, ownership, reading, remarks, schema
from app.store.bands import bands
from app.store.database import Database
from app.store.errors import StoreBusyError, StoreError, StoreFullError, StoreLostError
from app.store.make_room import without_room
from app.store.ownership import Recording
from app.store.recorder import Recorder
from app.store.within import within
from suites.facts import Facts
from suites.vocab import Sample

INTERRUPTED = "Benchwright ended while it ran"
"""Why a run is partial whose recorder is gone."""


class Store:
    """The runs in one file. Nothing is opened before the first use; every method may be called from any thread.

    All methods raise StoreError where the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path)

    @property
    def path(self) -> Path:
        """Where the store is."""
        return self._database.path

    def read_only(self) -> StoreError | None:
        """Return why the store can only be read: its format is newer, or its disk takes nothing. None for neither."""
        return self._database.read_only()

    def recorder(self, run_id: str, taken: LeftRun | None = None) -> Recorder:
        """Return what writes down the run `run_id`: its first event is RunStarted, unless it was `taken` over."""
        return Recorder(self._database, run_id, taken)

    def later_recorder(self, detached: LeftRun) -> Recorder:
        """Return what writes a run that is `detached` down once its own() has taken it over, as take_over() does."""
        return Recorder(self._database, detached.id, detached, lambda: self.take_over(detached.id, detached).epoch)

    def runs(self) -> list[RunSummary]:
        """Return every run, the newest first."""
        with self._database.reading() as connection:
            return _with_left(connection, reading.summaries(connection))

    def load(self, run: str) -> RunRecord:
        """Return a run by id, by the unique beginning of one, by the name it is pinned under, or "last".

        Raises StoreError where there is none, or where a beginning fits several, which it lists.
        """
        with self._database.reading() as connection:
            found = reading.record(connection, reading.find(connection, run))
            return replace(found, summary=_with_left(connection, [found.summary])[0])

    @contextmanager
    def loading(self) -> Iterator[Callable[[str], RunRecord]]:
        """Give a load() for many runs, which all see the same state of the store."""
        with self._database.reading() as connection:
            yield lambda run: reading.record(connection, reading.find(connection, run))

    def within(self, run_ids: Sequence[str]) -> WithinTrials:
        """Return how the samples within each trial of some runs spread."""
        with self._database.reading() as connection:
            return within(connection, run_ids)

    def samples(self, run_id: str) -> SampleSeries:
        """Return the samples of the run by trial."""
        with self._database.reading() as connection:
            return reading.samples(connection, reading.find(connection, run_id))

    def telemetry(self, run_id: str) -> Mapping[str, tuple[Sample, ...]]:
        """Return the telemetry of the run by host; times are the host's monotonic clock."""
        with self._database.reading() as connection:
            return reading.telemetry(connection, reading.find(connection, run_id))

    def output(self, run_id: str, trial: int) -> Mapping[str, bytes]:
        """Return the raw output of a trial by stream, byte for byte."""
        with self._database.reading() as connection:
            return reading.output(connection, reading.find(connection, run_id), trial)

    def acknowledge(self, run_id: str, given: Sequence[Acknowledged]) -> None:
        """Keep with a run which of its findings may stand, and why; what is given without a reason is taken back."""
        with self._database.writing() as connection:
            remarks.acknowledge(connection, reading.find(connection, run_id), given)

    def delete(self, run_id: str) -> None:
        """Delete a run for good, also where its disk is full; raise StoreError while it is being recorded."""
        try:
            with self._database.writing() as connection:
                _delete(connection, run_id)
        except StoreFullError:
            without_room(self.path, lambda connection: _delete(connection, run_id))

    def pin(self, word: str, name: str, oldest: float | None = None) -> int:
        """Pin a run, or runs joined by commas, as the next version of the baseline `name`; return the version.

        `oldest` is after how many seconds it counts as too old, unless that is what the program thinks. Raises
        StoreError for a run of which no trial counts: there is nothing to hold against others.
        """
        with self._database.writing() as connection:
            parts = parts_of(lambda run: _to_pin(reading.record(connection, reading.find(connection, run))), word)
            return baselines.pin(connection, name, parts, oldest=oldest)

    def pin_reference(self, reference: Reference, name: str, oldest: float | None = None) -> int:
        """Keep a published table as the next version of the baseline `name`; return the version."""
        with self._database.writing() as connection:
            return baselines.pin(connection, name, reference=reference, oldest=oldest)

    def keep_calibration(self, found: Calibration) -> None:
        """Keep a calibration of a host; for its suite it takes the place of the one before."""
        with self._database.writing() as connection:
            calibrations.keep(connection, found)

    def calibrations(self, host: str | None = None) -> tuple[Calibration, ...]:
        """Return the calibrations of `host`, or of all hosts, the newest first."""
        with self._database.reading() as connection:
            return calibrations.calibrations(connection, None if host is None else [host])

    def forget_calibrations(self, host: str) -> int:
        """Forget the calibrations of a host; return how many there were."""
        with self._database.writing() as connection:
            return calibrations.forget(connection, host)

    def unpin(self, name: str) -> None:
        """Remove the baseline `name`, or one version ``NAME@VERSION``; the runs stay. Raises StoreError for none."""
        with self._database.writing() as connection:
            baselines.remove(connection, name)

    def baselines(self) -> list[Baseline]:
        """Return every version of every baseline, the newest pinned first."""
        with self._database.reading() as connection:
            return baselines.baselines(connection)

    def history(self, wanted: Wanted) -> History:
        """Return a metric of hosts over all comparable runs. Raises HistoryError where there is no figure of it."""
        with self._database.reading() as connection:
            rows = history.rows(connection, wanted.hosts, wanted.metric)
            plans = history.plans(connection, rows)
            return history_of(wanted, rows, plans, lambda run, hosts: history.facts(connection, run, hosts))

    def bands(self, step: Step, host: str, facts: Facts | None = None) -> list[Band]:
        """Return what the baselines that measured the same as `step` say of it, the newest pinned first.

        A run measured the same where its step's fingerprint agrees, whatever the host. `facts` are those of the host,
        to tell whether a baseline is of another universe.
        """
        with self._database.reading() as connection:
            return bands(connection, step, host, facts)

    def mark_interrupted(self) -> list[str]:
        """Mark the runs whose recorder is gone as PARTIAL, with the reason; return their ids.

        Those of which something may still be on a host stay as they are: they can be attached. In a store that can
        only be read, all of them do.
        """
        if self.read_only() is not None:
            return []
        with suppress(StoreFullError, StoreLostError, StoreBusyError), self._database.writing(0.0) as connection:
            gone = ownership.gone(connection)
            dead = [run for run in gone if not left.is_attachable(connection, run)]
            _end(connection, dead, INTERRUPTED)
            return dead
        return []

    def interrupted(self) -> list[LeftRun]:
        """Return the runs whose recorder is gone, that nobody let go of, and of which nothing is on a host."""
        with self._database.reading() as connection:
            gone = ownership.gone(connection)
            return [left.left_run(connection, run) for run in gone if not left.is_kept(connection, run)]

    def left_runs(self) -> list[LeftRun]:
        """Return the detached runs, the newest first."""
        with self._database.reading() as connection:
            gone = ownership.gone(connection)
            found = [left.left_run(connection, run) for run in gone if left.is_attachable(connection, run)]
            return sorted(found, key=lambda run: run.since, reverse=True)

    def detached(self, run: str) -> LeftRun:
        """Return a detached run, and change nothing. Raises what take_over() raises."""
        before = self._watched(run)
        with self._database.reading() as connection:
            return _detached(connection, _left(connection, run, before))

    def take_over(self, run: str, seen: LeftRun | None = None) -> LeftRun:
        """Make this process the one that records a detached run, and return it.

        Whoever recorded it before writes nothing of it from now on. Raises StoreError where it has ended, or where
        somebody records it: one on another computer is given time for a sign of life. Raises it also where somebody
        has written to the run since it was `seen`.
        """
        before = None if seen is not None else self._watched(run)
        with self._database.writing() as connection:
            taken = _detached(connection, _left(connection, run, before))
            if seen is not None and (seen.epoch, seen.since) != (taken.epoch, taken.since):
                raise StoreError(
                    f"Another Benchwright has gone on with the run {taken.id} meanwhile.",
                    "“benchwright attach --list” shows whether it waits.",
                )
            return replace(taken, epoch=ownership.take_over(connection, taken.id))

    def _watched(self, run: str) -> Recording | None:
        """Return who recorded a run, after the time in which a recorder that cannot be seen gives a sign of life.

        That begins once the store can be written: while another program had it locked, nobody could give one.
        """
        with self._database.writing() as connection:
            recording = ownership.running(connection).get(reading.find(connection, run))
        if recording is not None:
            time.sleep(ownership.watch_seconds(recording))
        return recording

    def forget(self, run: str, reason: str) -> str:
        """End a detached run as PARTIAL, because of `reason`; return its id.

        Its directories on hosts stay known. Raises StoreError where it has ended, or where somebody records it.
        """
        before = self._watched(run)
        with self._database.writing() as connection:
            found = _left(connection, run, before)
            ownership.next_epoch(connection, [found])
            _end(connection, [found], reason)
            return found

    def output_in_order(self, run_id: str, trial: int) -> tuple[tuple[str, bytes], ...]:
        """Return the raw output of a trial as it came, each piece with its stream."""
        with self._database.reading() as connection:
            return left.output_in_order(connection, run_id, trial)

    def workspaces(self) -> tuple[StoredWorkspace, ...]:
        """Return every directory of ours that may still be on a host."""
        with self._database.reading() as connection:
            return left.workspaces(connection)

    def running(self) -> frozenset[str]:
        """Return the ids of the runs that have not ended, whether or not somebody records them."""
        with self._database.reading() as connection:
            return frozenset(ownership.running(connection))

    def forget_workspace(self, nonce: str) -> None:
        """Take note that a directory is gone from its host."""
        with self._database.writing() as connection:
            connection.execute(delete(schema.workspaces).where(schema.workspaces.c.nonce == nonce))

    def pending_changes(self, host: str | None = None) -> list[ChangeRecord]:
        """Return the settings that runs changed, on `host` or anywhere, and that nobody has put back, the oldest first.

        Those of a run that is being recorded are left out: it puts them back itself.
        """
        with self._database.reading() as connection:
            recorded = ownership.running(connection).keys() - ownership.gone(connection)
            return [change for change in host_log.pending(connection, host) if change.run_id not in recorded]

    def put_back(self, run_id: str, event: HostPutBack) -> None:
        """Note that a setting which the run changed was put back, or why it was not."""
        with self._database.writing() as connection:
            host_log.write_change(connection, run_id, event)

    def begin_action(self, host: str, what: str, command: str) -> int:
        """Note that something is done to a host, before it is; return the number under which its end is noted."""
        with self._database.writing() as connection:
            return host_log.begin_action(connection, host, what, command)

    def end_action(self, number: int, exit_status: int | None, output: bytes, reason: str) -> None:
        """Note how it ended and what it printed."""
        with self._database.writing() as connection:
            host_log.end_action(connection, number, exit_status, output, reason)

    def actions(self, host: str) -> list[HostAction]:
        """Return what was done to a host, the newest first."""
        with self._database.reading() as connection:
            return host_log.actions(connection, host)

    def close(self) -> None:
        """Let go of the file. The store opens it again where it is used again."""
        self._database.close()


def _delete(connection: Connection, run_id: str) -> None:
    found = reading.find(connection, run_id)
    recorded = ownership.running(connection).get(found)
    if recorded is not None:
        ownership.refuse_recorded(found, recorded)
        if left.is_attachable(connection, found):
            raise StoreError(f"The run {found} is detached.", "Attach it, or forget it first.")
    connection.execute(delete(schema.runs).where(schema.runs.c.id == found))
    baselines.forget_empty(connection)


def _left(connection: Connection, run: str, before: Recording | None) -> str:
    """Return the id of a detached run; raise StoreError for one that was not.

    `before` is who recorded it when it was looked at first.
    """
    found = reading.find(connection, run)
    recording = ownership.running(connection).get(found)
    if recording is None:
        raise StoreError(f"The run {found} has ended.", "“benchwright attach --list” lists the detached runs.")
    ownership.refuse_recorded(found, recording)
    ownership.refuse_beating(found, before, recording)
    return found


def _detached(connection: Connection, run_id: str) -> LeftRun:
    epoch, unseen = ownership.running(connection)[run_id].epoch, ownership.is_unseen(connection, run_id)
    return replace(left.left_run(connection, run_id), epoch=epoch, unseen=unseen)


def _end(connection: Connection, runs: Sequence[str], reason: str) -> None:
    """Mark runs, and those of their trials that were under way, as PARTIAL."""
    for table, key in ((schema.runs, schema.runs.c.id), (schema.trials, schema.trials.c.run_id)):
        under_way = key.in_(runs) & (table.c.state == State.RUNNING.value)
        connection.execute(update(table).where(under_way).values(state=State.PARTIAL.value, reason=reason))


def _with_left(connection: Connection, lines: list[RunSummary]) -> list[RunSummary]:
    """Return `lines`, with those marked that are detached."""
    left_ones = set(ownership.gone(connection))
    return [replace(line, left=True) if line.id in left_ones else line for line in lines]


def _to_pin(record: RunRecord) -> RunRecord:
    if not record.summary.trials:
        raise StoreError(
            f"No trial of the run {record.summary.id} counts, so that it has no figure to compare against.",
            "Pin a run that measured something.",
        )
    return record
