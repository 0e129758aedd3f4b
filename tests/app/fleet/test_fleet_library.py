"""Fleet studies in libraries: merged, deleted, salvaged, read-only, and what another program has written in them."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.fleet.admission import startable
from app.fleet_study import FleetStudy, HostRunState
from app.store.errors import StoreError
from app.store.library_merge import Merged
from app.store.salvage import salvage
from app.store.store import Store
from suites.errors import BenchwrightError
from tests.app.fleet.studies import fleet_plan, numbered, short_plan
from tests.app.stores import execute, opened

W, D = HostRunState.WAITING, HostRunState.DONE


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """Give another library."""
    yield from opened(tmp_path / "other" / "runs.sqlite3")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    """Give an empty library."""
    yield from opened(tmp_path / "own" / "runs.sqlite3")


def begun(store: Store) -> FleetStudy:
    """Begin a study of two hosts and two sessions: one host-run is done, another under way."""
    study = store.begin_fleet_study(fleet_plan(numbered(2), short_plan(sessions=2)), by_workers=False)
    done, _ = store.start_host_runs(study, partial(startable, at_most=2), "desk")
    store.settle_host_run(study.id, done, D, reason="")
    return store.find_fleet_study(study.id)


def merged(own: Store, other: Store) -> Merged:
    other.close()
    *_, last = own.merge(other.path, lambda _text: None)
    return last


def test_a_study_is_merged_once_with_its_hosts_and_host_runs(own: Store, other: Store) -> None:
    study = begun(other)
    expected = [
        replace(one, state=W, worker="") if one.state is HostRunState.RUNNING else one
        for one in other.host_runs_of(study.id)
    ]
    found = merged(own, other)
    assert (found.added, found.refused) == ((f"fleet study {study.id}",), ())
    assert own.fleet_studies() == [replace(study, counts={D: 1, W: 3})]
    assert own.host_runs_of(study.id) == expected
    again = merged(own, other)
    assert (again.added, again.refused) == ((), ())
    own.skip_host_runs(study.id, ["a1"])
    assert merged(own, other).refused == (f"fleet study {study.id}: this library has other host-runs of it",)
    execute(own, "UPDATE fleet_studies SET plan = '{}'")
    assert merged(own, other).refused == (f"fleet study {study.id}: this library has another plan for it",)


def test_a_study_of_workers_is_resumed_by_the_user_in_a_file(own: Store, other: Store) -> None:
    study = other.begin_fleet_study(fleet_plan(numbered(2)), by_workers=True)
    merged(own, other)
    assert own.fleet_studies() == [replace(study, by_workers=False)]
    assert (merged(own, other).added, merged(own, other).refused) == ((), ())


def test_only_a_study_that_is_over_is_deleted_and_can_be_restored(own: Store) -> None:
    study, other = begun(own), begun(own)
    for left in ("3 host-runs left", "1 host-run left"):
        with pytest.raises(StoreError, match=left):
            own.delete_fleet_study(study.id)
        own.end_fleet_study(study.id)
    (running,) = own.host_runs_under_way(study.id)
    own.settle_host_run(study.id, running, HostRunState.FAILED, reason="refused")
    before = own.find_fleet_study(study.id), own.host_runs_of(study.id)
    deleted = own.delete_fleet_study(study.id)
    assert own.fleet_studies() == [other]
    assert not own.host_runs_of(study.id)
    assert execute(own, "SELECT count(*) FROM fleet_hosts") == [(2,)]
    own.restore_fleet_study(deleted)
    assert (own.find_fleet_study(study.id), own.host_runs_of(study.id)) == before
    with pytest.raises(StoreError, match="in the library already"):
        own.restore_fleet_study(deleted)


def test_of_several_studies_of_a_name_none_is_deleted_by_it(own: Store) -> None:
    studies = [begun(own), begun(own)]
    for one in studies:
        own.end_fleet_study(one.id, stop=True)
        (running,) = own.host_runs_under_way(one.id)
        own.settle_host_run(one.id, running, HostRunState.FAILED, reason="stopped")
    with pytest.raises(StoreError, match=studies[0].id):
        own.delete_fleet_study(studies[0].name)
    assert len(own.fleet_studies()) == 2
    own.delete_fleet_study(studies[0].id)
    assert own.delete_fleet_study(studies[1].name).study.id == studies[1].id


PLAN = "UPDATE fleet_studies SET plan = replace(plan, "
ATTRIBUTES = "UPDATE fleet_hosts SET attributes = replace(attributes, "
MALFORMED = {
    "plan that is no JSON": "UPDATE fleet_studies SET plan = 'x'",
    "plan of bytes": "UPDATE fleet_studies SET plan = x'00ff'",
    "plan that is nested": f"UPDATE fleet_studies SET plan = '{'[' * 5000}'",
    "number as plan": "UPDATE fleet_studies SET plan = 3.5",
    "limit that lets nothing start": PLAN + "'\"at_once\": 4', '\"at_once\": 0')",
    "limit that is NaN": PLAN + "'\"at_once\": 4', '\"at_once\": NaN')",
    "key that is twice": 'UPDATE fleet_studies SET plan = replace(plan, \'"seed"\', \'"retries": 1, "seed"\')',
    "time of bytes": "UPDATE fleet_studies SET created = x'00'",
    "price that is NaN": ATTRIBUTES + "'null', 'NaN')",
    "price that is infinite": ATTRIBUTES + "'null', '1e999')",
    "attributes of a list": "UPDATE fleet_hosts SET attributes = '[]'",
    "attribute with an escape": ATTRIBUTES + "'zone\": \"', 'zone\": \"\\u001b')",
    "host with an escape": "UPDATE fleet_hosts SET host = 'a' || char(27) WHERE host = 'a1'",
    "group of bytes": "UPDATE fleet_hosts SET group_name = x'ff'",
    "unknown state": "UPDATE host_runs SET state = 'lost' WHERE number = 2",
    "state of bytes": "UPDATE host_runs SET state = x'ff' WHERE number = 2",
}


@pytest.mark.parametrize("statement", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_study_is_left_out(own: Store, other: Store, statement: str) -> None:
    study = begun(other)
    execute(other, statement)
    sound = other.begin_fleet_study(fleet_plan(numbered(1)), by_workers=False)
    assert [one.id for one in other.fleet_studies()] == [sound.id]
    with pytest.raises(StoreError, match="no fleet study"):
        other.find_fleet_study(study.id)
    found = merged(own, other)
    assert (found.added, found.refused) == (
        (f"fleet study {sound.id}",), (f"fleet study {study.id}: malformed",),
    )  # fmt: skip
    assert [one.id for one in own.fleet_studies()] == [sound.id]


@pytest.mark.parametrize(
    "change",
    [
        "session = 'x'",
        "host = x'ff'",
        "epoch = 1.5",
        "run = x'00'",
        "changed = x'03'",
        "attempts = 'many'",
        "peer = x'04'",
    ],
)
def test_a_malformed_host_run_is_an_error_with_a_message(own: Store, other: Store, change: str) -> None:
    study = begun(other)
    execute(other, f"UPDATE host_runs SET {change} WHERE number = 2")
    for use in (other.host_runs_of, other.release_host_runs):
        with pytest.raises(StoreError, match="Host-run 2 of a fleet study is malformed"):
            use(study.id)
    assert merged(own, other).refused == (f"fleet study {study.id}: malformed",)
    assert own.fleet_studies() == []


def test_more_host_runs_or_hosts_than_a_study_has_are_left_out(
    other: Store, own: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = begun(other)
    monkeypatch.setattr("app.store.fleets.MOST_HOST_RUNS", 3)
    assert other.fleet_studies() == []
    assert merged(own, other).refused == (f"fleet study {study.id}: malformed",)
    monkeypatch.setattr("app.store.fleets.MOST_HOST_RUNS", 4)
    assert [one.id for one in other.fleet_studies()] == [study.id]
    monkeypatch.setattr("app.store.fleets.MOST_HOSTS", 1)
    assert other.fleet_studies() == []


@pytest.mark.slow
def test_a_million_host_runs_are_counted_and_left_out(other: Store) -> None:
    study = begun(other)
    execute(
        other,
        "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1000100) INSERT INTO host_runs "
        "(study, number, session, host, group_name, due, state, changed) SELECT ?, i, 1, 'a1', 'a', '', 'waiting', '' "
        "FROM n",
        study.id,
    )
    assert other.fleet_studies() == []


def test_studies_survive_a_salvage_and_a_backup(own: Store, tmp_path: Path) -> None:
    study = begun(own)
    runs = own.host_runs_of(study.id)
    list(own.back_up(tmp_path / "copy.sqlite3"))
    own.close()
    salvage(own.path, tmp_path / "saved.sqlite3")
    for name in ("copy", "saved"):
        store = Store(tmp_path / f"{name}.sqlite3")
        assert store.fleet_studies() == [study]
        assert store.host_runs_of(study.id) == runs
        store.close()


def test_a_library_that_cannot_be_written_shows_its_studies(own: Store, tmp_path: Path) -> None:
    study = begun(own)
    execute(own, "PRAGMA user_version = 20")  # of a newer version, which can be read
    own.close()
    newer = tmp_path / "newer.sqlite3"
    shutil.copy(own.path, newer)
    store = Store(newer)
    assert store.fleet_studies() == [study]
    assert len(store.host_runs_of(study.id)) == 4
    for change in (
        lambda: store.release_host_runs(study.id),
        lambda: store.pause_fleet_study(study.id, paused=True),
        lambda: store.begin_fleet_study(study.plan, by_workers=False),
    ):
        with pytest.raises(BenchwrightError, match="read-only"):
            change()
    store.close()
