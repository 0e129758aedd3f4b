"""What is said on standard error while a run goes, lost connections and attached runs among it."""

from collections.abc import Generator

import pytest

from app.cli.progress import follow
from app.events import (
    Activity,
    Event,
    FindingRaised,
    LinkChanged,
    LinkState,
    RunAttached,
    RunDetached,
    RunEnded,
    RunStarted,
    State,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.runs.control import Control
from suites.outputs import ParsedTrial
from suites.vocab import Finding, Severity
from tests.app import run_events
from tests.messages import messages

MESSAGES = messages("app-command-line", "test_cli_progress")


def reported(capsys: pytest.CaptureFixture[str], *events: Event, attached: bool = False) -> tuple[list[str], State]:
    """Return the lines that are said of `events`, and the state of the run."""

    def happening() -> Generator[Event]:
        yield from events

    run_id, state = follow(happening(), Control(), quiet=False, attached=attached)
    assert run_id in {"", "run-1"}
    return capsys.readouterr().err.splitlines(), state


def link(state: LinkState, attempt: int = 0, detail: str = "") -> LinkChanged:
    return LinkChanged("web-1", state, 0.0, attempt, detail)


def test_a_lost_connection_is_said_from_the_loss_to_the_return(capsys: pytest.CaptureFixture[str]) -> None:
    shown, state = reported(
        capsys,
        RunStarted("run-1", run_events.plan(), "2026-11-20T14:15:30+00:00"),
        link(LinkState.LOST, detail="The other end closed it."),
        link(LinkState.RECONNECTING, 1),
        link(LinkState.BACK),
        RunEnded("run-1", State.DONE),
    )
    assert shown[0].startswith("web-1: connection lost, last data ")
    assert shown[0].endswith(MESSAGES["the_trial_continues_the"])
    assert shown[1].endswith("; retry 1")
    assert shown[2] == "web-1: reconnected"
    assert state is State.DONE


def test_of_an_attached_run_the_past_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    plan = run_events.plan()
    shown, _state = reported(
        capsys,
        RunStarted("run-1", plan, "2026-11-20T14:15:30+00:00"),
        TrialStarted(run_events.trial(1), None),
        RunAttached("run-1", plan, 720.0),
        Activity("connecting to web-1"),
        TrialAttached(run_events.trial(2), None, ()),
        RunEnded("run-1", State.DONE),
        attached=True,
    )
    assert shown == [
        MESSAGES["resuming_a_run_that_began_12"],
        "connecting to web-1",
        MESSAGES["random_read_on_web_1_trial_2"],
        "done.",
    ]


def test_an_activity_is_printed_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    activity = Activity("preparing disk", "web-1", command="fio --name=prepare")
    shown, _state = reported(capsys, activity, RunEnded("run-1", State.DONE))
    assert shown[0] == "preparing disk: fio --name=prepare"


def test_a_run_that_is_let_go_of_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    shown, state = reported(
        capsys, RunStarted("run-1", run_events.plan(), "2026-11-20T14:15:30+00:00"), RunDetached("run-1")
    )
    assert shown == [MESSAGES["detached_resume_it_with"]]
    assert state is State.RUNNING


def test_what_comes_true_during_a_trial_is_said_at_once_and_what_is_found_after_it_is_left_to_the_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def raised(measured: str, trial: int | None) -> FindingRaised:
        found = Finding("swapped", Severity.WARNING, "The host swapped", measured, "why", "remedy", "source")
        return FindingRaised(found, trial)

    trial = Trial(1, "web-1", "fio", 1, warm_up=False, commands=(), started="2026-11-20T14:15:30+00:00")
    shown, _state = reported(
        capsys,
        RunStarted("run-1", run_events.plan(), "2026-11-20T14:15:30+00:00"),
        raised("before it", None),
        TrialStarted(trial, 10.0),
        raised("4 MiB were read back.", 1),
        TrialEnded(1, State.DONE, 0, ParsedTrial(())),
        raised("after it", 1),
        RunEnded("run-1", State.DONE),
    )
    assert shown == ["fio on web-1: trial 1", "warning: The host swapped. 4 MiB were read back.", "done."]
