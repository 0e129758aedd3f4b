"""What is promised of CoV intervals, ranks of noise and the ranking, held against simulated trials. Seeds are fixed."""

import pytest

from tests.simulation import repeatability, shapes
from tests.simulation.repeatability import SHAPES

pytestmark = pytest.mark.slow

TRIES = 400


@pytest.mark.parametrize("count", [6, 10, 20, 30])
@pytest.mark.parametrize(
    ("shape", "least"),
    [("normal", 0.93), ("log-normal", 0.93), ("two levels", 0.93), ("exponential", 0.86), ("t3", 0.77)],
)
def test_the_interval_of_the_cov_holds_the_truth(shape: str, least: float, count: int) -> None:
    draw, truth = SHAPES[shape]
    assert shapes.cov_coverage(draw, truth, count, TRIES).interval[1] >= least


@pytest.mark.parametrize("counts", [(6, 6), (10, 10), (6, 30)])
@pytest.mark.parametrize("shape", ["normal", "log-normal", "t3"])
def test_equal_results_are_not_ranked_one_above_another(shape: str, counts: tuple[int, int]) -> None:
    assert repeatability.false_ranks(SHAPES[shape][0], counts, TRIES).interval[0] <= 0.05


def test_equal_hosts_are_not_ranked_one_above_another() -> None:
    assert repeatability.false_pool_ranks(TRIES // 2).interval[0] <= 0.05


def test_a_result_four_times_as_noisy_is_found() -> None:
    assert repeatability.found_ranks(4, 14, TRIES).value > 0.85


@pytest.mark.parametrize(("margin", "difference"), [(0.0, 0.0), (0.05, 0.05)])
def test_candidates_within_the_margin_are_tied(margin: float, difference: float) -> None:
    assert repeatability.false_winners(8, 8, margin, difference, TRIES).interval[0] <= 0.05
