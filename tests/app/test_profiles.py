"""Profiled trials: in the plan, outside of every statistic, and what is shown of them."""

import shlex
from dataclasses import replace
from pathlib import Path
from xml.dom.minidom import parseString

import pytest

from app.bursts import drains_of
from app.cli.profiles import _print
from app.comparison.comparison import CompareError
from app.events import State, Trial
from app.flame_graph import flame_frames, flame_svg
from app.plans.consent import needs_person, parts_of
from app.plans.plan import FORMATS, Order, Plan, PlanError, Repetition, make_step
from app.plans.plan_file import format_plan, parse_plan
from app.plans.totals import totals
from app.plans.validation import validate
from app.profiles import (
    PerfProfile,
    Stacks,
    compared_profiles,
    cost_text,
    folded_text,
    function_shares,
    profiles_of,
    reading_text,
)
from app.records import RunRecord, TrialRecord
from app.results import metric_rows
from app.runs.findings import not_profiled
from app.services import Workstation
from app.summary import summaries
from suites.perf import COUNTERS, is_profiled, profiled_commands, read_stacks
from suites.perf import STACKS as STACKS_STREAM
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
    assert [row.get("warm_up") for row in metric_rows(record, {}, {}) if row["value"] == 5.0] == [True]


STACKS = b"fio;main;heavy 70\nfio;main;light 28\nfio;main;light;read 2\n"
NO_PMU = (Path(__file__).parents[1] / "data/perf/6.1/no_pmu.csv").read_bytes()
HARDWARE = (Path(__file__).parents[1] / "data/perf/5.12/documented.csv").read_bytes()


def profile(record: RunRecord, counters: bytes = NO_PMU, stacks: bytes = STACKS) -> PerfProfile:
    (found,) = profiles_of(record, lambda trial: {COUNTERS: counters, STACKS_STREAM: stacks} if trial == 3 else {})
    return found


def readings(found: PerfProfile) -> dict[str, str]:
    return {one.name: reading_text(one) for one in found.readings}


def virtual(record: RunRecord) -> RunRecord:
    facts = record.facts_before["web-1"]
    return replace(record, facts_before={"web-1": replace(facts, system=replace(facts.system, virtualisation="kvm"))})


def test_the_cost_is_the_ratio_to_the_trials_that_count() -> None:
    found = profile(profiled_run(900.0))
    assert found.cost is not None
    assert (found.cost.trials, found.samples) == (2, 100)
    assert found.cost.ratio == pytest.approx(900 / 1005, rel=1e-4)
    assert cost_text(found.cost) == MESSAGES["cost"]


def test_counters_without_a_pmu_are_absent_with_the_reason() -> None:
    assert readings(profile(virtual(profiled_run())))["Branch misses"] == MESSAGES["virtual"]
    shown = readings(profile(profiled_run()))
    assert shown["Instructions per cycle"] == MESSAGES["unsupported"]
    assert shown["CPU time"] == "4.01 s, 0.97 CPUs used"
    assert shown["Context switches"] == "6,457"


def test_documented_hardware_counters_are_shown_as_ratios() -> None:
    shown = readings(profile(virtual(profiled_run()), HARDWARE))
    assert shown["Instructions per cycle"] == "0.61"
    assert shown["Branch misses"] == "4.02% of branches"
    assert shown["Cache misses"] == MESSAGES["not_reported"]
    few = HARDWARE.replace(b"instructions,8026048894,100.00", b"instructions:u,8026048894,25.00")
    assert readings(profile(profiled_run(), few))["Instructions per cycle"] == MESSAGES["estimated"]


def test_without_a_profile_the_reason_is_shown() -> None:
    record = run_record("p", (1000.0, 1010.0))
    planned = replace(record, plan=replace(record.plan, repetition=PROFILED))
    refused = replace(planned, findings=(not_profiled(STEP.name, "web-1", "perf is not installed"),))
    assert profile(record).absent == MESSAGES["not_planned"]
    assert profile(planned).absent == MESSAGES["not_run"]
    assert profile(refused).absent == MESSAGES["refused"]
    assert profile(refused).stacks is None


def test_shares_are_of_samples_and_a_recursion_counts_once() -> None:
    shares = {one.name: (one.own, one.total) for one in function_shares(profile(profiled_run()).stacks or {})}
    assert (shares["heavy"], shares["light"], shares["read"]) == ((0.7, 0.7), (0.28, 0.3), (0.02, 0.02))
    assert {one.name: one.total for one in function_shares({("a", "b", "a"): 3})} == {"a": 1.0, "b": 1.0}


BEFORE: Stacks = {("fio", "main", "heavy"): 10, ("fio", "main", "gone"): 10}


def test_a_change_is_of_shares_whatever_the_samples() -> None:
    stacks = profile(profiled_run()).stacks or {}
    changed = {one.name: one for one in function_shares(stacks, BEFORE)}
    assert (changed["heavy"].own, changed["heavy"].before) == (0.7, (0.5, 0.5))
    assert (changed["gone"].own, changed["gone"].before) == (0.0, (0.5, 0.5))
    assert folded_text(stacks, BEFORE).splitlines()[:2] == ["fio;main;gone 10 0", "fio;main;heavy 10 70"]
    frames = {frame.name: frame for frame in flame_frames(stacks, BEFORE)}
    assert frames["heavy"].change == pytest.approx(0.2)
    assert frames["light"].change == pytest.approx(0.3)
    assert frames["all"].change == 0
    assert "gone" not in frames


def test_folded_text_is_read_back() -> None:
    stacks = profile(profiled_run()).stacks or {}
    assert read_stacks(folded_text(stacks).splitlines()) == stacks


def test_frames_lie_within_their_callers() -> None:
    frames = flame_frames(profile(profiled_run()).stacks or {})
    assert [(frame.name, frame.depth) for frame in frames] == [
        ("all", 0), ("fio", 1), ("main", 2), ("heavy", 3), ("light", 3), ("read", 4)
    ]  # fmt: skip
    assert [frame.left for frame in frames[3:]] == pytest.approx([0.0, 0.7, 0.7])
    assert sum(frame.width for frame in frames if frame.depth == 3) == pytest.approx(1.0)
    assert flame_frames({}) == ()


def test_names_of_functions_are_no_markup() -> None:
    hostile: Stacks = {("x", '<script>alert("1")</script>&\x1b[2J\x00'): 1}
    svg = flame_svg(flame_frames(hostile), "</text><script>")
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "\x00" not in svg
    parseString(svg)  # noqa: S318 (our own file: it is well-formed)


def test_steps_are_paired_by_name_and_host() -> None:
    one = profile(profiled_run())
    assert compared_profiles([one], [replace(one, step="other")])[0][1].step == "other"
    others = [replace(one, step="a"), replace(one, step="b")]
    assert compared_profiles([*others], [replace(one, step="b")])[0][0].step == "b"
    with pytest.raises(CompareError, match="both runs"):
        compared_profiles(others, [one])


def test_the_costs_of_both_runs_say_which_is_which(capsys: pytest.CaptureFixture[str]) -> None:
    one = profile(profiled_run(900.0))
    _print([(one, one)], 5)
    shown = [line for line in capsys.readouterr().out.splitlines() if MESSAGES["cost"] in line]
    assert shown == [f"{when}: {MESSAGES['cost']}" for when in ("Before", "After")]
