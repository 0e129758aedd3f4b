"""The wizard's repetition: a field only where it has an effect, and every policy and order makes its plan."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, QUICK_LOOK, Order, Plan, Policy, Repetition, make_step
from app.plans.totals import totals
from app.store.store import Store
from tests.app.run_events import run_events
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle, with_tests
from widgets.wizard.draft import PlanDraft
from widgets.wizard.editors import ParameterField
from widgets.wizard.measure_page import REVIEW, MeasurePage
from widgets.wizard.repetition_parameters import REPETITION, values_of

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets-measure", "test_measure_repetition")

CPU = make_step("sysbench-cpu", {"time": 10})


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    store = Store(tmp_path / "runs.sqlite3")
    with store.recorder("run-1") as recorder:
        for event in run_events("run-1"):
            recorder.record(event)
    store.pin("weekly", [("run-1", "")])
    store.close()
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "sysbench-cpu")
    made.go(REVIEW)
    settle(qtbot, made)
    return made


def write(qtbot: QtBot, page: MeasurePage, **texts: str) -> None:
    for name, text in texts.items():
        editor = page.review.repetition.fields[name].editor
        editor.set_text(text)
        editor.edited.emit(text)
    settle(qtbot, page)


def shown(page: MeasurePage) -> list[str]:
    fields = page.review.repetition.fields
    return [name for name in fields if not fields[name].isHidden()]


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        ({}, ["policy", "trials", "warm_ups", "pause", "profile", "sessions", "order"]),
        pytest.param(
            {"policy": "until-interval"},
            ["policy", "precision", "minimum", "cap", "warm_ups", "pause", "profile", "sessions", "order"],
            marks=pytest.mark.slow,
        ),
        (
            {"policy": "until-verdict"},
            [
                "policy",
                "baseline",
                "margin",
                "confidence",
                "minimum",
                "cap",
                "warm_ups",
                "pause",
                "profile",
                "sessions",
                "order",
            ],
        ),
        pytest.param(
            {"policy": "budget"},
            ["policy", "budget", "warm_ups", "pause", "profile", "sessions", "order"],
            marks=pytest.mark.slow,
        ),
        ({"policy": "quick"}, ["policy", "warm_ups", "pause", "profile", "sessions", "order"]),
        (
            {"sessions": "5"},
            ["policy", "trials", "warm_ups", "pause", "profile", "sessions", "every", "order"],
        ),
        ({"order": "randomised"}, ["policy", "trials", "warm_ups", "pause", "profile", "sessions", "order", "seed"]),
    ],
)
def test_only_what_has_an_effect_is_asked(
    qtbot: QtBot, page: MeasurePage, texts: dict[str, str], fields: list[str]
) -> None:
    write(qtbot, page, **texts)
    assert shown(page) == fields


def test_each_policy_makes_its_plan(qtbot: QtBot, page: MeasurePage) -> None:
    write(qtbot, page, policy="until-interval", precision="3", cap="12", order="abba", seed="7")
    plan = page.draft.plan()
    assert (plan.repetition.policy, plan.repetition.precision, plan.repetition.cap) == (Policy.UNTIL_INTERVAL, 0.03, 12)
    assert (plan.order, plan.seed) == (Order.ABBA, 7)
    assert page.review.explanation.text() == MESSAGES["7_to_12_trials_on_this"]
    assert " to " in page.review.totals.text()
    write(qtbot, page, policy="until-verdict", baseline="weekly", margin="10", confidence="99")
    given = page.draft.plan().repetition
    assert (given.baseline, given.margin, given.confidence) == ("weekly", 0.1, 0.99)
    assert page.review.repetition.problem.isHidden()
    write(qtbot, page, policy="budget", budget="20 min", order="block")
    assert page.draft.plan().repetition.budget == 1200.0
    assert page.draft.plan().seed is None
    assert "Total: 20 min" in page.review.totals.text()
    assert page.review.explanation.text() == MESSAGES["at_least_1_trial_on_this"]


def test_a_duet_of_two_steps_makes_its_plan(qtbot: QtBot, page: MeasurePage) -> None:
    write(qtbot, page, order="duet")
    assert MESSAGES["a_duet_has_two_steps"] in page.review.repetition.problem.text()
    assert not page.footer.next.isEnabled()
    page.draft.add_step(page.draft.steps[0].suite)
    write(qtbot, page, trials="8")
    assert page.review.repetition.problem.isHidden()
    assert page.draft.plan().order is Order.DUET
    write(qtbot, page, policy="until-interval")
    assert MESSAGES["a_duet_repeats_pairs"] in page.review.repetition.problem.text()


@pytest.mark.parametrize(
    ("texts", "shown_text"),
    [
        ({"policy": "until-verdict"}, "has no baseline"),
        ({"policy": "until-verdict", "baseline": "monthly"}, "No run is pinned as “monthly”. Pinned runs: weekly."),
        ({"policy": "until-interval", "minimum": "20", "cap": "10"}, "repetition.cap is 10"),
    ],
)
def test_what_contradicts_itself_keeps_the_plan_here(
    qtbot: QtBot, page: MeasurePage, texts: dict[str, str], shown_text: str
) -> None:
    write(qtbot, page, **texts)
    assert shown_text in page.review.repetition.problem.text()
    assert not page.footer.next.isEnabled()
    assert not page.review.save_button.isEnabled()


def test_a_value_without_effect_is_no_obstacle(qtbot: QtBot, page: MeasurePage) -> None:
    write(qtbot, page, trials="none")
    assert not page.footer.next.isEnabled()
    write(qtbot, page, policy="budget")
    assert page.footer.next.isEnabled()


def test_pinned_runs_are_offered(page: MeasurePage) -> None:
    line = page.review.repetition.fields["baseline"].editor.field
    assert isinstance(line, QLineEdit)
    completer = line.completer()
    completer.setCompletionPrefix("")
    assert completer.completionCount() == 1
    assert completer.currentCompletion() == "weekly"
    page.review.repetition.names.activated.emit("weekly")
    assert page.draft.repetition.text("baseline") == "weekly"


@pytest.mark.parametrize(
    "plan",
    [
        Plan("p", (LOCAL,), (CPU,), repetition=Repetition(5, 1, 2.0), order=Order.INTERLEAVED),
        Plan(
            "p", (LOCAL,), (CPU,), repetition=Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.015, cap=40),
            order=Order.RANDOMISED, seed=3,
        ),
        Plan(
            "p", (LOCAL,), (CPU,),
            repetition=Repetition(policy=Policy.UNTIL_VERDICT, baseline="weekly", margin=0.07, confidence=0.99),
        ),
        Plan("p", (LOCAL,), (CPU,), repetition=Repetition(policy=Policy.BUDGET, budget=90.0)),
    ],
)  # fmt: skip
def test_a_plan_that_is_opened_comes_back_as_it_was(plan: Plan) -> None:
    draft = PlanDraft()
    draft.adopt(plan)
    assert draft.plan() == plan
    assert set(values_of(plan)) == {parameter.name for parameter in REPETITION}


def test_totals_say_what_a_plan_takes_at_most(page: MeasurePage) -> None:
    previews = page.workstation.preview(page.draft.plan(), page.draft.facts)
    until = Plan("p", (LOCAL,), (CPU,), repetition=Repetition(policy=Policy.UNTIL_INTERVAL, warm_ups=1, pause=2.0))
    sums = totals(until, previews)
    each = previews[0].estimate.duration or 0.0
    assert (sums.trials, sums.most, sums.grows) == (8, 31, True)
    assert sums.duration == pytest.approx(8 * each + 7 * 2.0)
    assert sums.longest == pytest.approx(31 * each + 30 * 2.0)


@pytest.mark.parametrize(("name", "title"), [("precision", "Target precision ± [%]"), ("budget", "Time budget")])
def test_a_number_names_its_unit_beside_the_title(qtbot: QtBot, name: str, title: str) -> None:
    field = ParameterField(next(parameter for parameter in REPETITION if parameter.name == name))
    qtbot.addWidget(field)
    assert title in {label.text() for label in field.findChildren(QLabel)}


def test_a_quick_look_is_one_trial_whose_time_is_shown_beside_the_whole(qtbot: QtBot, page: MeasurePage) -> None:
    assert "quick look: " in page.review.totals.text()
    write(qtbot, page, policy="quick")
    assert page.draft.plan().repetition == QUICK_LOOK
    assert "quick look: " not in page.review.totals.text()
    assert values_of(page.draft.plan())["policy"] == "quick"
    write(qtbot, page, policy="fixed")
    assert page.draft.plan().repetition == Repetition()


def test_sessions_are_planned_with_their_total(qtbot: QtBot, page: MeasurePage) -> None:
    write(qtbot, page, sessions="5", every="2 d")
    given = page.draft.plan().repetition
    assert (given.sessions, given.every) == (5, 172800.0)
    assert MESSAGES["sessions_until"] in page.review.totals.text()
    write(qtbot, page, every="9 min")
    assert page.review.problem()
    write(qtbot, page, sessions="1")
    assert page.draft.plan().repetition.one_session == page.draft.plan().repetition
    page.draft.adopt(replace(page.draft.plan(), repetition=Repetition(sessions=3, every=3600.0)))
    assert page.draft.plan().repetition == Repetition(sessions=3, every=3600.0)


def test_a_profiled_trial_is_asked_for_and_a_duet_has_none(qtbot: QtBot, page: MeasurePage) -> None:
    write(qtbot, page, profile="yes")
    assert page.draft.plan().repetition.profile
    write(qtbot, page, order="duet")
    assert "profile" not in shown(page)
