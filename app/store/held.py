"""What of a run was committed, held in memory: written again where the library is lost and cannot be read any more."""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.events import Event
from app.store.batch import Batch, SeriesKey
from suites.vocab import Sample

MOST = 64 * 2**20
"""Bytes, compressed, of samples and raw output that are held at most; a sample takes some ten."""

_Row = tuple[int, float, float, bool]


@dataclass(slots=True)
class Held:
    """Commits in order. `whole` tells whether samples and output are held from the first to the last."""

    whole: bool = True
    _size: int = 0
    _keys: dict[SeriesKey, int] = field(default_factory=dict)
    _commits: list[tuple[bytes, list[tuple[int, str, bytes]], tuple[Event, ...]]] = field(default_factory=list)

    def add(self, batch: Batch, events: Sequence[Event]) -> None:
        """Hold what was committed."""
        rows: list[_Row] = []
        output: list[tuple[int, str, bytes]] = []
        if self._size < MOST:
            rows = [self._row(key, sample) for key, sample in batch.samples]
            output = [(trial, stream, zlib.compress(b"".join(pieces), 1)) for trial, stream, pieces in batch.output]
        elif batch:
            self.whole = False
        packed = zlib.compress(json.dumps(rows).encode(), 1) if rows else b""
        self._size += len(packed) + sum(len(data) for _trial, _stream, data in output)
        if rows or output or events:
            self._commits.append((packed, output, tuple(events)))

    def commits(self) -> Iterator[tuple[Batch, tuple[Event, ...]]]:
        """Yield what was committed, to be written in the same order."""
        keys = list(self._keys)
        for packed, output, events in self._commits:
            batch = Batch()
            for number, time, value, warm_up in json.loads(zlib.decompress(packed)) if packed else ():
                key = keys[number]
                batch.samples.append((key, Sample(time, key.metric, value, key.labels, warm_up)))
            for trial, stream, data in output:
                batch.add_output(trial, stream, zlib.decompress(data))
            yield batch, events

    def _row(self, key: SeriesKey, sample: Sample) -> _Row:
        return self._keys.setdefault(key, len(self._keys)), sample.time, sample.value, sample.warm_up
