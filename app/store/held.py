"""What of a run was committed, held in memory: written again where the library is lost and cannot be read any more."""

import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from sqlalchemy import Connection, StaticPool, create_engine, insert

from app.events import Event
from app.store import schema
from app.store.batch import Batch, SeriesKey
from suites.vocab import Sample

MOST = 64 * 2**20
"""Bytes, compressed, of samples and raw output that are held at most; a sample takes some ten."""

ROWS = 10_000
"""Rows that are copied at once."""

_Row = tuple[int, float, float, bool]


@dataclass(slots=True)
class Held:
    """What was stored of a run before, if anything, and the commits since, in order."""

    _stored: bytes = b""  # a library, compressed
    _size: int = 0
    _keys: dict[SeriesKey, int] = field(default_factory=dict)
    _commits: list[tuple[bytes, list[tuple[int, str, bytes]], tuple[Event, ...], str]] = field(default_factory=list)

    @classmethod
    def of_stored(cls, connection: Connection, run_id: str) -> "Held":
        """Hold every row of a run that is gone on with; without its samples and output where these are too many."""
        image = zlib.compress(_library_of(connection, run_id), 1)
        if len(image) > MOST:
            image = zlib.compress(_library_of(connection, run_id, schema.LARGE), 1)
            return cls(image, MOST)
        return cls(image, len(image))

    @property
    def whole(self) -> bool:
        """Whether all samples and all raw output are held."""
        return self._size < MOST

    def stored(self) -> bytes:
        """Return a library that holds what was stored of the run before, empty where nothing was."""
        return zlib.decompress(self._stored) if self._stored else b""

    def add(self, batch: Batch, events: Sequence[Event], moment: str) -> None:
        """Hold what was committed at `moment`."""
        rows: list[_Row] = []
        output: list[tuple[int, str, bytes]] = []
        if self._size < MOST:
            rows = [self._row(key, sample) for key, sample in batch.samples]
            output = [(trial, stream, zlib.compress(b"".join(pieces), 1)) for trial, stream, pieces in batch.output]
        packed = zlib.compress(json.dumps(rows).encode(), 1) if rows else b""
        self._size += len(packed) + sum(len(data) for _trial, _stream, data in output)
        if rows or output or events:
            self._commits.append((packed, output, tuple(events), moment))

    def commits(self) -> Iterator[tuple[Batch, tuple[Event, ...], str]]:
        """Yield what was committed and when, to be written in the same order."""
        keys = list(self._keys)
        for packed, output, events, moment in self._commits:
            batch = Batch()
            for number, time, value, warm_up in json.loads(zlib.decompress(packed)) if packed else ():
                key = keys[number]
                batch.samples.append((key, Sample(time, key.metric, value, key.labels, warm_up)))
            for trial, stream, data in output:
                batch.add_output(trial, stream, zlib.decompress(data))
            yield batch, events, moment

    def _row(self, key: SeriesKey, sample: Sample) -> _Row:
        return self._keys.setdefault(key, len(self._keys)), sample.time, sample.value, sample.warm_up


def _library_of(connection: Connection, run_id: str, without: frozenset[str] = frozenset()) -> bytes:
    """Return a library that holds every row of the run `run_id` and no other run, but for the tables `without`."""
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
