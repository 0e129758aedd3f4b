"""The power of a comparison: the smallest difference that hosts x sessions x trials show."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from app.comparison.power import (
    ONE_TEST,
    NestedVariance,
    PlannedTest,
    SampleDesign,
    error_parts,
    least_detectable,
    standard_distance,
)
from app.comparison.verdicts import Level

KNOWN = NestedVariance(0.02**2, 0.03**2, 0.04**2)
WITHIN = NestedVariance(0.02**2)
PAIRS = PlannedTest(paired=True)
HOSTS = NestedVariance(0.02**2, None, 0.05**2)


def of_power(count: int, variance: float) -> float:
    """Return the difference that Welch's test of `count` values a side shows in 80 % of cases, by simulation."""
    rng = np.random.default_rng(5)
    sides = rng.normal(size=(2, 20_000, count))
    errors = sides.var(axis=2, ddof=1) / count
    difference, error = sides.mean(axis=2)[0] - sides.mean(axis=2)[1], errors.sum(axis=0)
    freedom = error**2 / ((errors**2).sum(axis=0) / (count - 1))
    needed = stats.t.ppf(0.975, freedom) * np.sqrt(error) - difference  # with it the test shows the difference
    return math.expm1(float(np.quantile(needed, 0.8)) * math.sqrt(count * variance))


def student_power(effect: float, freedom: float) -> float:
    """Return the power of Student's test at 95 % by scipy.stats.nct, as in statsmodels' TTestPower."""
    critical = stats.t.ppf(0.975, freedom)
    return float(stats.nct.sf(critical, freedom, effect))


@pytest.mark.parametrize("power", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("count", [3, 6, 20])
def test_pairs_have_the_power_of_the_noncentral_t_distribution(count: int, power: float) -> None:
    effect = optimize.brentq(lambda distance: student_power(distance, count - 1) - power, 0.0, 30.0)
    assert standard_distance(count, power, paired=True) == pytest.approx(effect, rel=1e-4)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.9])
def test_two_sides_of_many_values_have_that_of_students_test(power: float) -> None:
    # Welch's test and Student's agree for sides of equal variance as they grow.
    effect = optimize.brentq(lambda distance: student_power(distance, 58) - power, 0.0, 30.0)
    assert standard_distance(30, power) == pytest.approx(effect, rel=0.002)
    assert standard_distance(4, power) > optimize.brentq(lambda d: student_power(d, 6) - power, 0.0, 30.0)


def test_ten_trials_a_side_show_1325_standard_deviations() -> None:
    # G*Power 3.1, two means, two-sided, 10 a group, error 0.05, power 0.8: 1.325 standard deviations for Student's.
    found = least_detectable(NestedVariance(0.001**2), SampleDesign(1, 1, 10))
    assert found == pytest.approx(0.001325, rel=0.01)


def test_the_variance_of_a_side_by_hand() -> None:
    # 4 hosts, 2 sessions each, 6 trials each: 0.0016 / 4 + 0.0009 / 8 + 0.0004 / 48.
    parts = error_parts(KNOWN, SampleDesign(4, 2, 6))
    assert parts is not None
    assert (parts.host, parts.session, parts.trial) == pytest.approx((0.0004, 0.0001125, 0.0004 / 48))
    variance = 0.0004 + 0.0001125 + 0.0004 / 48
    assert least_detectable(KNOWN, SampleDesign(4, 2, 6)) == pytest.approx(of_power(4, variance), rel=0.03)


def test_pairs_of_hosts_have_no_variance_of_hosts_and_that_of_their_sessions() -> None:
    parts = error_parts(KNOWN, SampleDesign(4, 2, 6), PAIRS)
    assert parts is not None
    assert (parts.host, parts.session) == pytest.approx((0.0, 0.0001125))


@pytest.mark.parametrize(
    ("noise", "design", "test"),
    [
        (WITHIN, SampleDesign(1, 3, 6), ONE_TEST),
        (WITHIN, SampleDesign(3, 1, 6), ONE_TEST),
        (HOSTS, SampleDesign(3, 2, 6), ONE_TEST),
        (HOSTS, SampleDesign(3, 1, 6), PAIRS),
        (HOSTS, SampleDesign(1, 3, 6), ONE_TEST),
        (KNOWN, SampleDesign(1, 1, 1), ONE_TEST),
    ],
)
def test_a_level_that_is_not_known_counts_for_no_difference(
    noise: NestedVariance, design: SampleDesign, test: PlannedTest
) -> None:
    assert least_detectable(noise, design, test) is None


def test_hosts_with_one_session_each_include_the_variation_between_sessions() -> None:
    found = least_detectable(HOSTS, SampleDesign(5, 1, 6))
    assert found == least_detectable(NestedVariance(0.02**2, 0.03**2, 0.04**2), SampleDesign(5, 1, 6))


def test_the_ratios_of_the_hosts_of_pairs_are_tested_too_if_they_can_have_a_verdict() -> None:
    designs = SampleDesign(4, 2, 6), SampleDesign(4, 3, 6), SampleDesign(4, 1, 6), SampleDesign(4, 1, 5)
    assert [PAIRS.ratios(design) for design in designs] == [1, 5, 5, 1]
    assert PlannedTest(metrics=2).ratios(designs[1]) == 2
    assert PlannedTest(paired=True, metrics=2).ratios(SampleDesign(1, 3, 6)) == 2
    corrected = optimize.brentq(
        lambda distance: stats.nct.sf(stats.t.ppf(1 - 0.025 / 5, 3), 3, distance) - 0.8, 0.0, 60.0
    )
    assert standard_distance(4, 0.8, 5, paired=True) == pytest.approx(corrected, rel=1e-4)


def test_the_level_is_the_highest_that_is_repeated() -> None:
    levels = [SampleDesign(*counts).level for counts in ((2, 1, 1), (1, 2, 1), (1, 1, 2))]
    assert levels == [Level.HOST, Level.SESSION, Level.TRIAL]


@given(st.floats(0.0001, 0.3), st.floats(0, 0.3), st.integers(2, 20), st.integers(2, 20))
def test_more_of_any_level_and_less_variance_detect_less(
    trial: float, session: float, sessions: int, trials: int
) -> None:
    noise = NestedVariance(trial**2, session**2)
    here = least_detectable(noise, SampleDesign(1, sessions, trials)) or 0.0
    for more in (SampleDesign(1, sessions + 1, trials), SampleDesign(1, sessions, trials + 1)):
        assert (least_detectable(noise, more) or 0.0) < here or here > 1e20
    louder = NestedVariance(trial**2, (session + 0.01) ** 2)
    assert (least_detectable(louder, SampleDesign(1, sessions, trials)) or 0.0) > here or here > 1e20
