"""Axes: round ends, round ticks, and words of a clock."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.units import Unit
from widgets.plots import scale
from widgets.plots.axis import prefix
from widgets.plots.layers import spread
from widgets.plots.scale import Range


@given(st.floats(1e-9, 1e12))
def test_an_axis_from_zero_holds_its_greatest_and_wastes_little(greatest: float) -> None:
    chosen = scale.from_zero(greatest)
    assert chosen.low == 0
    assert greatest <= chosen.high <= greatest * 2.2


def test_an_axis_moves_only_when_it_must() -> None:
    before = scale.from_zero(80.0)
    assert scale.from_zero(85.0, before) is before
    assert scale.from_zero(45.0, before) is before
    assert scale.from_zero(20.0, before).high < before.high
    assert scale.from_zero(200.0, before).high > before.high
    assert scale.from_zero(0.0, before).high == before.high


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_a_fitted_axis_holds_both_ends(least: float, span: float) -> None:
    chosen = scale.fitted(least, least + span)
    assert chosen.low <= least <= least + span <= chosen.high
    assert chosen.span > 0


def test_a_logarithmic_axis_ends_at_round_figures() -> None:
    assert scale.logarithmic(0.3, 7000) == Range(0.2, 10000, logarithmic=True)
    assert scale.logarithmic(1, 1) == Range(1, 10, logarithmic=True)


@given(st.floats(1e-6, 1e3), st.floats(1.5, 1e6), st.integers(1, 12))
def test_there_are_never_more_ticks_than_wanted_by_much(low: float, factor: float, wanted: int) -> None:
    high = low * factor
    assert len(scale.ticks(low, high, wanted)) <= wanted + 2
    assert len(scale.logarithmic_ticks(low, high, wanted)) <= max(wanted, 1)
    for tick in (*scale.ticks(low, high, wanted), *scale.logarithmic_ticks(low, high, wanted)):
        assert low * 0.999 <= tick <= high * 1.001


def test_a_wide_logarithmic_axis_shows_powers_of_ten() -> None:
    assert scale.logarithmic_ticks(0.2, 50, 3) == pytest.approx([1, 10])


@pytest.mark.parametrize(
    ("seconds", "step", "text"),
    [(41, 1, "0:41"), (3723, 60, "1:02:03"), (41.25, 0.25, "0:41.2"), (0.5, 0.01, "0:00.50"), (-5, 1, "−0:05")],
)
def test_a_moment_reads_as_on_a_clock(seconds: float, step: float, text: str) -> None:
    assert scale.clock(seconds, step) == text


def test_the_end_of_time_moves_seldom() -> None:
    ends = [scale.later(float(time)) for time in range(1, 3600)]
    assert all(end > time for time, end in enumerate(ends, start=1))
    assert len(set(ends)) <= 20
    assert scale.later(86_400) >= 86_400


def test_time_ticks_are_whole_units_of_a_clock() -> None:
    assert scale.multiples(0, 90, scale.clock_step(90, 6)) == [0, 15, 30, 45, 60, 75, 90]
    assert scale.multiples(0, 7200, scale.clock_step(7200, 4)) == [0, 1800, 3600, 5400, 7200]
    assert scale.multiples(0, 2, scale.clock_step(2, 4)) == [0, 0.5, 1, 1.5, 2]


def test_events_are_written_out_until_they_are_many() -> None:
    assert prefix(9000, Unit.PER_SECOND).suffix == "/s"
    assert prefix(41_000, Unit.PER_SECOND).suffix == "k/s"
    assert prefix(2e6, Unit.NANOSECOND).suffix == "ms"


def test_names_at_curves_do_not_overlap() -> None:
    rows = spread([10.0, 11.0, 12.0, 95.0], 14.0, 100.0)
    assert all(below - above >= 14.0 for above, below in pairwise(rows))
    assert rows[0] >= 7.0
    assert rows[-1] <= 93.0
