"""The goals of a plan: written, read, refused by name, and no part of what runs."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.formats import plan_from_json, plan_to_json
from app.plans.goals import goals_of, goals_text
from app.plans.plan import GoalError, Plan, make_step, validate
from app.plans.plan_file import format_plan, parse_plan
from suites.verdict import Goal

PLAN = Plan(
    name="volume",
    hosts=("local",),
    steps=(make_step("fio", {"rw": "randread"}, name="disk"), make_step("sysbench-cpu", {}, name="cpu")),
)
GOALS = (Goal("iops", at_least=20_000.0, step="disk"), Goal("latency_p99", at_most=2e6))


def test_goals_survive_file_and_json_and_change_nothing_that_runs() -> None:
    asked = replace(PLAN, goals=GOALS)
    assert parse_plan(format_plan(asked)).goals == GOALS
    assert plan_from_json(plan_to_json(asked)) == asked
    assert asked.hash() == PLAN.hash()
    assert asked.format == "benchwright-plan/3"
    assert "goal" not in format_plan(PLAN)
    assert "goals" not in plan_to_json(PLAN)


@pytest.mark.parametrize(
    ("goal", "shown"),
    [
        (Goal("iops"), "needs one bound"),
        (Goal("iops", at_least=1.0, at_most=2.0), "needs one bound"),
        (Goal("triad", at_least=1.0), "metric “triad”"),
        (Goal("iops", at_least=1.0, step="cpu"), "metric “iops”"),
        (Goal("iops", at_least=1.0, step="tape"), "not in the plan"),
    ],
)
def test_a_goal_that_no_step_can_meet_is_refused(goal: Goal, shown: str) -> None:
    with pytest.raises(GoalError, match=shown):
        validate(replace(PLAN, goals=(goal,)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("goal = 3", "goal is not"),
        ("[[goal]]\nat_least = 3", "has no metric"),
        ('[[goal]]\nmetric = "iops"\nat_least = "3"', "at_least is"),
        ('[[goal]]\nmetric = "iops"\nat_least = nan', "at_least is"),
        ('[[goal]]\nmetric = "iops"\nleast = 3', "has no “least”"),
    ],
)
def test_a_bad_goal_is_refused_by_name(text: str, shown: str) -> None:
    before, after = (f'hosts = ["local"]\n{text}\n', "") if text.startswith("goal") else ('hosts = ["local"]\n', text)
    with pytest.raises(GoalError, match=shown):
        parse_plan(f'{before}[[step]]\nsuite = "fio"\n{after}\n')


def test_goals_are_written_by_hand_as_they_are_said() -> None:
    assert goals_of("disk:iops >= 20000; latency_p99<=2e6") == GOALS
    assert goals_text(GOALS) == "disk:iops >= 20000; latency_p99 <= 2000000"
    assert goals_of(goals_text(GOALS)) == GOALS
    assert goals_of(" ; ") == ()


@pytest.mark.parametrize("words", ["iops", "iops > 3", "iops >= fast", "iops >= 1e999", ">= 3"])
def test_words_that_are_no_goal_are_refused(words: str) -> None:
    with pytest.raises(GoalError, match="is not a goal"):
        goals_of(words)


def test_the_command_line_writes_goals_into_the_plan() -> None:
    words = ["plan", "new", "--defaults", "--suite", "fio", "--goal", "iops>=20000"]
    reported = CliRunner().invoke(benchwright, words)
    assert parse_plan(reported.output).goals == (Goal("iops", at_least=20_000.0),)
    refused = CliRunner().invoke(benchwright, [*words, "--goal", "triad>=3"])
    assert refused.exit_code == 2
