"""The error of the sessions that all hosts of a side share, in the ratio of two sides."""

import math

import pytest

from app.comparison.estimates import Ratio, ratio_of, ratio_with_interval
from app.comparison.shared_sessions import SharedSessions, shared_sessions, with_session_error

HOSTS = ratio_of([1.0, 1.01, 0.99, 1.02], [1.0, 1.02, 0.98, 1.01])
ONE, OTHER = SharedSessions("f1", 2, 4e-4, 1), SharedSessions("f2", 4, 1e-4, 3)


def test_the_variance_is_that_of_what_hosts_share() -> None:
    hosts = [{"1": level * 1.02, "2": level / 1.02} for level in (100.0, 250.0, 90.0)]
    found = shared_sessions("f1", [*hosts, {"1": 70.0}])  # the last host has nothing to compare with
    assert (found.count, found.freedom) == (2, 1)
    assert found.variance == pytest.approx(2 * math.log(1.02) ** 2)
    assert shared_sessions("f1", [{"1": 3.0}, {"1": 4.0}]) == SharedSessions("f1", 1)


def test_the_error_is_pooled_over_sides_with_several_sessions() -> None:
    assert isinstance(HOSTS, Ratio)
    pooled = (4e-4 * 1 + 1e-4 * 3) / 4
    expected = ratio_with_interval(
        math.log(HOSTS.value), [(HOSTS.error**2, HOSTS.freedom), (pooled * (1 / 2 + 1 / 4), 4)]
    )
    found = with_session_error(HOSTS, [ONE, OTHER])
    assert (found.low, found.high, found.p) == (expected.low, expected.high, expected.p)
    assert (found.spread, found.spread_baseline) == (HOSTS.spread, HOSTS.spread_baseline)
    assert found.low is not None
    assert HOSTS.low is not None
    assert found.low < HOSTS.low
    single = with_session_error(HOSTS, [ONE, SharedSessions("f2", 1)])
    assert single.error == pytest.approx(math.sqrt(HOSTS.error**2 + 4e-4 * (1 / 2 + 1)))


@pytest.mark.parametrize(
    "sides",
    [
        [ONE, None],
        [ONE, SharedSessions("f1", 2, 1e-4, 1)],  # of one study: they cancel
        [SharedSessions("f1", 1), SharedSessions("f2", 1)],
    ],
    ids=["unknown", "one study", "one session each"],
)
def test_without_what_is_needed_a_ratio_stays(sides: list[SharedSessions | None]) -> None:
    assert isinstance(HOSTS, Ratio)
    assert with_session_error(HOSTS, sides) is HOSTS
    assert with_session_error(Ratio(1.0), [ONE, OTHER]) == Ratio(1.0)
