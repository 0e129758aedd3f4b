"""A wall clock that is set is told from one that is read late, slewed, or not told at all."""

from hypothesis import given
from hypothesis import strategies as st

from remote.telemetry.telemetry import ClockStep, ClockWatch
from remote.telemetry.telemetry_ticks import Tick

EPOCH = 1_800_000_000.0


def watch(offsets: list[float | None], interval: float = 1.0) -> list[ClockStep]:
    """Return the steps found in ticks whose wall clock is off by `offsets`."""
    clock = ClockWatch()
    found = []
    for index, offset in enumerate(offsets):
        uptime = 100.0 + index * interval
        step = clock.feed(Tick(uptime, None if offset is None else EPOCH + uptime + offset))
        if step is not None:
            found.append(step)
    return found


def test_a_clock_step_is_reported_once_it_persists() -> None:
    assert watch([0, 0, 0, 3600, 3600, 3600]) == [ClockStep(104.0, 3600.0)]
    assert watch([0, 0, -2, -2, -2]) == [ClockStep(103.0, -2.0)]


def test_two_steps_are_two() -> None:
    assert [step.seconds for step in watch([0, 0, 5, 5, 5, -1, -1, -1])] == [5.0, -6.0]


def test_a_tick_that_was_read_late_is_no_step() -> None:
    assert watch([0, 0, -1.5, 0, 0, -0.9, 0.0]) == []


def test_a_clock_that_is_turned_slowly_is_not_set() -> None:
    assert watch([index * 0.0005 for index in range(4000)]) == []


def test_a_gap_allows_for_what_slewing_may_do() -> None:
    assert watch([0.0, 0.8, 0.8], interval=3600.0) == []
    assert [step.seconds for step in watch([0.0, 10.0, 10.0], interval=60.0)] == [10.0]


def test_a_host_that_does_not_tell_the_time_has_no_steps() -> None:
    assert watch([None, None, 0, None, 0]) == []


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), max_size=40))
def test_whatever_is_told_is_borne(offsets: list[float | None]) -> None:
    for step in watch(offsets):
        assert abs(step.seconds) >= 0.25
