"""What is promised of percentiles, shifts and noise figures, held against simulated trials. Seeds are fixed."""

import math

import pytest

from tests.app.test_simulations import about
from tests.simulation import shapes
from tests.simulation.noise import Draw, normal, skewed, two_levels

pytestmark = pytest.mark.slow

TRIES = 500


@pytest.mark.parametrize("count", [3, 5, 10])
@pytest.mark.parametrize("percentile", [50, 95])
def test_the_interval_of_a_percentile_holds_the_truth(percentile: float, count: int) -> None:
    assert about(shapes.percentile_coverage(percentile, count, TRIES), 0.94, 0.96)


def test_resampling_whole_trials_would_not() -> None:
    assert shapes.resampled_coverage(50, 5, TRIES).value < 0.88


@pytest.mark.parametrize("factor", [1.0, 0.9, 1.3])
@pytest.mark.parametrize("percentile", [10, 50, 90])
def test_the_interval_of_a_shift_holds_a_known_one_at_every_decile(percentile: float, factor: float) -> None:
    assert about(shapes.shift_coverage(percentile, factor, 6, TRIES // 2), 0.93, 0.97)


@pytest.mark.parametrize("count", [6, 12])
def test_the_resampled_shift_of_figures_holds_a_known_one(count: int) -> None:
    assert about(shapes.figures_shift_coverage(count, TRIES // 2), 0.90, 0.99)


@pytest.mark.parametrize("count", [3, 6, 10, 30])
@pytest.mark.parametrize(
    ("draw", "truth", "least"),
    [
        (normal(0.03), 0.03, 0.93),
        (skewed(0.2), math.sqrt(math.expm1(0.04)), 0.93),
        (two_levels(0.1, 0.01), 0.051, 0.87),
    ],
)
def test_the_interval_of_the_cov_holds_the_truth(draw: Draw, truth: float, least: float, count: int) -> None:
    assert shapes.cov_coverage(draw, truth, count, TRIES).interval[1] >= least
