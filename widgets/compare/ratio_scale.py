"""The axis on which ratios are drawn: logarithmic, so that twice and half lie equally far from 1. No Qt."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from app.comparing.compare import Against

_TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)
"""Ratios that a tick may stand at; the other stands at its inverse."""

_WIDEST = math.log(20)
_BEYOND_POINTS = 2.5
"""How much further than the furthest ratio the axis reaches for intervals: a hopelessly wide one is cut instead."""

_ROOM = 1.12


@dataclass(frozen=True, slots=True)
class RatioScale:
    """`reach` is how far the axis goes to either side of 1, as a natural logarithm."""

    reach: float

    def place(self, ratio: float) -> float:
        """Return where `ratio` lies, from 0 (left end) to 1; beyond these where the axis does not reach it."""
        return 0.5 + math.log(ratio) / (2 * self.reach)

    def tick(self) -> float:
        """Return the round ratio above 1 at which a tick stands; another stands at its inverse."""
        inside = [tick for tick in _TICKS if math.log(tick) <= self.reach * 0.95]
        return inside[-1] if inside else math.exp(self.reach)


def scale_for(found: Iterable[Against], margin: float) -> RatioScale:
    """Return an axis that holds all ratios, the margin, and the intervals as far as they are of use."""
    known = [against for against in found if against.ratio is not None]
    points = max((abs(math.log(against.ratio)) for against in known if against.ratio), default=0.0)
    edges = [abs(math.log(edge)) for against in known for edge in (against.low, against.high) if edge]
    least = max(1.6 * math.log1p(margin), 0.01)
    useful = max(least, points * _BEYOND_POINTS)
    return RatioScale(min(_WIDEST, max(least, points * _ROOM, min(max(edges, default=0.0) * _ROOM, useful))))
