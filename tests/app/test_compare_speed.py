"""Comparing groups reads each table once and no samples; `make bench comparison` measures how long it takes."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from app.comparison.variance import SAMPLE, TRIAL
from app.comparison.verdicts import ComparisonVerdict
from app.events import State, TrialEnded, TrialStarted
from app.sample_statistics import WithinTrials, within_of
from app.services import Workstation
from app.store import record_reader
from app.store.errors import StoreError
from app.store.store import Store
from tests.app import run_events
from tests.app.stores import RUN, record, store
from tests.app.test_store_formats import STORES
from tests.app.test_store_newer import make_newer
from tests.simulation.stored import store_of_groups

__all__ = ["store"]  # a fixture

GROUPS = 12
"""Runs on each side."""


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Return the SQL statements that are run from now on."""
    found: list[str] = []

    def trace(connection: sqlite3.Connection, _record: object) -> None:
        connection.set_trace_callback(found.append)

    event.listen(Pool, "connect", trace)
    yield found
    event.remove(Pool, "connect", trace)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workstation, tuple[list[str], list[str]]]]:
    """Return two groups of runs with three metrics of 50 samples each."""
    workstation, found = store_of_groups(tmp_path_factory.mktemp("groups"), runs=GROUPS, metrics=3, samples=50)
    yield workstation, found
    workstation.close()


def of_samples(store: Store, run: str) -> WithinTrials:
    """Return the statistics of the counted trials of a run, computed from its samples."""
    counted = [one.trial.id for one in store.load(run).trials if one.state is State.DONE and not one.trial.warm_up]
    found: dict[tuple[str, int], dict[tuple[str, tuple[tuple[str, str], ...]], list[float]]] = {}
    for trial, samples in store.samples(run).items():
        for sample in samples if trial in counted else ():
            if not sample.warm_up:
                values = found.setdefault((run, trial), {}).setdefault((sample.metric.name, sample.labels), [])
                values.append(sample.value)
    made = {trial: {key: within_of(values) for key, values in of.items()} for trial, of in found.items()}
    return {
        trial: known
        for trial, of in made.items()
        if (known := {key: one for key, one in of.items() if one is not None})
    }


@pytest.mark.slow
def test_more_runs_take_no_more_queries_and_no_samples_are_read(
    groups: tuple[Workstation, tuple[list[str], list[str]]], statements: list[str]
) -> None:
    workstation, runs = groups
    workstation.compare([group[0] for group in runs])  # opens the library
    counts = []
    for size in (4, GROUPS):
        statements.clear()
        words = [",".join(group[:size]) for group in runs]
        workstation.compare(words)
        counts.append(len(statements))
        workstation.compared(words)  # what the window reads until its table is shown
        assert not [one for one in statements if "sample_" in one or "_samples" in one]
    assert counts[0] == counts[1] > 10


@pytest.mark.slow
def test_groups_are_compared_with_the_samples_within_their_trials(
    groups: tuple[Workstation, tuple[list[str], list[str]]],
) -> None:
    workstation, runs = groups
    comparison = workstation.compare([",".join(group) for group in runs])
    assert comparison.rows[0].against[0].verdict is ComparisonVerdict.BETTER
    levels = comparison.rows[0].levels[0]
    assert levels is not None
    assert [(level.name, level.n) for level in levels.levels if level.name in {SAMPLE, TRIAL}] == [
        (SAMPLE, 50 * GROUPS),
        (TRIAL, GROUPS),
    ]


def test_runs_read_together_are_those_read_alone(
    groups: tuple[Workstation, tuple[list[str], list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    workstation, runs = groups
    store, ids = workstation._store, [run for group in runs for run in group]
    monkeypatch.setattr(record_reader, "CHUNK", 5)
    with store.loading([*ids, "no run"]) as load:
        assert [load(run) for run in reversed(ids)] == [store.load(run) for run in reversed(ids)]
        assert load("last") == store.load("last")
        with pytest.raises(StoreError, match="There is no run “no run”"):
            load("no run")


def test_one_damaged_run_does_not_hide_those_read_with_it(store: Store) -> None:
    other = f"{RUN}x"
    for run in (RUN, other):
        record(store, run, run_events.run_events(run))
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE trials SET state = 'lost' WHERE run_id = ?", (RUN,))
        connection.commit()
    with store.loading([RUN, other]) as load:
        assert load(other).trials[0].state is State.DONE
        with pytest.raises(StoreError, match=RUN):
            load(RUN)


def test_statistics_are_stored_with_the_end_of_a_counted_trial(store: Store, statements: list[str]) -> None:
    begins = [TrialStarted(run_events.trial(number, warm_up=number == 2), 2.0) for number in (1, 2, 3)]
    events = list(run_events.run_events(RUN))
    (ended,) = [one for one in events if isinstance(one, TrialEnded)]
    at = events.index(ended)
    more = [begins[1], replace(ended, trial=2), begins[2], replace(ended, trial=3, state=State.FAILED)]
    record(store, RUN, [*events[: at + 1], *more, *events[at + 1 :]])
    statements.clear()
    within = store.within([RUN])
    assert not [one for one in statements if "FROM sample_" in one or "FROM packed" in one or one.startswith("INSERT")]
    assert within == of_samples(store, RUN)
    assert list(within) == [(RUN, 1)]


@pytest.mark.parametrize("number", [1, 9])
def test_an_older_library_gets_its_statistics_on_first_use(tmp_path: Path, number: int, statements: list[str]) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / f"format-{number}.sqlite3", path)
    store = Store(path)
    runs = [run.id for run in store.runs()]
    first = store.within(runs)
    assert first == {key: one for run in runs for key, one in of_samples(store, run).items()} != {}
    statements.clear()
    assert store.within(runs) == first
    assert not [one for one in statements if "FROM sample_" in one or "FROM packed" in one]
    store.delete(runs[0])
    assert {run for run, _ in store.within(runs)} == {run for run, _ in first} - {runs[0]}
    with closing(sqlite3.connect(path)) as connection:
        left = connection.execute("SELECT count(*) FROM series_statistics WHERE series NOT IN (SELECT id FROM series)")
        assert left.fetchone() == (0,)


def test_a_library_that_cannot_be_written_is_read_with_statistics_all_the_same(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    stored = store.within([RUN])
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("DELETE FROM series_statistics")
        connection.commit()
    make_newer(store.path, 6)
    assert store.read_only() is not None
    assert store.within([RUN]) == stored == of_samples(store, RUN) != {}


def test_a_series_of_one_sample_has_no_statistics_and_is_read_once(store: Store, statements: list[str]) -> None:
    events = [
        replace(one, parsed=replace(one.parsed, samples=one.parsed.samples[:1])) if isinstance(one, TrialEnded) else one
        for one in run_events.run_events(RUN)
    ]
    record(store, RUN, events)
    statements.clear()
    assert store.within([RUN]) == {}
    assert not [one for one in statements if "FROM sample_" in one or "FROM packed" in one]
