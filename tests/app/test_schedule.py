"""In which order trials run, when a place has had enough of them, and what is said about those left."""

import itertools

import pytest

from app.plans.plan import Order, Plan, Policy, Repetition, make_step
from app.runs.schedule import Forecast, Schedule, Slot, StepKey
from suites.sysbench.cpu import EVENTS_PER_SECOND as EVENTS
from suites.vocab import Figure


def plan(order: Order = Order.BLOCK, repetition: Repetition | None = None, seed: int | None = None) -> Plan:
    steps = (make_step("sysbench-cpu", {}, name="a"), make_step("sysbench-cpu", {}, name="b"))
    return Plan("p", ("x", "y"), steps, repetition=repetition or Repetition(trials=2), order=order, seed=seed)


def run(schedule: Schedule, value: float = 100.0, limit: int = 200) -> list[Slot]:
    """Take every turn; each trial shows the same, and takes a second."""
    taken = []
    for slot in itertools.islice(schedule.slots(), limit):
        taken.append(slot)
        schedule.record_trial(slot, [Figure(EVENTS, value)], 1.0, 1.0)
    return taken


def places(slots: list[Slot]) -> list[StepKey]:
    return [slot.key for slot in slots]


def test_block_order_finishes_a_step_on_a_host_before_the_next() -> None:
    reported = [(slot.step.name, slot.host, slot.number) for slot in run(Schedule(plan()))]
    assert reported[:4] == [("a", "x", 1), ("a", "x", 2), ("a", "y", 1), ("a", "y", 2)]
    assert len(reported) == 8


def test_interleaved_order_gives_every_step_its_first_trial_first() -> None:
    reported = [(slot.step.name, slot.host, slot.number) for slot in run(Schedule(plan(Order.INTERLEAVED)))]
    assert reported[:4] == [("a", "x", 1), ("a", "y", 1), ("b", "x", 1), ("b", "y", 1)]
    assert reported[4:] == [("a", "x", 2), ("a", "y", 2), ("b", "x", 2), ("b", "y", 2)]


@pytest.mark.parametrize("order", list(Order))
def test_warm_ups_come_first_and_are_marked(order: Order) -> None:
    slots = run(Schedule(plan(order, Repetition(trials=2, warm_ups=1), seed=1)))
    first = [slot for slot in slots if slot.key == ("a", "x")]
    assert [slot.warm_up for slot in first] == [True, False, False]
    assert [slot.number for slot in first] == [1, 1, 2]


def test_randomised_rounds_are_drawn_by_lot_and_hold_every_place_once() -> None:
    slots = run(Schedule(plan(Order.RANDOMISED, Repetition(trials=40), seed=3)))
    rounds = [places(slots[start : start + 4]) for start in range(0, len(slots), 4)]
    assert all(len(set(each)) == 4 for each in rounds)
    assert len({tuple(each) for each in rounds}) > 15  # of 24 possible orders
    assert slots == run(Schedule(plan(Order.RANDOMISED, Repetition(trials=40), seed=3)))
    assert slots != run(Schedule(plan(Order.RANDOMISED, Repetition(trials=40), seed=4)))


def test_abba_mirrors_every_second_round_so_that_a_steady_drift_cancels_out() -> None:
    slots = run(Schedule(plan(Order.ABBA, Repetition(trials=8), seed=3)))
    rounds = [places(slots[start : start + 4]) for start in range(0, len(slots), 4)]
    for first, second in zip(rounds[::2], rounds[1::2], strict=True):
        assert second == first[::-1]
    assert len({tuple(each) for each in rounds[::2]}) > 1
    moments: dict[StepKey, list[int]] = {}
    for moment, slot in enumerate(slots):
        moments.setdefault(slot.key, []).append(moment)
    assert len({sum(each) for each in moments.values()}) == 1


def test_a_place_that_fails_gets_no_other_turn_and_the_others_go_on() -> None:
    schedule = Schedule(plan(Order.INTERLEAVED))
    taken = []
    for slot in schedule.slots():
        taken.append(slot)
        if slot.key == ("a", "x"):
            schedule.give_up(slot)
        else:
            schedule.record_trial(slot, [Figure(EVENTS, 1.0)], 1.0, 1.0)
    assert places(taken).count(("a", "x")) == 1
    assert len(taken) == 7
    assert schedule.over()


# When a place has had enough


def test_a_steady_place_stops_early_and_a_noisy_one_at_the_cap() -> None:
    repetition = Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.02, minimum=6, cap=12)
    schedule = Schedule(plan(Order.INTERLEAVED, repetition))
    counts: dict[StepKey, int] = {}
    for slot in schedule.slots():
        counts[slot.key] = counts.get(slot.key, 0) + 1
        noise = 40.0 if slot.key == ("b", "y") else 0.1
        value = 100.0 + noise * (slot.number % 2)
        schedule.record_trial(slot, [Figure(EVENTS, value)], 1.0, 1.0)
    assert counts == {("a", "x"): 7, ("a", "y"): 7, ("b", "x"): 7, ("b", "y"): 12}


def test_of_several_figures_the_one_that_needs_most_decides() -> None:
    repetition = Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.02, minimum=6, cap=9)
    one = Plan("p", ("x",), (make_step("sysbench-cpu", {}, name="a"),), repetition=repetition)
    schedule = Schedule(one)
    judged = None
    for slot in schedule.slots():
        steady = Figure(EVENTS, 100.0, (("operation", "read"),))
        noisy = Figure(EVENTS, 100.0 + 30.0 * (slot.number % 2), (("operation", "write"),))
        judged = schedule.record_trial(slot, [steady, noisy], 1.0, 1.0)
    assert judged is not None
    assert judged.labels == (("operation", "write"),)
    assert (judged.decision.trials, judged.decision.settled) == (9, False)


def test_a_run_ends_whatever_its_trials_show() -> None:
    repetition = Repetition(policy=Policy.UNTIL_INTERVAL, minimum=6, cap=8)
    schedule = Schedule(plan(repetition=repetition))
    for number, slot in enumerate(schedule.slots()):
        # A figure of another name each time: no series ever has two values.
        schedule.record_trial(slot, [Figure(EVENTS, 1.0, (("round", str(number)),))], 1.0, 1.0)
    assert schedule.forecast().done == 4 * 8


def test_a_budget_is_shared_by_all_places_and_each_is_measured_once_in_any_case() -> None:
    generous = run(Schedule(plan(Order.BLOCK, Repetition(policy=Policy.BUDGET, budget=20.0))))
    assert [places(generous).count(place) for place in dict.fromkeys(places(generous))] == [5, 5, 5, 5]
    short = run(Schedule(plan(Order.BLOCK, Repetition(policy=Policy.BUDGET, budget=1.0))))
    assert len(short) == 4


# What is left


def test_what_is_left_adds_what_is_known() -> None:
    estimates: dict[StepKey, float | None] = dict.fromkeys([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")], 10.0)
    schedule = Schedule(plan(repetition=Repetition(trials=2, warm_ups=1, pause=1.0)), estimates)
    assert schedule.forecast() == Forecast(0, 12, 12 * 11.0, exact=True)
    slot = next(schedule.slots())
    schedule.record_trial(slot, [], 4.0, 5.0)
    assert schedule.forecast() == Forecast(1, 12, 2 * 5.0 + 9 * 11.0, exact=True)


def test_the_time_left_learns_the_gaps_and_never_grows() -> None:
    """Trials of 8 s, each followed by about 3 s of other work, and one by a lost connection."""
    steps: dict[StepKey, float | None] = dict.fromkeys([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")], 8.0)
    schedule = Schedule(plan(repetition=Repetition(trials=6)), steps)
    total = schedule.forecast().total or 0
    shown, gaps = [], itertools.cycle([3.0, 3.2, 2.9, 3.1, 60.0])
    for slot in schedule.slots():
        gap = next(gaps)
        schedule.record_gap(gap)
        schedule.record_trial(slot, [Figure(EVENTS, 100.0)], 8.0, 8.0 + gap)
        shown.append(schedule.forecast().seconds or 0.0)
    assert shown[0] == pytest.approx((total - 1) * 11.0)
    assert all(before - 8.0 > after for before, after in itertools.pairwise(shown))
    assert shown[-1] == 0.0


def test_the_time_left_is_unknown_as_soon_as_one_trial_is() -> None:
    estimates: dict[StepKey, float | None] = {("a", "x"): 10.0, ("a", "y"): 10.0, ("b", "x"): 10.0}
    schedule = Schedule(plan(), estimates)
    assert schedule.forecast() == Forecast(0, 8, None, exact=True)
    assert schedule.forecast({("b", "y")}) == Forecast(0, 7, 60.0, exact=True), "one slot records that it is unreached"


def test_an_estimate_that_comes_late_counts_for_a_budget() -> None:
    schedule = Schedule(plan(repetition=Repetition(policy=Policy.BUDGET, budget=80.0)))
    assert schedule.forecast().total is None
    for key in itertools.product("ab", "xy"):
        schedule.estimated(key, 10.0)
    assert schedule.forecast() == Forecast(0, 8, 80.0, exact=False)


def test_where_the_trials_decide_the_total_is_a_forecast() -> None:
    repetition = Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.02)
    estimates: dict[StepKey, float | None] = dict.fromkeys([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")], 10.0)
    schedule = Schedule(plan(repetition=repetition), estimates)
    assert schedule.forecast() == Forecast(0, 4 * 7, 4 * 70.0, exact=False)
    for slot, value in zip(schedule.slots(), (100.0, 110.0, 90.0), strict=False):
        schedule.record_trial(slot, [Figure(EVENTS, value)], 10.0, 10.0)
    total = schedule.forecast().total
    assert total is not None
    assert total > 4 * 7


def test_a_run_that_goes_on_passes_over_what_it_has_done() -> None:
    whole = plan(Order.RANDOMISED, Repetition(trials=5), seed=7)
    first = Schedule(whole)
    done = []
    for slot in itertools.islice(first.slots(), 9):
        done.append(slot)
        first.record_trial(slot, [Figure(EVENTS, 1.0)], 1.0, 1.0)
    rest = list(itertools.islice(first.slots(), 1))
    later = Schedule(whole)
    for slot in done:
        later.record_trial(slot, [Figure(EVENTS, 1.0)], 1.0, 1.0)
    assert later.forecast() == first.forecast()
    assert run(later)[:1] == rest
    assert later.forecast().done == 20


# Hosts that are away


def turns_while(schedule: Schedule, away: set[str], limit: int) -> list[tuple[str, str, int, bool]]:
    """Take up to `limit` turns while the hosts `away` are so; stop where nothing else may begin."""
    taken = []
    for slots in itertools.islice(schedule.slots_where(lambda place: place[1] not in away), limit):
        if not slots:
            break
        for slot in slots:
            taken.append((*slot.key, slot.number, slot.warm_up))
            schedule.record_trial(slot, [Figure(EVENTS, 100.0)], 1.0, 1.0)
    return taken


@pytest.mark.parametrize("order", list(Order))
def test_a_host_that_is_away_keeps_no_other_waiting(order: Order) -> None:
    schedule = Schedule(plan(order, Repetition(trials=3, warm_ups=1), seed=1))
    alone = turns_while(schedule, {"x"}, 100)
    assert {host for _, host, _, _ in alone} == {"y"}
    assert len(alone) == 2 * 4
    assert not schedule.over()


@pytest.mark.parametrize("order", list(Order))
def test_a_host_that_is_back_gets_all_its_turns_its_warm_ups_first(order: Order) -> None:
    schedule = Schedule(plan(order, Repetition(trials=3, warm_ups=1), seed=1))
    away = {"x"}
    taken: list[tuple[str, str, int, bool]] = []
    for slots in schedule.slots_where(lambda place: place[1] not in away):
        if not slots or len(taken) > 4:
            away.clear()
        for slot in slots:
            taken.append((*slot.key, slot.number, slot.warm_up))
            schedule.record_trial(slot, [Figure(EVENTS, 100.0)], 1.0, 1.0)
    assert schedule.over()
    for place in itertools.product("ab", "xy"):
        own = [(number, warm_up) for step, host, number, warm_up in taken if (step, host) == place]
        assert [warm_up for _, warm_up in own] == [True, False, False, False]
        assert [number for number, _ in own] == [1, 1, 2, 3]


def test_a_run_that_goes_on_makes_the_turns_that_a_host_missed() -> None:
    first = Schedule(plan(Order.INTERLEAVED, Repetition(trials=3)))
    done = turns_while(first, {"x"}, 4)
    later = Schedule(plan(Order.INTERLEAVED, Repetition(trials=3)))
    for step, host, number, warm_up in done:
        slot = Slot(plan().step(step), host, number, warm_up)
        later.record_trial(slot, [Figure(EVENTS, 1.0)], 1.0, 1.0)
    rest = [(slot.key, slot.number) for slot in run(later)]
    assert sorted(rest) == sorted(
        [((step, "x"), number) for step in "ab" for number in (1, 2, 3)] + [((step, "y"), 3) for step in "ab"]
    )


@pytest.mark.parametrize("order", [order for order in Order if order is not Order.DUET])
def test_the_profiled_trial_is_the_last_of_its_step_and_decides_nothing(order: Order) -> None:
    schedule = Schedule(plan(order, Repetition(trials=2, warm_ups=1, profile=True), seed=1))
    slots = run(schedule)
    own = [slot for slot in slots if slot.key == ("a", "x")]
    assert [(slot.warm_up, slot.profiled, slot.number) for slot in own] == [
        (True, False, 1), (False, False, 1), (False, False, 2), (True, True, 2)
    ]  # fmt: skip
    assert len(slots) == 16
    assert schedule.over()


def test_the_profiled_trial_is_forecast_and_its_time_is_not_learnt() -> None:
    schedule = Schedule(plan(repetition=Repetition(trials=1, profile=True)), {("a", "x"): 1.0})
    slots = schedule.slots()
    schedule.record_trial(next(slots), [Figure(EVENTS, 100.0)], 1.0, 1.0)
    assert schedule.forecast().total == 8
    profiled = next(slots)
    assert profiled.profiled
    verdict = schedule.record_trial(profiled, [Figure(EVENTS, 5.0)], 60.0, 60.0)
    assert verdict is None
    assert schedule.expected(("a", "x")) == 1.0
    assert schedule.forecast().total == 8
    assert next(slots).key == ("a", "y")


def test_a_step_that_failed_is_not_profiled() -> None:
    schedule = Schedule(plan(repetition=Repetition(trials=1, profile=True)))
    schedule.give_up(next(schedule.slots()))
    assert not schedule.open(("a", "x"))
