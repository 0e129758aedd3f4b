"""What a whole plan takes: the sums of what is known, and never a figure for what is not."""

import pytest

from app.plans.plan import Order, Plan, Policy, Repetition, Step
from app.plans.totals import StepPreview, totals, totals_text
from suites.base import Command, Estimate


def _preview(host: str, step: str, estimate: Estimate) -> StepPreview:
    return StepPreview(host, step, (Command(("true", step)),), estimate, f"true {step}")


STEPS = (Step("one", "dd", {}), Step("two", "dd", {}))


def test_totals_are_sums_over_hosts_steps_and_trials() -> None:
    plan = Plan("p", ("a", "b"), STEPS, repetition=Repetition(2, 1, 10.0))
    previews = [_preview(host, step, Estimate(5.0, 100, 50, 7)) for step in ("one", "two") for host in "ab"]
    sums = totals(plan, previews)
    assert (sums.trials, sums.duration, sums.written, sums.network) == (12, 60.0 + 110.0, 1200, 84)
    assert sums.space == 50
    assert not sums.open


def test_interleaved_the_files_of_all_steps_lie_there_at_once() -> None:
    plan = Plan("p", ("a",), STEPS, order=Order.INTERLEAVED)
    previews = [_preview("a", "one", Estimate(1.0, 0, 50)), _preview("a", "two", Estimate(1.0, 0, 70))]
    assert totals(plan, previews).space == 120


def test_what_cannot_be_known_is_named_and_never_zero() -> None:
    plan = Plan("p", ("a",), STEPS)
    previews = [_preview("a", "one", Estimate(4.0, 10, 0)), _preview("a", "two", Estimate(None, None, 0, None))]
    sums = totals(plan, previews)
    assert sums.open == {"duration", "written", "network"}
    assert sums.duration == 24.0
    assert sums.quick is None


GIB = 2**30


@pytest.mark.parametrize(
    ("repetition", "estimate", "shown"),
    [
        (Repetition(1), Estimate(5.0), "1 trial, 5 s"),
        (Repetition(3, 1, 10.0), Estimate(5.0, GIB, GIB),
         "4 trials, 50 s, 4 GiB written, 1 GiB of space; quick look: 5 s"),
        (Repetition(2), Estimate(None, None, 0, None),
         "2 trials, duration unknown, unknown volume written, unknown volume over the network"),
        (Repetition(policy=Policy.UNTIL_INTERVAL, minimum=6, cap=8), Estimate(10.0, 0, 0, GIB),
         "7 to 8 trials, 1 min 10 s to 1 min 20 s, at least 7 GiB over the network"),
        (Repetition(policy=Policy.BUDGET, budget=1200.0), Estimate(10.0), "at least 1 trial, 20 min"),
    ],
)  # fmt: skip
def test_the_sums_in_a_line(repetition: Repetition, estimate: Estimate, shown: str) -> None:
    plan = Plan("p", ("a",), STEPS[:1], repetition=repetition)
    assert totals_text(totals(plan, [_preview("a", "one", estimate)])) == shown
