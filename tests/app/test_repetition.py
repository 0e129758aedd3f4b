"""When a rule has seen enough: never on too few, never on one lucky look, and never without an end."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.comparison.estimates import EXACT_UP_TO, Ratio, centre_of, ratio_of, signed_rank_depth
from app.events import Decision
from app.plans.plan import Policy, Repetition
from app.plans.repetition import Budget, FixedTrials, Rule, UntilInterval, UntilVerdict, rule_of
from app.plans.sequential import look_levels
from suites.vocab import Better
from tests.messages import messages

MESSAGES = messages("app", "test_repetition")

STEADY = (100.0, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.3)
BASELINE = tuple(100.0 + step for step in (-2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0, 1.5, -1.5))
VERDICT = UntilVerdict(BASELINE, Better.HIGHER, 0.05, 0.95, 6, 30)
INTERVAL = UntilInterval(0.02, 6, 30)
numbers = st.floats(min_value=1.0, max_value=1e6)


# The interval of the middle


@pytest.mark.parametrize(
    # R: qsignrank(0.025, n), which is the lower end of the interval's ranks, counted from 1 as wilcox.test does.
    ("count", "depth"), [(5, 0), (6, 1), (7, 3), (8, 4), (10, 9), (12, 14), (20, 53), (25, 90), (30, 138), (50, 435)],
)  # fmt: skip
def test_the_depth_is_that_of_the_tables(count: int, depth: int) -> None:
    assert signed_rank_depth(count, 0.95) == depth


def test_beyond_the_exact_tables_the_normal_form_takes_over_without_a_step() -> None:
    depths = [signed_rank_depth(count, 0.95) for count in range(EXACT_UP_TO - 3, EXACT_UP_TO + 4)]
    steps = [after - before for before, after in itertools.pairwise(depths)]
    assert max(steps) - min(steps) <= 2


@pytest.mark.slow
@settings(max_examples=60, deadline=None)  # importing scipy takes longer than a test may
@given(st.lists(numbers, min_size=6, max_size=14, unique=True))
def test_the_interval_holds_what_scipys_test_does_not_reject(values: list[float]) -> None:
    from scipy import stats

    centre = centre_of(values)
    assert centre.low is not None
    assert centre.high is not None
    means = sorted({(one + other) / 2 for one in values for other in values})
    for below, above in zip([means[0] - 1, *means], [*means, means[-1] + 1], strict=True):
        place = (below + above) / 2
        separate = [value - place for value in values]
        apart = above - below > 1e-9 * abs(above)  # not one mean with two roundings
        if apart and len({abs(one) for one in separate}) == len(separate) and all(separate):  # else scipy is not exact
            held = bool(stats.wilcoxon(separate, method="exact").pvalue > 0.05)
            assert held == (centre.low < place < centre.high)


@given(st.lists(numbers, min_size=6, max_size=12), st.floats(min_value=1e-3, max_value=1e3))
def test_the_unit_does_not_matter(values: list[float], factor: float) -> None:
    one, other = centre_of(values), centre_of([factor * value for value in values])
    assert other.value == pytest.approx(factor * one.value)
    assert other.half == pytest.approx(one.half, abs=1e-9)


# Until the interval is narrow enough


def decisions(rule: Rule, values: tuple[float, ...]) -> list[Decision]:
    return [rule.decide(values[:count]) for count in range(1, len(values) + 1)]


def test_two_looks_in_a_row_have_to_fit() -> None:
    stops = [decision.stop for decision in decisions(INTERVAL, STEADY)]
    assert stops == [False] * 6 + [True, True]


def test_a_lucky_look_is_not_enough() -> None:
    lucky = (100.0, 100.5, 99.5, 100.2, 99.8, 100.1, 140.0, 60.0)
    assert INTERVAL.decide(lucky[:6]).reach == pytest.approx(0.005, abs=0.003)
    assert not any(decision.stop for decision in decisions(INTERVAL, lucky))


def test_at_the_cap_it_ends_unsettled_and_says_so() -> None:
    noisy = tuple(100.0 + 30.0 * math.sin(2.3 * place) for place in range(30))
    last = INTERVAL.decide(noisy)
    assert (last.stop, last.settled, last.more) == (True, False, 0)
    assert last.reason == MESSAGES["8_4_after_30_trials_the_most"]


def test_trials_on_two_levels_are_called_so_however_sure_their_middle_is() -> None:
    last = INTERVAL.decide(tuple(100.0 + 30.0 * (place % 2) for place in range(29)))
    assert last.settled
    assert last.reason == MESSAGES["0_after_29_trials_wanted_2"]


def test_the_forecast_falls_as_the_interval_narrows_and_takes_time_from_the_trials() -> None:
    values = tuple(100.0 + 4.0 * math.sin(place * 2.3) for place in range(30))
    found = [INTERVAL.decide(values[:count], each=10.0) for count in range(2, 20)]
    assert all(decision.more is not None and decision.trials + decision.more <= 30 for decision in found)
    assert all(decision.seconds == 10.0 * (decision.more or 0) for decision in found)
    assert INTERVAL.decide(()).more == 7
    assert INTERVAL.decide((0.0, 0.0)).more is None  # no share of nothing


@given(st.lists(numbers, min_size=0, max_size=31))
def test_a_forecast_never_leads_past_the_cap_and_stopping_needs_no_more(values: list[float]) -> None:
    decision = INTERVAL.decide(values)
    assert decision.stop == (decision.more == 0)
    if decision.more:
        assert len(values) + decision.more <= 30


# Until the verdict is settled


@pytest.mark.parametrize(
    ("factor", "shown"), [(1.2, MESSAGES["differs"]), (0.8, MESSAGES["differs"]), (1.0, MESSAGES["agrees"])]
)
def test_it_stops_once_the_verdict_cannot_change(factor: float, shown: str) -> None:
    values = tuple(factor * value for value in STEADY)
    found = decisions(VERDICT, values)
    assert [decision.stop for decision in found] == [False] * 5 + [True] * 3
    assert found[5].settled
    assert found[5].reason.endswith(f"after 6 trials, margin ±5 %: {shown}")
    assert found[5].value == pytest.approx(factor, rel=0.01)


def test_better_is_lower_for_a_time() -> None:
    rule = replace(VERDICT, better=Better.LOWER)
    assert rule.decide(tuple(0.8 * value for value in STEADY)).settled


def test_an_undecided_ratio_goes_on_with_a_forecast() -> None:
    noisy = tuple(1.07 * value for value in (95.0, 105.0, 100.0, 110.0, 90.0, 102.0))
    decision = VERDICT.decide(noisy, each=2.0)
    assert not decision.stop
    assert decision.more is not None
    assert 1 <= decision.more <= 24
    assert decision.seconds == 2.0 * decision.more
    assert decision.reason.endswith("margin ±5 %: undecided")


def test_at_99_percent_it_asks_for_more() -> None:
    values = tuple(1.105 * value for value in (97.0, 103.0, 100.0, 101.0, 99.0, 98.0))
    assert VERDICT.decide(values).settled
    assert not replace(VERDICT, confidence=0.99).decide(values).settled


def test_a_single_look_needs_no_bound_and_more_looks_need_wider_intervals_the_widest_first() -> None:
    for confidence in (0.95, 0.99):
        assert look_levels(10, 30, 30, confidence) == pytest.approx([confidence], abs=0.002)
        levels = look_levels(10, 6, 30, confidence)
        assert len(levels) == 25
        assert list(levels) == sorted(levels, reverse=True)
        assert levels[-1] > look_levels(10, 20, 30, confidence)[-1] > confidence


def test_bounds_are_those_of_the_theory_where_the_spread_is_known() -> None:
    from scipy import stats

    # Two looks: the score at the last is the first's, r = sqrt(t_1), and independent trials. Bounds: c t^(-1/4), and c.
    first, last = (stats.norm.ppf((1 + level) / 2) for level in look_levels(4000, 1000, 1001, 0.95))
    fraction = (1 / 1001 + 1 / 4000) / (1 / 1000 + 1 / 4000)
    within = stats.multivariate_normal([0, 0], [[1, fraction**0.5], [fraction**0.5, 1]]).cdf([first, last])
    assert first / last == pytest.approx(fraction**-0.25)
    assert 1 - within == pytest.approx(0.025, abs=0.001)


def test_a_bound_needs_two_trials_on_each_side() -> None:
    for arguments in ((1, 6, 30), (10, 1, 30)):
        with pytest.raises(ValueError, match="two trials"):
            look_levels(*arguments, 0.95)


@given(st.lists(st.floats(min_value=90.0, max_value=125.0), min_size=6, max_size=30, unique=True))
def test_the_interval_shown_agrees_with_the_verdict(values: list[float]) -> None:
    decision = VERDICT.decide(values)
    assert decision.low is not None
    assert decision.high is not None
    outside, inside = decision.low > 1.05 or decision.high < 0.95, decision.low >= 0.95 and decision.high <= 1.05
    assert decision.settled == (outside or inside)
    assert "% sequential CI " in decision.reason
    fixed = ratio_of(values, BASELINE)
    assert isinstance(fixed, Ratio)
    assert fixed.low is not None
    assert decision.low < fixed.low  # a look among many needs a wider interval than a single one


def test_a_forecast_of_a_verdict_is_where_the_interval_gets_narrow_enough() -> None:
    values = [107.0 * factor for factor in (0.97, 1.03, 1.0, 0.98, 1.02, 1.0, 0.99, 1.01)]
    decision = VERDICT.decide(values)
    assert decision.more is not None
    assert 1 < decision.more < 22
    assert VERDICT.decide(values * 3).settled  # about the same ratio and spread, in 24 trials
    assert not VERDICT.decide((values * 3)[: 8 + decision.more // 2]).settled
    near = VERDICT.decide([value * 1.05 / 1.07 for value in values])
    assert (near.more, near.beyond, decision.beyond) == (22, True, False)  # on the edge: to the cap
    last = replace(VERDICT, cap=9).decide(values)
    assert (last.more, last.beyond) == (1, False)
    assert INTERVAL.decide((90.0, 110.0, 130.0, 70.0) * 2).beyond


@pytest.mark.parametrize(
    ("rule", "because"),
    [
        (replace(VERDICT, baseline=BASELINE[:3]), "the baseline has 3 trials, a verdict needs 6"),
        (replace(VERDICT, obstacle="fio 3.1 against 3.3"), "fio 3.1 against 3.3"),
    ],
)
def test_where_no_verdict_can_come_the_least_is_measured_and_the_reason_said(rule: UntilVerdict, because: str) -> None:
    values = tuple(1.5 * value for value in STEADY)
    assert [decision.stop for decision in decisions(rule, values)][:6] == [False] * 5 + [True]
    last = rule.decide(values[:6])
    assert not last.settled
    assert last.reason == f"6 trials; no verdict possible: {because}"


def test_trials_that_all_agree_settle_nothing() -> None:
    decision = replace(VERDICT, baseline=(100.0,) * 8).decide((100.0,) * 30)
    assert (decision.stop, decision.settled) == (True, False)
    assert "identical" in decision.reason


# The plain rules


def test_a_fixed_number_is_counted_and_shows_its_interval_all_the_same() -> None:
    found = decisions(FixedTrials(8), STEADY)
    assert [decision.more for decision in found] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert found[-1].settled
    assert found[-1].reach == pytest.approx(0.003, abs=0.001)


def test_a_budget_ends_where_the_next_trial_would_not_fit() -> None:
    rule = Budget(30.0)
    assert not rule.decide((), 0.0, 40.0).stop  # one in any case
    assert rule.decide((1.0,), 12.0, 10.0).more == 1
    assert rule.decide((1.0, 1.0), 24.0, 10.0).stop
    assert rule.decide((1.0, 1.0), 24.0, 10.0).reason == MESSAGES["2_trials_24_s_of_30_s_used"]
    assert rule.decide((1.0,), 12.0, 10.0).reason == MESSAGES["1_trial_12_s_of_30_s_used"]
    six = (98.0, 99.0, 100.0, 100.5, 101.0, 102.0)
    assert rule.decide(six, 24.0, 10.0).reason == MESSAGES["2_after_6_trials_24_s_of_30"]


@pytest.mark.parametrize(
    ("repetition", "kind"),
    [
        (Repetition(), FixedTrials(6)),
        (Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.03, cap=9), UntilInterval(0.03, 6, 9)),
        (Repetition(policy=Policy.BUDGET, budget=60.0), Budget(15.0)),
    ],
)
def test_each_policy_has_its_rule(repetition: Repetition, kind: Rule) -> None:
    assert rule_of(repetition, 4) == kind
