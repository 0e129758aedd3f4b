"""How an interval has shrunk from trial to trial, as shares that can be drawn. No Qt."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.plans.repetition import Decision

WIDEST = 4.0
"""Times the wanted width that is drawn at most: the first intervals are so wide that nothing else would be seen."""

ALONE = 0.05
"""Half of what is drawn where no width is wanted and the interval is narrower still."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The interval after so many trials: its edges and its middle, as shares apart from what it is held against."""

    trials: int
    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Shape:
    """The intervals in the order of their trials. `wanted` is how far they may reach, None where nothing is asked;
    `last` the trial at which the end is expected, `reach` how far the drawing goes to both sides."""

    stands: tuple[Stand, ...]
    wanted: float | None
    last: int
    reach: float


def shape_of(decisions: Sequence[Decision]) -> Shape | None:
    """Return what is drawn of the decisions of a place, or None before the first interval.

    A middle is held against the latest one, a ratio against 1: the interval has to come within `wanted` of that, or
    of a ratio wholly beyond it.
    """
    whole = [one for one in decisions if one.low is not None and one.high is not None and one.value]
    if not whole:
        return None
    latest = whole[-1]
    against = 1.0 if latest.of_ratio else latest.value or 1.0
    stands = tuple(
        Stand(
            one.trials,
            (one.low or 0.0) / against - 1,
            (one.value or 0.0) / against - 1,
            (one.high or 0.0) / against - 1,
        )
        for one in whole
    )
    now = max(abs(stands[-1].low), abs(stands[-1].high))
    furthest = max(max(abs(stand.low), abs(stand.high)) for stand in stands)
    wanted = latest.wanted
    reach = min(furthest, max(WIDEST * wanted, 2 * now)) if wanted else max(furthest, ALONE)
    return Shape(stands, wanted, latest.trials + (latest.more or 0), max(reach, 1.3 * (wanted or 0.0)) or ALONE)
