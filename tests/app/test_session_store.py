"""Session series in the library: who may start the next session, and which runs are sessions of the same plan."""

import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import resources
from app.comparison.comparison import CompareError
from app.comparison.selection import RunSelection
from app.events import PlannedSession, RunEnded, RunStarted, State
from app.json_converter import published
from app.plans.plan import Order, Plan, Repetition
from app.results import Library
from app.session_json import series_to_json
from app.session_series import SessionRun
from app.store.errors import StoreError
from app.store.store import Store
from app.summary import run_to_json
from tests.app import run_events
from tests.app.stores import any_store, execute, postgresql, record, store_in_both

__all__ = ["any_store", "postgresql", "store_in_both"]

PLAN = replace(run_events.plan(name="volume check"), repetition=Repetition(1, sessions=2))


def ran(
    store: Store,
    run_id: str,
    plan: Plan | None = None,
    session: PlannedSession | None = None,
    state: State = State.DONE,
) -> None:
    """Store a whole run of `plan` that is `session`."""
    events = []
    for event in run_events.run_events(run_id):
        if isinstance(event, RunStarted):
            event = replace(event, plan=plan or event.plan, session=session)  # noqa: PLW2901 (the changed event)
        elif isinstance(event, RunEnded):
            event = replace(event, state=state)  # noqa: PLW2901
        events.append(event)
    record(store, run_id, events)


def test_the_runs_of_a_series_are_its_sessions(store: Store) -> None:
    series = store.begin_series(PLAN)
    for number in (1, 2):
        claimed, session = store.claim_session(series.id, f"run-{number}")
        assert (claimed.id, session.number, session.total) == (series.id, number, 2)
        ran(store, f"run-{number}", claimed.session_plan(), session)
        store.release_session(f"run-{number}")
    found = store.find_series("volume check")
    assert [(run.run, run.number, run.state) for run in found.runs] == [
        ("run-1", 1, State.DONE), ("run-2", 2, State.DONE),
    ]  # fmt: skip
    assert found.over
    assert found.ended is not None
    summary = store.load("run-2").summary
    assert summary.session == PlannedSession(series.id, 2, 2, found.runs[1].due)
    assert run_to_json(store.load("run-2"))["session"] == {
        "series": series.id, "number": 2, "of": 2, "due": found.runs[1].due,
    }  # fmt: skip
    assert store.load("run-2").plan.repetition.sessions == 1
    with pytest.raises(StoreError, match="is over"):
        store.claim_session(series.id, "run-3")
    store.delete("run-2")
    assert store.find_series(series.id).over  # complete before, so that deleting starts no new session


def test_a_session_is_started_by_one_process_only(store: Store) -> None:
    series = store.begin_series(PLAN)
    store.claim_session(series.id, "mine")
    with pytest.raises(StoreError, match="Another Benchwright starts session 1"):
        store.claim_session(series.id, "theirs")
    execute(store, "UPDATE session_series SET claimed = ?", (datetime.now(UTC) - timedelta(seconds=61)).isoformat())
    store.claim_session(series.id, "theirs")  # the first has died before its run began


def test_no_session_starts_while_one_is_under_way(store: Store) -> None:
    series = store.begin_series(PLAN)
    _, session = store.claim_session(series.id, "run-1")
    started = RunStarted("run-1", PLAN, "2026-11-20T14:15:30+00:00", session)
    with store.recorder("run-1") as recorder:
        recorder.record(started)
        with pytest.raises(StoreError, match=r"Session 1 of .* is under way: run run-1") as refused:
            store.claim_session(series.id, "run-2")
        assert "Wait until it ends" in str(refused.value)
    assert store.find_series(series.id).runs[0].detached
    with pytest.raises(StoreError, match="benchwright attach run-1"):
        store.claim_session(series.id, "run-2")


def test_a_refused_first_session_leaves_no_series(store: Store) -> None:
    series = store.begin_series(PLAN)
    store.claim_session(series.id, "run-1")
    store.release_session("run-1")
    assert store.session_series() == []


def test_a_series_that_was_ended_keeps_its_runs(store: Store) -> None:
    series = store.begin_series(PLAN)
    _, session = store.claim_session(series.id, "run-1")
    ran(store, "run-1", session=session)
    store.release_session("run-1")
    assert not store.find_series(series.id).over
    ended = store.end_series(series.id)
    assert store.end_series(series.id).ended == ended.ended
    assert [run.id for run in store.runs()] == ["run-1"]
    with pytest.raises(StoreError, match="no session series"):
        store.end_series("nothing")


def test_series_of_one_name_are_listed(store: Store) -> None:
    both = {store.begin_series(PLAN).id, store.begin_series(PLAN).id}
    with pytest.raises(StoreError, match="Several series are named") as refused:
        store.find_series(PLAN.name)
    assert all(one in refused.value.message for one in both)


def test_a_damaged_series_hides_no_other(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    series, damaged = store.begin_series(PLAN), store.begin_series(PLAN)
    execute(store, "UPDATE session_series SET plan = '{' WHERE id = ?", damaged.id)
    assert [one.id for one in store.session_series()] == [series.id]
    assert damaged.id in caplog.text


def test_runs_of_the_same_plan_are_its_sessions_whatever_their_seed(store: Store) -> None:
    drawn = replace(PLAN, order=Order.RANDOMISED, repetition=Repetition(1))
    ran(store, "run-1", replace(drawn, seed=1))
    ran(store, "run-2", replace(drawn, seed=2))
    ran(store, "run-3", replace(drawn, repetition=Repetition(2)))
    ran(store, "run-4", replace(drawn, seed=3), state=State.PARTIAL)
    assert store.sessions_of("run-2") == ["run-1", "run-2"]
    assert store.sessions_of("run-4") == ["run-1", "run-2", "run-4"]
    assert store.sessions_of("run-3") == ["run-3"]


def test_a_selector_names_all_sessions(store: Store) -> None:
    series = store.begin_series(PLAN)
    for number, state in ((1, State.DONE), (2, State.FAILED), (2, State.DONE)):
        run_id = f"run-{number}-{state}"
        claimed, session = store.claim_session(series.id, run_id)
        ran(store, run_id, claimed.session_plan(), session, state)
        store.release_session(run_id)
    ran(store, "other", replace(PLAN, hosts=("web-2",)))
    selection = RunSelection(store)

    def ids(word: str) -> list[str]:
        return [run.summary.id for run in selection.chosen([word])[0]]

    sessions = ["run-1-done", "run-2-done"]
    assert ids(f"series:{series.id}") == ids("series:volume check") == ids("series:run-1-done") == sessions
    assert ids(f"series:{series.id}, other") == [*sessions, "other"]
    assert ids("series:other") == ["other"]
    for mark in ("@web-1", ":random read", "@web-1:random read"):
        parts = selection.chosen([f"series:volume check{mark}"])[0]
        assert [(run.summary.id, run.plan.hosts) for run in parts] == [(run, ("web-1",)) for run in sessions]
    with pytest.raises(CompareError, match="has no host “web-9”"):
        ids(f"series:{series.id}@web-9")
    joined = selection.record(f"series:{series.id}")
    assert (joined.summary.session, len(joined.parts)) == (None, 2)
    with pytest.raises(StoreError, match="no session series “nothing@web-1”"):
        ids("series:nothing@web-1")
    empty = store.begin_series(replace(PLAN, name="empty"))
    with pytest.raises(CompareError, match="No session of"):
        ids(f"series:{empty.id}")
    with_comma = store.begin_series(replace(PLAN, name="before, after"))
    with pytest.raises(CompareError, match="No session of “before, after”"):
        ids(f"series:{with_comma.plan.name}")


def test_the_page_about_formats_names_the_fields_of_sessions(store: Store) -> None:
    page = (Path(resources.__file__).parent / "help" / "formats.md").read_text(encoding="utf-8")
    section = page.partition("## benchwright sessions --json")[2].partition("\n## ")[0]
    found = series_to_json(store.begin_series(PLAN))
    run = published(SessionRun("run-1", 1, State.DONE, "", None, ""))
    session = published(PlannedSession("s7kqm2", 1, 2, ""))
    assert {*found, *run, *session} - set(re.findall(r"`([a-z_]+)`", section)) == set()
    assert found["plan_hash"] == PLAN.hash()


def test_the_frame_of_runs_has_their_sessions(store: Store) -> None:
    ran(store, "run-1", session=PlannedSession("s7kqm2", 2, 5, "2026-11-20T14:15:30+00:00"))
    (row,) = Library(store).runs().to_dict("records")
    assert (row["series"], row["session"]) == ("s7kqm2", 2)


def test_a_library_of_format_10_takes_sessions(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(Path(__file__).parents[1] / "data" / "store" / "format-10.sqlite3", path)
    old = Store(path)
    assert [run.session for run in old.runs()] == [None]
    assert old.sessions_of("last") == ["20261125-141530-k3f9"]
    series = old.begin_series(PLAN)
    _, session = old.claim_session(series.id, "run-1")
    ran(old, "run-1", session=session)
    assert old.load("run-1").summary.session == session
