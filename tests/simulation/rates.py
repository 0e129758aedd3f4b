"""Rate series of trials whose shape is known, with the noise of real tools."""

import math
from collections.abc import Callable

import numpy as np

from app.checks.shapes import ShapeKind
from tests.simulation.noise import Numbers, autoregressive

Course = Callable[[np.random.Generator, int, float], Numbers]
"""Draws the relative rates of so many seconds, disturbed by an effect: 0.15 for 15 %."""


def noise(rng: np.random.Generator, count: int, cov: float, coefficient: float) -> Numbers:
    """Return the relative noise of a rate: AR(1), heavy tails in every third series."""
    made = autoregressive(rng, count, coefficient)
    if rng.random() < 1 / 3:
        made = made * np.sqrt(3 / rng.chisquare(5, count))  # Student's t, scaled to a variance of 1
    return cov * made


def flat(rng: np.random.Generator) -> Numbers:
    """Return a flat rate of 20 to 300 s: a CoV of 0.2-10 %, up to 3 % of trend, single outliers in every other one."""
    count = int(rng.integers(20, 301))
    values = 1 + noise(rng, count, float(np.exp(rng.uniform(np.log(0.002), np.log(0.1)))), float(rng.uniform(0, 0.6)))
    values += rng.uniform(-0.015, 0.015) * np.linspace(-1, 1, count)
    if rng.random() < 0.5:
        places = np.flatnonzero(rng.random(count) < 0.01)
        values[places] *= rng.uniform(0.5, 1.4, len(places))
    if rng.random() < 0.3:
        values[0] *= rng.uniform(0.6, 1.2)
    return np.maximum(values, 0.3) * 10 ** rng.uniform(1, 6)


def heteroscedastic(rng: np.random.Generator, count: int, cov: float) -> Numbers:
    """Return noise whose size changes slowly, by a factor of three."""
    turns = np.arange(count) / count * rng.uniform(0.5, 3) + rng.uniform()
    return cov * np.exp(math.log(3) / 2 * np.sin(2 * np.pi * turns)) * rng.standard_normal(count)


def in_slices(rng: np.random.Generator, count: int, cov: float) -> Numbers:
    """Return the noise of a rate granted in slices of 0.1 s: a second holds 9 to 11 of them."""
    granted = np.floor(np.arange(count + 1) * rng.uniform(9.5, 10.5) + rng.uniform())
    return np.diff(granted) / 10 * (1 + cov / 3 * rng.standard_normal(count)) - 1


NOISES: dict[str, Course] = {
    "white": lambda rng, count, cov: cov * rng.standard_normal(count),
    "AR(1)": lambda rng, count, cov: cov * autoregressive(rng, count, float(rng.uniform(0.2, 0.6))),
    "heteroscedastic": heteroscedastic,
    "in slices": in_slices,
}
"""Noise of a flat rate, of a CoV, for so many seconds."""


def flat_with(name: str, seed: int) -> Numbers:
    """Return a flat rate of 20 to 300 s with one of NOISES, of a CoV of 0.2-10 %."""
    rng = np.random.default_rng([seed, 5])
    count, cov = int(rng.integers(20, 301)), float(np.exp(rng.uniform(np.log(0.002), np.log(0.1))))
    return np.maximum(1 + NOISES[name](rng, count, cov), 0.2) * 4000


def on_a_busy_host(kind: ShapeKind, seconds: int, effect: float, seed: int) -> Numbers:
    """Return the rates of a shape as busy hosts have them: a twelfth of the seconds are up to a quarter lower."""
    rng = np.random.default_rng([seed, seconds])
    values = COURSES[kind](rng, seconds, effect) * (1 + 0.01 * rng.standard_normal(seconds))
    odd = rng.random(seconds) < 1 / 12
    values[odd] *= rng.uniform(0.75, 0.97, int(odd.sum()))
    for place in np.flatnonzero(np.abs(np.diff(values)) > effect / 2)[:1]:  # a change happens within a second
        values[place] += rng.uniform() * (values[place + 1] - values[place])
    return np.maximum(values, 0.0) * 4000


def _parts(count: int, parts: list[tuple[float, float, float]]) -> Numbers:
    values = np.ones(count)
    for since, until, level in parts:
        values[round(since) : round(until)] = level
    return values


def decay(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return a linear or exponential fall to the end."""
    at = np.linspace(0, 1, count)
    if rng.random() < 0.5:
        return 1 - effect * at
    tau = rng.uniform(0.25, 0.5)
    return 1 - effect * (1 - np.exp(-at / tau)) / (1 - np.exp(-1 / tau))


def rise(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return a linear or exponential rise to the end."""
    return 2 - effect - decay(rng, count, effect)


def dip(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return one low part of 3 s to a tenth, not at the ends."""
    length = max(3.0, rng.uniform(0.08, 0.2) * count)
    since = rng.uniform(0.15, 0.85) * (count - length - 8) + 4
    return _parts(count, [(since, since + length, 1 - effect)])


def peak(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return one high part."""
    return 2 - dip(rng, count, effect)


def telegraph(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return two levels that alternate, of 3 s to a sixth of the time each."""
    values, now, low = np.ones(count), 0.0, bool(rng.random() < 0.5)
    while now < count:
        length = rng.uniform(4, max(5, count / 7))
        if low:
            values[round(now) : round(now + length)] = 1 - effect
        now, low = now + length, not low
    return values


def stall(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return stalls of twice the effect in seconds, every 5 s to a fifth of the time."""
    period = rng.uniform(5, max(5.5, min(20, count / 5)))
    fine = np.ones(count * 100)
    start, step, length = rng.uniform(0.5, period - 0.5), period, 2 * effect
    while start < count:
        fine[round(100 * start) : round(100 * (start + length))] = 0
        start += step
    return fine.reshape(count, 100).mean(axis=1)


def step_down(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return a drop in the second half."""
    return _parts(count, [(rng.uniform(0.5, 0.8) * count, count, 1 - effect)])


def step_up(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return a rise to another level."""
    return _parts(count, [(0, rng.uniform(0.25, 0.8) * count, 1 - effect)])


def burst(rng: np.random.Generator, count: int, effect: float) -> Numbers:
    """Return a higher rate in the first tenth to third."""
    return _parts(count, [(max(4.0, rng.uniform(0.1, 0.33) * count), count, 1 - effect)])


COURSES: dict[ShapeKind, Course] = {
    ShapeKind.DECAY: decay,
    ShapeKind.RISE: rise,
    ShapeKind.DIP: dip,
    ShapeKind.PEAK: peak,
    ShapeKind.TELEGRAPH: telegraph,
    ShapeKind.STALL: stall,
    ShapeKind.STEP_DOWN: step_down,
    ShapeKind.STEP_UP: step_up,
    ShapeKind.BURST: burst,
}


def course(kind: ShapeKind, seconds: int, effect: float, cov: float, seed: int) -> Numbers:
    """Return the rates of a shape, one a second, with noise of an autocorrelation of 0.3."""
    rng = np.random.default_rng([seed, seconds])
    return np.maximum(COURSES[kind](rng, seconds, effect) * (1 + noise(rng, seconds, cov, 0.3)), 0.0) * 4000
