"""Presets: questions that become plans, tuned to the host, with what only the user can say in its place."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.baselines.baselines import built_in
from app.cli.main import benchwright
from app.formats import facts_to_json
from app.plans.context import step_context
from app.plans.plan import QUICK_LOOK, Order, Plan, PlanError, Policy, Repetition
from app.plans.plan_file import format_plan, parse_plan
from app.plans.plan_remarks import reason_of
from app.plans.presets import (
    Filled,
    fill,
    filled_preset,
    parse_preset,
    preset,
    preset_names,
    presets,
    read_answers,
    resolved,
)
from app.plans.presets_json import preset_to_json
from app.plans.validation import validate
from app.scaling.fits import FEWEST_POINTS
from app.scaling.sweeps import swept_parameter
from suites.base import directories_of
from suites.errors import ParameterError
from suites.fio_job.file import read_job_file
from suites.fio_job.section_values import directories_in
from suites.parameters import Value
from suites.vocab import Severity
from tests.app.test_false_warnings import FACTS, PEERS, report
from tests.app.test_formats_page import _section, _words
from tests.messages import messages

MESSAGES = messages("app", "test_presets")

OVERALL = 1.0
"""The most of its own word that a preset may take on a host of eight processors."""


def answers(name: str, *, optional: bool) -> dict[str, str]:
    """Return an answer to everything that the preset asks, or only to what it has to know."""
    reported = {
        ask.name: "web-2" if ask.host else ask.example for ask in preset(name).asks if optional or not ask.optional
    }
    here = {"seconds": "1 min", "second": "/home/ann"}  # a directory that the host has
    return {key: here.get(key, value) for key, value in reported.items()}


def filled(name: str, *, optional: bool = True) -> Filled:
    return filled_preset(name, ["web-1"], answers(name, optional=optional))


def tuned(name: str, *, optional: bool = True) -> Plan:
    return filled(name, optional=optional).tuned(FACTS)


def _unexplained(plan: Plan) -> set[str]:
    """Return the ids of the findings for which the preset gives no reason."""
    return {finding.id for finding in report(plan).findings if not reason_of(plan.acknowledged, finding)}


@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_a_plan_that_can_run_and_draws_no_warning(name: str, *, optional: bool) -> None:
    plan = validate(tuned(name, optional=optional))
    assert plan.question
    assert "{" not in plan.question
    found = report(plan)
    assert _unexplained(plan) == set()
    assert found.cannot_tell == ()
    again = parse_plan(format_plan(plan))
    assert again.hash() == plan.hash()
    assert again.goals == plan.goals


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_takes_no_longer_than_it_says(name: str) -> None:
    plan, shown_lines = tuned(name), preset(name).minutes
    seconds, known = 0.0, True
    for step in plan.steps:
        elapsed = step.suite.estimate(step.values, step_context(step, "web-1", FACTS, PEERS)).duration
        trials, known = plan.repetition.fewest + plan.repetition.warm_ups, known and elapsed is not None
        seconds += 0 if elapsed is None else trials * (elapsed + plan.repetition.pause)
    if shown_lines is None:
        assert name == "numa-matrix", "it depends on the number of nodes"
    else:
        assert seconds <= shown_lines * 60 * OVERALL
        assert not known or shown_lines * 60 / 5 < seconds


def test_the_questions_come_in_the_order_a_newcomer_asks_them() -> None:
    assert presets()[0].title == MESSAGES["is_this_instance_healthy"]
    for each in presets():
        assert each.title.endswith("?")
        assert each.answers.endswith(".")
    assert preset("healthy-instance").resources == ("cpu", "memory", "disk", "network")
    with pytest.raises(PlanError, match="no preset"):
        preset("nothing")


def test_the_noise_study_is_drawn_by_lot_on_every_host() -> None:
    study = filled_preset("noise-study", ["web-1", "web-2"]).plan
    assert study.hosts == ("web-1", "web-2")
    assert study.order is Order.RANDOMISED


def test_the_health_of_an_instance_without_a_peer_leaves_the_network_out_with_a_word() -> None:
    whole, alone = filled("healthy-instance"), filled("healthy-instance", optional=False)
    assert {step.suite.resource for step in whole.plan.steps} > {step.suite.resource for step in alone.plan.steps}
    assert {step.peer for step in whole.plan.steps} == {None, "web-2"}
    assert whole.left_out == ()
    assert alone.left_out == (MESSAGES["the_network_is_left_out_it"],)


def test_provisioned_iops_are_asked_slightly_above_the_figure_and_the_goal_is_slightly_below() -> None:
    plan = tuned("provisioned-iops")
    assert plan.question == MESSAGES["does_this_volume_deliver_its"]
    reads, writes, *large = plan.steps
    assert [step.values["rate_iops"] for step in (reads, writes)] == [4080, 4080]
    assert {step.values["block_size"] for step in (reads, writes)} == {4096}
    assert {step.values["direct"] for step in plan.steps} == {True}
    assert {step.values["rate_iops"] for step in large} == {0}
    assert {(goal.step, goal.at_least) for goal in plan.goals if goal.metric == "iops"} == {
        ("random reads", 3960), ("random writes", 3960),
    }  # fmt: skip
    assert {goal.at_least for goal in plan.goals if goal.metric == "bandwidth"} == {250 * 2**20 * 0.99}
    without = tuned("provisioned-iops", optional=False)
    assert [step.name for step in without.steps] == ["random reads", "random writes"]
    assert {goal.metric for goal in without.goals} == {"iops"}


def test_two_volumes_are_measured_alone_and_at_once() -> None:
    (step,) = filled_preset("two-volumes", ["web-1"], {"first": "/srv", "second": "/data"}).plan.steps
    assert step.values["directory"] == "/srv"
    sections = read_job_file(str(step.values["job"]))
    assert [(section.name, directories_in(section), section.flag("stonewall")) for section in sections] == [
        ("first alone", (), False), ("second alone", ("/data",), True),
        ("first of both", (), True), ("second of both", ("/data",), False),
    ]  # fmt: skip
    assert directories_of(step.suite, step.values) == ("/srv", "/data")
    assert [section.name for section in sections if section.flag("unlink")] == ["second of both"]


def test_what_a_preset_leaves_open_is_tuned_and_what_it_says_is_not() -> None:
    made = filled("provisioned-iops", optional=False)
    assert made.plan.steps[0].values["directory"] == "/var/tmp"
    step = made.tuned(FACTS).steps[0]
    assert step.values["directory"] == "/srv"  # the directory with the most room
    assert step.values["numjobs"] == 1
    assert tuned("provisioned-iops").steps[0].values["directory"] == "/srv"


def test_udp_goes_at_a_rate_that_is_no_default_of_the_tool() -> None:
    given, searched = (tuned("network-between-two", optional=optional) for optional in (True, False))
    assert given.step("UDP at the given rate").values["bitrate"] == 500.0
    assert {step.name for step in given.steps} - {step.name for step in searched.steps} == {"UDP at the given rate"}
    assert searched.step("UDP rate without loss").suite_id == "iperf3-udp"


def test_the_memory_has_to_carry_what_was_asked() -> None:
    plan = tuned("memory-bandwidth")
    assert plan.question == MESSAGES["does_the_memory_carry_at"]
    assert [(goal.metric, goal.at_least) for goal in plan.goals] == [("bandwidth", 20000.0)]
    assert plan.steps[0].values["sweep"] == "every"


def test_the_published_figures_each_have_one_that_is_measured() -> None:
    plan = tuned("t2-micro")
    measured = {(step.suite_id, metric.name) for step in plan.steps for metric in step.suite.metrics_of(step.values)}
    published = [
        figure
        for one in built_in()
        if (table := one.reference) and table.name in preset("t2-micro").after
        for figure in table.figures
    ]
    assert len(published) == 57
    assert len({step.suite_id for step in plan.steps}) == len(plan.steps)  # so that each figure meets the right step
    assert {(figure.suite, figure.metric) for figure in published} <= measured


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, "needs: Provisioned IOPS"),
        ({"iops": "many"}, "iops: 'many' is not accepted"),
        ({"iops": "0"}, "iops: '0' is not accepted"),
        ({"iops": "4000", "colour": "blue"}, "has no question “colour”"),
    ],
)
def test_an_answer_that_does_not_fit_is_named(given: dict[str, str], shown: str) -> None:
    with pytest.raises((PlanError, ParameterError), match=shown):
        read_answers(preset("provisioned-iops").asks, given)


@pytest.mark.parametrize(
    ("typed", "shown"), [("10 ms", "10 ms"), ("0.5", "500 ms"), ("500 us", "500 µs"), ("2 s", "2 s")]
)
def test_a_time_in_a_question_has_its_unit(typed: str, shown: str) -> None:
    for name in ("slo-disk", "slo-http", "slo-database"):
        assert filled_preset(name, answers={"target": typed}).plan.question.endswith(f" keep p99 below {shown}?")


@pytest.mark.parametrize("nodes", ["0", "0 1", "0-1", "all", "0, 1"])
def test_nodes_that_are_no_list_are_refused_by_the_question(nodes: str) -> None:
    with pytest.raises(ParameterError, match="at least two"):
        read_answers(preset("numa-matrix").asks, {"nodes": nodes})
    assert read_answers(preset("numa-matrix").asks, {"nodes": "0,1,8"}) == {"nodes": "0,1,8"}


def test_answers_take_their_places() -> None:
    given: dict[str, Value] = {"n": 4001, "x": 2.5, "word": "db-1"}
    places = {
        "up": {"answer": "n", "times": 1.02},
        "half": {"answer": "x", "times": 2},
        "as it is": {"answer": "word"},
        "else": {"answer": "none", "otherwise": 7},
        "open": {"answer": "none"},
        "list": [{"answer": "none"}, "{n} of {word} {other}"],
    }
    assert resolved(places, given) == {
        "up": 4082, "half": 5.0, "as it is": "db-1", "else": 7, "list": ["4,001 of db-1 {other}"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["[preset]\ncolour = 1\n", "[[ask]]\nname = 1\ncolour = 2\n", '[[ask]]\ntype = "colour"\n', "= 3"]
)
def test_a_file_that_is_no_preset_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        fill(parse_preset("p", text), (), {})


def run(tmp_path: Path, *words: str) -> tuple[int, str, str]:
    reported = CliRunner().invoke(benchwright, ["--store", str(tmp_path / "s.db"), "plan", *words])
    return reported.exit_code, reported.stdout, reported.stderr


def test_a_preset_is_answered_on_the_command_line(tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps(facts_to_json(FACTS["web-1"])))
    asked = ["new", "--preset", "healthy-instance", "--host", "web-1", "--facts", str(facts)]
    status, plan, shown = run(tmp_path, *asked)
    assert (status, shown.splitlines()[0]) == (0, MESSAGES["the_network_is_left_out_it"])
    assert 'suite = "iperf3"' not in plan
    assert "threads = 8" in plan  # tuned
    status, plan, _shown_text = run(tmp_path, *asked, "--peer", "db-1", "--name", "mine")
    assert 'peer = "db-1"' in plan
    assert 'name = "mine"' in plan
    status, _plan, shown = run(tmp_path, "new", "--preset", "provisioned-iops", "--facts", str(facts))
    assert status == 2
    assert "--answer iops=4000" in shown
    status, _plan, shown = run(tmp_path, "new", "--preset", "provisioned-iops", "--answer", "iops")
    assert (status, "NAME=VALUE" in shown) == (2, True)


def test_the_compilation_keeps_hundreds_of_cpus_busy() -> None:
    (step,) = (one for one in filled_preset("cpu-applications").plan.steps if "xargs" in str(one.values["command"]))
    for name in ("prepare", "command"):
        assert int(str(step.values[name]).partition("seq ")[2].partition(" ")[0].rstrip(");")) >= 384


UNTIL_NARROW = Repetition(warm_ups=1, pause=1, policy=Policy.UNTIL_INTERVAL)


@pytest.mark.parametrize(
    ("words", "repetition", "order"),
    [
        (("--preset", "healthy-instance"), Repetition(pause=1), Order.INTERLEAVED),
        (("--preset", "healthy-instance", "--quick"), QUICK_LOOK, Order.INTERLEAVED),
        (("--preset", "healthy-instance", "--order", "block"), Repetition(pause=1), Order.BLOCK),
        (("--preset", "t2-micro", "--trials", "6"), Repetition(pause=2), Order.BLOCK),
        (("--preset", "burst-cpu", "--profile"), Repetition(trials=3, pause=1200, profile=True), Order.BLOCK),
        (("--preset", "memory-bandwidth", "--answer", "bandwidth=1", "--precision", "2"), UNTIL_NARROW, Order.BLOCK),
        (("--suite", "fio-snia", "--warm-ups", "0"), QUICK_LOOK, Order.BLOCK),
        (("--suite", "dd"), Repetition(trials=6), Order.BLOCK),
        (("--suite", "dd", "--quick"), Repetition(trials=1), Order.BLOCK),
        (("--suite", "fio-snia"), QUICK_LOOK, Order.BLOCK),  # its rounds repeat until steady
    ],
)
def test_repetition_is_the_presets_unless_given(
    tmp_path: Path, words: tuple[str, ...], repetition: Repetition, order: Order
) -> None:
    status, text, _shown_text = run(tmp_path, "new", "--defaults", *words)
    assert status == 0
    plan = parse_plan(text)
    assert (plan.repetition, plan.order) == (repetition, order)


def test_both_times_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    status, _plan, noted = run(tmp_path, "new", "--defaults", "--suite", "sysbench-cpu", "-o", str(path))
    assert (status, "6 trials, 1 min; " in noted.replace("\n", " "), "quick look: 10 s" in noted) == (0, True, True)
    assert "quick look: 10 s" in run(tmp_path, "show", str(path))[1]
    assert "quick look 1 min 40 s" in " ".join(run(tmp_path, "presets")[1].split())


def test_a_quick_look_and_a_number_of_trials_exclude_each_other(tmp_path: Path) -> None:
    status, _plan, shown = run(tmp_path, "new", "--suite", "dd", "--quick", "--warm-ups", "1")
    assert (status, "--quick and --warm-ups exclude each other" in shown) == (2, True)


def test_the_questions_are_listed(tmp_path: Path) -> None:
    status, table, _shown_text = run(tmp_path, "presets")
    assert status == 0
    assert MESSAGES["is_this_instance_healthy"] in table
    assert "--answer iops=4000" in table
    _status, text, _shown_text = run(tmp_path, "presets", "--json")
    listed = json.loads(text)
    assert listed["format"] == "benchwright-presets/1"
    assert [each["name"] for each in listed["presets"]] == [each.name for each in presets()]
    assert set(listed["presets"][0]) == {"name", "title", "answers", "minutes", "resources", "after", "asks"}
    assert set(listed["presets"][0]["asks"][0]) == {"name", "title", "type", "unit", "help", "example", "optional"}


def test_the_fields_of_the_list_are_documented() -> None:
    named = _words(_section("benchwright plan presets --json"))
    listed = preset_to_json(preset("healthy-instance"))
    asked = listed["asks"]
    assert isinstance(asked, list)
    assert set(listed) | set(asked[0]) <= named


def test_no_finding_of_a_preset_is_graver_than_a_hint() -> None:
    levels = {finding.severity for name in preset_names() for finding in report(tuned(name)).findings}
    assert levels <= {Severity.INFO}


@pytest.mark.parametrize(("name", "swept"), [("pgbench-clients", "clients"), ("oltp-clients", "threads")])
def test_the_steps_of_a_client_sweep_are_the_points_of_one_curve(name: str, swept: str) -> None:
    steps = tuned(name).steps
    assert swept_parameter([step.identity() for step in steps]) == swept
    assert [step.values[swept] for step in steps] == [1, 2, 4, 8, 16, 32, 64]
    assert len(steps) >= FEWEST_POINTS
