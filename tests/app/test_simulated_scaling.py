"""What is promised of flatness, knees, models and variance levels, held against simulated sweeps. Seeds are fixed."""

from collections.abc import Sequence

import pytest

from tests.app.test_simulations import about
from tests.simulation import levels
from tests.simulation.scaling import DOUBLING, Curve, Sweep, amdahl, clamped, fits, knees, nearly, usl

pytestmark = pytest.mark.slow

TRIES = 200


def linear(n: float) -> float:
    return n


def steps(*values: float) -> Curve:
    """Return a curve with these values at 1, 2, 4 .."""
    return dict(zip(map(float, DOUBLING), values, strict=True)).__getitem__


@pytest.mark.parametrize(("trials", "noise"), [(1, 0.02), (3, 0.02), (1, 0.05), (3, 0.05), (3, 0.2)])
def test_flat_rates_have_no_law(trials: int, noise: float) -> None:
    found = fits(lambda _: 1.0, TRIES, Sweep(trials=trials, noise=noise))
    assert found.law.interval[0] < 0.05
    if trials > 1:
        assert about(found.flat, 0.95, 1.0)


@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("serial", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("counts", [range(1, 9), DOUBLING])
def test_points_of_amdahls_law_are_hardly_ever_given_a_peak_or_a_limit(
    serial: float, counts: Sequence[int], trials: int
) -> None:
    found = fits(amdahl(serial), TRIES, Sweep(counts, trials), serial=serial)
    assert found.models["USL"].interval[0] < 0.01
    assert found.models["clamped"].interval[0] < 0.01
    assert found.models["Amdahl"].value >= 0.97
    assert about(found.serial, 0.93, 0.97)


def test_a_straight_line_is_no_law() -> None:
    assert fits(linear, TRIES).law.value <= 0.03


def test_a_peak_that_was_not_measured_past_is_not_shown() -> None:
    assert fits(usl(0.05, 18), TRIES, Sweep(range(1, 9))).models["USL"].happened == 0


@pytest.mark.parametrize("serial", [0.0, 0.05])
@pytest.mark.parametrize("trials", [1, 3])
def test_a_peak_that_was_measured_past_is_found_where_it_is(serial: float, trials: int) -> None:
    found = fits(usl(serial, 18), TRIES, Sweep(trials=trials), peak=18)
    assert found.models["USL"].value >= 0.97
    assert about(found.peak, 0.93, 0.97)


@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize(
    ("curve", "counts"),
    [
        (clamped(linear, 8), DOUBLING),
        (clamped(linear, 2), DOUBLING),
        (clamped(linear, 4), range(1, 9)),
        (clamped(amdahl(0.05), 6), DOUBLING),
    ],
)
def test_a_hard_limit_is_named(curve: Curve, counts: Sequence[int], trials: int) -> None:
    assert fits(curve, TRIES, Sweep(counts, trials)).models["clamped"].value >= 0.97


@pytest.mark.parametrize(
    "curve",
    [
        amdahl(0.2), clamped(linear, 8), usl(0.05, 18), linear, nearly(0.945),
        steps(0.2, 0.4, 0.949, 0.949, 0.949, 0.951, 1), steps(0.5, 0.951, 1, 1, 1, 1, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sweep", [Sweep(), Sweep(trials=2), Sweep(trials=6, noise=0.05)])
def test_the_interval_of_a_knee_holds_it(curve: Curve, sweep: Sweep) -> None:
    held, _ = knees(curve, 2 * TRIES, sweep)
    assert about(held, 0.93, 1.0)


def test_a_knee_after_which_nothing_is_gained_has_a_narrow_interval() -> None:
    assert knees(clamped(linear, 8), TRIES)[1] < 2


@pytest.mark.parametrize("icc", [0.0, 0.3, 0.7])
@pytest.mark.parametrize(("hosts", "trials"), [(3, 3), (5, 6), (10, 3)])
def test_the_interval_of_the_intraclass_correlation_holds_it(icc: float, hosts: int, trials: int) -> None:
    assert about(levels.icc_coverage(icc, hosts, trials, 2 * TRIES), 0.94, 0.98)


def test_with_unequal_hosts_or_with_sessions_it_holds_it_too() -> None:
    assert about(levels.icc_coverage(0.3, 10, 0, 2 * TRIES, unequal=True), 0.93, 0.97)
    assert about(levels.nested_icc_coverage((0.3, 0.5, 0.2), (5, 3, 3), 2 * TRIES), 0.93, 0.97)
