"""The draft: it freezes into exactly what is written, and says what is missing."""

from dataclasses import replace

import pytest

from app.plans.plan import Order, Plan, PlanError, make_step
from app.plans.plan_changes import apply_remedy
from suites.errors import BenchwrightError
from suites.facts import Core, CpuFacts, Facts
from suites.registry import suite
from suites.vocab import Finding, Severity
from tests.messages import messages
from widgets.wizard.draft import PlanDraft
from widgets.wizard.parameters_step import _in_order
from widgets.wizard.remedies import changes_text, describe, make_changes, undo_changes

MESSAGES = messages("widgets-measure", "test_measure_draft")

EIGHT = Facts(host="a", read_at="2026-01-01T00:00:00Z", cpu=CpuFacts(usable=8))
TWO = Facts(host="b", read_at="2026-01-01T00:00:00Z", cpu=CpuFacts(usable=2))


def _draft() -> PlanDraft:
    draft = PlanDraft()
    draft.reset(["a"])
    draft.add_step(suite("sysbench-cpu"))
    return draft


def test_it_freezes_into_what_is_written() -> None:
    draft = _draft()
    draft.name, draft.question = " CPU ", "How fast?"
    draft.steps[0].form.set_text("threads", "4")
    draft.repetition.set_text("trials", "7")
    draft.repetition.set_text("pause", "1 min")
    draft.repetition.set_text("order", "interleaved")
    plan = draft.plan()
    assert (plan.name, plan.question, plan.hosts) == ("CPU", "How fast?", ("a",))
    assert plan.steps[0].values["threads"] == 4
    assert (plan.repetition.trials, plan.repetition.pause, plan.order) == (7, 60.0, Order.INTERLEAVED)


def test_a_plan_that_was_adopted_freezes_into_itself() -> None:
    plan = _draft().plan()
    other = PlanDraft()
    other.adopt(plan)
    other.set_facts(EIGHT)
    assert other.plan() == plan
    assert other.plan().hash() == plan.hash()


def test_steps_are_tuned_to_the_first_host() -> None:
    draft = _draft()
    draft.set_facts(TWO)
    assert draft.steps[0].form.values()["threads"] == 1
    draft.set_facts(EIGHT)
    assert draft.steps[0].form.values()["threads"] == 8
    draft.set_host("b", chosen=True)
    draft.set_host("a", chosen=False)
    assert draft.steps[0].form.values()["threads"] == 2


def test_a_duet_is_tuned_to_a_half() -> None:
    draft = _draft()
    draft.add_step(suite("sysbench-cpu"))
    layout = tuple(Core(cpus=(cpu,), node=0, package=0) for cpu in range(8))
    draft.set_facts(replace(EIGHT, cpu=CpuFacts(usable=8, layout=layout)))
    draft.repetition.set_text("order", "duet")
    draft.retune()
    assert [step.form.values()["threads"] for step in draft.steps] == [4, 4]


def test_a_suite_can_be_there_twice_under_names_of_its_own() -> None:
    draft = _draft()
    draft.add_step(suite("fio"))
    draft.add_step(suite("sysbench-cpu"))
    assert [step.name for step in draft.steps] == ["sysbench-cpu", "sysbench-cpu 2", "fio"]
    draft.steps[1].name = "sysbench-cpu"
    assert "sysbench-cpu" in draft.naming_problem()
    with pytest.raises(PlanError):
        draft.plan()


def test_what_is_not_accepted_keeps_the_plan_from_being_frozen() -> None:
    draft = _draft()
    draft.steps[0].form.set_text("threads", "many")
    assert draft.sketch() is None
    assert draft.steps[0].problem() == "sysbench-cpu: 1 invalid value."
    with pytest.raises(BenchwrightError, match="many"):
        draft.plan()
    draft.steps[0].form.set_text("threads", "1")
    draft.repetition.set_text("trials", "0")
    assert draft.sketch() is None


def test_a_network_test_needs_the_facts_of_its_other_end() -> None:
    draft = _draft()
    draft.add_step(suite("iperf3")).peer = "b"
    assert draft.all_hosts() == ["a", "b"]
    draft.adopt(draft.plan())
    assert draft.steps[1].peer == "b"


def test_directories_are_those_that_are_chosen() -> None:
    draft = _draft()
    step = draft.add_step(suite("fio"))
    step.form.set_text("directory", "/mnt/data")
    assert draft.directories() == ("/mnt/data",)


def _finding(host: str = "a", **more: object) -> Finding:
    words = {"severity": Severity.WARNING, "title": "T", "measured": "M", "why": "W", "remedy": "R", "source": "S"}
    return Finding(id="x", host=host, step="sysbench-cpu", **(words | more))  # type: ignore[arg-type]  # shorthand


def test_a_remedy_is_told_before_and_after_and_can_be_taken_back() -> None:
    draft = _draft()
    finding = _finding(changes={"threads": 8})
    assert describe(draft, finding) == "threads 1 → 8"
    remedied = make_step("sysbench-cpu", {**draft.steps[0].form.values(), "threads": 8})
    plan = draft.plan()
    changes = make_changes(draft, type(plan)(plan.name, plan.hosts, (remedied,)))
    assert changes_text(changes) == "sysbench-cpu: threads 1 → 8"
    assert draft.plan().steps[0].values["threads"] == 8
    draft.steps[0].name = "renamed"
    undo_changes(draft, changes)
    draft.steps[0].name = "sysbench-cpu"
    assert draft.plan() == plan
    draft.use_command(draft.steps[0], suite("dd"), {})
    undo_changes(draft, changes)
    assert draft.steps[0].suite.id == "dd"


def test_what_was_written_since_is_not_taken_back() -> None:
    draft = _draft()
    plan = draft.plan()
    remedied = make_step("sysbench-cpu", {**plan.steps[0].values, "threads": 8})
    changes = make_changes(draft, type(plan)(plan.name, plan.hosts, (remedied,)))
    draft.steps[0].form.set_text("threads", "3")
    undo_changes(draft, changes)
    assert draft.steps[0].form.text("threads") == "3"


def test_an_unnamed_plan_says_what_it_measures_and_where() -> None:
    draft = _draft()
    assert draft.plan().name == MESSAGES["one_step"]
    draft.set_host("b", chosen=True)
    for _ in range(4):
        draft.add_step(suite("dd"))
    assert draft.plan().name == MESSAGES["sysbench_cpu_dd_dd_2_and_2"]


def test_an_automatic_name_follows_the_values_until_one_is_typed() -> None:
    draft = _draft()
    draft.steps[0].form.set_text("threads", "4")
    made = draft.plan()
    assert made.name == MESSAGES["four_threads"]
    other = PlanDraft()
    other.adopt(made)
    other.steps[0].form.set_text("threads", "8")
    assert other.plan().name == MESSAGES["eight_threads"]
    other.adopt(replace(made, name="sysbench-cpu on a"))  # as older versions name it
    other.steps[0].form.set_text("threads", "8")
    assert other.plan().name == MESSAGES["eight_threads"]
    other.name = "my CPU test"
    other.adopt(other.plan())
    other.steps[0].form.set_text("threads", "2")
    assert other.plan().name == "my CPU test"


def test_tests_in_rounds_have_one_trial_until_the_user_sets_another_number() -> None:
    draft = PlanDraft()
    draft.reset(["a"])
    draft.add_step(suite("fio-snia"))
    assert draft.plan().repetition.is_quick_look
    draft.add_step(suite("sysbench-cpu"))
    assert not draft.plan().repetition.is_quick_look
    draft.remove_step(draft.steps[1])
    draft.repetition.set_text("policy", "fixed")
    draft.retune()
    assert draft.plan().repetition.trials == 6


OWN = {"db-1": "/srv", "db-2": "/data", "*": "/opt"}


_PLACED = Plan("places", ("db-1", "db-2", "db-3"), (make_step("fio", {"directory": OWN}),))


def _places(plan: Plan) -> list[object]:
    return [step.values["directory"] for host in plan.hosts for step in plan.steps_on(host)]


def test_the_wizard_offers_a_row_for_each_of_several_hosts() -> None:
    draft = PlanDraft()
    draft.adopt(_PLACED)
    assert draft.plan().steps == _PLACED.steps
    assert draft.directories() == ("/opt", "/srv", "/data")
    step = draft.steps[0]
    step.form_of("directory@db-3").set_text("directory@db-3", "relative")
    assert "1 invalid" in step.problem()
    step.form_of("directory@db-3").set_text("directory@db-3", "")
    draft.rename_host("db-2", "new")
    assert _places(draft.plan()) == ["/srv", "/data", "/opt"]
    draft.set_host("new", chosen=False)
    draft.set_host("db-3", chosen=False)
    assert [each.name for each in step.places.parameters] == ["directory@db-1"]
    assert _places(draft.plan()) == ["/srv"]


@pytest.mark.parametrize("suite_id", ["fio", "fio-job"])
def test_each_parameter_of_several_hosts_has_one_row(suite_id: str) -> None:
    """The directory is a main parameter of fio-job anyway."""
    draft = PlanDraft()
    draft.adopt(Plan("places", ("db-1", "db-2"), (make_step(suite_id, {}),)))
    names = [each.name for each in _in_order(draft.steps[0])]
    assert "directory@db-2" in names
    assert len(names) == len(set(names))


def test_the_wizard_applies_a_remedy_to_one_host_and_takes_it_back() -> None:
    draft = PlanDraft()
    draft.adopt(_PLACED)
    finding = Finding(
        "not-a-disk", Severity.WARNING, "", "", "", "", "", changes={"directory": "/mnt"}, step="fio", host="db-2"
    )
    assert describe(draft, finding) == "Directory /data → /mnt"
    changes = make_changes(draft, apply_remedy(draft.plan(), finding))
    assert _places(draft.plan()) == ["/srv", "/mnt", "/opt"]
    undo_changes(draft, changes)
    assert _places(draft.plan()) == ["/srv", "/data", "/opt"]
