"""What a person does about findings: a remedy's change is made and noted down, a finding acknowledged with a reason."""

from dataclasses import replace

import pytest

from app.checks.before import check_plan
from app.formats import plan_from_json, plan_to_json, remarks_to_json
from app.plans.plan import Plan, PlanError, make_step
from app.plans.plan_changes import acknowledge, apply_remedies, apply_remedy, changes_text, still_changed
from app.plans.plan_file import format_plan, parse_plan
from app.plans.plan_remarks import Acknowledged, reason_of
from suites.vocab import Finding
from tests.disk_host import disk_host
from tests.messages import messages

MESSAGES = messages("app", "test_plan_remarks")

FACTS = {"web-1": disk_host()}
PLAN = Plan("p", ("web-1",), (make_step("dd", {"directory": "/srv"}, name="copy"),), "How fast is the disk?")


def findings(plan: Plan = PLAN) -> dict[str, Finding]:
    return {found.id: found for found in check_plan(plan, FACTS).findings}


def test_of_several_remedies_of_one_value_the_first_counts() -> None:
    first = findings()["unflushed-write"]
    (name, value), *_ = first.changes.items()
    other = replace(first, id="other", changes={name: "none"})
    assert apply_remedies(PLAN, [first, other]) == apply_remedy(PLAN, first)
    assert apply_remedies(PLAN, [other, first]).step("copy").values[name] != value
    assert apply_remedies(PLAN, []) == PLAN


def test_a_remedy_is_made_in_its_step_and_noted_down() -> None:
    changed = apply_remedy(PLAN, findings()["unflushed-write"])
    assert changed.step("copy").values["flush"] == "fdatasync"
    assert changes_text(changed) == ["copy: flush none → fdatasync (unflushed-write)"]
    assert changed.format == "benchwright-plan/3"
    assert changed.hash() == replace(changed, changed=()).hash()


def test_what_is_changed_twice_keeps_what_stood_there_at_first() -> None:
    once = apply_remedy(PLAN, findings()["unflushed-write"])
    small = replace(findings()["unflushed-write"], id="other", changes={"flush": "direct"})
    assert changes_text(apply_remedy(once, small)) == ["copy: flush none → direct (other)"]
    back = replace(small, changes={"flush": "none"})
    assert apply_remedy(once, back).changed == ()


def test_what_somebody_wrote_over_is_no_change_of_a_finding_any_more() -> None:
    changed = apply_remedy(PLAN, findings()["unflushed-write"])
    assert still_changed(changed.steps, changed.changed) == changed.changed
    assert still_changed(PLAN.steps, changed.changed) == ()


def test_a_finding_is_acknowledged_and_the_reason_taken_back() -> None:
    given = Acknowledged("unflushed-write", "the cache is the question")
    plan = acknowledge(PLAN, list(findings().values()), given)
    assert reason_of(plan.acknowledged, findings()["unflushed-write"]) == MESSAGES["the_cache_is_the_question"]
    assert reason_of(plan.acknowledged, findings()["small-blocks"]) == ""
    again = acknowledge(plan, [], replace(given, reason="", step="copy"))
    assert again.acknowledged == ()


def test_an_error_cannot_be_acknowledged_away() -> None:
    full = replace(PLAN, steps=(make_step("dd", {"directory": "/srv", "block_size": "1g", "count": 999}, name="copy"),))
    found = findings(full)
    assert "no-space" in found
    given = Acknowledged("no-space", "it will fit")
    with pytest.raises(PlanError, match="cannot be acknowledged"):
        acknowledge(full, list(found.values()), given)
    assert reason_of((given,), found["no-space"]) == ""


def test_what_is_not_found_cannot_be_acknowledged() -> None:
    with pytest.raises(PlanError, match="This plan has no finding") as raised:
        acknowledge(PLAN, list(findings().values()), Acknowledged("page-cash", "why not"))
    assert "unflushed-write" in str(raised.value.remedy)


def remarked() -> Plan:
    changed = apply_remedy(PLAN, findings()["unflushed-write"])
    return acknowledge(changed, list(findings(changed).values()), Acknowledged("small-blocks", "nothing compresses"))


def test_remarks_outlive_file_and_json() -> None:
    plan = remarked()
    assert parse_plan(format_plan(plan)) == plan
    assert plan_from_json(plan_to_json(plan)) == plan
    assert "acknowledged" not in plan_to_json(PLAN)


def test_remarks_stand_beside_the_findings() -> None:
    plan = remarked()
    assert remarks_to_json(plan, findings(plan).values()) == {
        "acknowledged": [{"id": "small-blocks", "step": "copy", "host": "web-1", "reason": "nothing compresses"}],
        "changed": [
            {"finding": "unflushed-write", "step": "copy", "parameter": "flush", "before": "none", "after": "fdatasync"}
        ],
    }


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("acknowledged = 3", "acknowledged is not"),
        ('[[acknowledged]]\nfinding = "x"', "acknowledged 1 has no reason"),
        ('[[acknowledged]]\nfinding = "x"\nreason = " "', "reason is empty"),
        ('[[acknowledged]]\nfinding = "x"\nreason = "a\\nb"', "reason is"),
        ('[[acknowledged]]\nfinding = "x"\nreason = "y"\nwhy = "z"', "has no “why”"),
        ('[[changed]]\nfinding = "x"', "changed 1 has no after"),
    ],
)
def test_remarks_that_are_none_are_refused(written: str, shown: str) -> None:
    text = f'hosts = ["local"]\n{written}\n[[step]]\nsuite = "dd"\n' if "[[" not in written else ""
    text = text or f'hosts = ["local"]\n[[step]]\nsuite = "dd"\n{written}\n'
    with pytest.raises(PlanError, match=shown):
        parse_plan(text)
