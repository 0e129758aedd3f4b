"""What a distribution is made of: the values within each trial, and the quantiles of one trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]


class Source(StrEnum):
    """What one value of a distribution is: a request of the test, a sample within a trial, or a whole trial."""

    REQUESTS = "requests"
    SAMPLES = "samples"
    TRIALS = "trials"


SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""The percentiles that are shown, as far as the values carry them."""

DECILES = tuple(place / 10 for place in range(1, 10))
"""Where two sides are held against each other, as Doksum's shift function is usually read."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One value and when it came: seconds since the tool's start."""

    value: float
    time: float


@dataclass(frozen=True, slots=True, eq=False)
class TrialValues:
    """The values of one trial in rising order, each as often as `counts` says (None: once).

    `run` and `trial` name it, `number` is how people count it; `worst` is its worst sample and when that was, where it
    has samples.
    """

    run: str
    trial: int
    host: str
    values: "Numbers"
    counts: "Numbers | None" = None
    worst: Moment | None = None
    number: int = 0

    @property
    def n(self) -> int:
        """How many values there are."""
        return len(self.values) if self.counts is None else int(self.counts.sum())

    def quantile(self, share: float) -> float:
        """Return the quantile at `share` (0 to 1) of this trial: Harrell and Davis's, or of counted values fio's."""
        if self.counts is None:
            return harrell_davis(self.values, share)
        import numpy as np

        so_far = np.cumsum(self.counts)  # fio: the first bin by which that share of the requests is done
        return float(self.values[min(int(np.searchsorted(so_far, share * so_far[-1])), len(self.values) - 1)])

    def share_up_to(self, edges: "Numbers") -> "Numbers":
        """Return which share of the values lies at or below each of `edges`."""
        import numpy as np

        places = np.searchsorted(self.values, edges, side="right")
        if self.counts is None:
            return np.asarray(places / len(self.values), dtype=float)
        so_far = np.concatenate([[0.0], np.cumsum(self.counts)])
        return np.asarray(so_far[places] / so_far[-1], dtype=float)


def trial_values(run: str, trial: int, host: str, values: Sequence[float], worst: Moment | None = None) -> TrialValues:
    """Return the values of a trial, put in order."""
    import numpy as np

    return TrialValues(run, trial, host, np.sort(np.asarray(values, dtype=float)), None, worst)


def counted_values(run: str, trial: int, host: str, bins: Mapping[float, float]) -> TrialValues:
    """Return the values of a trial that were counted in bins; `bins` has how many there are of each."""
    import numpy as np

    ordered = sorted(bins)
    counts = np.array([bins[value] for value in ordered], dtype=float)
    return TrialValues(run, trial, host, np.array(ordered, dtype=float), counts)


def harrell_davis(ordered: "Numbers", share: float) -> float:
    """Return the quantile at `share` of values in rising order: a mean of all of them, weighted by how probable each
    is to be it (Harrell and Davis 1982). It moves less from sample to sample than any single value does."""
    return float(weights_of(len(ordered), share) @ ordered)


def weights_of(count: int, share: float) -> "Numbers":
    """Return the weights of the Harrell-Davis estimate: of each place among `count` values in rising order."""
    import numpy as np
    from scipy import special

    steps = np.arange(count + 1) / count
    return np.asarray(np.diff(special.betainc((count + 1) * share, (count + 1) * (1 - share), steps)), dtype=float)


def carried(share: float, count: int) -> bool:
    """Return whether `count` values say anything of the quantile at `share`: one of them at least lies beyond it.

    A p99 of fewer than 100 values would be just their largest.
    """
    return round(count * min(share, 1 - share), 9) >= 1
