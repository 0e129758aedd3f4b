"""Connection of a recorder to its library, verification of the written run, and the run's copy in memory."""

import json
import sqlite3
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, StaticPool, case, create_engine, func, insert, select

from app.events import Event
from app.formats import FormatError
from app.store import packed_samples, record_reader, schema, schema_upgrade
from app.store.database import PATIENCE, Database
from app.store.errors import StoreError, damaged, lost
from app.store.rows import Written
from app.store.run_writer import SeriesKey, WriteBuffer
from suites.vocab import Sample

ROWS = 10_000
"""Rows per batch."""

MAX_BYTES = 64 * 2**20
"""Maximum bytes, compressed, of samples and output held in memory; a sample takes about ten."""

_Row = tuple[int, float, float, bool]


class RunConnection(ABC):
    """Connection to the library of `database` for the run `run_id`, opened on first use."""

    copyable = True
    """Whether copy_to() copies the whole library."""

    marked = False
    """Whether each commit has a mark for was_committed()."""

    def __init__(self, database: Database, run_id: str) -> None:
        self.database = database
        self._run_id = run_id
        self._connection: Connection | None = None

    @abstractmethod
    def connected(self, patience: float = PATIENCE) -> Connection:
        """Return the connection; its transactions wait `patience` seconds for a locked library. Raises StoreError."""

    @contextmanager
    def transaction(self, patience: float = PATIENCE) -> Iterator[Connection]:
        """Give the connection in a transaction, which waits `patience` seconds for a locked library."""
        with self.database.transaction(self.connected(patience)) as connection:
            yield connection

    @abstractmethod
    def close(self, *, damaged: bool = False) -> None:
        """Close the connection; write nothing more to a `damaged` library."""

    def discard(self, *, damaged: bool = False) -> None:
        """Close a library whose content is saved elsewhere; `damaged` as in close()."""
        self.close(damaged=damaged)

    @abstractmethod
    def folder(self) -> Path | None:
        """Return the library's folder, None if it has none or it is gone."""

    def read_back(self) -> Written | None:
        """Read every row of the run over a new connection; return the counts. Raises StoreError."""
        try:
            with self.database.reading() as connection:
                return read_back(connection, self._run_id)
        except (FormatError, ValueError, TypeError, LookupError) as error:
            raise damaged(self.database.location, f"malformed row of the run {self._run_id}") from error

    def check(self, written: Written, seconds: float | None = None) -> None:
        """Raise StoreError unless the library is sound and contains all rows `written`.

        Checks pages of a file for at most `seconds`; None: all pages and indexes.
        """
        if not written.agrees(self.read_back()):
            raise lost(self.database.location, f"contains only part of the run {self._run_id}")
        self.check_pages(seconds)

    @abstractmethod
    def check_pages(self, seconds: float | None) -> None:
        """Raise DamagedError if the library is malformed; see check()."""

    @abstractmethod
    def regain(self, error: StoreError, written: Written) -> None:
        """After the failure of a transaction, prepare to connect again if the library has all rows `written`."""

    def was_committed(self, batch: str) -> bool:
        """Return whether a commit that failed with UnknownOutcomeError succeeded, by its mark. Raises StoreError."""
        raise NotImplementedError(f"the outcome of {batch} is always known")

    @abstractmethod
    def copy_to(self, path: Path) -> None:
        """Copy the library to the empty file `path`; raise StoreError."""


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
        select(series.trial, func.count(), func.sum(samples.time + samples.value + case((samples.warm_up, 1), else_=0)))
        .join(schema.sample_rows, samples.series == series.id)
        .where(series.run_id == run_id)
        .group_by(series.trial)
    )
    found.samples.update({row[0]: row[1] for row in connection.execute(counted)})
    found.samples.update(packed_samples.count(connection, run_id))
    record_reader.record(connection, run_id)
    return found


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
            schema_upgrade.create(copy)
            for table, query in schema.rows_of_run(run_id):
                if table.name not in without:
                    for rows in connection.execute(query).mappings().partitions(ROWS):
                        copy.execute(insert(table), [dict(row) for row in rows])
        return memory.serialize()
