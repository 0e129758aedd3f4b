"""What designs for a smallest detectable difference do on simulated sessions whose noise is known, or estimated."""

from collections.abc import Iterator

import numpy as np

from app.calibration.sessions import SessionNoise, noise_of
from app.centres import geometric_mean_of
from app.comparison.estimates import ratio_of
from tests.simulation.experiments import RATE, Share, generators, share

Nested = tuple[float, float]
"""Coefficients of variation of trials within a session, and of sessions."""


def _side(rng: np.random.Generator, noise: Nested, design: tuple[int, int], factor: float = 1.0) -> list[list[float]]:
    """Return the trials of the sessions of one side."""
    trial, session = (np.sqrt(np.log1p(cov**2)) for cov in noise)
    levels = rng.normal(np.log(1000 * factor), session, design[0])
    return [list(np.exp(rng.normal(level, trial, design[1]))) for level in levels]


def _shown(rng: np.random.Generator, noise: Nested, design: tuple[int, int], difference: float) -> bool:
    """Return whether a comparison shows a difference: of means of sessions, or of the trials of single ones."""
    one, other = _side(rng, noise, design, 1 + difference), _side(rng, noise, design)
    sides = (
        (one[0], other[0])
        if design[0] == 1
        else ([geometric_mean_of(part).value for part in side] for side in (one, other))
    )
    ratio = ratio_of(*sides)
    return not isinstance(ratio, str) and ratio.low is not None and ratio.low > 1


def power(noise: Nested, design: tuple[int, int], tries: int, seed: int = 41) -> Share:
    """Return how often a comparison of `design` shows the smallest difference that its noise lets it show.

    One session on a side: with no variation between sessions, as the claim is within one.
    """
    difference = SessionNoise(RATE, (), 3, 30, *noise).detectable(*design) or 0.0
    actual = (noise[0], 0.0) if design[0] == 1 else noise
    return share(_shown(rng, actual, design, difference) for rng in generators(tries, seed))


def planned(noise: Nested, sessions: int, wanted: float, tries: int, seed: int = 42) -> Share:
    """Return how often a design from `sessions` calibrations of ten trials shows `wanted`."""

    def answers() -> Iterator[bool]:
        for rng in generators(tries, seed):
            found = noise_of(RATE, (), _side(rng, noise, (sessions, 10)))
            design = None if found is None else found.design(wanted)
            yield design is not None and _shown(rng, noise, design, wanted)

    return share(answers())
