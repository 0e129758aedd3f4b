"""In which order the trials of a plan run, and how long what is left will take."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.plan import Order, Plan, Step


@dataclass(frozen=True, slots=True)
class Turn:
    """One trial to come: its step, host, number (from 1), and whether it is a warm-up."""

    step: Step
    host: str
    number: int
    warm_up: bool

    @property
    def place(self) -> tuple[str, str]:
        """The step's name and the host: what shares a private directory and a preparation."""
        return self.step.name, self.host


def turns(plan: Plan) -> tuple[Turn, ...]:
    """Return every trial of `plan` in the order in which it runs."""
    return tuple(_block(plan) if plan.order is Order.BLOCK else _interleaved(plan))


def _repeats(plan: Plan) -> list[tuple[int, bool]]:
    warm_ups = [(number, True) for number in range(1, plan.repetition.warm_ups + 1)]
    return warm_ups + [(number, False) for number in range(1, plan.repetition.trials + 1)]


def _block(plan: Plan) -> Iterator[Turn]:
    for step in plan.steps:
        for host in plan.hosts:
            for number, warm_up in _repeats(plan):
                yield Turn(step, host, number, warm_up)


def _interleaved(plan: Plan) -> Iterator[Turn]:
    for number, warm_up in _repeats(plan):
        for step in plan.steps:
            for host in plan.hosts:
                yield Turn(step, host, number, warm_up)


def remaining(left: Iterable[Turn], expected: Mapping[tuple[str, str], float | None], pause: float) -> float | None:
    """Return the seconds that the trials `left` will take, or None where one of them cannot be known.

    `expected` holds, by place, the mean duration of the trials so far, or the suite's estimate before the first.
    """
    total = 0.0
    for turn in left:
        seconds = expected.get(turn.place)
        if seconds is None:
            return None
        total += seconds + pause
    return total
