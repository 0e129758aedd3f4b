"""What is promised of percentiles and shifts, held against simulated trials. Seeds are fixed."""

import pytest

from tests.app.test_simulations import about
from tests.simulation import shapes

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
