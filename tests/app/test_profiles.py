"""Profiled trials: in the plan, outside of every statistic, and what is shown of them."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from app.bursts import drains_of
from app.events import State, Trial
from app.plans.consent import needs_person, parts_of
from app.plans.plan import FORMATS, Order, Plan, PlanError, Repetition, make_step
from app.plans.plan_file import format_plan, parse_plan
from app.plans.totals import totals
from app.plans.validation import validate
from app.records import RunRecord, TrialRecord
from app.results import metric_rows
from app.services import Workstation
from app.summary import summaries
from suites.perf import is_profiled, profiled_commands
from suites.vocab import Figure
from tests.app.run_events import IOPS, READ, STEP, plan, run_record, trial
from tests.messages import messages

MESSAGES = messages("app", "test_profiles")
PROFILED = Repetition(trials=2, profile=True)


def profiled_trial(number: int) -> Trial:
    return replace(trial(number), number=1, warm_up=True, commands=profiled_commands(trial(number).commands, 99))


def profiled_run(value: float = 900.0) -> RunRecord:
    record = run_record("p", (1000.0, 1010.0))
    last = TrialRecord(profiled_trial(3), State.DONE, None, 0, (Figure(IOPS, value, READ),), ended_clock=3019.0)
    return replace(record, plan=replace(record.plan, repetition=PROFILED), trials=(*record.trials, last))


def test_the_option_is_in_the_file_and_older_files_have_none() -> None:
    older = plan(make_step("sysbench-cpu", {}))
    made = replace(older, repetition=PROFILED)
    assert (made.format, older.format) == (FORMATS[5], FORMATS[0])
    assert "profile" not in format_plan(older)
    assert parse_plan(format_plan(made)).repetition.profile
    assert not parse_plan(format_plan(older)).repetition.profile


def test_the_figures_with_and_without_it_are_of_one_plan() -> None:
    assert replace(plan(), repetition=PROFILED).hash() == replace(plan(), repetition=Repetition(trials=2)).hash()


def test_a_duet_has_none() -> None:
    steps = make_step("sysbench-cpu", {}, name="a"), make_step("sysbench-cpu", {}, name="b")
    with pytest.raises(PlanError, match="duet"):
        validate(Plan("p", ("local",), steps, repetition=PROFILED, order=Order.DUET))


def test_what_runs_is_shown_before_and_agreed_to(tmp_path: Path) -> None:
    made = Plan("p", ("local",), (make_step("sysbench-cpu", {}),), repetition=PROFILED)
    workstation = Workstation(tmp_path / "runs", tmp_path / "hosts")
    previews = workstation.preview(made, {})
    assert MESSAGES["not_counted"] in previews[0].text
    assert any(is_profiled_line(line) for line in previews[0].text.splitlines())
    assert totals(made, previews).trials == 3
    (part,) = parts_of(made)
    assert is_profiled_line(part.effects[0].text)
    assert not needs_person(made)
    assert parts_of(replace(made, repetition=Repetition())) == ()


def is_profiled_line(line: str) -> bool:
    return shlex.split(line)[:2] == ["perf", "record"]


def test_no_statistic_has_the_profiled_trial() -> None:
    record = profiled_run(5.0)
    assert record.trials[-1].trial.title == "profiled trial"
    assert not is_profiled(record.trials[0].trial.commands)
    assert [found.values for found in summaries(record)] == [(1000.0, 1010.0)]
    assert len(record.trials_of(STEP.name)) == 2
    assert len(drains_of(record, STEP.name, "web-1", {}, (IOPS, READ))) == 2
    assert [row.get("warm_up") for row in metric_rows(record) if row["value"] == 5.0] == [True]
