"""The digest of a library: numbers of runs by filter, and the newest result of each host."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.events import RunEnded, RunStarted, State, VerdictReached
from app.library_digest import ALL, BASELINES, BIN, MOST_READ, TODAY, digest_of
from app.library_rows import Annotation, LibraryRow, LibraryRows
from app.records import RunSummary
from app.services import Workstation
from app.store.store import Store
from app.summary import MetricSummary
from suites.verdict import Trust, Verdict
from suites.vocab import Figure
from tests.app import run_events
from tests.app.run_events import IOPS
from tests.app.stores import RUN, any_store, postgresql, record, store_in_both

__all__ = ["any_store", "postgresql", "store_in_both"]

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def row(name: str, host: str, started: datetime, **more: object) -> LibraryRow:
    """Return the row of a run with a figure."""
    run = RunSummary(name, name, "", (host,), ("read",), State.DONE, started.isoformat(), None, 1, "1 IOPS")
    return replace(LibraryRow(run), **more)  # type: ignore[arg-type]


def figures_of(row: LibraryRow) -> dict[str, MetricSummary]:
    """Return a figure of each host of a run but web-9, which could not be reached."""
    hosts = [host for host in row.summary.hosts if host != "web-9"]
    return {host: MetricSummary("read", host, IOPS, (), (1.0,)) for host in hosts}


def test_runs_are_counted_by_filter_without_those_in_the_bin() -> None:
    binned = Annotation(binned=NOW.isoformat())
    midnight = NOW.astimezone().replace(hour=0, minute=0)
    unread = row("unread", "web-1", midnight)
    rows = (
        row("deleted", "web-1", midnight, annotation=binned),
        replace(unread, summary=replace(unread.summary, headline="")),
        row("newest", "web-1", midnight),
        row("pinned", "db-1", midnight - timedelta(minutes=1), baselines=("before",)),
        row("oldest", "web-1", midnight - timedelta(days=3)),
    )
    found = digest_of(LibraryRows(rows, searches={"fio": "suite:fio"}), NOW, figures_of)
    assert found.counts == {TODAY: 2, BASELINES: 1, ALL: 4, BIN: 1}
    assert {host: last.row.id for host, last in found.last.items()} == {"web-1": "newest", "db-1": "pinned"}
    assert found.searches == {"fio": "suite:fio"}
    assert not found.empty
    assert digest_of(LibraryRows(), NOW, figures_of).empty


def test_few_runs_are_read_for_a_host_that_never_had_a_result() -> None:
    read: list[str] = []

    def figures(row: LibraryRow) -> dict[str, MetricSummary]:
        read.append(row.id)
        return figures_of(row)

    rows = tuple(row(str(number), "web-9", NOW - timedelta(hours=number)) for number in range(20))
    assert not digest_of(LibraryRows(rows), NOW, figures).last
    assert read == ["0", "1", "2"][:MOST_READ]


def test_each_host_has_its_own_figure_and_verdict(store: Store, tmp_path: Path) -> None:
    hosts, values = ("web-1", "web-2", "web-9"), {"web-1": 62_200.0, "web-2": 70_400.0}
    started = RunStarted(RUN, run_events.plan(hosts=hosts), "2026-11-20T14:15:30+00:00")
    trials = [
        event
        for number, (host, value) in enumerate(values.items(), 1)
        for event in run_events.trial_events(run_events.trial(number, host=host), [Figure(IOPS, value)])
    ]
    levels = {"web-1": Trust.DOUBTFUL, "web-2": Trust.VALID, "web-9": Trust.INVALID}
    verdicts = [Verdict(level, None, "", (), run_events.STEP.name, host) for host, level in levels.items()]
    whole = Verdict(Trust.INVALID, None, "", ())
    reached = map(VerdictReached, (*verdicts, whole))
    record(store, RUN, [started, *trials, *reached, RunEnded(RUN, State.PARTIAL)])
    workstation = Workstation(store.location, tmp_path / "hosts.toml")
    found = digest_of(workstation.library(), NOW, workstation.first_figures).last
    assert {host: (last.figure.estimate_text, last.figure.trust) for host, last in found.items()} == {
        "web-1": ("62.2k IOPS", Trust.DOUBTFUL), "web-2": ("70.4k IOPS", Trust.VALID),
    }  # fmt: skip
    workstation.close()
