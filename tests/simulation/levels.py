"""What the intraclass correlation and its interval do on simulated hosts whose variances are known."""

import numpy as np

from app.comparison.variance import levels_of
from tests.simulation.experiments import Share, generators, share


def icc_coverage(icc: float, hosts: int, trials: int, tries: int, *, unequal: bool = False) -> Share:
    """Return how often the interval holds the true correlation, one run a host; `unequal`: 2, 3 .. trials a host."""

    def holds(rng: np.random.Generator) -> bool:
        found = levels_of(
            [
                [list(rng.normal(100 + icc**0.5 * rng.normal(), (1 - icc) ** 0.5, 2 + host % 7 if unequal else trials))]
                for host in range(hosts)
            ]
        )
        return found is not None and (found.icc_low or 0) <= icc <= (found.icc_high or 0)

    return share(holds(rng) for rng in generators(tries, 41))


def nested_icc_coverage(parts: tuple[float, float, float], counts: tuple[int, int, int], tries: int) -> Share:
    """Return the same with several runs a host; `parts` are the variances of host, run and trial, `counts` their
    numbers, each within the one before."""
    truth = parts[0] / sum(parts)
    host, run, trial = (part**0.5 for part in parts)
    hosts, runs, trials = counts

    def holds(rng: np.random.Generator) -> bool:
        own = 100 + host * rng.normal(size=(hosts, 1, 1)) + run * rng.normal(size=(hosts, runs, 1))
        found = levels_of((own + trial * rng.normal(size=(hosts, runs, trials))).tolist())
        return found is not None and (found.icc_low or 0) <= truth <= (found.icc_high or 0)

    return share(holds(rng) for rng in generators(tries, 42))
