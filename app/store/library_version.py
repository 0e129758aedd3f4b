"""Version of the list of runs: it changes when the list does, not with the samples and heartbeats of a run."""

from collections.abc import Hashable
from dataclasses import dataclass

from sqlalchemy import Connection

from app.store import ownership


@dataclass(frozen=True, slots=True)
class LibraryVersion:
    """`stamps` are those of Database.stamps(), to see cheaply that nothing was written; `content` is a hash of
    what the list is made of. While a run is `running`, its process may end without writing anything."""

    stamps: tuple[Hashable, ...]
    content: int
    running: bool

    def holds(self, stamps: tuple[Hashable, ...]) -> bool:
        """Return whether the list is certainly unchanged, by the present stamps."""
        return stamps == self.stamps and not self.running


def version_of(connection: Connection, stamps: tuple[Hashable, ...]) -> LibraryVersion:
    """Return the version of the list; `stamps` were taken before. Takes about 10 ms for 20,000 runs."""
    running = frozenset(ownership.running(connection))
    found = [frozenset(map(tuple, connection.exec_driver_sql(query).all())) for query in _QUERIES]
    left = frozenset(ownership.unrecorded_runs(connection))
    return LibraryVersion(stamps, hash((tuple(found), running, left)), bool(running))


_QUERIES = (
    # A run is added, ended or deleted: read from the index of states.
    "SELECT state, count(*), sum(rowid) FROM runs GROUP BY state",
    # A summary is written anew, for instance after a finding was acknowledged.
    """SELECT count(*), max(rowid), sum(trials), sum(headline_trials), sum(errors), sum(warnings), sum(value)
    FROM run_summaries""",
    "SELECT run_id, name, note, tags, binned FROM annotations",
    "SELECT run_id, reason FROM locks",
    "SELECT count(*), max(replaced), max(dismissed), count(dismissed) FROM recalls",
    "SELECT name, search FROM saved_searches",
    "SELECT id, changed FROM investigations",
    "SELECT id, name, version FROM baselines",
    "SELECT baseline, run_id FROM baseline_parts",
    "SELECT id, sessions, ended FROM session_series",
)
"""What the list is made of, and the bars above it."""
