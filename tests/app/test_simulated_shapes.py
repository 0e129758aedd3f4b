"""What is promised of percentiles, shifts, noise figures and models, held against simulated trials. Seeds are fixed."""

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


@pytest.mark.parametrize("serial", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("most", [8, 16])
def test_points_of_amdahls_law_are_hardly_ever_given_a_peak(serial: float, most: int) -> None:
    found = shapes.fits(shapes.amdahl(serial), range(1, most + 1), 200)
    assert found.usl.value <= 0.02
    assert found.amdahl.value >= 0.97


def test_a_straight_line_is_no_law() -> None:
    assert shapes.fits(shapes.amdahl(0.0), range(1, 9), 200).none.value >= 0.96


def test_a_peak_that_was_not_measured_past_is_not_shown() -> None:
    assert shapes.fits(shapes.usl(0.05, 18), range(1, 9), 200).usl.happened == 0


def test_a_peak_that_was_measured_past_is_found_where_it_is() -> None:
    found = shapes.fits(shapes.usl(0.05, 18), [1, 2, 4, 8, 16, 32, 64], 200, peak=18)
    assert found.usl.value >= 0.98
    assert about(found.peak, 0.92, 0.98)


def test_a_host_with_four_cores_is_no_law_either() -> None:
    found = shapes.fits(lambda n: float(min(n, 4)), range(1, 9), 200)
    assert found.none.value >= 0.95
