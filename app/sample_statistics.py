"""Statistics of the samples within a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.numeric import Numbers, np
from suites.vocab import Labels


@dataclass(frozen=True, slots=True)
class WithinTrial:
    """The samples within one trial: their number, mean, variance and effective sample size (`worth`).

    With first autocorrelation r, n samples are worth n (1 - r) / (1 + r) independent ones (Bayley and Hammersley 1946).
    """

    n: int
    mean: float
    variance: float
    worth: float


WithinTrials = Mapping[tuple[str, int], Mapping[tuple[str, Labels], WithinTrial]]
"""The samples of each trial (run id, trial id) by metric name and labels."""


def within_of(values: "Sequence[float] | Numbers") -> WithinTrial | None:
    """Return the statistics of the samples of a trial; None for fewer than two."""
    samples = np.asarray(values, dtype=float)
    count = len(samples)
    if count < 2:
        return None
    deviations = samples - samples.mean()
    whole = float(deviations @ deviations)
    correlation = float(deviations[1:] @ deviations[:-1]) / whole if whole else 0.0
    worth = count * (1 - correlation) / (1 + correlation) if correlation > 0 else float(count)
    return WithinTrial(count, float(samples.mean()), whole / (count - 1), min(float(count), max(1.0, worth)))
