"""Once a sample of any trial has arrived, the headline of its step shows a figure and what it is, to the end."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from app.events import (
    Activity,
    Event,
    LinkChanged,
    LinkState,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialEnded,
    TrialStarted,
)
from app.plans.plan import LOCAL, Order, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from app.services import Workstation
from suites.outputs import ParsedTrial
from suites.vocab import Figure, labels
from tests.widgets.live_events import begin, end, plan, sample, trial
from tests.widgets.test_live_sweep import RATE
from widgets.live.headline import NO_FIGURE, headline
from widgets.live.model import RunModel, StepKey

ABBA = ((1, "disk"), (2, "cpu"), (3, "cpu"), (4, "disk"))


def never_blank(of: Plan, events: Iterable[Event]) -> list[str]:
    """Fold `events`; assert that no step with a sample is without a figure. Return the captions that were seen."""
    model = RunModel(of)
    measured: set[StepKey] = set()
    captions: list[str] = []
    for now, event in enumerate(events):
        model.fold(event, float(now))
        if isinstance(event, SampleRead):
            measured.add(model.trials[event.trial].step_key)
        for step_key in model.step_keys():
            shown = headline(model, step_key, (), float(now))
            assert shown.text
            assert shown.caption
            assert step_key not in measured or shown.text != NO_FIGURE, (now, event)
            if step_key in measured and shown.caption not in captions[-1:]:
                captions.append(shown.caption)
    return captions


def one_trial(id_: int, number: int, step: str = "disk", host: str = "web-1", *, warm_up: bool = False) -> list[Event]:
    started = TrialStarted(replace(trial(id_, number, warm_up=warm_up, step=step), host=host), 10.0)
    return [
        Activity(f"preparing {step}"), started, sample(41_000.0, 1.0, id_, warm_up=True), sample(41_000.0, 2.0, id_),
        end(41_000.0 + id_, id_), Activity("cooling down"),
    ]  # fmt: skip


def stopped(events: list[Event]) -> list[Event]:
    """Return `events` cut before the last trial's end: the user stops the run."""
    last = max(at for at, event in enumerate(events) if isinstance(event, TrialEnded))
    return [
        *events[:last],
        end(None, 2, State.PARTIAL, "Stopped by you."),
        RunEnded("run-1", State.PARTIAL, "Stopped."),
    ]


def reconnected() -> list[Event]:
    lost = [LinkChanged("web-1", state, 1.0, 1) for state in (LinkState.LOST, LinkState.RECONNECTING, LinkState.BACK)]
    first, second = one_trial(1, 1), one_trial(2, 2)
    return [*first[:3], *lost, *first[3:], *second[:1], *lost, *second[1:], RunEnded("run-1", State.DONE)]


def failed() -> list[Event]:
    first = [begin(1), sample(9.0, 1.0), end(None, 1, State.FAILED, "fio: no space.")]
    return [*first, begin(2, 2), end(None, 2, State.FAILED, "again"), RunEnded("run-1", State.FAILED, "fio: no space.")]


def swept() -> list[Event]:
    points = [sample(90.0 * depth, float(depth), metric=RATE, labelled=labels(depth=str(depth))) for depth in (1, 4)]
    figures = tuple(Figure(RATE, 90.0 * depth, labels(depth=str(depth))) for depth in (1, 4))
    return [begin(1), *points, TrialEnded(1, State.DONE, 0, ParsedTrial(figures)), RunEnded("run-1", State.DONE)]


CASES = {
    "warm-up": (plan(), [*one_trial(1, 1, warm_up=True), *one_trial(2, 1), RunEnded("run-1", State.DONE)]),
    "abba": (replace(plan(), order=Order.ABBA), [e for id_, step in ABBA for e in one_trial(id_, 1 + id_ // 3, step)]),
    "hosts": (plan(hosts=("web-1", "web-2")), [e for n in (1, 2) for e in one_trial(n, 1, host=f"web-{n}")]),
    "duet": (
        replace(plan(), order=Order.DUET),
        [e for pair in zip(one_trial(1, 1), one_trial(2, 1, "cpu"), strict=True) for e in pair],
    ),
    "stopped": (plan(), stopped([*one_trial(1, 1, warm_up=True), *one_trial(2, 1)])),
    "reconnected": (plan(), reconnected()),
    "failed": (plan(), failed()),
    "swept": (plan(), swept()),
}


@pytest.mark.parametrize("case", CASES)
def test_the_headline_is_never_blank_after_the_first_sample(case: str) -> None:
    of, events = CASES[case]
    assert never_blank(of, [RunStarted("run-1", of, "2026-01-01T00:00:00+00:00"), *events])


def test_a_tool_without_samples_shows_the_time_of_its_trial_beside_the_finished_ones() -> None:
    model = RunModel(plan())
    for now, event in enumerate([begin(1), end(41_000.0, 1), begin(2, 2)]):
        model.fold(event, float(now))
    shown = headline(model, ("disk", "web-1"), (), 6.0)
    assert (shown.text, shown.caption) == ("41.0k IOPS", "no interval, n=1")
    assert shown.current == "trial 2 of 3, 00:04 of 00:10"
    shown = headline(model, ("disk", "web-1"), (), 14.0)
    assert shown.current == "trial 2 of 3, 00:12, expected 00:10"


@pytest.mark.slow
def test_a_real_run_is_never_blank(workstation: Workstation, few_programs: None) -> None:
    """Two tools whose trials take turns, as recorded from the run itself."""
    steps = (
        make_step("sysbench-cpu", {"time": 3, "threads": 1}, name="cpu"),
        make_step("sysbench-memory", {"time": 3, "threads": 1}, name="memory"),
    )
    of = Plan("turns", (LOCAL,), steps, repetition=Repetition(trials=2, warm_ups=1), order=Order.INTERLEAVED)

    def events() -> Iterator[Event]:
        yield from workstation.run(of, RefusingAsker(), Control())

    captions = never_blank(of, events())
    assert captions[-1].endswith("n=2")
    assert any("not counted" in caption for caption in captions), "the warm-up is shown until a trial counts"
