"""Two runs are called different only where the figures carry it, and never compared where they measure other things."""

import json
import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.cli.tables import closing_lines, print_comparison, run_lines
from app.comparison.compare import compare
from app.comparison.comparison import CompareError, Comparison, comparison_to_json, run_letter
from app.comparison.estimates import FEWEST_TRIALS, Ratio, median_of, more_trials, ratio_of, welch
from app.comparison.verdicts import ComparisonVerdict, Scope, verdict_text
from app.events import State
from app.margins import Margins
from app.plans.plan import Step
from app.records import RunRecord, TrialRecord
from suites.parameters import Value
from suites.units import Unit
from suites.vocab import Figure, Metric
from tests.app.other_tools import judge
from tests.app.run_events import IOPS, P99, READ, STEP, run_record, sessions, trial
from tests.messages import messages

MESSAGES = messages("app", "test_compare")

BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0)
positive = st.lists(st.floats(min_value=1.0, max_value=1e6), min_size=1, max_size=9)


def scaled(factor: float, values: tuple[float, ...] = BASE) -> tuple[float, ...]:
    return tuple(factor * value for value in values)


def only(comparison: Comparison) -> ComparisonVerdict:
    (row,) = comparison.rows
    return row.against[0].verdict


@pytest.mark.parametrize(
    ("factor", "metric", "verdict"),
    [
        (1.2, IOPS, ComparisonVerdict.BETTER),
        (0.8, IOPS, ComparisonVerdict.WORSE),
        (1.2, P99, ComparisonVerdict.WORSE),
        (0.8, P99, ComparisonVerdict.BETTER),
        (1.01, IOPS, ComparisonVerdict.SAME),
        (0.99, P99, ComparisonVerdict.SAME),
        (1.05, IOPS, ComparisonVerdict.UNDECIDED),
    ],
)
def test_the_verdict_knows_which_way_is_better(factor: float, metric: Metric, verdict: ComparisonVerdict) -> None:
    comparison = compare([sessions("a", BASE, metric=metric), sessions("b", BASE, factor, metric=metric)])
    assert only(comparison) is verdict


def test_a_run_after_z_has_the_same_name_in_the_terminal_as_in_the_report() -> None:
    comparison = compare([run_record("a", BASE), run_record("b", BASE)])
    lines = run_lines(replace(comparison, runs=comparison.runs[:1] * 27))
    assert [line.partition("  ")[0] for line in lines[24:]] == ["Y", "Z", run_letter(26)]


def test_a_verdict_comes_with_ratio_interval_and_counts() -> None:
    comparison = compare([run_record("a", BASE), run_record("b", scaled(1.2))])
    against = comparison.rows[0].against[0]
    assert against.ratio == pytest.approx(1.2)
    assert against.low is not None
    assert against.high is not None
    assert against.low < 1.2 < against.high
    assert against.verdict is ComparisonVerdict.DIFFERS
    assert against.text == MESSAGES["between_sessions"]
    assert against.reason == MESSAGES["the_whole_interval_lies"]


def test_no_difference_is_never_claimed_only_one_smaller_than_the_margin() -> None:
    comparison = compare([sessions("a", BASE), sessions("b", BASE[::-1])], margins=Margins(0.02))
    assert verdict_text(only(comparison), 0.02) == MESSAGES["smaller_than_2"]
    assert comparison.rows[0].against[0].text == MESSAGES["smaller_than_the_margin"]


@pytest.mark.parametrize(("n", "n_baseline"), [(3, 3), (5, 9), (9, 5), (1, 1)])
def test_fewer_than_six_trials_decide_nothing(n: int, n_baseline: int) -> None:
    values = scaled(2.0, (BASE + BASE)[:n])
    comparison = compare([run_record("a", (BASE + BASE)[:n_baseline]), run_record("b", values)])
    against = comparison.rows[0].against[0]
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert against.reason.startswith(f"n = {n} against {n_baseline}, needs at least {FEWEST_TRIALS} each")
    assert against.ratio == pytest.approx(2.0, rel=0.02)  # what is known is shown all the same
    assert (MESSAGES["so_far_the_interval_lies"] in against.reason) == (n > 1)


def test_an_undecided_ratio_says_how_many_more_trials_would_settle_it() -> None:
    noisy = (900.0, 1000.0, 1100.0, 950.0, 1050.0, 1020.0)
    against = judge(IOPS, scaled(1.1, noisy), noisy, 0.05)
    assert against.verdict is ComparisonVerdict.UNDECIDED
    # s^2 = 2 * var(log) and d = log(1.1) - log(1.05): (1.96 s / d)^2 = 18.2, less the six there are.
    assert against.text == MESSAGES["undecided_13_more"]
    assert against.more == 13
    assert against.reason == (MESSAGES["its_interval_0_33_to_21"])


def test_no_forecast_is_made_at_the_edge_of_the_margin() -> None:
    assert more_trials(Ratio(1.05, 1.0, 1.1, 0.07, 0.07), 0.05, (6, 6)) is None
    assert more_trials(Ratio(1.0501, 1.0, 1.1, 0.07, 0.07), 0.05, (6, 6)) is None


# The interval


def test_the_interval_is_the_one_scipy_gives() -> None:
    from scipy import stats

    values, baseline = (1.0, 1.3, 1.1, 0.9, 1.2, 1.15), (0.8, 0.9, 1.0, 0.7)
    logs = [[math.log(value) for value in side] for side in (values, baseline)]
    expected = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    ratio = ratio_of(values, baseline)
    assert isinstance(ratio, Ratio)
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    assert ratio.value == pytest.approx(math.exp(sum(logs[0]) / 6 - sum(logs[1]) / 4))


def test_welch_of_arrays_is_the_one_scipy_gives() -> None:
    import numpy as np
    from scipy import stats

    ours, theirs = (np.random.default_rng(seed).normal(7, seed / 10, size=(200, 4 + seed)) for seed in (1, 2))
    errors = [(side.var(axis=1, ddof=1) / side.shape[1], side.shape[1] - 1) for side in (ours, theirs)]
    low, high, p = welch(ours.mean(axis=1) - theirs.mean(axis=1), errors, 0.99)
    expected = stats.ttest_ind(ours, theirs, equal_var=False, axis=1)
    edges = expected.confidence_interval(0.99)
    np.testing.assert_allclose([low, high, p], [edges.low, edges.high, expected.pvalue], rtol=1e-9, atol=1e-12)


def test_a_constant_side_leaves_the_interval_of_the_other() -> None:
    from scipy import stats

    values = (1.0, 1.3, 1.1, 0.9, 1.2, 1.15)
    edges = stats.ttest_1samp([math.log(value) for value in values], math.log(1.1)).confidence_interval(0.95)
    ratio = ratio_of(values, (1.1,) * 8)
    assert isinstance(ratio, Ratio)
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(edges.low) / 1.1, math.exp(edges.high) / 1.1))


@pytest.mark.parametrize(("count", "outside"), [(5, None), (6, 0), (8, 0), (9, 1), (20, 5), (60, 21)])
def test_a_median_has_the_interval_of_the_sign_test(count: int, outside: int | None) -> None:
    values = [float(value) for value in range(count, 0, -1)]
    centre = median_of(values)
    assert centre.value == statistics.median(values)
    edges = (None, None) if outside is None else (outside + 1.0, count - float(outside))
    assert (centre.low, centre.high) == edges  # Conover, Practical Nonparametric Statistics, table A3


@given(positive, positive)
def test_swapping_the_runs_mirrors_ratio_and_verdict(ours: list[float], theirs: list[float]) -> None:
    there, back = judge(IOPS, ours, theirs, 0.05), judge(IOPS, theirs, ours, 0.05)
    mirror = {ComparisonVerdict.BETTER: ComparisonVerdict.WORSE, ComparisonVerdict.WORSE: ComparisonVerdict.BETTER}
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert (there.low is None) == (back.low is None)
    if there.low is not None and there.high is not None and back.high is not None:
        assert there.low <= there.ratio <= there.high
        assert there.low == pytest.approx(1 / back.high)
        edges = (there.low, there.high)  # the margin is a change of the baseline: swapped, its edges differ
        assume(not any(math.log(1.05) - 1e-9 < abs(math.log(edge)) < -math.log(0.95) + 1e-9 for edge in edges))
    assert mirror.get(there.verdict, there.verdict) is back.verdict


@given(positive, positive, st.floats(min_value=1e-3, max_value=1e3))
def test_the_unit_does_not_matter(ours: list[float], theirs: list[float], factor: float) -> None:
    one = judge(IOPS, ours, theirs, 0.05)
    other = judge(IOPS, [factor * value for value in ours], [factor * value for value in theirs], 0.05)
    assert one.ratio == pytest.approx(other.ratio)


def test_an_interval_that_cannot_be_computed_is_none_with_the_reason() -> None:
    assert judge(IOPS, [0.0] * 6, [1.0] * 6, 0.05).reason == MESSAGES["a_ratio_needs_figures_above"]
    similar = judge(IOPS, [1.1] * 6, [1.0] * 6, 0.05)
    assert similar.ratio == pytest.approx(1.1)
    assert (similar.low, similar.verdict) == (None, ComparisonVerdict.UNDECIDED)
    assert "identical" in similar.reason
    single = ratio_of([2.0], [1.0])
    assert isinstance(single, Ratio)
    assert (single.value, single.low) == (2.0, None)


# What may be compared


def refusal(baseline: RunRecord, other: RunRecord) -> str:
    (row,) = compare([baseline, other]).rows
    assert row.against[0].verdict is ComparisonVerdict.NOT_COMPARABLE
    assert row.against[0].ratio is None
    return row.against[0].reason


def with_values(**values: Value) -> Step:
    return replace(STEP, values={**STEP.values, **values})


def test_other_parameters_are_named_as_people_write_them() -> None:
    other = run_record("b", BASE, step=with_values(block_size=16384))
    assert refusal(run_record("a", BASE), other) == MESSAGES["block_size_16_kib_against_4"]


def test_another_version_of_the_tool_is_named() -> None:
    assert refusal(run_record("a", BASE), run_record("b", BASE, version="fio-2.0")) == "fio 2.0 against 3.33"


def test_another_unit_is_named() -> None:
    other = replace(IOPS, unit=Unit.PERCENT)
    assert refusal(run_record("a", BASE), run_record("b", BASE, metric=other)) == "unit % against 1/s"


def test_a_run_without_the_figure_says_so() -> None:
    one, other = run_record("a", BASE), run_record("b", BASE, metric=P99)
    rows = {row.metric: row.against[0].reason for row in compare([one, other]).rows}
    assert rows == {IOPS: MESSAGES["the_run_b_has_no_figure_of"], P99: MESSAGES["the_baseline_has_no_figure"]}


def test_a_step_the_baseline_has_not_got_is_shown_and_not_compared() -> None:
    write = replace(with_values(rw="randwrite"), name="random write")
    other = run_record("b", BASE, step=write)
    more = replace(other, plan=replace(other.plan, steps=(write, replace(write, name="more", values={"rw": "read"}))))
    rows = compare([run_record("a", BASE), more]).rows
    assert [(row.step, row.against[0].reason) for row in rows] == [
        ("random read", MESSAGES["the_run_b_has_no_such_step"]),
        ("random write", MESSAGES["the_baseline_has_no_such"]),
    ]
    assert rows[1].sides[0] is None


def test_the_only_steps_of_two_runs_stand_against_each_other_and_the_gate_says_what_they_differ_in() -> None:
    other = run_record("b", BASE, step=replace(with_values(rw="randwrite"), name="random write"))
    assert refusal(run_record("a", BASE), other) == MESSAGES["rw_randwrite_against"]
    cpu = run_record("c", BASE, step=Step("cpu", "sysbench-cpu", {}), version="sysbench 1.0.20")
    assert refusal(run_record("a", BASE), cpu) == MESSAGES["suite_sysbench_cpu_against"]


def test_steps_answer_to_each_other_by_what_they_measure_where_their_names_differ() -> None:
    other = run_record("b", BASE[::-1], step=replace(STEP, name="renamed"))
    assert only(compare([run_record("a", BASE), other])) is ComparisonVerdict.AGREES


def test_where_files_lie_is_mentioned_and_does_not_forbid() -> None:
    other = run_record("b", BASE[::-1], step=with_values(directory="/mnt/data"))
    comparison = compare([run_record("a", BASE), other])
    assert only(comparison) is ComparisonVerdict.AGREES
    assert MESSAGES["random_read_directory_mnt"] in comparison.notes


def test_hosts_pair_by_name_and_the_last_ones_with_each_other() -> None:
    comparison = compare([run_record("a", BASE), run_record("b", BASE[::-1], host="web-2", kernel="5.10")])
    assert only(comparison) is ComparisonVerdict.AGREES
    assert [side.host for side in comparison.rows[0].sides if side is not None] == ["web-1", "web-2"]
    assert any("of these machines" in note for note in comparison.notes)
    assert "web-2: kernel 5.10 against 6.1.0" in comparison.notes


def test_an_unknown_version_is_mentioned() -> None:
    comparison = compare([run_record("a", BASE), run_record("b", BASE[::-1], version=None)])
    assert only(comparison) is ComparisonVerdict.AGREES
    assert MESSAGES["random_read_the_version_of"] in comparison.notes


def test_trials_left_out_stay_visible_with_the_reason() -> None:
    run = run_record("a", BASE)
    failed = TrialRecord(trial(9), State.FAILED, None, 1, (Figure(IOPS, 1.0, READ),), (), "fio was killed.")
    comparison = compare([replace(run, trials=(*run.trials, failed)), run_record("b", BASE[::-1])])
    assert comparison.rows[0].sides[0] is not None
    assert comparison.rows[0].sides[0].values == BASE
    assert comparison.notes == (MESSAGES["excluded_trial"], MESSAGES["failed_trial"])


def test_three_runs_stand_side_by_side() -> None:
    comparison = compare([run_record("a", BASE), run_record("b", scaled(1.2)), run_record("c", scaled(0.8))])
    (row,) = comparison.rows
    assert [against.verdict for against in row.against] == [ComparisonVerdict.DIFFERS] * 2


def with_failures(run_id: str, count: int) -> RunRecord:
    run = run_record(run_id, BASE)
    failed = tuple(TrialRecord(trial(10 + number), State.FAILED, None, 1) for number in range(count))
    return replace(run, trials=(*run.trials, *failed))


def caveats_of(*runs: RunRecord) -> list[str]:
    return [note for note in compare(runs).repeated if "failed" in note]


def test_a_caveat_has_the_letters_of_its_runs_among_more_than_two() -> None:
    a, *others = with_failures("a", 0), with_failures("b", 1), with_failures("c", 1), with_failures("d", 2)
    text = MESSAGES["one_failed"]
    assert caveats_of(a, *others) == [f"B and C: {text}", MESSAGES["two_failed"]]
    assert caveats_of(a, *others[:1]) == [text]
    assert caveats_of(a, others[0], others[1], with_failures("e", 1)) == [f"B, C and D: {text}"]


def test_a_caveat_on_the_baseline_has_its_letter() -> None:
    runs = [with_failures("a", 1), with_failures("b", 0), with_failures("c", 0)]
    assert caveats_of(*runs) == [MESSAGES["baseline_failed"]]


def test_a_difference_has_the_letter_of_its_run() -> None:
    comparison = compare([run_record("a", BASE), run_record("b", BASE), run_record("c", BASE, kernel="6.5.0")])
    assert comparison.remarks
    assert all(remark.startswith("C: ") for remark in comparison.remarks)
    assert set(comparison.remarks) <= set(comparison.notes)


def test_runs_without_counted_trials_have_no_margin_and_an_empty_json() -> None:
    comparison = compare([run_record("a", ()), run_record("b", ())])
    assert comparison_to_json(comparison) == []
    assert closing_lines(comparison) == []


def test_runs_without_counted_trials_print_the_sentence_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(compare([run_record("a", ()), run_record("b", ())]), levels=True)
    assert capsys.readouterr().out.splitlines()[2:] == ["", MESSAGES["nothing"], ""]


@pytest.mark.parametrize(("runs", "complaint"), [(("a",), "at least two runs"), (("a", "a"), "with itself")])
def test_what_makes_no_comparison_is_refused(runs: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(CompareError, match=complaint):
        compare([run_record(run, BASE) for run in runs])


def test_json_has_a_row_for_every_metric_of_every_other_run() -> None:
    comparison = compare([run_record("a", BASE), run_record("b", scaled(1.2)), run_record("c", BASE[:3])])
    rows = json.loads(json.dumps(comparison_to_json(comparison), allow_nan=False))
    assert [(row["run"], row["outcome"], row["n"]) for row in rows] == [
        ("b", "differs between sessions", 7),
        ("c", "undecided", 3),
    ]
    first = rows[0]
    assert first["verdict"] == MESSAGES["between_sessions"]
    assert (first["level"], first["scope"], first["paired"]) == ("trial", Scope.BETWEEN_SESSIONS, "")
    assert {"metric", "unit", "better", "ratio", "low", "high", "n", "margin", "verdict", "reason"} <= first.keys()
    assert (first["metric"], first["unit"], first["better"], first["margin"]) == ("iops", "1/s", "higher", 0.05)
    assert (first["step"], first["host"], first["labels"]) == ("random read", "web-1", {"operation": "read"})
    assert first["baseline"].pop("levels")["levels"][0] == {
        "level": "trial",
        "n": 7,
        "cov": pytest.approx(0.00656, abs=1e-4),
        "share": 1.0,
    }
    assert first["baseline"].pop("geometric_mean") == pytest.approx(999.98, abs=0.01)
    value = first["baseline"].pop("value")
    assert value == pytest.approx(999.98, abs=0.01)
    assert first["ratio"] == pytest.approx(first["value"] / value)  # the ratio is of the numbers beside it
    assert first["baseline"] == {"run": "a", "part": None, "host": "web-1", "n": 7, "median": 1000.0, "trust": None}


def test_the_ratio_is_of_the_two_numbers_shown() -> None:
    ours, theirs = (53e3, 53.5e3, 52.5e3, 70e3), (62e3, 62.5e3, 61.5e3, 22e3)  # one odd trial on either side
    (row,) = compare([run_record("a", theirs), run_record("b", ours)]).rows
    against, sides = row.against[0], row.sides
    assert sides[0] is not None
    assert sides[1] is not None
    assert against.centres == pytest.approx((sides[1].value, sides[0].value))
    assert against.ratio == pytest.approx(sides[1].value / sides[0].value)
    assert sides[1].median == pytest.approx(53.25e3)  # available beside it


def test_two_trials_far_apart_give_an_interval_that_is_a_number_and_can_be_read() -> None:
    comparison = compare([run_record("a", (1e-30, 1e30)), run_record("b", (1.0, 1.0))])
    against = comparison.rows[0].against[0]
    assert json.dumps(comparison_to_json(comparison), allow_nan=False)
    assert against.low is not None
    assert against.high is not None
    assert 0 < against.low < against.high < math.inf
    wide = judge(IOPS, (1.0, 1e6) * 3, (1.0, 1.0001) * 3, 0.05)
    assert wide.reason == MESSAGES["wide_interval"]
    huge = compare([run_record("a", BASE), run_record("b", scaled(1e9))]).rows[0].against[0]
    assert MESSAGES["huge_factor"] in huge.text


def test_the_ends_of_an_interval_are_told_apart_and_nothing_has_a_sign_before_zero() -> None:
    near = tuple(100.0 + 0.03 * number for number in range(8))
    text = compare([run_record("a", near), run_record("b", scaled(1.12, near))]).rows[0].against[0].text
    assert MESSAGES["narrow_ends"] in text
    similar = tuple(100.0 + 1e-10 * number for number in range(8))
    same = compare([run_record("a", similar), run_record("b", similar)]).rows[0].against[0]
    assert MESSAGES["no_change"] in same.text


def test_extreme_values_are_compared() -> None:
    (row,) = compare(
        [run_record("a", [1000.0 + n for n in range(14)]), run_record("b", [1e300 + n for n in range(14)])]
    ).rows
    assert row.against[0].ratio is not None
