"""How a run ends follows from how its trials ended: live, attached, on opening the library, and when it is given up."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.events import (
    Event,
    FactsRead,
    Moment,
    RunEnded,
    RunStarted,
    State,
    Trial,
    TrialEnded,
    TrialStarted,
    WorkspaceUsed,
)
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from app.runs.phase import NOT_MEASURED, RunOutcome
from app.runs.request import RunRequest
from app.runs.run import Engine
from app.services import Workstation
from app.store.store import Store
from remote.questions import Asker
from remote.session import Session
from suites.outputs import ParsedTrial
from tests.app import run_events
from tests.app.test_detached_runs import RUN, WORKSPACE
from tests.messages import messages

MESSAGES = messages("app", "test_run_state")

HOSTS = ("web-1", "web-2")
PLAN = Plan("two", HOSTS, (make_step("sysbench-cpu", {"time": 1}),), repetition=Repetition(trials=1))

DOWN = "web-9 refused the connection."
ENDS = {
    "done": (State.DONE, ""),
    "not measured": (State.FAILED, f"{NOT_MEASURED}{DOWN}"),
    "partial": (State.PARTIAL, "The connection was lost."),
    "failed": (State.FAILED, "It printed no figure."),
}
STATES = {
    ("done", "done"): State.DONE,
    ("done", "not measured"): State.PARTIAL,
    ("done", "partial"): State.PARTIAL,
    ("done", "failed"): State.FAILED,
    ("not measured", "not measured"): State.FAILED,
    ("not measured", "partial"): State.PARTIAL,
    ("not measured", "failed"): State.FAILED,
    ("partial", "partial"): State.PARTIAL,
    ("partial", "failed"): State.FAILED,
    ("failed", "failed"): State.FAILED,
}
"""The state of a run by how its two trials ended."""

REASONS = {
    "done": (),
    "not measured": (DOWN,),
    "partial": ("sysbench-cpu: The connection was lost.",),
    "failed": ("sysbench-cpu: It printed no figure.",),
}


def begun(ends: tuple[str, ...], *, held: bool) -> Iterator[Event]:
    """Yield a run up to the end of its last trial; `held`: something of it is still on a host."""
    yield RunStarted(RUN, PLAN, "2026-11-22T14:15:30+00:00")
    for number, (host, end) in enumerate(zip(HOSTS, ends, strict=True), 1):
        yield FactsRead(host, Moment.BEFORE, run_events.facts(host))  # whether its facts were read decides nothing
        if held:
            yield WorkspaceUsed("sysbench-cpu", host, host, False, WORKSPACE)
        yield TrialStarted(Trial(number, host, "sysbench-cpu", 1, False, (), "2026-11-22T14:15:31+00:00"), None)
        state, reason = ENDS[end]
        yield TrialEnded(number, state, None, ParsedTrial(), reason)


def _connect_unreachable(host: str, _asker: Asker) -> Session:
    pytest.fail(f"{host} is connected to")


@pytest.mark.parametrize(
    "how", ["live", "attached", *(pytest.param(how, marks=pytest.mark.slow) for how in ("opened", "given up"))]
)
@pytest.mark.parametrize("ends", list(STATES), ids=" and ".join)
def test_a_run_ends_by_its_trials_wherever_it_ends(tmp_path: Path, ends: tuple[str, str], how: str) -> None:
    with closing(Store(tmp_path / "runs.sqlite3")) as store:
        with store.recorder(RUN) as recorder:
            for event in begun(ends, held=how != "opened"):
                recorder.record(event)
        found = RunOutcome()
        if how == "live":
            for end in ends:
                found.trial("sysbench-cpu", *ENDS[end])
        elif how == "attached":
            found = Engine(
                RunRequest(RUN, PLAN, _connect_unreachable, Control(), detached_run=store.take_over(RUN))
            ).outcome
    if how in {"live", "attached"}:
        state, reason = found.state, found.reason
    else:
        with closing(Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")) as made:
            if how == "given up":
                made.forget(RUN)
            record = made.load(RUN)
            state, reason = record.summary.state, record.reason.partition(" Not read")[0].partition("Not read")[0]
    assert state is STATES[ends]
    assert reason == " ".join(dict.fromkeys(words for end in ends for words in REASONS[end]))


@pytest.mark.parametrize(
    ("first", "then", "state"),
    [
        (None, State.PARTIAL, State.PARTIAL),
        ("done", State.PARTIAL, State.PARTIAL),
        ("not measured", State.PARTIAL, State.PARTIAL),
        ("failed", State.PARTIAL, State.FAILED),
        ("done", State.FAILED, State.FAILED),
    ],
)
def test_what_goes_wrong_beside_the_trials_counts(first: str | None, then: State, state: State) -> None:
    found = RunOutcome()
    assert found.state is State.FAILED  # nothing was measured
    if first is not None:
        found.trial("sysbench-cpu", *ENDS[first])
    found.problem(then, "Stopped by you.")
    found.problem(then, "Stopped by you.")
    assert found.state is state
    assert found.reason.count("Stopped by you.") == 1


def test_a_step_is_named_once_in_its_problem() -> None:
    found = RunOutcome()
    found.trial("fio", State.FAILED, "fio on a: full.")
    found.trial("fio 2", State.FAILED, "fio on a: late.")
    assert found.problems == ["fio on a: full.", "fio 2: fio on a: late."]


def test_no_trial_is_under_way_in_a_run_that_has_ended(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "runs.sqlite3")) as store:
        with store.recorder(RUN) as recorder:
            for event in [*begun(("done", "done"), held=False)][:-1]:
                recorder.record(event)
            recorder.record(RunEnded(RUN, State.FAILED, "Benchwright failed while it ran."))
        one, two = store.load(RUN).trials
    assert (one.state, one.reason) == (State.DONE, "")
    assert (two.state, two.reason, bool(two.ended)) == (State.PARTIAL, MESSAGES["benchwright_failed_while_it"], True)
