"""The digest of a library: numbers of runs by filter, and the newest result of each host."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app.events import State
from app.library_digest import ALL, BASELINES, BIN, TODAY, digest_of
from app.library_rows import Annotation, LibraryRow, LibraryRows
from app.records import RunSummary
from tests.app.run_events import IOPS

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def row(name: str, host: str, started: datetime, **more: object) -> LibraryRow:
    """Return the row of a run with a figure."""
    run = RunSummary(name, name, "", (host,), ("read",), State.DONE, started.isoformat(), None, 1)
    return replace(LibraryRow(run, metric=IOPS, value=1.0), **more)  # type: ignore[arg-type]


def test_runs_are_counted_by_filter_without_those_in_the_bin() -> None:
    binned = Annotation(binned=NOW.isoformat())
    midnight = NOW.astimezone().replace(hour=0, minute=0)
    rows = (
        row("deleted", "web-1", midnight, annotation=binned),
        row("unread", "web-1", midnight, metric=None),
        row("newest", "web-1", midnight),
        row("pinned", "db-1", midnight - timedelta(minutes=1), baselines=("before",)),
        row("oldest", "web-1", midnight - timedelta(days=3)),
    )
    found = digest_of(LibraryRows(rows, searches={"fio": "suite:fio"}), NOW)
    assert found.counts == {TODAY: 2, BASELINES: 1, ALL: 4, BIN: 1}
    assert {host: last.id for host, last in found.last.items()} == {"web-1": "newest", "db-1": "pinned"}
    assert found.searches == {"fio": "suite:fio"}
    assert not found.empty
    assert digest_of(LibraryRows(), NOW).empty
