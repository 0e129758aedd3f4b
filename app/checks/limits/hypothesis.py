"""A possible limit of a trial: how far the resource was used, and what speaks against it."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from suites.quantities import share_text
from suites.verdict import Limiter

FULL = 0.9
"""The share in use from which a resource counts as saturated: an M/M/1 queue at 90 % holds nine waiting requests."""

ENOUGH_SECONDS = 5
"""Fewest samples of a flat rate."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A limit that may explain the figure.

    `used` is how far it was used, from 0 to 1; None if unknown. It explains the figure from `enough` on, unless
    something speaks `against` it. `counter` is the evidence with its figures, `then` the test that confirms it.
    """

    limiter: Limiter
    used: float | None
    counter: str
    then: str
    against: tuple[str, ...] = ()
    enough: float = FULL

    @property
    def explains(self) -> bool:
        """Whether it explains the figure."""
        return self.used is not None and self.used >= self.enough and not self.against


UNCOUNTED = "the CPU time of the test’s own processes was not counted"
"""What speaks against a hypothesis on the counters of the whole host: they may be the work of others."""


def objections(*found: tuple[object, str]) -> tuple[str, ...]:
    """Return the texts of those conditions that hold: what speaks against a hypothesis."""
    return tuple(text for holds, text in found if holds)


def spread(values: Sequence[float]) -> float | None:
    """Return the interquartile range relative to the median; None for fewer than ENOUGH_SECONDS samples.

    A single odd second does not count, even in a short trial.
    """
    if len(values) < ENOUGH_SECONDS:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle > 0 else None


def flat_text(what: str, values: Sequence[float], found: float) -> str:
    """Return how even a rate is."""
    return f"{what} has an interquartile range of {share_text(found)} over {len(values)} samples"
