"""In which order trials run, and what is said about the time left."""

import pytest

from app.plan import Order, Plan, Repetition, make_step
from app.schedule import remaining, turns


def two_by_two(order: Order, warm_ups: int = 0) -> Plan:
    steps = (make_step("sysbench-cpu", {}, name="a"), make_step("sysbench-cpu", {}, name="b"))
    return Plan("p", ("x", "y"), steps, repetition=Repetition(trials=2, warm_ups=warm_ups), order=order)


def test_block_order_finishes_a_step_on_a_host_before_the_next() -> None:
    told = [(turn.step.name, turn.host, turn.number) for turn in turns(two_by_two(Order.BLOCK))]
    assert told[:4] == [("a", "x", 1), ("a", "x", 2), ("a", "y", 1), ("a", "y", 2)]
    assert len(told) == 8


def test_interleaved_order_gives_every_step_its_first_trial_first() -> None:
    told = [(turn.step.name, turn.host, turn.number) for turn in turns(two_by_two(Order.INTERLEAVED))]
    assert told[:4] == [("a", "x", 1), ("a", "y", 1), ("b", "x", 1), ("b", "y", 1)]
    assert told[4:] == [("a", "x", 2), ("a", "y", 2), ("b", "x", 2), ("b", "y", 2)]


@pytest.mark.parametrize("order", list(Order))
def test_warm_ups_come_first_and_are_marked(order: Order) -> None:
    first = [turn for turn in turns(two_by_two(order, warm_ups=1)) if turn.place == ("a", "x")]
    assert [turn.warm_up for turn in first] == [True, False, False]
    assert [turn.number for turn in first] == [1, 1, 2]


def test_remaining_time_adds_what_is_known() -> None:
    left = turns(two_by_two(Order.BLOCK))
    expected = {turn.place: 10.0 for turn in left}
    assert remaining(left, expected, pause=1.0) == 8 * 11.0


def test_remaining_time_is_unknown_as_soon_as_one_trial_is() -> None:
    left = turns(two_by_two(Order.BLOCK))
    expected: dict[tuple[str, str], float | None] = {turn.place: 10.0 for turn in left}
    expected["b", "y"] = None
    assert remaining(left, expected, pause=0) is None
