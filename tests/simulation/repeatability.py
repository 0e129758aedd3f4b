"""How often the noise study and the ranking claim what is not so, on simulated trials whose truth is known."""

import math

import numpy as np

from app.ranking.scores import Score, separated
from app.spreads import deviation_score, ranks_of
from tests.simulation.experiments import Share, generators, share
from tests.simulation.noise import Draw, normal, two_levels

EQUAL = 20
"""Results with the same spread in each ranked study."""


def heavy_tailed(cov: float) -> Draw:
    """Return trials with a spread of Student's t with three degrees of freedom."""
    return lambda rng, count: [max(1e-3, 1 + cov / math.sqrt(3) * float(one)) for one in rng.standard_t(3, count)]


def long_tailed(cov: float) -> Draw:
    """Return trials with an exponential spread."""
    return lambda rng, count: [1 + cov * (float(one) - 1) for one in rng.exponential(size=count)]


def log_normal(cov: float) -> Draw:
    """Return log-normal trials with this coefficient of variation."""
    return lambda rng, count: list(map(float, rng.lognormal(0, math.sqrt(math.log1p(cov**2)), count)))


SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (normal(0.05), 0.05),
    "log-normal": (log_normal(0.3), 0.3),
    "two levels": (two_levels(0.1, 0.01), math.sqrt(0.05**2 + 0.01**2 * (1 + 0.05**2))),
    "exponential": (long_tailed(0.05), 0.05),
    "t3": (heavy_tailed(0.05), 0.05),
}
"""Shapes of the spread, with the true coefficient of variation."""


def false_ranks(draw: Draw, counts: tuple[int, int], tries: int) -> Share:
    """Return how often one of 20 equal results, of `counts` (fewest and most) trials, is ranked above another."""

    def claims(rng: np.random.Generator) -> bool:
        sizes = rng.integers(counts[0], counts[1] + 1, EQUAL)
        ranks = ranks_of([deviation_score([draw(rng, int(size))]) for size in sizes], equal_variances=True)
        return any((one or 1) > 1 for one in ranks)

    return share(claims(rng) for rng in generators(tries, 31))


def found_ranks(times: float, count: int, tries: int) -> Share:
    """Return how often the noisier of two normal results, by so many times, has the lower rank."""

    def found(rng: np.random.Generator) -> bool:
        drawn = [normal(cov)(rng, count) for cov in (0.01, 0.01 * times)]
        return ranks_of([deviation_score([one]) for one in drawn], equal_variances=True) == [1, 2]

    return share(found(rng) for rng in generators(tries, 32))


def false_pool_ranks(tries: int) -> Share:
    """Return how often one of 10 equal hosts is ranked above another by six tests of 0.5 to 10 %, 6 to 30 trials."""

    def claims(rng: np.random.Generator) -> bool:
        pools = [
            [log_normal(cov)(rng, int(rng.integers(6, 31))) for cov in (0.005, 0.01, 0.01, 0.02, 0.03, 0.1)]
            for _ in range(10)
        ]
        return any((one or 1) > 1 for one in ranks_of([deviation_score(groups) for groups in pools]))

    return share(claims(rng) for rng in generators(tries, 33))


def false_winners(candidates: int, trials: int, margin: float, difference: float, tries: int) -> Share:
    """Return how often `best` separates a pair whose true ratio is within the margin.

    The candidates are 3 % noisy; their true values are in two halves that differ by `difference`.
    """

    def claims(rng: np.random.Generator) -> bool:
        centres = [math.log1p(difference) * (number % 2) for number in range(candidates)]
        scores = [Score((tuple(centre + 0.03 * rng.normal(size=trials)),)) for centre in centres]
        return any(map(any, separated(scores, margin)))

    return share(claims(rng) for rng in generators(tries, 34))
