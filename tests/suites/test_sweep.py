"""Sweeps over thread counts, and where their knee is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.sweep import knee, knee_note, thread_counts
from tests.messages import messages

MESSAGES = messages("suites", "test_sweep")


@pytest.mark.parametrize(
    ("most", "sweep", "counts"),
    [
        (4, "every", (1, 2, 3, 4)),
        (1, "every", (1,)),
        (8, "doubling", (1, 2, 4, 8)),
        (6, "doubling", (1, 2, 4, 6)),
        (1, "doubling", (1,)),
        (96, "single", (96,)),
    ],
)
def test_the_counts_of_a_sweep(most: int, sweep: str, counts: tuple[int, ...]) -> None:
    assert thread_counts(most, sweep) == counts


@given(most=st.integers(1, 4096))
def test_a_sweep_rises_and_ends_with_the_most(most: int) -> None:
    counts = thread_counts(most, "doubling")
    assert counts[-1] == most
    assert list(counts) == sorted(set(counts))


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({1: 12000.0, 2: 21000.0, 4: 39000.0, 8: 40000.0}, 4),
        ({1: 10.0, 2: 20.0, 4: 40.0}, 4),
        ({1: 100.0, 2: 60.0, 4: 50.0}, 1),
        ({1: 10.0, 2: 20.0}, None),
        ({}, None),
    ],
)
def test_the_knee_is_the_fewest_threads_that_reach_nearly_the_best(values: dict[int, float], found: int | None) -> None:
    assert knee(values) == found


def test_the_knee_is_told_in_words() -> None:
    assert knee_note({1: 12000.0, 2: 39000.0, 4: 40000.0}, "triad") == [MESSAGES["the_knee_of_triad_is_at_2_2"]]
    assert "still grows at 4" in knee_note({1: 10.0, 2: 20.0, 4: 40.0}, "triad")[0]
    assert knee_note({1: 10.0}, "triad") == []
