"""Where the level of a row of results changes: few false alarms, and none claimed where results hang together."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

SURE = 0.001
"""The p-value below which two levels are told apart, as otava does it. It is that of the best cut, not of a cut chosen
beforehand, so false alarms are more frequent than this: of 60 results without a change 5 % have one somewhere where
results are independent, 21 % where neighbours hang together with 0.3 (simulated for this project; with MATTERS
beside it fewer: the help has the figures)."""

MATTERS = 0.05
"""The share of the level below which a change is not worth a mark."""

HANGING = 0.3
"""The correlation of neighbouring results from which on changes are not claimed: false alarms then come in one of two
histories (0.64 of 60 results at 0.6, simulated for this project)."""

FEWEST = 4
"""Results that stand on either side of a change."""


@dataclass(frozen=True, slots=True)
class Change:
    """The level changes between the results `place` - 1 and `place`; `ratio` is that of the levels, after by before.

    `before` and `after` are the geometric means of the neighbouring stretches, `p` that of the test between them.
    """

    place: int
    before: float
    after: float
    p: float

    @property
    def ratio(self) -> float:
        """The level after by the level before."""
        return self.after / self.before


@dataclass(frozen=True, slots=True)
class Found:
    """The changes in a row of results. `hanging` is the correlation of neighbours within the stretches, None where
    there are too few; `claimed` is False where it is too high for the changes to mean anything."""

    changes: tuple[Change, ...]
    hanging: float | None = None

    @property
    def claimed(self) -> bool:
        """Whether the changes may be called changes."""
        return self.hanging is None or self.hanging <= HANGING


def change_points(values: Sequence[float]) -> Found:
    """Return where the level of `values`, all above zero and in order of time, changes.

    By least squares on the logarithms, each stretch is cut where its halves differ most, again and again, while
    Student's t of the cut stays below SURE and the levels lie MATTERS apart; then every cut is looked at again
    between its new neighbours, and the weakest that no longer stands is taken away (as otava, Hunter 2023, does).
    A change needs FEWEST results on both sides.
    """
    import numpy as np

    logs = np.log(np.asarray(values, dtype=float))
    cuts = _split(logs, 0, len(logs))
    while cuts:
        tested = _tested(logs, cuts)
        weakest = max(tested, key=lambda change: change.p)
        small = [change for change in tested if not _matters(change)]
        if weakest.p < SURE and not small:
            return Found(tuple(tested), _hanging(logs, cuts))
        cuts.remove((small[0] if small else weakest).place)
    return Found((), _hanging(logs, []))


def _split(logs: "Numbers", start: int, end: int) -> list[int]:
    """Return the cuts within a stretch, in order.

    Where the whole shows none, its overlapping halves are looked at: what rises and falls back hides in the whole.
    """
    cut = _best(logs, start, end)
    if cut is not None:
        return [*_split(logs, start, cut), cut, *_split(logs, cut, end)]
    length = end - start
    if length < 8 * FEWEST:
        return []
    for first in (start, start + length // 4, start + length // 2):
        cut = _best(logs, first, min(end, first + length // 2))
        if cut is not None:
            return [*_split(logs, start, cut), cut, *_split(logs, cut, end)]
    return []


def _best(logs: "Numbers", start: int, end: int) -> int | None:
    """Return the cut that explains most of a stretch, or None where it explains too little."""
    import numpy as np

    part = logs[start:end]
    count = len(part)
    if count < 2 * FEWEST:
        return None
    places = np.arange(FEWEST, count - FEWEST + 1)
    sums = np.cumsum(part)
    apart = sums[places - 1] / places - (sums[-1] - sums[places - 1]) / (count - places)
    best = int(places[np.argmax(places * (count - places) * apart**2)])
    change = _change(logs, start, start + best, end)
    return change.place if change.p < SURE and _matters(change) else None


def _matters(change: Change) -> bool:
    return abs(math.log(change.ratio)) >= math.log1p(MATTERS)


def _tested(logs: "Numbers", cuts: Sequence[int]) -> list[Change]:
    edges = [0, *cuts, len(logs)]
    return [_change(logs, *edges[number : number + 3]) for number in range(len(cuts))]


def _change(logs: "Numbers", start: int, place: int, end: int) -> Change:
    """Return the change at `place`, tested between the stretches on both sides (Student's t, one common spread)."""
    from scipy import special

    before, after = logs[start:place], logs[place:end]
    freedom = len(before) + len(after) - 2
    apart = float(after.mean() - before.mean())
    rest = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = math.sqrt(rest / freedom * (1 / len(before) + 1 / len(after)))
    p = 2 * float(special.stdtr(freedom, -abs(apart) / error)) if error > 1e-15 else float(apart == 0)
    return Change(place, math.exp(float(before.mean())), math.exp(float(after.mean())), p)


def _hanging(logs: "Numbers", cuts: Sequence[int]) -> float | None:
    """Return the first autocorrelation of what is left when each stretch's own level is taken away."""
    import numpy as np

    edges = [0, *cuts, len(logs)]
    left = np.concatenate(
        [logs[start:end] - logs[start:end].mean() for start, end in itertools.pairwise(edges) if end > start] or [logs]
    )
    whole = float(left @ left)
    if len(left) < 2 * FEWEST or whole <= 1e-20:
        return None
    return float(left[1:] @ left[:-1]) / whole
