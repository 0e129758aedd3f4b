"""What an interval supposes of its trials is checked, and what is not so is said."""

import random
from datetime import timedelta

import pytest

from app.comparison.caveats import correlation_p, drift, of_order, of_spread, two_levels
from tests.messages import messages

MESSAGES = messages("app", "test_assumptions")


def correlated(count: int, coefficient: float, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    value, found = 0.0, []
    for _ in range(count):
        value = coefficient * value + rng.gauss(0, 1)
        found.append(100 + value)
    return found


def test_trials_that_hang_together_are_found() -> None:
    assert (correlation_p(correlated(40, 0.8)) or 1) < 0.01
    assert (correlation_p(correlated(40, 0.0)) or 0) > 0.05
    assert correlation_p(correlated(11, 0.9)) is None  # too few to tell
    assert correlation_p([1.0] * 20) is None


def test_the_same_trials_give_the_same_answer() -> None:
    assert correlation_p(correlated(20, 0.5)) == correlation_p(correlated(20, 0.5))


def test_a_trend_is_a_correlation_and_an_alternation_is_none() -> None:
    assert (correlation_p([float(place) for place in range(20)]) or 1) < 0.05
    assert correlation_p([100.0 + place % 2 for place in range(20)]) == 1.0  # the interval is not too narrow then


@pytest.mark.parametrize("count", [12, 20])
def test_independent_trials_are_called_correlated_no_more_often_than_promised(count: int) -> None:
    alarms = sum((correlation_p(correlated(count, 0.0, seed)) or 1) < 0.05 for seed in range(200))
    assert alarms <= 20  # 5 % of 200 is 10; the 99.9th percentile 20


def test_two_levels_are_told_from_a_spread_and_from_one_odd_trial() -> None:
    rng = random.Random(2)
    levels = [rng.gauss(100 if place % 3 else 120, 1) for place in range(12)]
    found = two_levels(levels)
    assert found is not None
    assert list(found) == [pytest.approx(100, abs=1), pytest.approx(120, abs=1)]
    assert two_levels([rng.gauss(100, 1) for _ in range(12)]) is None
    assert two_levels([100.0, 100.1, 99.9, 100.2, 99.8, 100.0, 100.1, 140.0]) is None
    assert two_levels([1.0, 9.0, 1.0, 9.0, 1.0]) is None  # too few
    assert two_levels([5.0] * 10) is None


@pytest.mark.parametrize("count", [6, 8, 10, 20])
def test_one_spread_is_called_two_levels_no_more_often_than_promised(count: int) -> None:
    rng = random.Random(3)
    alarms = sum(two_levels([rng.gauss(100, 1) for _ in range(count)]) is not None for _ in range(500))
    assert alarms <= 20


def moments(start: int, count: int, step: int) -> list[str]:
    return [
        f"2026-11-20T{(start + place * step) // 60:02d}:{(start + place * step) % 60:02d}:00+00:00"
        for place in range(count)
    ]


def test_one_side_after_the_other_is_a_drift_in_waiting_and_turns_are_not() -> None:
    assert drift(moments(0, 6, 2), moments(20, 6, 2)) == timedelta(minutes=30)
    assert drift(moments(20, 6, 2), moments(0, 6, 2)) == timedelta(minutes=30)
    assert drift(moments(0, 6, 4), moments(2, 6, 4)) is None
    assert drift(moments(0, 3, 1), moments(4, 3, 1)) is None  # six minutes: too short to matter
    assert drift([], moments(0, 3, 1)) is None
    assert drift(["yesterday"], moments(0, 3, 1)) is None
    assert [caveat.id for caveat in of_order(moments(0, 6, 2), moments(20, 6, 2))] == ["drift"]


def test_a_side_is_told_what_is_wrong_with_it() -> None:
    caveats = list(of_spread([1000.0, 1001.0, 999.0, 1200.0, 1201.0, 1199.0, 1000.5, 1200.5], "this run"))
    assert [(caveat.id, caveat.text) for caveat in caveats] == [("two-levels", MESSAGES["the_trials_of_this_run_fall"])]
    found = list(of_spread(correlated(40, 0.8), "the baseline"))
    assert [caveat.id for caveat in found] == ["correlated"]
    assert found[0].text.startswith(MESSAGES["neighbouring_trials_of_the"])
