"""The phases of a run: the table has no dead end, illegal transitions raise, and runs take the paths that it draws."""

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.events import JobBegan, RunDetached, RunEnded, State
from app.questions import RefusingAsker
from app.runs import run
from app.runs.control import Control
from app.runs.phase import TRANSITIONS, Phase, PhaseError, RunPhase
from app.runs.run import Engine
from remote.errors import ConnectOutcome
from suites.base import Command, Context, Purpose
from suites.parameters import Values
from tests.app.model_host import PLAN, Lab, TwoCommands


def reachable(start: Phase) -> set[Phase]:
    """Return the phases that can follow `start`, and itself."""
    found, new = {start}, [start]
    while new:
        more = TRANSITIONS[new.pop()] - found
        found |= more
        new += more
    return found


def test_every_phase_is_reached_and_leads_to_the_end() -> None:
    assert set(TRANSITIONS) == set(Phase) == reachable(Phase.CONNECTING)
    assert all(Phase.FINISHED in reachable(phase) for phase in Phase)
    assert [phase for phase in Phase if not TRANSITIONS[phase]] == [Phase.FINISHED]


def test_nothing_is_measured_any_more_once_a_run_stops_or_is_detached() -> None:
    for phase in (Phase.STOPPING, Phase.DETACHED):
        assert reachable(phase) <= {Phase.STOPPING, Phase.DETACHED, Phase.FINISHED}


@given(st.lists(st.sampled_from(Phase)))
def test_only_the_transitions_of_the_table_are_made(wanted: list[Phase]) -> None:
    phase = RunPhase()
    for each in wanted:
        before = phase.path
        if each is phase.now or each in TRANSITIONS[phase.now]:
            phase.to(each)
            assert phase.now is each
        else:
            with pytest.raises(PhaseError):
                phase.to(each)
            assert phase.path == before
        assert (phase.waiting_since == math.inf) is (phase.now is Phase.MEASURING)
    assert phase.refused is (phase.path == (Phase.CONNECTING, Phase.FINISHED))
    assert phase.opened is (Phase.PREPARING in phase.path)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


@pytest.fixture
def phases(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RunPhase]]:
    """The phases of each run that is made meanwhile."""
    made: list[RunPhase] = []

    class Watched(Engine):
        def __init__(self, *words: object) -> None:
            super().__init__(*words)  # type: ignore[arg-type]
            made.append(self.phase)

    monkeypatch.setattr(run, "Engine", Watched)
    yield made
    assert all(phase.now is Phase.FINISHED for phase in made)


MEASURED = (Phase.CONNECTING, Phase.PREPARING, Phase.MEASURING)


def test_a_run_goes_from_connecting_to_its_end(lab: Lab, phases: list[RunPhase]) -> None:
    assert lab.run()
    assert [phase.path for phase in phases] == [(*MEASURED, Phase.STOPPING, Phase.FINISHED)]


@pytest.mark.quick(7)
@pytest.mark.parametrize(
    ("act", "last"),
    [
        (Control.stop, (Phase.STOPPING, Phase.FINISHED)),
        (Control.detach, (Phase.DETACHED, Phase.FINISHED)),
        (Control.note_taken_over, (Phase.DETACHED, Phase.FINISHED)),
    ],
)
@pytest.mark.parametrize(
    "at", ["RunStarted", "FactsRead", "JobPlanned", "JobBegan", "TrialStarted", "TrialEnded", "StepEnded"]
)
def test_the_user_ends_a_run_in_any_phase(
    lab: Lab, phases: list[RunPhase], act: Callable[[Control], None], last: tuple[Phase, ...], at: str
) -> None:
    control = Control()
    with closing(lab.workstation()) as made:
        for event in made.run(PLAN, RefusingAsker(), control):
            if type(event).__name__ == at:
                act(control)
    (phase,) = phases
    assert phase.path[-2:] == last
    assert phase.path[:-2] == MEASURED[: len(phase.path) - 2]


def test_a_run_that_reaches_no_host_names_how_the_connection_failed(lab: Lab, phases: list[RunPhase]) -> None:
    lab.host.down = True
    with closing(lab.workstation()) as made:
        *_, ended = made.run(PLAN, RefusingAsker(), Control())
    assert isinstance(ended, RunEnded)
    assert (ended.state, ended.unreached) == (State.FAILED, ConnectOutcome.CONFIG)
    assert phases


def test_a_run_that_is_detached_while_it_prepares_and_has_to_clean_up_stays_detached(
    lab: Lab, phases: list[RunPhase], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = TwoCommands.commands

    def with_clean_up(self: TwoCommands, values: Values, context: Context) -> tuple[Command, ...]:
        return (*commands(self, values, context), Command(("clean",), Purpose.CLEAN_UP))

    monkeypatch.setattr(TwoCommands, "commands", with_clean_up)
    control = Control()
    with closing(lab.workstation()) as made:
        for event in made.run(PLAN, RefusingAsker(), control):
            if isinstance(event, JobBegan):
                control.detach()
        assert isinstance(event, RunDetached)
    assert phases[0].path == (*MEASURED, Phase.DETACHED, Phase.FINISHED)
