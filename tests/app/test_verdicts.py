"""Verdicts in words, corrected for how many there are, and an algebra that cannot be fooled by sides and units."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.comparison.compare import compare
from app.comparison.comparison import RelativeFigure
from app.comparison.estimates import Ratio, holm, margin_edges, more_trials, ratio_of
from app.comparison.verdicts import ComparisonVerdict, Level, VerdictEvidence, decide, decide_exact, forecast
from app.margins import Margins
from app.records import RunRecord, TrialRecord
from suites.units import Unit, convert
from suites.vocab import Better, Figure, Metric, MetricKind
from tests.app.other_tools import judge
from tests.app.run_events import IOPS, P99, READ, run_record, sessions
from tests.messages import messages

MESSAGES = messages("app", "test_verdicts")

BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0)
BUSY = Metric("busy", "Busy", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
SCORE = Metric("score", "Score", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
TIME = Metric("elapsed", "Elapsed", Unit.SECOND, Better.LOWER, MetricKind.TIME)
LOST = Metric("lost", "Lost", Unit.PER_SECOND, Better.LOWER, MetricKind.RATE)
trials = st.lists(st.floats(min_value=1.0, max_value=1e6), min_size=2, max_size=9)
margins = st.sampled_from([0.0, 0.01, 0.05, 0.2])


def scaled(factor: float, values: tuple[float, ...] = BASE) -> tuple[float, ...]:
    return tuple(factor * value for value in values)


# Words


@pytest.mark.parametrize(
    ("metric", "factor", "text"),
    [
        (IOPS, 1.2, MESSAGES["rate_faster"]),
        (IOPS, 0.8, MESSAGES["rate_slower"]),
        (IOPS, 0.4, MESSAGES["rate_factor_slower"]),
        (P99, 0.8, MESSAGES["tail_lower"]),
        (P99, 2.4, MESSAGES["tail_factor"]),
        (TIME, 0.5, MESSAGES["time_less"]),
        (TIME, 1.2, MESSAGES["time_more"]),
        (TIME, 2.4, MESSAGES["time_factor"]),
        (BUSY, 0.8, MESSAGES["share_lower"]),
        (SCORE, 0.8, MESSAGES["score_lower"]),
        (LOST, 1.2, MESSAGES["lost_higher"]),
        (IOPS, 1.014, MESSAGES["small_change"]),
    ],
)
def test_rates_are_faster_times_less_and_percentiles_lower(metric: Metric, factor: float, text: str) -> None:
    assert judge(metric, scaled(factor), BASE, 0.05).text == text


def test_a_sentence_never_contradicts_its_margin() -> None:
    quiet = (1000.0, 1000.5, 999.5, 1000.2, 999.8, 1000.4, 999.6, 1000.1)
    assert judge(IOPS, scaled(0.951, quiet), quiet, 0.05).text == MESSAGES["within_never_contradicts"]
    assert judge(IOPS, scaled(0.948, quiet), quiet, 0.05).verdict is ComparisonVerdict.WORSE


def test_a_change_has_the_digits_of_its_interval() -> None:
    assert judge(IOPS, scaled(0.9999926), BASE, 0.05).text.startswith("0 % (")


def test_too_few_trials_say_how_many_more_and_what_they_show_so_far() -> None:
    against = judge(IOPS, scaled(2.0)[:3], BASE, 0.05)
    assert against.text == MESSAGES["too_few"]
    assert against.reason == MESSAGES["n_3_against_7_at_least_6"]
    assert against.more == 3


def test_where_no_number_of_trials_helps_none_is_named() -> None:
    against = judge(IOPS, scaled(1.05), BASE, 0.05)
    assert against.text.startswith(MESSAGES["far_more"])
    assert against.more is None
    assert against.reason.endswith(MESSAGES["there_is_a_difference_but_it"])


def test_a_thousand_trials_are_not_forecast() -> None:
    assert more_trials(Ratio(1.06, 1.0, 1.1, 0.3, 0.3), 0.05, (6, 6)) is None


# Several metrics


def test_holm_is_that_of_the_textbook() -> None:
    # Holm 1979; as R's p.adjust(c(.01, .04, .03, .005), "holm") gives it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.4, 0.9]) == pytest.approx([0.8, 0.9])


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=30))
def test_a_correction_never_helps_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(raw <= after <= 1 for raw, after in zip(p_values, corrected, strict=True))
    ranked = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [corrected[index] for index in ranked] == sorted(corrected)


NAMES = frozenset(f"metric {number}" for number in range(12))


def run_of(run_id: str, columns: list[tuple[float, ...]]) -> RunRecord:
    """Return a run with one metric for each column, in an order of its own: none is the same number as another."""
    run = run_record(run_id, columns[0])
    columns = [tuple(random.Random(number).sample(column, len(column))) for number, column in enumerate(columns)]
    metrics = [replace(IOPS, name=f"metric {number}") for number in range(len(columns))]
    found = tuple(
        TrialRecord(record.trial, record.state, None, 0, tuple(
            Figure(metric, column[place], READ) for metric, column in zip(metrics, columns, strict=True)
        ))
        for place, record in enumerate(run.trials)
    )  # fmt: skip
    return replace(run, trials=found)


def test_a_difference_that_stands_alone_may_not_outlast_its_company() -> None:
    noisy = (930.0, 1060.0, 985.0, 1015.0, 960.0, 1040.0, 1000.0)
    odd = (1005.0, 1120.0, 1060.0, 1085.0, 1040.0, 1110.0, 1075.0)
    alone = compare([run_of("a", [noisy]), run_of("b", [odd])], margins=Margins(0.0)).rows[0].against[0]
    assert alone.verdict is ComparisonVerdict.DIFFERS
    sides = [run_of("a", [noisy] * 12), run_of("b", [odd, *[noisy[::-1]] * 11])]
    crowd = compare(sides, margins=Margins(0.0), tested=NAMES)
    first = crowd.rows[0].against[0]
    assert first.verdict is ComparisonVerdict.UNDECIDED
    assert first.reason.startswith(MESSAGES["beyond_the_margin_alone_but"])
    assert first.more is not None
    assert first.ratio == alone.ratio


def test_a_clear_difference_outlasts_it() -> None:
    sides = [run_of("a", [BASE] * 12), run_of("b", [scaled(1.2), *[BASE[::-1]] * 11])]
    found = [row.against[0].verdict for row in compare(sides, tested=NAMES).rows]
    assert found == [ComparisonVerdict.DIFFERS, *[ComparisonVerdict.AGREES] * 11]


def test_metrics_that_nobody_selected_are_descriptive_and_cost_the_others_nothing() -> None:
    sides = [run_of("a", [BASE] * 12), run_of("b", [scaled(1.2)] * 12)]
    first, *others = (row.against[0] for row in compare(sides).rows)
    assert first.verdict is ComparisonVerdict.DIFFERS
    assert first.p == compare([run_of("a", [BASE]), run_of("b", [scaled(1.2)])]).rows[0].against[0].p
    assert {one.verdict for one in others} == {ComparisonVerdict.NOT_TESTED}
    assert all(one.p is None and one.low is not None for one in others)


def test_claims_of_equivalence_are_corrected_too() -> None:
    even = (1000.0, 1040.0, 960.0, 1020.0, 980.0, 1030.0, 970.0)
    alone = compare([run_of("a", [even]), run_of("b", [scaled(1.012, even)])]).rows[0].against[0]
    assert alone.verdict is ComparisonVerdict.AGREES
    crowd = compare([run_of("a", [even] * 12), run_of("b", [scaled(1.012, even)] * 12)], tested=NAMES)
    assert {row.against[0].verdict for row in crowd.rows} == {ComparisonVerdict.UNDECIDED}
    assert crowd.rows[0].against[0].reason.startswith(MESSAGES["within_alone"])


# The algebra


def mirrored(one: RelativeFigure, other: RelativeFigure, margin: float) -> None:
    mirror = {ComparisonVerdict.BETTER: ComparisonVerdict.WORSE, ComparisonVerdict.WORSE: ComparisonVerdict.BETTER}
    assert one.ratio is not None
    assert other.ratio is not None
    assert one.ratio == pytest.approx(1 / other.ratio)
    if one.low is None or one.high is None or other.high is None:
        assert one.low is None
        assert other.low is None
        return
    assert one.low <= one.ratio <= one.high
    assert one.low == pytest.approx(1 / other.high)
    # The margin is a change of the baseline: swapped, its edges are 1 / (1 - margin) and 1 / (1 + margin).
    low, high = (abs(edge) for edge in margin_edges(margin))
    assume(not any(low - 1e-9 < abs(math.log(edge)) < high + 1e-9 or high - 1e-9 < abs(math.log(edge)) < low + 1e-9
                   for edge in (one.low, one.high)))  # fmt: skip
    assert mirror.get(one.verdict, one.verdict) is other.verdict
    assert one.p == pytest.approx(other.p, rel=1e-6, abs=1e-300)


@settings(deadline=None)
@given(trials, trials, margins)
def test_swapping_the_sides_inverts_the_ratio_and_mirrors_the_verdict(
    ours: list[float], theirs: list[float], margin: float
) -> None:
    mirrored(judge(IOPS, ours, theirs, margin), judge(IOPS, theirs, ours, margin), margin)


@settings(deadline=None)
@given(trials, trials, margins)
def test_turning_the_direction_round_turns_the_verdict_round(
    ours: list[float], theirs: list[float], margin: float
) -> None:
    higher, lower = judge(SCORE, ours, theirs, margin), judge(replace(SCORE, better=Better.LOWER), ours, theirs, margin)
    turned = {ComparisonVerdict.BETTER: ComparisonVerdict.WORSE, ComparisonVerdict.WORSE: ComparisonVerdict.BETTER}
    assert (higher.ratio, higher.low, higher.high) == (lower.ratio, lower.low, lower.high)
    assert turned.get(higher.verdict, higher.verdict) is lower.verdict


@settings(deadline=None)
@given(trials, trials)
def test_a_rate_and_the_time_it_takes_get_the_same_verdict(ours: list[float], theirs: list[float]) -> None:
    rate = judge(IOPS, ours, theirs, 0.05)
    time = judge(P99, [1e6 / value for value in ours], [1e6 / value for value in theirs], 0.05)
    assert rate.ratio is not None
    assert time.ratio == pytest.approx(1 / rate.ratio)
    edges = [edge for edge in (rate.low, rate.high) if edge is not None]
    assume(not any(math.log(1.05) - 1e-9 < abs(math.log(edge)) < -math.log(0.95) + 1e-9 for edge in edges))
    assert time.verdict is rate.verdict


@pytest.mark.parametrize("unit", [Unit.MB_PER_SECOND, Unit.MIB_PER_SECOND, Unit.MBIT_PER_SECOND, Unit.KB_PER_SECOND])
def test_units_of_one_dimension_are_converted_before_they_are_compared(unit: Unit) -> None:
    rate = Metric("bandwidth", "Bandwidth", Unit.BYTES_PER_SECOND, Better.HIGHER, MetricKind.RATE)
    base = scaled(1e6)
    other = tuple(convert(1.2 * value, rate.unit, unit) for value in base)
    sides = [sessions("a", base, metric=rate), sessions("b", other, metric=replace(rate, unit=unit))]
    row = compare(sides).rows[0]
    assert row.against[0].ratio == pytest.approx(1.2)
    assert row.against[0].verdict is ComparisonVerdict.BETTER
    assert row.sides[1] is not None
    assert row.sides[1].metric == rate
    assert row.sides[1].value == pytest.approx(1.2e9, rel=0.01)


@settings(deadline=None)
@given(trials, trials, st.floats(min_value=1e-3, max_value=1e3))
def test_a_factor_on_one_side_is_a_factor_on_the_ratio(ours: list[float], theirs: list[float], factor: float) -> None:
    one, other = ratio_of(ours, theirs), ratio_of([factor * value for value in ours], theirs)
    assert isinstance(one, Ratio)
    assert isinstance(other, Ratio)
    assert other.value == pytest.approx(factor * one.value)
    if one.low is not None and one.high is not None and max(one.spread, one.spread_baseline) > 1e-9:
        assert other.low == pytest.approx(factor * one.low)
        assert other.high == pytest.approx(factor * one.high)


def test_hosts_are_few_with_three_and_trials_with_six() -> None:
    ratio = Ratio(1.5, 1.4, 1.6, 0.05, 0.05, 0.001)
    hosts = VerdictEvidence(IOPS, 0.05, (3, 3), Level.HOST, p=0.001)
    assert decide(ratio, hosts)[0] is ComparisonVerdict.BETTER
    assert decide(ratio, replace(hosts, counts=(2, 3)))[2].startswith(MESSAGES["n_2_against_3_at_least_3"])
    assert decide(ratio, replace(hosts, level=Level.TRIAL))[0] is ComparisonVerdict.UNDECIDED
    assert forecast(ratio, replace(hosts, counts=(2, 3))) == 1


def test_an_exact_change_within_a_margin_says_whose_margin_it_is() -> None:
    evidence = VerdictEvidence(Metric("n", "N", Unit.ONE, Better.LOWER, MetricKind.COUNT), 0.05, (3, 3), origin="yours")
    assert decide_exact((1.05, 1.0), evidence)[1].startswith(MESSAGES["exact_margin"])
