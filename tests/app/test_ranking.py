"""Best as the user defines it: what cannot be told apart shares a place, and the order says what it hangs on."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from app.cli.main import benchwright
from app.comparison.compare import compare
from app.comparison.comparison import CompareError
from app.comparison.joined import join
from app.comparison.verdicts import ComparisonVerdict, Level
from app.events import State
from app.margins import Margins
from app.parse import parse_output
from app.plans.plan import Order
from app.ranking.candidates import (
    FigureLimit,
    Price,
    PriceError,
    RankingCriteria,
    RankingGoal,
    Threshold,
    limit_of,
    parse_price,
    parse_table,
    price_key,
)
from app.ranking.ranking import Ranking, ThresholdResult, rank
from app.ranking.report import closing_lines, rank_text, ranking_csv, ranking_rows, ranking_to_json, title
from app.ranking.scores import Score, are_paired, ratio_between, separated, tied_groups
from app.records import RunRecord, TrialRecord
from suites.errors import BenchwrightError
from suites.quantities import parse_quantity
from suites.units import Unit
from suites.vocab import Figure
from tests.app import run_events
from tests.app.run_events import run_record
from tests.app.test_baselines import stored
from tests.app.test_replication import DRIFT, FASTER, halves, two_steps
from tests.messages import messages

MESSAGES = messages("app", "test_ranking")


def trials(centre: float, seed: int, spread: float = 0.01, count: int = 8) -> list[float]:
    rng = random.Random(seed)
    return [centre * (1 + rng.gauss(0, spread)) for _ in range(count)]


def machine(name: str, centre: float, seed: int, **more: Any) -> RunRecord:
    return run_record(name, trials(centre, seed, **more), host=name)


def ranked(runs: Sequence[RunRecord], question: RankingCriteria) -> Ranking:
    return rank([run.summary.id for run in runs], [[run] for run in runs], question)


HIGHEST = RankingCriteria({"iops": 1.0})
THREE = [machine("slow", 800.0, 1), machine("a", 1000.0, 2), machine("b", 1005.0, 3)]


def test_what_cannot_be_told_apart_shares_a_place() -> None:
    found = ranked(THREE, HIGHEST)
    assert [(one.candidate.name, rank_text(found, one.group)) for one in found.ranked] == [
        ("b", "1–2"),
        ("a", "1–2"),
        ("slow", "3"),
    ]


def test_what_failed_too_often_is_not_ranked_and_no_run_counts_twice() -> None:
    runs = [machine("a", 1000, 1), machine("b", 1200, 2)]
    failed = replace(runs[1], trials=(*runs[1].trials, *(failed_trial(100 + number) for number in range(5))))
    found = ranked([runs[0], failed], HIGHEST)
    assert [one.candidate.name for one in found.ranked] == ["a"]
    assert found.left_out == (("b", MESSAGES["five_failed"]),)
    with pytest.raises(CompareError, match="cannot be compared with itself"):
        ranked([runs[0], runs[0]], HIGHEST)


def failed_trial(number: int) -> TrialRecord:
    return TrialRecord(run_events.trial(number, host="b"), State.FAILED, None, None, (), (), "timeout")


def test_few_trials_are_listed_with_their_value_and_not_ranked() -> None:
    few = machine("few", 3000.0, 2, count=5)
    found = ranked([few, machine("a", 1000.0, 1)], HIGHEST)
    assert [one.candidate.name for one in found.ranked] == ["a"]
    assert found.left_out == (("few", MESSAGES["five_trials"]),)
    (row,) = found.unranked
    assert (row.group, row.n, row.low, row.high) == (0, 5, None, None)
    assert ranking_rows(found)[1][:5] == ["–", "few", "3018 IOPS", "", "5"]
    assert MESSAGES["few_is_not_ranked"] in closing_lines(found)
    none = ranked([few], HIGHEST)
    assert (none.ranked, none.groups, len(none.unranked)) == ((), 0, 1)
    assert [one["group"] for one in ranking_to_json(none)["unranked"]] == [0]


@pytest.mark.parametrize("threshold", [Threshold(1.0), Threshold(1e9)])
@pytest.mark.parametrize("goal", [RankingGoal.HIGHEST, RankingGoal.CHEAPEST])
def test_few_trials_neither_reach_nor_miss_a_threshold(threshold: Threshold, goal: RankingGoal) -> None:
    prices = {"few": Price(0.1), "a": Price(0.2)}
    question = RankingCriteria({"iops": 1.0}, goal, threshold, prices=prices)
    found = ranked([machine("few", 3000.0, 2, count=5), machine("a", 1000.0, 1)], question)
    assert [one.candidate.name for one in found.ranked] == ["a"]
    assert found.unranked[0].reached is None


def test_identical_trials_are_exact() -> None:
    runs = [run_record(name, [value] * 6, host=name) for name, value in (("a", 100.0), ("b", 104.0), ("c", 106.0))]
    found = ranked(runs, HIGHEST)
    assert [(one.candidate.name, one.group) for one in found.ranked] == [("c", 1), ("b", 1), ("a", 2)]


def sessions(name: str, centre: float, seed: int, count: int = 10) -> list[RunRecord]:
    """Return `count` sessions of one host of six trials each: 3 % between sessions, 1 % within."""
    rng = random.Random(seed)
    return [
        run_record(
            f"{name}{number}", trials(centre * (1 + rng.gauss(0, 0.03)), 100 * seed + number, count=6), host=name
        )
        for number in range(count)
    ]


def test_several_runs_of_a_host_count_as_sessions() -> None:
    found = rank(["a", "b"], [sessions("a", 1000.0, 1), sessions("b", 1300.0, 2)], HIGHEST)
    assert [(one.candidate.name, one.n, one.candidate.level) for one in found.ranked] == [
        ("b", 10, Level.SESSION), ("a", 10, Level.SESSION),
    ]  # fmt: skip
    assert MESSAGES["other_hosts_of_a_type"] in found.notes
    two = rank(["a", "b"], [sessions("a", 1000.0, 1, 2), sessions("b", 1300.0, 2)], HIGHEST)
    assert two.left_out == (("a", MESSAGES["two_sessions"]),)


def test_one_session_is_not_ranked_beside_several() -> None:
    found = rank(["a", "b"], [sessions("a", 1000.0, 1), [machine("b", 1300.0, 2)]], HIGHEST)
    assert found.left_out == (("b", MESSAGES["one_session_beside_several"]),)
    assert [one.candidate.name for one in found.unranked] == ["b"]


def test_single_sessions_are_named_as_such() -> None:
    (note,) = [one for one in ranked(THREE, HIGHEST).notes if "session" in one]
    assert note.startswith(MESSAGES["in_one_session_on_one_host"])
    assert not ranked(THREE[:1], HIGHEST).notes


def test_a_candidate_above_another_by_its_value_only_is_named() -> None:
    runs = [machine("best", 1000.0, 1), machine("few", 985.0, 2, spread=0.1), machine("slow", 900.0, 3)]
    found = ranked(runs, HIGHEST)
    assert [one.group for one in found.ranked] == [1, 1, 2]
    shown_text = "few is above slow by its value only: not significantly different."
    assert shown_text in found.notes
    assert shown_text not in ranked(runs, replace(HIGHEST, threshold=Threshold(920.0))).notes  # it misses the threshold
    assert not any("alone" in note for note in ranked(THREE, HIGHEST).notes)


def test_two_are_told_apart_exactly_where_compare_tells_them_apart() -> None:
    for seed in range(30):
        one, other = machine("a", 1000.0, seed), machine("b", 1000.0 + 4 * seed, 100 + seed, spread=0.02)
        (row,) = compare([one, other]).rows
        reported = ranked([one, other], HIGHEST).groups == 2
        assert reported == (row.against[0].verdict is ComparisonVerdict.DIFFERS)


def same_hosts(name: str, factor: float, seed: int, first: int = 0) -> list[RunRecord]:
    """Return a run on each of eight hosts, the `first` and the next ones, which differ by 5 %, times `factor`."""
    return [
        run_record(
            f"{name}{number}",
            trials(1000.0 * factor * (1 + random.Random(number).gauss(0, 0.05)), seed + number),
            host=f"h{number}",
        )
        for number in range(first, first + 8)
    ]


def test_values_of_the_same_hosts_are_ranked_in_pairs_as_compare_compares_them() -> None:
    before, after = same_hosts("before", 1.0, 100), same_hosts("after", 1.03, 200)
    sharp = replace(HIGHEST, margins=Margins(0.01))
    found = rank(["before", "after"], [before, after], sharp)
    assert found.groups == 2
    assert MESSAGES["pairs_of_hosts"] in found.notes
    joined = [join(side, {run.summary.id: {} for run in side})[0] for side in (before, after)]
    pooled = compare(joined, sharp.margins).rows[0].against[0]
    scores = [one.candidate.score(sharp.weights) for one in found.ranked]
    ratio = ratio_between(scores[0], scores[1])
    assert pooled.low is not None
    assert (ratio.low, ratio.high) == pytest.approx((pooled.low, pooled.high))
    assert rank(["before", "after"], [before, after[1:]], sharp).groups == 2  # seven of eight hosts are shared
    elsewhere = same_hosts("after", 1.03, 200, first=5)
    assert rank(["before", "after"], [before, elsewhere], sharp).groups == 1  # hosts differ by 5 %, most have no pair


def test_scores_are_paired_where_most_units_are_shared() -> None:
    def score(*hosts: str) -> Score:
        return Score((tuple(range(len(hosts))),), units=(tuple((host,) for host in hosts),))

    assert are_paired(score("a", "b", "c"), score("b", "c", "d"))
    assert not are_paired(score("a", "b", "c"), score("b", "d", "e"))
    assert not are_paired(score("a", "b", "c", "d", "e"), score("a", "b"))
    assert not are_paired(Score(((1.0, 2.0),)), Score(((1.0, 2.0),)))


def test_steps_of_an_interleaved_run_are_ranked_in_pairs() -> None:
    slow, quick = halves(two_steps(Order.INTERLEAVED, DRIFT, FASTER, left_out=4))
    found = rank(["r:slow", "r:quick"], [[slow], [quick]], HIGHEST)
    assert [one.candidate.selector for one in found.ranked] == ["r:quick", "r:slow"]
    assert (found.groups, MESSAGES["pairs_of_rounds"] in found.notes) == (2, True)
    slow, quick = halves(two_steps(Order.BLOCK, DRIFT, FASTER))
    assert rank(["r:slow", "r:quick"], [[slow], [quick]], HIGHEST).groups == 1


def test_the_margin_is_that_of_the_metric_as_in_compare() -> None:
    one, other = machine("a", 1000.0, 1), machine("b", 1030.0, 2)
    close = Margins(0.012)
    (row,) = compare([one, other], close).rows
    assert row.against[0].verdict is ComparisonVerdict.DIFFERS
    found = ranked([one, other], replace(HIGHEST, margins=close))
    assert (found.groups, found.margin.share) == (2, 0.012)
    assert ranking_to_json(found)["margin_of"] == "yours"
    assert any("of 1.2 %, yours (95 %" in line for line in closing_lines(found))
    assert ranked([one, other], HIGHEST).groups == 1
    assert ranking_to_json(ranked([one, other], HIGHEST))["margin_of"] is None


def test_one_host_is_not_ranked_beside_groups_of_hosts() -> None:
    group = [machine(f"g{number}", 1000.0 + number, number) for number in range(7)]
    alone = machine("alone", 2000.0, 9)
    found = rank(["group", "alone"], [group, [alone]], HIGHEST)
    assert (found.groups, found.left_out) == (1, (("alone", MESSAGES["one_host_beside_several"]),))
    others = [machine(f"h{number}", 2000.0 + number, 20 + number) for number in range(7)]
    assert rank(["group", "others"], [group, others], HIGHEST).groups == 2


def test_a_lower_figure_is_better_where_the_metric_says_so() -> None:
    slow, quick = (
        run_record(name, trials(centre, seed), host=name, metric=run_events.P99)
        for name, centre, seed in (("slow", 900.0, 1), ("quick", 500.0, 2))
    )
    found = ranked([slow, quick], RankingCriteria({"latency_p99": 1.0}))
    assert [one.candidate.name for one in found.ranked] == ["quick", "slow"]


def test_a_step_that_is_not_ranked_is_named() -> None:
    whole = machine("a", 1000.0, 1)
    first = whole.plan.steps[0]
    again = [replace(one, trial=replace(one.trial, step="again", id=100 + one.trial.id)) for one in whole.trials]
    plan = replace(whole.plan, steps=(first, replace(first, name="again")))
    both = replace(whole, plan=plan, trials=(*whole.trials, *again))
    criteria = RankingCriteria({"iops": 1.0})
    (note,) = [one for one in ranked([both], criteria).notes if "--step" in one]
    assert first.name in note
    assert "again" in note
    for quiet in (ranked([both], replace(criteria, step="again")), ranked([whole], criteria)):
        assert not [one for one in quiet.notes if "--step" in one]


def test_a_threshold_is_reached_missed_or_not_sure_by_the_interval() -> None:
    question = RankingCriteria({"iops": 1.0}, threshold=Threshold(1000.0))
    found = ranked([*THREE, machine("c", 1100.0, 4)], question).ranked
    reached = {one.candidate.name: one.reached for one in found}
    assert [one.candidate.name for one in found] == ["c", "b", "a", "slow"]  # what missed it is last
    assert (reached["c"], reached["slow"], reached["a"]) == (
        ThresholdResult.YES,
        ThresholdResult.NO,
        ThresholdResult.UNCHECKED,
    )


def test_the_cheapest_is_among_those_that_reach_the_threshold() -> None:
    prices = {"slow": Price(0.1, "USD"), "a": Price(0.3, "USD"), "b": Price(0.2, "USD")}
    question = RankingCriteria({"iops": 1.0}, RankingGoal.CHEAPEST, Threshold(900.0), prices=prices)
    found = ranked([*THREE, machine("c", 1100.0, 4)], question)
    assert [one.candidate.name for one in found.ranked] == ["b", "a", "slow"]
    assert found.left_out == (("c", "no price"),)
    with pytest.raises(CompareError, match="needs a threshold"):
        ranked(THREE, RankingCriteria({"iops": 1.0}, RankingGoal.CHEAPEST, prices=prices))


def test_a_price_may_be_that_of_a_host_in_one_candidate() -> None:
    own = {price_key(name, name): Price(amount) for name, amount in (("a", 0.3), ("b", 0.1), ("slow", 0.3))}
    criteria = RankingCriteria({"iops": 1.0}, RankingGoal.PER_PRICE, prices={**own, "c7i.2xlarge": Price(9.0)})
    prices = {one.candidate.name: one.price for one in ranked(THREE, criteria).ranked}
    assert prices == {"a": Price(0.3), "b": Price(0.1), "slow": Price(0.3)}


def test_work_for_the_money_may_turn_the_order_round() -> None:
    prices = {"slow": Price(0.1), "a": Price(0.3), "b": Price(0.3)}
    found = ranked(THREE, RankingCriteria({"iops": 1.0}, RankingGoal.PER_PRICE, prices=prices))
    assert found.ranked[0].candidate.name == "slow"
    assert found.ranked[0].per_price == pytest.approx(8000, rel=0.02)


def test_prices_go_by_instance_type_and_not_across_currencies() -> None:
    found = ranked(
        THREE, RankingCriteria({"iops": 1.0}, RankingGoal.PER_PRICE, prices={"c7i.2xlarge": Price(0.36, "EUR")})
    )
    assert found.currency == "EUR"
    mixed = {"a": Price(1.0, "EUR"), "b": Price(1.0, "USD"), "slow": Price(1.0, "USD")}
    with pytest.raises(PriceError, match=r"EUR and USD|USD and EUR"):
        ranked(THREE, RankingCriteria({"iops": 1.0}, RankingGoal.PER_PRICE, prices=mixed))


def two_metrics(name: str, iops: float, p99: float, seed: int) -> RunRecord:
    made = run_record(name, trials(iops, seed), host=name)
    times = trials(p99, seed + 50)
    records = tuple(
        replace(one, figures=(*one.figures, Figure(run_events.P99, value, run_events.READ)))
        for one, value in zip(made.trials, times, strict=True)
    )
    return replace(made, trials=records)


def test_several_metrics_are_one_score_and_each_left_out_shows_what_it_hangs_on() -> None:
    runs = [two_metrics("base", 1000.0, 100.0, 1), two_metrics("wide", 2000.0, 160.0, 2)]
    found = ranked(runs, RankingCriteria({"iops": 1.0, "latency_p99": 1.0}))
    assert found.ranked[0].candidate.name == "wide"
    assert found.ranked[0].value == pytest.approx((2.0 / 1.6) ** 0.5, rel=0.02)
    assert {one.what: one.order for one in found.sensitivity} == {
        "without iops": "base > wide",
        "iops x 0.5": "base = wide",
        "latency_p99 x 1.5": "base = wide",
    }
    lines = closing_lines(found)
    assert MESSAGES["other_weights_swap"] in lines
    assert MESSAGES["other_weight_ties"] in lines
    same = [two_metrics("base", 1000.0, 100.0, 1), two_metrics("wide", 2000.0, 50.0, 2)]
    clear = ranked(same, RankingCriteria({"iops": 1.0, "latency_p99": 1.0}))
    assert clear.sensitivity == ()
    assert not any("rder" in line for line in closing_lines(clear))
    weighed = ranked(runs, RankingCriteria({"iops": 1.0, "latency_p99": 3.0}))
    assert weighed.ranked[0].candidate.name == "base"


def test_metrics_that_no_trial_has_together_make_no_score() -> None:
    whole = two_metrics("whole", 1000.0, 100.0, 1)
    torn = two_metrics("torn", 1000.0, 100.0, 2)
    halves = tuple(replace(one, figures=(one.figures[place % 2],)) for place, one in enumerate(torn.trials))
    found = ranked([whole, replace(torn, trials=halves)], RankingCriteria({"iops": 1.0, "latency_p99": 1.0}))
    assert found.left_out == (("torn", MESSAGES["no_trial_of_random_read_has"]),)


def sweep(name: str, points: Sequence[tuple[int, float, float]]) -> RunRecord:
    """Return a run of eight trials, each with IOPS and p99 at several depths."""
    made = run_record(name, [1.0] * 8, host=name)
    figures = tuple(
        Figure(metric, value * (1 + 0.001 * number), (("depth", str(depth)),))
        for number, (depth, iops, p99) in enumerate(points)
        for metric, value in ((run_events.IOPS, iops), (run_events.P99, p99))
    )
    return replace(made, trials=tuple(replace(one, figures=figures) for one in made.trials))


def test_a_limit_takes_the_best_point_of_a_sweep_at_which_it_holds() -> None:
    runs = [sweep("a", [(1, 100, 50), (8, 700, 300), (32, 2000, 9000)]), sweep("b", [(1, 90, 40), (8, 900, 1500)])]
    limit = FigureLimit("latency_p99", 1.0, Unit.MILLISECOND)
    found = ranked(runs, RankingCriteria({"iops": 1.0}, limit=limit))
    assert [(one.candidate.name, round(one.value)) for one in found.ranked] == [("a", 701), ("b", 90)]
    tight = ranked(runs, RankingCriteria({"iops": 1.0}, limit=FigureLimit("latency_p99", 45.0, Unit.MICROSECOND)))
    assert tight.left_out == (("a", MESSAGES["it_has_no_figure_iops_that"]),)


def test_a_limit_goes_by_the_points_of_a_real_sweep_under_the_plain_names() -> None:
    captured = (Path(__file__).parents[1] / "data" / "fio" / "3.33" / "sweep.stdout").read_bytes()
    figures = parse_output("fio-sweep", captured).figures
    at = {one.labels: one.value for one in figures if one.metric.name == "latency_p99_by_point"}
    rates = {one.labels: one.value for one in figures if one.metric.name == "iops_by_point"}
    edge = sorted(at.values())[len(at) // 2]
    made = run_record("a", [1.0] * 6, host="a")
    run = replace(made, trials=tuple(replace(one, figures=figures) for one in made.trials))
    unit = next(one.metric.unit for one in figures if one.metric.name == "latency_p99_by_point")
    found = ranked([run], RankingCriteria({"iops": 1.0}, limit=FigureLimit("latency_p99", edge, unit)))
    assert found.ranked[0].value == pytest.approx(max(rates[labels] for labels in at if at[labels] <= edge))


def test_a_limit_on_a_latency_is_one_of_whole_requests() -> None:
    run = sweep("a", [(1, 100, 50), (8, 700, 300)])
    whole = replace(run_events.P99, name="total_latency_p99")
    waited = tuple(Figure(whole, value, (("depth", depth),)) for depth, value in (("1", 60.0), ("8", 2000.0)))
    run = replace(run, trials=tuple(replace(one, figures=(*one.figures, *waited)) for one in run.trials))
    found = ranked([run], RankingCriteria({"iops": 1.0}, limit=FigureLimit("latency_p99", 1.0, Unit.MILLISECOND)))
    assert round(found.ranked[0].value) == 100


def test_another_name_of_a_step_does_not_get_it_past_the_gate() -> None:
    step = replace(run_events.STEP, name="16k", values={**run_events.STEP.values, "block_size": 16384})
    other = run_record("c", trials(9000.0, 4), host="c", step=step)
    assert ranked([*THREE, other], HIGHEST).left_out == (("c", MESSAGES["not_comparable_block_size_16"]),)
    renamed = run_record("c", trials(9000.0, 4), host="c", step=replace(run_events.STEP, name="again"))
    assert ranked([*THREE, renamed], HIGHEST).left_out == ()


def test_what_measured_something_else_has_no_place_unless_overruled() -> None:
    other = run_record("c", trials(9000.0, 4), host="c", version="fio-2.1")
    found = ranked([*THREE, other], HIGHEST)
    assert found.left_out[0][0] == "c"
    assert "not comparable" in found.left_out[0][1]
    assert ranked([*THREE, other], replace(HIGHEST, overruled="old image")).ranked[0].candidate.name == "c"


def test_a_group_is_one_candidate_whose_hosts_weigh_alike() -> None:
    groups = [
        [machine(f"{kind}{n}", centre * (1 + 0.01 * n), n) for n in range(4)]
        for kind, centre in (("a", 100.0), ("b", 130.0))
    ]
    found = rank(["a", "b"], groups, HIGHEST)
    assert [(one.candidate.name, one.n) for one in found.ranked] == [("b (4 hosts)", 4), ("a (4 hosts)", 4)]
    assert found.groups == 2


@given(st.lists(st.lists(st.floats(-3, 3), min_size=6, max_size=8), min_size=2, max_size=5), st.floats(0, 0.2))
def test_separation_is_never_mutual_and_groups_hold_everybody_once(values: list[list[float]], margin: float) -> None:
    scores = [Score((tuple(part),)) for part in values]
    better = separated(scores, margin)
    for one, row in enumerate(better):
        assert not any(row[other] and better[other][one] for other in range(len(scores)))
    assert sorted(place for group in tied_groups(scores, margin) for place in group) == list(range(len(scores)))


def test_the_table_as_csv_keeps_numbers_and_guards_words() -> None:
    found = ranked([machine("=cmd", 1000.0, 1), *THREE], HIGHEST)
    text = ranking_csv(found)
    assert "'=cmd" in text
    assert len(text.splitlines()) == 5
    assert all(len(row) == 9 for row in ranking_rows(found))


@pytest.mark.parametrize("text", ["", "0", "-1", "1e3", "abc", "1 USD EUR", "1\x1b"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(PriceError):
        parse_price(text)


@pytest.mark.parametrize(("text", "amount"), [(".1", 0.1), ("1.", 1.0), (".034 USD", 0.034)])
def test_a_price_needs_no_zero(text: str, amount: float) -> None:
    assert parse_price(text).amount == amount


def test_the_threshold_is_printed_as_it_was_set_and_ties_only_if_there_are_some() -> None:
    found = ranked([*THREE, machine("c", 1100.0, 4)], RankingCriteria({"iops": 1.0}, threshold=Threshold(119.9)))
    assert title(found).endswith(", at least 119.9 IOPS")
    assert any("of one rank are tied at" in line for line in closing_lines(ranked(THREE, HIGHEST)))
    nearly = [machine("x", 1000.0, 1), machine("y", 965.0, 2)]
    split = ranked(nearly, RankingCriteria({"iops": 1.0}, threshold=Threshold(982.0)))
    assert len({one.group for one in split.ranked}) == len({one.reached for one in split.ranked}) == 2
    assert not any("at a margin of" in line for line in closing_lines(split))
    distinct = ranked([machine("x", 1000.0, 1), machine("y", 2000.0, 2)], HIGHEST)
    assert not any("tied" in line for line in closing_lines(distinct))
    assert any(MESSAGES["one_metric"] in line for line in closing_lines(distinct))


def test_prices_are_read_from_a_table() -> None:
    table = parse_table("instance_type,price,currency\nc7i.2xlarge,0.357,USD\nm5,0.1,USD\n")
    assert table["c7i.2xlarge"] == Price(0.357, "USD")
    with pytest.raises(PriceError, match="header lacks"):
        parse_table("a,b\n1,2\n")


def test_amounts_and_limits_have_units() -> None:
    assert parse_quantity("20000 MB/s") == (20000.0, Unit.MB_PER_SECOND)
    assert parse_quantity("1.1 GB/s") == (1_100_000_000.0, Unit.BYTES_PER_SECOND)
    assert parse_quantity("3 kbit/s") == (3000.0, Unit.BITS_PER_SECOND)
    assert parse_quantity("3 GiB") == (3.0 * 2**30, Unit.BYTE)
    assert limit_of("latency_p99 <= 1 ms") == FigureLimit("latency_p99", 1.0, Unit.MILLISECOND)
    for wrong in ("latency_p99", "a <= b", "a <= 1 parsec"):
        with pytest.raises(BenchwrightError):
            limit_of(wrong)


def test_the_command_line_ranks_the_hosts_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    runs = {
        f"2026110{n}-{name}": (name, tuple(trials(centre, n)))
        for n, (name, centre) in enumerate((("a", 500.0), ("b", 700.0)))
    }
    stored(path, runs).close()
    words = [
        "--store",
        str(path),
        "best",
        *runs,
        "--metric",
        "iops",
        "--at-least",
        "600 1/s",
        "--price",
        "a=1",
        "--price",
        "b=2",
    ]
    shown = CliRunner().invoke(benchwright, [*words, "--cheapest", "--csv", str(tmp_path / "best.csv")])
    assert shown.exit_code == 0, shown.output
    assert "reached" in shown.output
    assert (tmp_path / "best.csv").read_text().startswith("place,candidate")
    found = json.loads(CliRunner().invoke(benchwright, [*words, "--json"]).output)
    assert [one["name"] for one in found["candidates"]] == ["b", "a"]
    assert found["threshold"] == {"value": 600.0, "at_least": True}
    both = CliRunner().invoke(benchwright, [*words, "--metric", "latency_p99"])
    assert both.exit_code == 2


@pytest.mark.slow
def test_machines_that_are_alike_are_seldom_ranked() -> None:
    wrong = sum(
        ranked(
            [machine(name, 1000.0, 10 * seed + number, spread=0.03) for number, name in enumerate("abcd")],
            replace(HIGHEST, margins=Margins(0.0)),
        ).groups
        > 1
        for seed in range(300)
    )
    assert wrong / 300 <= 0.07  # all six pairs together; with the margin of 5 % next to none
