"""Scaling laws (linear, Amdahl's law, Gunther's USL) and a hard limit, fitted to the trials of all points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.centres import student
from app.numeric import Numbers, np, optimize
from app.scaling.knees import ROUNDING, pure_error

ONE, SERIAL, CROSSTALK, LIMIT = "value at 1", "serial share", "crosstalk", "limit"
"""Names of the parameters: lambda, sigma and kappa of the USL, and the level of a limit."""

LINEAR, AMDAHL, USL = (0,), (0, 1), (0, 1, 2)
"""The laws, by the free ones of the USL's parameters; the others are 0."""

MEETS = 1e-4
"""Relative residual below which a fit is exact, and effect of a parameter below which it is at its bound."""

WIDEST = 0.10
"""Largest relative residual of a point's geometric mean in an accepted model."""


@dataclass(frozen=True, slots=True)
class CurveTrials:
    """The trials of a curve: the n and the logarithm of the value of each, sorted by n, and the pure error.

    `pure` is the sum of squares within the points, `freedom` its degrees of freedom; both 0 with fewer than two trials
    a point.
    """

    n: "Numbers"
    logs: "Numbers"
    pure: float
    freedom: int

    @classmethod
    def of(cls, points: Sequence[tuple[float, Sequence[float]]]) -> "CurveTrials":
        """Return the trials of points (n, values above zero)."""
        ordered = sorted((x, np.log(np.asarray(values, dtype=float))) for x, values in points)
        variance, freedom = pure_error([list(own) for _, own in ordered])
        n = np.repeat([x for x, _ in ordered], [len(own) for _, own in ordered])
        return cls(n, np.concatenate([own for _, own in ordered]), variance * freedom, freedom)

    @property
    def squares(self) -> float:
        """The sum of the squared deviations from their mean."""
        return float(((self.logs - self.logs.mean()) ** 2).sum())

    @property
    def points(self) -> "Numbers":
        """The n of the points."""
        return np.unique(self.n)

    def where(self, chosen: "np.ndarray[Any, np.dtype[np.bool_]]") -> "CurveTrials":
        """Return some of the trials, without their pure error."""
        return replace(self, n=self.n[chosen], logs=self.logs[chosen], pure=0.0, freedom=0)


@dataclass(frozen=True, slots=True)
class Clamp:
    """A hard limit: the logarithm of its level, the number of trials at it, and the first point at it."""

    level: float
    count: int
    since: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fit by least squares of the logarithms, so that residuals are relative.

    `values` are all parameters of the USL, the first as a logarithm; `inverse` is the inverse of the normal matrix of
    the `free` ones. With a `clamp`, the law is that of the points below it.
    """

    trials: CurveTrials
    free: tuple[int, ...]
    values: "Numbers"
    inverse: "Numbers"
    residuals: "Numbers"
    clamp: Clamp | None = None

    @property
    def squares(self) -> float:
        """The sum of the squared residuals."""
        return float(self.residuals @ self.residuals)

    @property
    def parameters(self) -> int:
        """The number of estimated parameters; a limit is two, its level and its first point."""
        return len(self.free) + (0 if self.clamp is None else 2)

    @property
    def freedom(self) -> int:
        """The residual degrees of freedom."""
        return len(self.residuals) - self.parameters

    @property
    def variance(self) -> float:
        """The variance of a trial's logarithm."""
        return self.squares / self.freedom if self.freedom > 0 else math.nan

    @property
    def widest(self) -> float:
        """The largest relative residual of a point's geometric mean."""
        means = [abs(float(self.residuals[self.trials.n == x].mean())) for x in self.trials.points]
        return round(math.expm1(max(means)), 12)  # the rest is rounding

    @property
    def bic(self) -> float:
        """The Bayesian information criterion (Schwarz 1978)."""
        count = len(self.residuals)
        return count * math.log(max(self.squares / count, MEETS**2)) + self.parameters * math.log(count)

    def curve(self, n: "Numbers") -> tuple["Numbers", "Numbers", "Numbers"]:
        """Return the logarithms of the curve at `n`, and the bounds of its pointwise 95 % confidence band."""
        middle = predicted(n, *self.values)
        slopes = _slopes(n, *self.values)[:, list(self.free)]
        reach = student(self.freedom) * self.variance**0.5
        half = reach * np.sqrt(np.einsum("ij,jk,ik->i", slopes, self.inverse, slopes))
        if self.clamp is None:
            return middle, middle - half, middle + half
        level, flat = self.clamp.level, reach / self.clamp.count**0.5
        return (np.minimum(middle, level), np.minimum(middle - half, level - flat),
                np.minimum(middle + half, level + flat))  # fmt: skip


def predicted(n: "Numbers", one: float, serial: float, crosstalk: float) -> "Numbers":
    """Return the logarithm of the USL."""
    return np.asarray(one + np.log(n) - np.log1p(serial * (n - 1) + crosstalk * n * (n - 1)), dtype=float)


def _slopes(n: "Numbers", _one: float, serial: float, crosstalk: float) -> "Numbers":
    whole = 1 + serial * (n - 1) + crosstalk * n * (n - 1)
    return np.stack([np.ones_like(n), -(n - 1) / whole, -n * (n - 1) / whole], axis=1)


def fitted(trials: CurveTrials, free: tuple[int, ...]) -> Fitted | None:
    """Return the fit of the law with the `free` parameters, each of the others 0; None if it does not converge.

    A parameter at its bound is not estimated: the law is fitted again without it.
    """
    n, logs = trials.n, trials.logs

    def full(given: "Numbers") -> "Numbers":
        values = np.zeros(3)
        values[list(free)] = given
        return values

    start = [float(np.mean(logs - np.log(n))), 0.05, 0.001]
    lower, upper = [-math.inf, 0.0, 0.0], [math.inf, 1.0, 1.0]

    def residuals(given: "Numbers") -> "Numbers":
        return predicted(n, *full(given)) - logs

    def slopes(given: "Numbers") -> "Numbers":
        return _slopes(n, *full(given))[:, list(free)]

    estimate = np.array([start[index] for index in free])
    if len(free) > 1:  # of the straight line, the start is the estimate
        bounds = [lower[index] for index in free], [upper[index] for index in free]
        found = optimize.least_squares(residuals, estimate, slopes, bounds, max_nfev=2000, xtol=1e-10, ftol=1e-10)
        if not found.success:
            return None
        estimate = found.x
    values, largest = full(estimate), float(n.max())
    reach = (math.inf, largest, largest**2)
    kept = tuple(index for index in free if values[index] * reach[index] > MEETS or not index)
    if kept != free:
        return fitted(trials, kept)
    jacobian = slopes(estimate)
    inverse = np.asarray(np.linalg.pinv(jacobian.T @ jacobian), dtype=float)
    return Fitted(trials, free, values, inverse, -residuals(estimate))


FEWEST_AT_LIMIT = 3
"""Fewest points at a limit: of two equal ones, one is a coincidence."""

ALIKE = 3.84
"""The 95 % quantile of chi-square with one degree of freedom."""

STEP = 0.05
"""Largest logarithm by which a limit may be above the law below it, or that law's last point above the limit."""


def clamped(trials: CurveTrials, free: tuple[int, ...]) -> Fitted | None:
    """Return the best fit of a law that ends at a hard limit, as of a quota or a rate limit; None if there is none.

    For each first point at the limit: the law on the points below, the mean of the trials from there on. Of those that
    the trials do not tell apart (likelihood ratio, 5 %), it is the earliest: the point at which a quota is reached is
    on both the law and the limit.
    """
    points = trials.points
    found = []
    for index in range(len(free), len(points) - FEWEST_AT_LIMIT + 1):
        since = float(points[index])
        below, at = trials.n < since, trials.n >= since
        law = fitted(trials.where(below), free)
        if law is None:
            continue
        level = float(trials.logs[at].mean())
        last, first = predicted(points[index - 1 : index + 1], *law.values)
        if first < level - STEP or last > level + STEP:
            continue
        residuals = np.concatenate([law.residuals, trials.logs[at] - level])
        clamp = Clamp(level, int(at.sum()), since)
        found.append(replace(law, trials=trials, residuals=residuals, clamp=clamp))
    least = min(found, key=lambda one: one.squares, default=None)
    return next((one for one in found if least and one.squares <= least.squares + ALIKE * least.variance), None)


def is_exact(one: Fitted) -> bool:
    """Return whether a fit meets every trial but for numerical error, which one more parameter must not fit."""
    return math.expm1(float(np.abs(one.residuals).max())) < MEETS or one.squares < ROUNDING
