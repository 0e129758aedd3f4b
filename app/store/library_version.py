"""Version of the list of runs: it changes when the list does, not with the samples and heartbeats of a run."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from app.store import ownership
from app.store.library_file import wal_of
from remote.local_file import FileStamp, stamp_of


@dataclass(frozen=True, slots=True)
class LibraryVersion:
    """`stamps` are those of the library and of its log, to see cheaply that nothing was written; `content` is a hash of
    what the list is made of. While a run is `running`, its process may end without writing anything."""

    stamps: tuple[FileStamp | None, ...]
    content: int
    running: bool

    def holds(self, stamps: tuple[FileStamp | None, ...]) -> bool:
        """Return whether the list is certainly unchanged, by the present stamps of its files."""
        return stamps == self.stamps and not self.running


def stamps_of(path: Path) -> tuple[FileStamp | None, ...]:
    """Return the stamps of the library at `path` and of its log; None for one that is missing or empty.

    Readers create and remove an empty log, and write to no other file than its index.
    """
    return tuple(map(stamp_of, (path, wal_of(path))))


def version_of(connection: Connection, stamps: tuple[FileStamp | None, ...]) -> LibraryVersion:
    """Return the version of the list; `stamps` were taken before. Takes about 10 ms for 20,000 runs."""
    running = frozenset(ownership.running(connection))
    found = [tuple(map(tuple, connection.exec_driver_sql(query).all())) for query in _QUERIES]
    left = frozenset(ownership.unrecorded_runs(connection))
    return LibraryVersion(stamps, hash((tuple(found), running, left)), bool(running))


_QUERIES = (
    # A run is added, ended or deleted: read from the index of states.
    "SELECT state, count(*), total(rowid) FROM runs GROUP BY state",
    # A summary is written anew, for instance after a finding was acknowledged.
    """SELECT count(*), max(rowid), total(trials), total(headline_trials), total(errors), total(warnings), total(value)
    FROM run_summaries""",
    "SELECT run_id, name, note, tags, binned FROM annotations",
    "SELECT run_id, reason FROM locks",
    "SELECT name, search FROM saved_searches",
    "SELECT id, changed FROM investigations",
    "SELECT id, name, version FROM baselines",
    "SELECT baseline, run_id FROM baseline_parts",
    "SELECT id, sessions, ended FROM session_series",
)
"""What the list is made of, and the bars above it."""
