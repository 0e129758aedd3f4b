"""The interval shrinks in sight, the forecast stands beside it, and a stored run shows the same."""

import math
import random
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.events import Decision, PolicyDecided, RunEnded, SampleRead, State, TrialStarted
from app.plans.plan import Plan, Policy, Repetition, make_step
from app.plans.repetition import UntilInterval, UntilVerdict
from app.records import RunRecord
from suites.fio.metrics import IOPS
from suites.vocab import Better, Figure, Sample
from tests.app.run_events import run_record, trial
from tests.messages import messages
from tests.widgets.live_events import PLACE, READ, begin, end, folded, plan
from widgets.live.headline import goal_text
from widgets.live.interval_view import IntervalView, interval_curve
from widgets.live.messages import step_progress
from widgets.live.model import RunModel
from widgets.live.replay import stored
from widgets.live.run_plots import RunPlots
from widgets.live.step_view import StepView
from widgets.plots.timeline import MarkKind, PlotMark

MESSAGES = messages("widgets-live", "test_live_repetition")

VALUES = tuple(41_000 * (1 + 0.02 * math.sin(2.7 * number)) for number in range(1, 15))
RULE = UntilInterval(0.01, 6, 30)


def decided(count: int, rule: UntilInterval = RULE) -> list[PolicyDecided]:
    return [
        PolicyDecided("web-1", "disk", IOPS, READ, rule.decide(VALUES[:number], each=30.0))
        for number in range(1, count + 1)
    ]


def test_nothing_is_drawn_before_the_first_interval() -> None:
    assert interval_curve([]) is None
    assert interval_curve([one.decision for one in decided(5)]) is None


def test_the_intervals_are_held_against_the_latest_middle() -> None:
    curve = interval_curve([one.decision for one in decided(12)])
    assert curve is not None
    assert [point.trials for point in curve.points] == [6, 7, 8, 9, 10, 11, 12]
    assert curve.points[-1].value == 0.0
    assert curve.wanted == 0.01
    assert curve.last > 12
    widths = [point.high - point.low for point in curve.points]
    assert widths[-1] < widths[0]
    assert curve.reach >= max(abs(curve.points[-1].low), abs(curve.points[-1].high))


def test_a_ratio_is_held_against_one() -> None:
    rule = UntilVerdict(tuple(VALUES[:8]), Better.HIGHER, 0.05, 0.95, 6, 30)
    curve = interval_curve([rule.decide([1.2 * value for value in VALUES[:count]]) for count in range(2, 8)])
    assert curve is not None
    assert curve.points[-1].value == pytest.approx(0.2, abs=0.02)
    assert curve.wanted == 0.05


def test_a_flood_of_digits_is_no_shape() -> None:
    assert (
        interval_curve([Decision(stop=False, settled=False, trials=3, reason="", value=0.0, low=0.0, high=0.0)]) is None
    )
    flat = interval_curve([Decision(stop=True, settled=True, trials=3, reason="", value=5.0, low=5.0, high=5.0)])
    assert flat is not None
    assert flat.reach > 0


def test_the_drawing_says_how_sure_it_is_and_what_is_to_come(qtbot: QtBot) -> None:
    view = IntervalView()
    qtbot.addWidget(view)
    assert view.isHidden()
    view.show_decisions(decided(2))
    assert view.isHidden(), "no interval yet"
    view.show_decisions(decided(9))
    assert not view.isHidden()
    assert view.accessibleName().startswith(MESSAGES["how_sure_it_is_i_os_per"])
    assert MESSAGES["after_9_trials_wanted_1"] in view.accessibleName()
    assert "At least " in view.accessibleName()
    assert not view.grab().isNull()
    view.show_decisions(())
    assert view.isHidden()


def test_the_interval_of_a_ratio_is_called_sequential(qtbot: QtBot) -> None:
    view = IntervalView()
    qtbot.addWidget(view)
    rule = UntilVerdict(tuple(VALUES[:8]), Better.HIGHER, 0.05, 0.95, 6, 30)
    noisy = [value * factor for value, factor in zip(VALUES, (1.0, 1.2, 0.95, 1.1, 1.15, 1.0, 1.1), strict=False)]
    view.show_decisions([PolicyDecided("web-1", "disk", IOPS, READ, rule.decide(noisy))])
    assert view.accessibleName().endswith(MESSAGES["beyond"])
    assert MESSAGES["sequential_interval"] in view.toolTip()


def test_the_headline_holds_the_interval_against_the_goal() -> None:
    assert goal_text(folded([]), PLACE) == ""
    assert goal_text(folded(decided(2)), PLACE) == "no CI yet of goal ±1 %"
    assert goal_text(folded(decided(9)), PLACE) == "CI ±1.4 % of goal ±1 %"


def test_the_model_keeps_the_decisions_of_each_place_and_tells_how_far_it_is() -> None:
    until = Plan("p", ("web-1",), plan().steps, repetition=Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.01))
    model = folded([begin(1), end(41_000.0, 1), *decided(8)], until)
    assert len(model.decisions[PLACE]) == 8
    more = model.decisions[PLACE][-1].decision.more
    assert step_progress(model, PLACE) == f"1/≥{1 + (more or 0)}"
    last = replace(model.decisions[PLACE][-1].decision, more=3, beyond=True)
    model.fold(PolicyDecided("web-1", "disk", IOPS, READ, last), 98.0)
    assert step_progress(model, PLACE) == "1/≤4"
    model.fold(RunEnded("run-1", State.DONE), 99.0)
    assert step_progress(model, PLACE) == "1 done"


def stored_run(repetition: Repetition) -> RunRecord:
    run = run_record("run-1", VALUES, metric=IOPS, step=make_step("fio", {}, name="disk"))
    return replace(run, plan=replace(run.plan, repetition=repetition))


def test_a_stored_run_shows_what_was_decided(qtbot: QtBot) -> None:
    model = stored(stored_run(Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.01, cap=14)), {}, {})
    found = [one.decision for one in model.decisions[PLACE]]
    rule = UntilInterval(0.01, 6, 14)
    assert [one.reason for one in found] == [rule.decide(VALUES[:n]).reason for n in range(1, len(found) + 1)]
    view = StepView()
    qtbot.addWidget(view)
    view.show_step_key(model, PLACE, ())
    assert not view.bar.intervals.isHidden()
    assert "of goal ±1 %" in view.bar.current.text()


def test_a_verdict_waited_for_is_not_made_up_again() -> None:
    assert stored(stored_run(Repetition(policy=Policy.UNTIL_VERDICT, baseline="weekly")), {}, {}).decisions == {}


def slow_trial(model: RunModel, count: int = 60) -> None:
    rng = random.Random(1)
    model.fold(TrialStarted(trial(1, step="disk"), 60.0), 0.0)
    for second in range(count):
        value = 41_000 * (0.5 + 0.05 * second if second < 10 else 1.0) * rng.gauss(1, 0.01)
        model.fold(SampleRead(1, Sample(second + 1.0, IOPS, value, READ)), float(second))


def marks(plots: RunPlots) -> list[PlotMark]:
    return [mark for mark in plots.window_of_time.marks if mark.kind is MarkKind.FINDING]


def test_where_a_start_ends_that_differs_is_marked_once_the_trial_is_over(qtbot: QtBot) -> None:
    from app.events import TrialEnded
    from suites.outputs import ParsedTrial

    model = RunModel(plan())
    slow_trial(model)
    plots = RunPlots()
    qtbot.addWidget(plots)
    plots.show_step(model, PLACE, model.trials[1], ())
    assert marks(plots) == []
    model.fold(TrialEnded(1, State.DONE, 0, ParsedTrial((Figure(IOPS, 40_000.0, READ),))), 61.0)
    plots.sync()
    (mark,) = marks(plots)
    assert mark.time in {10.0, 15.0}
    assert f"without the first {mark.time:g} s the figure changes by +4" in mark.text
    plots.sync()
    assert len(marks(plots)) == 1
