"""An A/A test: how often trials of one thing, split in two, would be called different, and from which margin not."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.comparing.intervals import CONFIDENCE, FEWEST_TRIALS
from app.comparing.verdicts import ERROR
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Matrix = NDArray[float64]

DEFAULT_MARGIN = 0.05
"""The share that does not matter where neither the user nor a calibration of the host says otherwise."""

SPLITS = 4000
"""Random splits that are drawn: a rate of 5 % is then known to ±0.7 %."""

POWER = 0.8
"""How often a margin has to be shown to hold where nothing differs: the usual power of a test (Cohen 1988)."""

LEAST_MARGIN = 0.01
"""No host's own margin is below: the layout of a program in memory alone, which one build of a tool and one evening
do not vary, moves figures by more (Mytkowicz et al. 2009, “Producing wrong data without doing anything wrong”)."""

STEP = 0.001
"""A margin is rounded up to a tenth of a per cent: more digits it has not."""

FOR_TRIALS = (6, 10, 20, 50)
"""Trials a side for which the least difference that shows is told."""


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """What `splits` random splits of an A/A test's trials, `trials` a side, say. All but the counts are shares.

    `rate` is how often a difference beyond DEFAULT_MARGIN is claimed, `rate_without` how often one is with a margin of
    nothing, `rate_apart` as `rate`, of two stretches of time instead of random halves: what drifts shows there alone.
    `quiet_margin` is the smallest with which at most 5 % of either are claimed, `shown_margin` the smallest that is
    shown to hold in 80 % of random splits. `margin` is what follows from both: the host's own.
    """

    trials: int
    splits: int
    rate: float
    rate_without: float
    rate_apart: float
    quiet_margin: float
    shown_margin: float
    margin: float


def false_alarms(values: Sequence[float], seed: int = 0, splits: int = SPLITS) -> FalseAlarms:
    """Return what an A/A test says whose trials gave `values`, in the order in which they ran.

    A split is judged as a comparison is: Welch's interval of the logarithms wholly beyond the margin is a claim, wholly
    within it shows that there is no larger difference. The lots are the same for the same `seed`.

    Raises BenchwrightError for fewer than FEWEST_TRIALS a side, or figures that have no logarithm.
    """
    import numpy as np

    side = len(values) // 2
    if side < FEWEST_TRIALS:
        raise BenchwrightError(
            f"An A/A test of {len(values)} trials says nothing.", f"At least {2 * FEWEST_TRIALS} are needed."
        )
    if min(values) <= 0:
        raise BenchwrightError("An A/A test needs figures above zero.", "Choose another suite.")
    logs = np.log(np.asarray(values[: 2 * side], dtype=float))
    drawn = np.random.default_rng(seed).permuted(np.tile(logs, (splits, 1)), axis=1)
    turns = np.stack([np.roll(logs, -shift) for shift in range(side)])
    low, high = _intervals(drawn, side)
    claimed, shown = _claimed_beyond(low, high), np.maximum(high, -low)
    apart = _claimed_beyond(*_intervals(turns, side))
    edge = math.log1p(DEFAULT_MARGIN)
    quiet = max(_quantile(claimed, 1 - ERROR), _quantile(apart, 1 - ERROR))
    reach = _quantile(shown, POWER)
    return FalseAlarms(
        side,
        splits,
        float(np.mean(claimed > edge)),
        float(np.mean(claimed > 0)),
        float(np.mean(apart > edge)),
        math.expm1(quiet),
        math.expm1(reach),
        _rounded(max(math.expm1(quiet), math.expm1(reach), LEAST_MARGIN)),
    )


def _intervals(halves: "Matrix", side: int) -> "tuple[Matrix, Matrix]":
    """Return the edges of Welch's interval of the first half against the second, of each row."""
    import numpy as np
    from scipy import special

    one, other = halves[:, :side], halves[:, side:]
    parts = [half.var(axis=1, ddof=1) / side for half in (one, other)]
    error = parts[0] + parts[1]
    squares = (parts[0] ** 2 + parts[1] ** 2) / (side - 1)
    freedom = np.divide(error**2, squares, out=np.full_like(error, 2.0 * (side - 1)), where=squares > 0)
    reach = special.stdtrit(freedom, (1 + CONFIDENCE) / 2) * np.sqrt(error)
    difference = one.mean(axis=1) - other.mean(axis=1)
    return difference - reach, difference + reach


def _claimed_beyond(low: "Matrix", high: "Matrix") -> "Matrix":
    """Return, of each interval, the margin (as a logarithm) below which it claims a difference; 0: it never does."""
    import numpy as np

    return np.maximum(np.maximum(low, -high), 0.0)


def _quantile(values: "Matrix", share: float) -> float:
    import numpy as np

    return float(np.quantile(values, share, method="higher"))


def _rounded(margin: float) -> float:
    return min(1.0, round(math.ceil(round(margin / STEP, 6)) * STEP, 6))


def log_spread(values: Sequence[float]) -> float:
    """Return the coefficient of variation of `values`, from the variance of their logarithms: √(exp(s²) − 1).

    Raises StatisticsError for fewer than two, ValueError where one is not above zero.
    """
    return math.sqrt(math.expm1(statistics.variance([math.log(value) for value in values])))


def least_detectable(cov: float, trials: int) -> float:
    """Return the smallest difference that `trials` a side show in 80 of 100 comparisons, as a share.

    (t(0.975) + t(0.8)) · s · √(2 / n) on the logarithms, with 2n − 2 degrees of freedom: the power of Student's test.
    """
    from scipy import special

    spread, freedom = math.sqrt(math.log1p(cov**2)), 2 * trials - 2
    quantiles = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2) + special.stdtrit(freedom, POWER))
    return math.expm1(min(quantiles * spread * math.sqrt(2 / trials), 50.0))
