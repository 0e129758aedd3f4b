"""Connection of a recorder to its library, verification of the written run, and the run's copy in memory."""

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, StaticPool, create_engine, func, insert, select

from app.events import Event
from app.formats import FormatError
from app.store import packed_samples, record_reader, schema
from app.store.database import Database, with_patience
from app.store.errors import StoreError, StoreLostError, damaged, lost, translated
from app.store.library_file import PATIENCE, OpenFile, copy_open, driver_of, identity_of, wal_of
from app.store.rows import Written
from app.store.run_writer import SeriesKey, WriteBuffer
from suites.vocab import Sample

STEPS = 10_000
"""Steps of SQLite's virtual machine between time checks."""

ROWS = 10_000
"""Rows per batch."""

MAX_BYTES = 64 * 2**20
"""Maximum bytes, compressed, of samples and output held in memory; a sample takes about ten."""

_Row = tuple[int, float, float, bool]


class RunConnection:
    """Connection to the library of `database` for the run `run_id`, opened on first use."""

    def __init__(self, database: Database, run_id: str) -> None:
        self.database = database
        self._run_id = run_id
        self._connection: Connection | None = None
        self._file: OpenFile | None = None

    def connected(self, patience: float = PATIENCE) -> Connection:
        """Return the connection; its transactions wait `patience` seconds for a locked library. Raises StoreError."""
        if self._connection is None:
            self._connection = self.database.connect()
            self._file = self.database.hold(self._connection)
        return with_patience(self._connection, patience)

    def close(self, *, damaged: bool = False) -> None:
        """Close the file; write nothing to it if it is `damaged` or another program wrote to it."""
        if self._file is not None:
            self.database.release(self._file)
        if self._connection is not None:
            if self._file is not None and (damaged or not self._file.is_intact()):
                self._file.abandon()
            self._connection.close()
            self._connection = None

    def discard(self, *, damaged: bool = False) -> None:
        """Close a file whose content is saved elsewhere and remove its renamed logs; `damaged` as in close()."""
        self.close(damaged=damaged)
        for path in self._file.withdrawn if self._file is not None else ():
            path.unlink(missing_ok=True)

    def folder(self) -> Path | None:
        """Return the library's folder, None if it is gone or now on another device (under a mount point)."""
        folder = self.database.path.parent
        with suppress(OSError):
            if self._file is None or folder.stat().st_dev == self._file.main[0]:
                return folder if folder.is_dir() else None
        return None

    def read_back(self) -> Written | None:
        """Read every row of the run at the library's path; return the counts. Raises StoreError."""
        try:
            with self.database.reading() as connection:
                return read_back(connection, self._run_id)
        except (FormatError, ValueError, TypeError, LookupError) as error:
            raise damaged(self.database.path, f"malformed row of the run {self._run_id}") from error

    def check(self, written: Written, seconds: float | None = None) -> None:
        """Raise StoreError unless the library at the path is sound and contains all rows `written`.

        Checks pages for at most `seconds`; None: all pages and indexes.
        """
        if not written.agrees(self.read_back()):
            raise lost(self.database.path, f"contains only part of the run {self._run_id}")
        try:
            with self.database.reading() as connection:
                check_pages(connection, self.database.path, seconds)
        except sqlite3.Error as error:
            raise translated(error, self.database.path) from error

    def regain(self, error: StoreError, written: Written) -> None:
        """After losing the file, reconnect at its path next time if the file there contains all rows `written`.

        This is so when a disk is mounted again, when a copy was moved over the library, or when only the write-ahead
        log was removed; the open log is then checkpointed into the file first.
        """
        if self._connection is None or self._file is None:
            return
        if self._file.is_in_place() and not self._file.is_intact():
            self._file.abandon()
            return
        if not isinstance(error, StoreLostError):
            return
        self.database.release(self._file)
        self._file.withdraw()
        found = None
        with suppress(StoreError):
            self._settle()
            found = self.read_back()
        if written.agrees(found):
            self.discard()
        else:
            self.database.hold(self._connection)

    def _settle(self) -> None:
        """Checkpoint a log that was unlinked into the file, unless another process has created a new log."""
        raw, path, log = self._driver(), self.database.path, wal_of(self.database.path)
        with suppress(OSError, sqlite3.Error):
            if (
                raw is not None
                and not (log.exists() and log.stat().st_size)
                and self.database.is_open(identity_of(path))
            ):
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, path: Path) -> None:
        """Copy the library to the empty file `path`; raise StoreError."""
        raw = self._driver()
        if raw is None:
            raise lost(self.database.path, "is not open")
        try:
            copy_open(raw, path)
        except sqlite3.Error as error:
            raise translated(error, path) from error

    def _driver(self) -> sqlite3.Connection | None:
        found = None if self._connection is None else self._connection.connection.driver_connection
        return found if isinstance(found, sqlite3.Connection) else None


def read_back(connection: Connection, run_id: str) -> Written | None:
    """Read every row of a run; return the counts, None if the library does not contain the run.

    Raises ValueError, TypeError or LookupError for a malformed row.
    """
    runs, series, samples = schema.runs.c, schema.series.c, schema.sample_rows.c
    if connection.execute(select(runs.id).where(runs.id == run_id)).first() is None:
        return None
    found = Written()
    for table, query in schema.rows_of_run(run_id):
        if table in schema.SAMPLES:
            continue  # counted below, those in rows in SQL: there may be millions
        for rows in connection.execute(query).partitions(ROWS):
            if table is schema.trials:
                found.trials += len(rows)
            elif table is schema.output:
                for row in rows:
                    found.add_output(row.trial, row.data)
    counted = (
        select(series.trial, func.count(), func.sum(samples.time + samples.value + samples.warm_up))
        .join(schema.sample_rows, samples.series == series.id)
        .where(series.run_id == run_id)
        .group_by(series.trial)
    )
    found.samples.update({row[0]: row[1] for row in connection.execute(counted)})
    found.samples.update(packed_samples.count(connection, run_id))
    record_reader.record(connection, run_id)
    return found


def check_pages(connection: Connection, path: Path, seconds: float | None) -> None:
    """Raise DamagedError if the library at `path` is malformed or violates a foreign key.

    With `seconds`, a quick_check (no indexes) that stops after that time; None: a full integrity_check.
    """
    driver = driver_of(connection)
    if seconds is not None:
        deadline = time.monotonic() + seconds
        driver.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        pragma = "integrity_check" if seconds is None else "quick_check"
        (result,) = driver.execute(f"PRAGMA {pragma}(1)").fetchone()
        if result == "ok" and driver.execute("PRAGMA foreign_key_check").fetchone() is not None:
            result = "foreign key violation"
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return
    finally:
        driver.set_progress_handler(None, 0)
    if result != "ok":
        raise damaged(path, " ".join(result.removeprefix("*** in database main ***").split()))


@dataclass(slots=True)
class MemoryCopy:
    """Compressed copy of a run: the part stored earlier, if any, and the commits since, in order."""

    _stored: bytes = b""  # a library, compressed
    _size: int = 0
    _keys: dict[SeriesKey, int] = field(default_factory=dict)
    _commits: list[tuple[bytes, list[tuple[int, str, bytes]], tuple[Event, ...], str]] = field(default_factory=list)

    @classmethod
    def of_stored(cls, connection: Connection, run_id: str) -> "MemoryCopy":
        """Copy every row of a continued run; without samples and output if larger than MAX_BYTES."""
        image = zlib.compress(_library_of(connection, run_id), 1)
        if len(image) > MAX_BYTES:
            image = zlib.compress(_library_of(connection, run_id, schema.LARGE), 1)
            return cls(image, MAX_BYTES)
        return cls(image, len(image))

    @property
    def whole(self) -> bool:
        """Whether it has all samples and raw output."""
        return self._size < MAX_BYTES

    def stored(self) -> bytes:
        """Return a library with the part stored earlier, empty if there is none."""
        return zlib.decompress(self._stored) if self._stored else b""

    def add(self, buffer: WriteBuffer, events: Sequence[Event], moment: str) -> None:
        """Add what was committed at `moment`."""
        rows: list[_Row] = []
        output: list[tuple[int, str, bytes]] = []
        if self._size < MAX_BYTES:
            rows = [self._row(key, sample) for key, sample in buffer.samples]
            output = [(trial, stream, zlib.compress(b"".join(pieces), 1)) for trial, stream, pieces in buffer.output]
        packed = zlib.compress(json.dumps(rows).encode(), 1) if rows else b""
        self._size += len(packed) + sum(len(data) for _trial, _stream, data in output)
        if rows or output or events:
            self._commits.append((packed, output, tuple(events), moment))

    def commits(self) -> Iterator[tuple[WriteBuffer, tuple[Event, ...], str]]:
        """Yield the commits in order: samples and output, events, moment."""
        keys = list(self._keys)
        for packed, output, events, moment in self._commits:
            buffer = WriteBuffer()
            for number, at, value, warm_up in json.loads(zlib.decompress(packed)) if packed else ():
                key = keys[number]
                buffer.samples.append((key, Sample(at, key.metric, value, key.labels, warm_up)))
            for trial, stream, data in output:
                buffer.add_output(trial, stream, zlib.decompress(data))
            yield buffer, events, moment

    def _row(self, key: SeriesKey, sample: Sample) -> _Row:
        return self._keys.setdefault(key, len(self._keys)), sample.time, sample.value, sample.warm_up


def _library_of(connection: Connection, run_id: str, without: frozenset[str] = frozenset()) -> bytes:
    """Return a library with only the run `run_id`, except the tables `without`."""
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as memory:
        engine = create_engine("sqlite://", creator=lambda: memory, poolclass=StaticPool)
        with engine.begin() as copy:
            copy.exec_driver_sql("PRAGMA auto_vacuum = FULL")
            schema.create(copy)
            for table, query in schema.rows_of_run(run_id):
                if table.name not in without:
                    for rows in connection.execute(query).mappings().partitions(ROWS):
                        copy.execute(insert(table), [dict(row) for row in rows])
        return memory.serialize()
