"""Trials whose truth is known: normal, skewed, on two levels, hanging together, on several hosts, drifting."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int], list[float]]
"""Draws so many trials whose true middle is 1."""


def normal(cov: float) -> Draw:
    """Return trials with a normal spread."""
    return lambda rng, count: _list(1 + cov * rng.normal(size=count))


def skewed(cov: float) -> Draw:
    """Return trials with a long tail upwards (log-normal), whose middle, all means of two, is 1."""
    # The pseudo-median of a log-normal spread has no closed form; for spreads this small it lies at exp(s^2 / 4).
    centre = math.exp(cov**2 / 4)
    return lambda rng, count: _list(rng.lognormal(0, cov, count) / centre)


def two_levels(separate: float, cov: float) -> Draw:
    """Return trials that fall on one of two levels with equal chance, `separate` of the middle from each other."""

    def draw(rng: np.random.Generator, count: int) -> list[float]:
        level = np.where(rng.random(count) < 0.5, 1 - separate / 2, 1 + separate / 2)
        return _list(level * (1 + cov * rng.normal(size=count)))

    return draw


def correlated(cov: float, coefficient: float) -> Draw:
    """Return trials that hang together: each keeps `coefficient` of the one before (AR(1))."""
    return lambda rng, count: _list(1 + cov * autoregressive(rng, count, coefficient))


def _list(values: Numbers) -> list[float]:
    return [float(value) for value in values]


def autoregressive(rng: np.random.Generator, count: int, coefficient: float) -> Numbers:
    """Return noise with a variance of 1 of which each value keeps `coefficient` of the one before."""
    steps = rng.normal(size=count) * math.sqrt(1 - coefficient**2)
    values = np.empty(count)
    value = rng.normal()
    for place in range(count):
        value = coefficient * value + steps[place]
        values[place] = value
    return values


def trials_of_samples(rng: np.random.Generator, trials: int, factor: float = 1.0) -> Numbers:
    """Return trials of 60 seconds each: seconds spread by 5 % and hang together with 0.8, trials by 2 %."""
    own = 1 + 0.02 * rng.normal(size=trials)
    return np.array([factor * one * (1 + 0.05 * autoregressive(rng, 60, 0.8)) for one in own])


def hosts(rng: np.random.Generator, count: int, factor: float = 1.0) -> Numbers:
    """Return five trials on each of some hosts: hosts spread by 3 %, trials by 2 %."""
    own = factor * (1 + 0.03 * rng.normal(size=count))
    return np.array([one * (1 + 0.02 * rng.normal(size=5)) for one in own])
