"""What is said on standard error while a run goes, lost connections and attached runs among it."""

from collections.abc import Generator

import pytest

from app.cli.telling import follow
from app.events import (
    Activity,
    Event,
    FindingRaised,
    LinkChanged,
    RunAttached,
    RunEnded,
    RunLeft,
    RunStarted,
    State,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.hosts.link_words import LinkState
from app.runs.control import Control
from suites.base import Parsed
from suites.vocab import Finding, Level
from tests.app import recorded


def told(capsys: pytest.CaptureFixture[str], *events: Event, attached: bool = False) -> tuple[list[str], State]:
    """Return the lines that are said of `events`, and the state of the run."""

    def happening() -> Generator[Event]:
        yield from events

    run_id, state = follow(happening(), Control(), quiet=False, attached=attached)
    assert run_id in {"", "run-1"}
    return capsys.readouterr().err.splitlines(), state


def link(state: LinkState, attempt: int = 0, detail: str = "") -> LinkChanged:
    return LinkChanged("web-1", state, 0.0, attempt, detail)


def test_a_lost_connection_is_said_from_the_loss_to_the_return(capsys: pytest.CaptureFixture[str]) -> None:
    said, state = told(
        capsys,
        RunStarted("run-1", recorded.plan(), "2026-11-20T14:15:30+00:00"),
        link(LinkState.LOST, detail="The other end closed it."),
        link(LinkState.RECONNECTING, 1),
        link(LinkState.BACK),
        RunEnded("run-1", State.DONE),
    )
    assert said[0].startswith("web-1: connection lost, last data ")
    assert said[0].endswith("the trial continues (The other end closed it.)")
    assert said[1:3] == [
        "web-1: the trial continues; reconnecting, try 1",
        "web-1: the connection is back",
    ]
    assert state is State.DONE


def test_of_an_attached_run_the_past_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    plan = recorded.plan()
    said, _state = told(
        capsys,
        RunStarted("run-1", plan, "2026-11-20T14:15:30+00:00"),
        TrialStarted(recorded.trial(1), None),
        RunAttached("run-1", plan, 720.0),
        Activity("connecting to web-1"),
        TrialAttached(recorded.trial(2), None, ()),
        RunEnded("run-1", State.DONE),
        attached=True,
    )
    assert said == [
        "resuming a run that began 12 min ago",
        "connecting to web-1",
        "random read on web-1: trial 2, followed again",
        "done.",
    ]


def test_a_run_that_is_let_go_of_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    said, state = told(capsys, RunStarted("run-1", recorded.plan(), "2026-11-20T14:15:30+00:00"), RunLeft("run-1"))
    assert said == ["detached; resume it with: benchwright attach run-1"]
    assert state is State.RUNNING


def test_what_comes_true_during_a_trial_is_said_at_once_and_what_is_found_after_it_is_left_to_the_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def raised(measured: str, trial: int | None) -> FindingRaised:
        found = Finding("swapped", Level.WARNING, "The host swapped", measured, "why", "remedy", "source")
        return FindingRaised(found, trial)

    trial = Trial(1, "web-1", "fio", 1, warm_up=False, commands=(), started="2026-11-20T14:15:30+00:00")
    said, _state = told(
        capsys,
        RunStarted("run-1", recorded.plan(), "2026-11-20T14:15:30+00:00"),
        raised("before it", None),
        TrialStarted(trial, 10.0),
        raised("4 MiB were read back.", 1),
        TrialEnded(1, State.DONE, 0, Parsed(())),
        raised("after it", 1),
        RunEnded("run-1", State.DONE),
    )
    assert said == ["fio on web-1: trial 1", "warning: The host swapped. 4 MiB were read back.", "done."]
