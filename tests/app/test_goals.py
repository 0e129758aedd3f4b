"""The goals of a plan: written, read, refused by name, and no part of what runs."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.checks.before import check_plan
from app.cli.main import benchwright
from app.formats import plan_from_json, plan_to_json
from app.plans.goals import check_goals, goal_example, goals_of, goals_text
from app.plans.plan import GoalError, Plan, PlanError, Step, make_step
from app.plans.plan_file import format_plan, parse_plan, read_plan
from app.plans.validation import validate
from suites.registry import SUITES
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
        (Goal("iops", at_least=-5.0), "iops >= -5 is met by every result"),
        (Goal("iops", at_least=0.0), "is met by every result"),
        (Goal("latency_p99", at_most=-5.0), "latency_p99 <= -5 ns is met by no result"),
        (Goal("latency_p99", at_least=5e6), "a lower value is better. Write latency_p99 <= 5 ms"),
        (Goal("bandwidth", at_most=5e6), "a higher value is better"),
        (Goal("cpu_user", at_most=100.0), "cpu_user <= 100 % is met by every result"),
        (Goal("cpu_user", at_most=101.0), "met by every result: cpu_user is 0 to 100 %"),
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
    assert goals_text(GOALS, PLAN.steps) == "disk:iops >= 20000; latency_p99 <= 2 ms"
    assert goals_of(goals_text(GOALS, PLAN.steps), PLAN.steps) == GOALS
    assert goals_of(" ; ") == ()


@pytest.mark.parametrize(
    "name",
    [
        "a;b",
        "4k; 8k",
        "disk:read",
        "a;b:iops >= 5",
        "x >= 3",
        " a ",
        'say "hi"',
        '"a"',
        "a\\b",
        "ends:",
        ";",
        "a;",
        "{0}",
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_a_goal_names_a_step_of_any_name(name: str, *, known: bool) -> None:
    goals = (Goal("iops", at_least=5.0, step=name), Goal("iops", at_least=2.0), Goal("iops", at_most=9.0, step="disk"))
    steps = (replace(PLAN.steps[0], name=name), replace(PLAN.steps[0], name="disk")) if known else ()
    assert goals_of(goals_text(goals, steps), steps) == goals
    if known and name.strip() == name:
        assert goals_of(f"{name}:iops >= 5;iops >= 2 ; disk:iops <= 9;", steps) == goals


@pytest.mark.parametrize(
    "words",
    [
        "iops",
        "iops = 3",
        'iops >= 3; "disk:iops >= 3',
        "iops >= 3 iops >= 4",
        "iops >= fast",
        "iops >= 1e999",
        "iops >= 1e308M",
        ">= 3",
    ],
)
def test_words_that_are_no_goal_are_refused(words: str) -> None:
    with pytest.raises(GoalError, match="is not a goal"):
        goals_of(words)


def test_an_ambiguous_bound_is_refused() -> None:
    with pytest.raises(GoalError, match="“1,5” is ambiguous"):
        goals_of("latency_p99 <= 1,5 ms", PLAN.steps)


def test_the_command_line_writes_goals_into_the_plan() -> None:
    words = ["plan", "new", "--defaults", "--suite", "fio", "--goal", "iops>=20000"]
    reported = CliRunner().invoke(benchwright, words)
    assert parse_plan(reported.output).goals == (Goal("iops", at_least=20_000.0),)
    refused = CliRunner().invoke(benchwright, [*words, "--goal", "triad>=3"])
    assert refused.exit_code == 2


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("latency_p99 < 5ms", Goal("latency_p99", at_most=5e6)),
        ("disk:latency_p99 <= 250 us", Goal("latency_p99", at_most=250e3, step="disk")),
        ("latency_p99 <= 80 µs", Goal("latency_p99", at_most=80e3)),
        ("latency_p99 <= 5", Goal("latency_p99", at_most=5.0)),
        ("iops > 20k", Goal("iops", at_least=20e3)),
        ("iops > 20,000; ", Goal("iops", at_least=20e3)),
        ("latency_p99 <= 1\u202f500 us", Goal("latency_p99", at_most=1.5e6)),
        ("iops >= 1.5 MIOPS", Goal("iops", at_least=1.5e6)),
        ("bandwidth >= 500 MB/s", Goal("bandwidth", at_least=500e6)),
        ("bandwidth >= 1 GiB/s", Goal("bandwidth", at_least=2.0**30)),
    ],
)
def test_a_goal_takes_and_prints_units(text: str, goal: Goal) -> None:
    (found,) = goals_of(text, PLAN.steps)
    assert found == goal
    assert goals_of(goals_text((found,), PLAN.steps), PLAN.steps) == (goal,)


@pytest.mark.parametrize("text", ["iops >= 5 ms", "latency_p99 <= 5 MB/s", "latency_p99 <= 5 parsecs", "iops >= ms"])
def test_a_unit_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(GoalError):
        goals_of(text, PLAN.steps)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("latency_p99 <= 5 MB/s", "Use s, ms, us, ns"),
        ("bandwidth >= 5 ms", "Use B/s, kB/s, MB/s, KiB/s, MiB/s, GiB/s, bit/s, Mbit/s"),
        ("iops >= 5 ms", "Use no unit, k or M"),
    ],
)
def test_every_unit_that_is_accepted_is_named(text: str, named: str) -> None:
    with pytest.raises(GoalError, match=named):
        goals_of(text, PLAN.steps)


@pytest.mark.parametrize(
    ("suite", "values", "text"),
    [
        ("fio-snia", {}, "window_range <= 120"),  # a range may exceed 100 %
        ("iperf3", {}, "cpu_utilization <= 180 %"),
        ("iperf3", {"protocol": "udp"}, "lost <= 0"),
        ("fio", {}, "issued_ios <= 1000"),  # a count has no wrong direction
        ("pgbench", {}, "failed_transactions <= 0"),
        ("command", {"figure": "pattern", "metric": "Change", "unit": "%", "command": "x"}, "own_change >= -5"),
    ],
)
def test_a_bound_that_a_result_can_have_is_accepted(suite: str, values: dict[str, str], text: str) -> None:
    steps = (make_step(suite, values, peer="other" if suite == "iperf3" else None),)
    check_goals(goals_of(text, steps), steps)


MIXED = (*PLAN.steps, make_step("pgbench", {}, name="database: small"), make_step("ioping", {}, name="way"))


@pytest.mark.parametrize("name", [None, *(step.name for step in MIXED)])
@pytest.mark.parametrize("bound", [-5.0, 0.0, 0.25, 5.0, 100.0, 101.0, 20_000.0, 1e22])
def test_the_remedy_of_a_refused_bound_parses_and_is_accepted(name: str | None, bound: float) -> None:
    measured = {each.name for one in MIXED if name in {None, one.name} for each in one.suite.metrics_of(one.values)}
    assert measured
    refused = [
        (metric, error)
        for metric, side in itertools.product(sorted(measured), ("at_least", "at_most"))
        if (error := refusal(Goal(metric, **{side: bound}, step=name)))
    ]
    assert refused
    for metric, error in refused:
        (found,) = goals_of(error.remedy.removeprefix("Write ").removesuffix("."), MIXED)
        assert refusal(found) is None
        assert (found.metric, name in {None, found.step}) == (metric, True)


def refusal(goal: Goal) -> GoalError | None:
    """Return why a goal of MIXED is refused."""
    try:
        check_goals((goal,), MIXED)
    except GoalError as error:
        return error
    return None


@pytest.mark.parametrize("words", ["iops", "latency_p99 <= 5 parsecs", "way:latency <= ."])
def test_the_remedy_of_words_that_are_no_goal_is_a_goal_of_the_steps(words: str) -> None:
    for steps in (PLAN.steps, MIXED[2:], MIXED[3:]):
        with pytest.raises(GoalError) as refused:
            goals_of(words, steps)
        found = goals_of(refused.value.remedy.removeprefix("Write ").removesuffix("."), steps)
        check_goals(found, steps)


def test_a_plan_file_with_a_goal_of_an_older_version_is_named_and_opens_in_the_window(tmp_path: Path) -> None:
    path = tmp_path / "older.toml"
    older = replace(PLAN, goals=(Goal("latency_p99", at_least=5e6, step="disk"),))
    path.write_text(format_plan(older), encoding="utf-8")
    with pytest.raises(PlanError, match=r"older\.toml: The goal disk:latency_p99 >= 5 ms .* disk:latency_p99 <= 5 ms"):
        read_plan(path)
    assert read_plan(path, usable_goals=False) == older


@pytest.mark.parametrize("suite", [each.id for each in SUITES])
def test_the_example_of_a_goal_is_one_of_the_step(suite: str) -> None:
    steps = [Step("test", suite, {})]
    check_goals(goals_of(goal_example(steps), steps), steps)


def test_a_unit_needs_a_step_where_the_steps_differ_in_theirs() -> None:
    steps = (*PLAN.steps, make_step("pgbench", {}, name="database"))  # in ms, fio in ns
    with pytest.raises(GoalError, match="ms, ns"):
        goals_of("latency_p99 <= 5 ms", steps)
    assert goals_of("database:latency_p99 <= 5 ms", steps) == (Goal("latency_p99", at_most=5.0, step="database"),)
    assert goals_text(goals_of("latency_p99 <= 5", steps), steps) == "latency_p99 <= 5"


def test_a_plan_file_takes_and_shows_units() -> None:
    written = format_plan(replace(PLAN, goals=GOALS))
    assert "at_most = 2000000.0 # ns" in written
    by_hand = written.replace("at_most = 2000000.0 # ns", 'at_most = "2 ms"')
    assert by_hand != written
    assert parse_plan(by_hand).goals == GOALS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("latency_p99 <= 5", "latency_p99 <= 5 ns"),
        ("bandwidth >= 500", "bandwidth >= 500 B/s"),
        ("iops >= 0.02", "iops >= 0.02"),
        ("iops >= 20 GIOPS", "iops >= 20000000000"),
        ("cpu:events_per_second >= 1e15", "10^14 per second"),
        ("cpu:latency_p95 <= 0.00000000001 s", "0.1 ns"),
    ],
)
def test_a_goal_far_off_its_metric_is_warned_of(text: str, words: str) -> None:
    found = [each for each in check_plan(with_goals(text), {}).findings if each.id == "goal-units"]
    assert words in found[0].measured


@pytest.mark.parametrize("text", ["latency_p99 <= 5 ms", "bandwidth >= 500 MB/s", "cpu:events_per_second >= 5"])
def test_a_plausible_goal_is_not(text: str) -> None:
    assert not [each for each in check_plan(with_goals(text), {}).findings if each.id == "goal-units"]


def with_goals(text: str) -> Plan:
    return replace(PLAN, goals=goals_of(text, PLAN.steps))


def test_the_telemetry_interval_belongs_to_the_plan() -> None:
    often = replace(PLAN, telemetry_interval=0.1)
    assert validate(often) is often
    assert parse_plan(format_plan(often)) == replace(parse_plan(format_plan(PLAN)), telemetry_interval=0.1)
    assert plan_from_json(plan_to_json(often)) == often
    assert (often.hash(), often.format) == (PLAN.hash(), "benchwright-plan/3")
    assert "telemetry_interval" not in format_plan(PLAN)
    assert "telemetry_interval" not in plan_to_json(PLAN)
    for wrong in ("0.01", "20", "nan", "true", '"1"'):
        with pytest.raises(PlanError, match="telemetry_interval is"):
            parse_plan(f"telemetry_interval = {wrong}\n{format_plan(PLAN)}")
