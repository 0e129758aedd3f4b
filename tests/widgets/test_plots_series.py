"""Series and their decimation: bounded, sorted, and no peak is lost."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from widgets.plots.lines import Piece
from widgets.plots.series import SUMMARY, Numbers, SeriesBuffer


def decimated(buffer: SeriesBuffer, start: float, end: float, columns: int) -> tuple[Numbers, Numbers]:
    return Piece(buffer).decimated(start, end, columns)


VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=600)


def filled(values: list[float], capacity: int = 10_000) -> SeriesBuffer:
    buffer = SeriesBuffer(capacity)
    for index, value in enumerate(values):
        buffer.append(float(index), value)
    return buffer


@given(VALUES)
def test_a_full_buffer_stays_bounded_and_keeps_the_extremes(values: list[float]) -> None:
    buffer = filled(values, capacity=64)
    assert len(buffer) <= 64
    assert buffer.values().max() == max(values)
    assert buffer.values().min() == min(values)
    assert (np.diff(buffer.times()) >= 0).all()
    assert buffer.last() == (len(values) - 1, values[-1])


def test_a_spike_outlives_thinning_again_and_again() -> None:
    buffer = filled([1.0] * 100 + [99.0, -99.0] + [1.0] * 5000, capacity=64)
    assert len(buffer) <= 64
    assert buffer.values().max() == 99.0
    assert buffer.values().min() == -99.0


@given(VALUES, st.integers(1, 50))
def test_decimation_keeps_the_extremes_in_two_points_a_column(values: list[float], columns: int) -> None:
    buffer = filled(values)
    times, chosen = decimated(buffer, 0.0, float(len(values)), columns)
    assert len(times) == len(chosen) <= max(2 * columns + 2, 2)
    assert chosen.max() == max(values)
    assert chosen.min() == min(values)
    assert (np.diff(times) >= 0).all()


def test_a_single_spike_among_many_points_is_drawn_in_its_column() -> None:
    values = [1.0] * 100_000
    values[77_777] = 1000.0
    buffer = filled(values, capacity=200_000)
    times, chosen = decimated(buffer, 0.0, 100_000.0, 1000)
    assert len(times) <= 2002
    assert abs(times[chosen.argmax()] - 77_777) <= 100


@given(VALUES, st.integers(1, 3))
def test_long_series_are_drawn_from_summaries_that_keep_every_extreme(values: list[float], columns: int) -> None:
    buffer = SeriesBuffer()
    for index, value in enumerate(values * 4):
        buffer.append(float(index), value)
        if index % 97 == 0:
            buffer.summary()
    first, lows, highs = buffer.summary()
    assert first.tolist() == list(range(0, len(values) * 4, SUMMARY))
    assert (lows.min(), highs.max()) == (min(values), max(values))
    _, chosen = decimated(buffer, 0.0, float(4 * len(values)), columns)
    assert (chosen.min(), chosen.max()) == (min(values), max(values))
    buffer.append(-1.0, 2e9)
    assert buffer.summary()[2][0] == 2e9, "a late point is summarised in its place"


def test_only_what_is_shown_is_chosen_and_one_point_on_either_side() -> None:
    buffer = filled([float(index) for index in range(1000)])
    times, _ = decimated(buffer, 100.0, 110.0, 500)
    assert times[0] == 99.0
    assert times[-1] == 111.0


def test_missing_values_stay_missing() -> None:
    buffer = filled([1.0, math.nan, math.inf, 4.0])
    assert np.isnan(buffer.values()[1:3]).all()
    assert buffer.last() == (3.0, 4.0)
    assert filled([math.nan]).last() is None
    gap = filled([1.0] * 50 + [math.nan] * 50)
    _, chosen = decimated(gap, 0.0, 100.0, 10)
    assert np.isnan(chosen[-2:]).all()


def test_late_points_find_their_place_and_points_without_a_time_have_none() -> None:
    buffer = SeriesBuffer()
    for time in (3.0, 1.0, math.nan, math.inf, 2.0):
        buffer.append(time, time * 10)
    assert buffer.times().tolist() == [1.0, 2.0, 3.0]
    assert buffer.values().tolist() == [10.0, 20.0, 30.0]


def test_the_nearest_point_is_found() -> None:
    buffer = filled([5.0, 6.0, 7.0])
    assert buffer.nearest(1.4) == (1.0, 6.0)
    assert buffer.nearest(99.0) == (2.0, 7.0)
    assert buffer.nearest(-1.0) == (0.0, 5.0)
    assert SeriesBuffer().nearest(0.0) is None
