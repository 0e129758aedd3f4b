"""A run is judged as it goes, from what is stored of it, and the verdict is kept."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import Event, FindingRaised, RunEnded, State, StepEnded, VerdictReached, apply_stages
from app.records import RunRecord
from app.store.store import Store
from app.verdict import steps
from app.verdict.stages import Verdicts
from app.verdict.stored import judged
from tests.app import run_events

RUN = "20261120-141530-k3f9"


def judged_events(store: Store, events: Iterator[Event]) -> list[Event]:
    with store.recorder(RUN) as recorder:
        found = []
        for event in apply_stages(events, Verdicts(recorder)):
            recorder.record(event)
            found.append(event)
    return found


def with_step_end(events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        if isinstance(event, RunEnded):
            yield StepEnded("random read", "web-1")
        yield event


def load(store: Store) -> RunRecord:
    return store.load(RUN)


def test_a_step_is_judged_at_its_end_and_the_run_before_its_own(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    events = judged_events(store, with_step_end(run_events.run_events(RUN, (1000.0, 1010.0, 990.0))))
    places = [(one.verdict.step, one.verdict.host) for one in events if isinstance(one, VerdictReached)]
    assert places == [("random read", "web-1"), ("random read", "web-1"), (None, None)]
    assert isinstance(events[-1], RunEnded)
    record = load(store)
    assert record.verdict is not None
    assert record.verdict_on("random read", "web-1") is not None
    assert record.summary.trust == record.verdict.trust.value
    ids = [finding.id for finding in record.findings]
    assert len(ids) == len(set(ids)), "each finding of after is raised once"
    assert record.verdicts == (record.verdict_on("random read", "web-1"), record.verdict)


def test_a_step_that_never_ended_in_order_is_judged_at_the_end(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    events = judged_events(store, run_events.run_events(RUN, (1000.0, 1300.0, 700.0)))
    raised = [one.finding.id for one in events if isinstance(one, FindingRaised)]
    assert "trials-disagree" in raised
    assert load(store).verdict_on("random read", "web-1") is not None


def test_what_is_stored_gives_the_same_verdict_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    judged_events(store, with_step_end(run_events.run_events(RUN, (1000.0, 1300.0, 700.0))))
    record = load(store)
    bare = replace(record, verdicts=())
    again = judged(store, bare).verdicts
    assert sorted(map(str, again)) == sorted(map(str, record.verdicts))


def _broken(_evidence: object) -> None:
    raise ZeroDivisionError("division by zero")


@pytest.mark.failing_check
@pytest.mark.parametrize("group", ["ENDED_TRIAL_CHECKS", "OUTCOME_CHECKS", "LIMITED_BY"])
def test_a_check_that_fails_costs_the_verdict_nothing_but_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, group: str
) -> None:
    made = getattr(steps, group)
    broken = replace(made if group == "LIMITED_BY" else made[0], id="b", evaluate=_broken)
    monkeypatch.setattr(steps, group, broken if group == "LIMITED_BY" else (broken, *made))
    store = Store(tmp_path / "runs.sqlite3")
    judged_events(store, with_step_end(run_events.run_events(RUN, (1000.0, 1300.0, 700.0))))
    record = load(store)
    (failed,) = (one for one in record.findings if one.id == "check-failed")
    assert "b (" in failed.measured
    assert "ZeroDivisionError" in failed.measured
    verdict = record.verdict_on("random read", "web-1")
    assert verdict is not None
    assert {failed.id, "trials-disagree"} <= {one.id for one in verdict.findings}
    assert record.verdict is not None
    assert "check b failed" in caplog.text


def test_a_verdict_that_cannot_be_computed_costs_the_run_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(steps, "summary_of", _broken)
    store = Store(tmp_path / "runs.sqlite3")
    events = judged_events(store, with_step_end(run_events.run_events(RUN)))
    assert events[-1] == RunEnded(RUN, State.DONE, "", {"web-1": 0.002})
    assert load(store).verdicts == ()
    assert "could not be computed" in caplog.text


def test_a_run_that_is_judged_again_has_one_verdict_on_each_place(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    judged_events(store, with_step_end(run_events.run_events(RUN)))
    connection = sqlite3.connect(tmp_path / "runs.sqlite3")
    count = connection.execute("SELECT count(*) FROM verdicts").fetchone()[0]
    connection.close()
    assert count == 2
