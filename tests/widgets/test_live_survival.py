"""What the live view knows of lost connections, gaps, and detached runs. No Qt."""

import math
from collections.abc import Iterable
from dataclasses import replace

import pytest

from app.events import (
    Activity,
    Event,
    LinkChanged,
    LinkState,
    Progress,
    RunAttached,
    RunDetached,
    TelemetryRead,
    TrialAttached,
)
from app.runs.messages import link_text
from suites.fio.metrics import IOPS
from suites.vocab import Sample
from tests.messages import messages
from tests.widgets.live_events import CPU_USER, PLACE, READ, begin, end, folded, plan, trial
from widgets.live.headline import headline
from widgets.live.messages import outcome, state_text, summary_text
from widgets.live.model import LivePhase, RunModel

MESSAGES = messages("widgets-live", "test_live_survival")


def link(state: LinkState, *, since: float = 10.0, attempt: int = 0, restarted: str = "") -> LinkChanged:
    return LinkChanged("web-1", state, since, attempt, "", restarted)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (link(LinkState.STALLED), "stalled, last data 12 s ago"),
        (link(LinkState.LOST), "connection lost, last data 12 s ago"),
        (link(LinkState.RECONNECTING, attempt=3), "connection lost, last data 12 s ago; retry 3"),
        (link(LinkState.GIVEN_UP), "connection lost, given up"),
        (link(LinkState.NOT_REACHED), "not measured"),
        (link(LinkState.BACK), ""),
        (link(LinkState.BACK, restarted="at 14:02:11 UTC"), "the host restarted at 14:02:11 UTC"),
    ],
)
def test_every_state_of_a_link_has_its_words(event: LinkChanged, words: str) -> None:
    assert link_text(event, 22.0) == words


def test_a_lost_link_is_said_on_the_page_and_in_the_bar_until_it_is_back() -> None:
    model = folded([Activity("measuring"), begin(), link(LinkState.LOST)])
    words = "web-1: connection lost, last data 12 s ago"
    assert state_text(model, 22.0) == words
    assert summary_text(model, 22.0) == f"disk · {words}"
    assert headline(model, PLACE, [], 22.0).current == MESSAGES["trial_1_state_not_known"]
    model.fold(link(LinkState.BACK), 5.0)
    assert state_text(model, 22.0) == "measuring"
    assert "trial 1 of 3" in summary_text(model, 22.0)


@pytest.mark.parametrize(
    ("state", "words"),
    [(LinkState.NOT_REACHED, "web-9: not measured"), (LinkState.GIVEN_UP, "web-9: connection lost, given up")],
)
def test_a_host_that_is_sought_no_more_is_said_beside_what_goes_on(state: LinkState, words: str) -> None:
    model = folded([Activity("measuring"), LinkChanged("web-9", state, 10.0, 0, "it did not answer"), begin()])
    assert state_text(model, 22.0) == f"measuring · {words}"
    model.fold(Progress(0, 3, 30.0), 22.0)
    assert model.remaining(22.0) == 30.0
    model.fold(link(LinkState.STALLED), 22.0)
    assert model.remaining(22.0) is None
    model.fold(link(LinkState.BACK), 22.0)
    assert "trial 1 of 3" in summary_text(model, 22.0)
    assert summary_text(model, 22.0).endswith(words)


def test_of_two_trials_under_way_the_one_that_goes_on_is_shown() -> None:
    model = folded([begin(1), begin(2, 2)])
    assert model.current is model.trials[2]
    model.fold(end(1.0, 2), 5.0)
    assert model.current is model.trials[1]
    model.fold(end(1.0, 1), 6.0)
    assert model.current is model.trials[1]


def test_a_run_that_is_stopped_meanwhile_says_both() -> None:
    model = folded([begin(), link(LinkState.RECONNECTING, attempt=2)])
    model.stopping()
    assert "try 2 · stopping" in state_text(model, 22.0)


def test_an_end_leaves_no_trouble_behind() -> None:
    model = folded([begin(), link(LinkState.GIVEN_UP), end(None)])
    model.fail("gone", 9.0)
    assert state_text(model, 22.0) == "failed"


def watched(times: Iterable[float]) -> list[Event]:
    return [TelemetryRead("web-1", (Sample(time, CPU_USER, 50.0),)) for time in times]


def values(model: RunModel) -> list[float]:
    (series,) = model.telemetry["web-1"].values()
    return [float(value) for value in series.buffer.values()]


def test_time_without_telemetry_is_a_gap_in_its_curve() -> None:
    found = values(folded(watched([1.0, 2.0, 3.0, 44.0, 45.0])))
    assert [math.isnan(value) for value in found] == [False, False, False, True, False, False]


def test_a_late_tick_is_no_gap() -> None:
    assert not any(map(math.isnan, values(folded(watched([1.0, 2.0, 5.5, 6.5])))))


def test_an_attached_run_goes_on_where_it_was() -> None:
    samples = tuple(Sample(float(second), IOPS, 100.0, READ) for second in range(1, 8))
    model = folded([RunAttached("run-1", plan(), 600.0), TrialAttached(trial(), 10.0, samples)])
    assert model.elapsed(2.0) == 601.0
    assert model.current is not None
    assert model.running_at(PLACE) is model.current
    assert model.current.latest() == 7.0
    assert model.current.began == 2.0 - 7.0


def test_a_run_that_is_let_go_of_is_over_here_and_says_what_goes_on() -> None:
    model = folded([begin(), link(LinkState.LOST), RunDetached("run-1")])
    assert (model.phase, model.phase.over) == (LivePhase.DETACHED, True)
    level, shown, more = outcome(model)
    assert level == "info"
    assert shown.startswith("Detached on web-1")
    assert more == MESSAGES["the_trial_continues"]
    between = folded([begin(), end(1.0), RunDetached("run-1")])
    assert outcome(between)[2] == MESSAGES["no_trial_is_under_way"]
    whole = folded([begin(), end(1.0), RunDetached("run-1")], replace(plan(1), steps=plan().steps[:1]))
    assert outcome(whole)[2] == MESSAGES["all_trials_ended"]
    assert state_text(model, 22.0) == MESSAGES["detached_attach_to_go_on"]
