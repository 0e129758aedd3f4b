"""Simulated duets with a known ratio and a known effect of the halves, and disturbances that both sides share."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.comparison.crossover import crossover_of
from app.comparison.estimates import Ratio, paired_ratio_of, ratio_of
from tests.simulation.experiments import Share, generators, share


@dataclass(frozen=True, slots=True)
class DuetWorld:
    """The truth: the ratio and the effect of the halves; the spread (logarithms) of what is shared, and of the rest."""

    trials: int = 10
    ratio: float = 1.03
    half_effect: float = 1.10
    shared: float = 0.08
    own: float = 0.02

    def draw(self, generator: np.random.Generator) -> tuple[list[float], list[float], list[bool]]:
        """Return the values of both sides, and whether the first was on the first half."""
        moments, ours, theirs = (
            generator.normal(0.0, spread, self.trials) for spread in (self.shared, self.own, self.own)
        )
        on_first = [number % 2 == 1 for number in range(1, self.trials + 1)]
        half = np.array([0.5 if first else -0.5 for first in on_first]) * math.log(self.half_effect)
        values = np.exp(math.log(self.ratio) + moments + half + ours)
        return values.tolist(), np.exp(moments - half + theirs).tolist(), on_first


def estimates(world: DuetWorld, tries: int, seed: int = 1) -> Iterator[tuple[Ratio, Ratio]]:
    """Yield the estimate of the ratio and of the effect of the halves of each experiment."""
    for generator in generators(tries, seed):
        found = crossover_of(*world.draw(generator))
        if isinstance(found, str) or found[1] is None:
            raise TypeError(found)
        yield found[0], found[1]


def coverages(world: DuetWorld, tries: int, seed: int = 1) -> tuple[Share, Share]:
    """Return how often the intervals of the ratio and of the effect contain the truth."""
    found = list(estimates(world, tries, seed))
    return (
        share(_contains(ratio, world.ratio) for ratio, _ in found),
        share(_contains(effect, world.half_effect) for _, effect in found),
    )


def widths(world: DuetWorld, tries: int, seed: int = 1) -> dict[str, float]:
    """Return the mean width (logarithms) of the intervals of a crossover, of plain pairs and of unpaired sides."""
    found: dict[str, list[float]] = {"crossover": [], "pairs": [], "unpaired": []}
    for generator in generators(tries, seed):
        values, baseline, on_first = world.draw(generator)
        crossed = crossover_of(values, baseline, on_first)
        ratios = {
            "crossover": crossed if isinstance(crossed, str) else crossed[0],
            "pairs": paired_ratio_of(values, baseline),
            "unpaired": ratio_of(values, baseline),
        }
        for name, ratio in ratios.items():
            found[name].append(_width(ratio))
    return {name: float(np.mean(each)) for name, each in found.items()}


def _contains(ratio: Ratio, truth: float) -> bool:
    return ratio.low is not None and ratio.high is not None and ratio.low <= truth <= ratio.high


def _width(ratio: Ratio | str) -> float:
    if isinstance(ratio, str) or ratio.low is None or ratio.high is None:
        raise TypeError(ratio)
    return math.log(ratio.high / ratio.low)
