"""Fits of the models of scaling, shown only where the data carry them; else the reason."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.comparing.intervals import student
from app.scaling.models import AMDAHL, LINEAR, ONE, USL, Model, peak_of

if TYPE_CHECKING:
    from app.scaling.models import Numbers

FEWEST_POINTS = 6
"""Points below which no model is fitted (check M29): the USL has three parameters, and points have to be left over."""

WIDEST = 0.10
"""The share by which a model may miss a point at most; one that misses by more does not describe what happens."""

SURE = 0.01
"""The error allowed to the claim that a model with one parameter more describes the points better (F test).

From 1 to 8 threads, points that follow Amdahl's law give the USL a peak that is not there in 52 % of cases where this
is not asked, and in under 1 % where it is (simulated for this project)."""

PAST = 1
"""Points that have to lie beyond the peak of the USL, and as many before it or at it: a peak that nobody has measured
on both sides is a guess."""

MEETS = 1e-4
"""The share by which a model misses no point where it meets them all: what is left is the search for its parameters,
and no model with one more describes that."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A parameter with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A model and its parameters. `residual` is the largest share by which it misses a point; `p` the p-value that
    the model with one parameter less describes the points as well; `peak` where the USL turns, with its interval."""

    model: str
    parameters: tuple[Estimate, ...]
    residual: float
    p: float
    source: str
    peak: Estimate | None = None

    def at(self, n: float) -> float:
        """Return what the model predicts of `n`."""
        import numpy as np

        first, *others = (each.value for each in self.parameters)
        model = next(model for model in (AMDAHL, USL) if model.name == self.model)
        return float(np.exp(model.predict(np.array([n]), math.log(first), *others))[0])


@dataclass(frozen=True, slots=True)
class _Fitted:
    model: Model
    values: "Numbers"
    covariance: "Numbers"
    residuals: "Numbers"

    @property
    def squares(self) -> float:
        return float(self.residuals @ self.residuals)

    @property
    def freedom(self) -> int:
        return len(self.residuals) - len(self.model.parameters)

    @property
    def widest(self) -> float:
        return max(math.expm1(abs(float(each))) for each in self.residuals)


def fit_models(points: Sequence[tuple[float, float]]) -> tuple[Fit | None, tuple[str, ...]]:
    """Return the model that describes `points` (n, value) best of those that they carry, and why the others are not.

    Values are fitted by their logarithms, one point each, so that misses count as shares; intervals are Student's on
    the covariance that scipy's curve_fit gives. The simplest model that nothing contradicts is the one that stands;
    where that is the straight line, there is no fit to show.
    """
    refused = _too_few(points)
    if refused:
        return None, (refused,)
    import numpy as np

    n, logs = np.array([x for x, _ in points]), np.log([value for _, value in points])
    linear, amdahl, usl = (_fitted(model, n, logs) for model in (LINEAR, AMDAHL, USL))
    if linear is None or amdahl is None:
        return None, ("no model can be fitted: the search found no parameters",)
    fit, reason = (None, "the USL cannot be fitted") if usl is None else _usl(usl, amdahl, n)
    if fit is not None:
        return fit, ()
    simpler, why = _amdahl(amdahl, linear)
    return simpler, (f"no USL: {reason}", *([f"no Amdahl: {why}"] if why else []))


def _too_few(points: Sequence[tuple[float, float]]) -> str:
    if len(points) < FEWEST_POINTS:
        return f"no fit: it needs {FEWEST_POINTS} points, there are {len(points)}"
    if min(min(x, value) for x, value in points) <= 0:
        return "no fit: a point is not above zero"
    return ""


def _fitted(model: Model, n: "Numbers", logs: "Numbers") -> _Fitted | None:
    import warnings

    import numpy as np
    from scipy import optimize

    start = [float(logs[0] - np.log(n[0])), *([0.05, 0.001][: len(model.parameters) - 1])]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optimize.OptimizeWarning)  # an edge of the bounds has no curvature
            values, covariance = optimize.curve_fit(
                model.predict, n, logs, p0=start, bounds=model.bounds, method="trf", max_nfev=2000
            )
    except RuntimeError:  # scipy's word for a search that did not end
        return None
    return _Fitted(model, values, covariance, logs - model.predict(n, *values))


def _amdahl(fitted: _Fitted, simpler: _Fitted) -> tuple[Fit | None, str]:
    p = _improvement(fitted, simpler)
    refused = _no_better(fitted, simpler, p, "a straight line")
    return (None, refused) if refused else (_fit(fitted, p), "")


def _usl(fitted: _Fitted, simpler: _Fitted, n: "Numbers") -> tuple[Fit | None, str]:
    p = _improvement(fitted, simpler)
    refused = _no_better(fitted, simpler, p, "Amdahl's law")
    if refused:
        return None, refused
    peak = _peak(fitted)
    if peak is None:
        return None, "it has no peak"
    past = sum(float(each) > peak.value for each in n)
    if past < PAST or len(n) - past < PAST:
        where = "beyond" if past < PAST else "below"
        return None, f"its peak, at about {peak.value:.{0 if peak.value >= 1 else 1}f}, lies {where} what was measured"
    return _fit(fitted, p, peak), ""


def _no_better(fitted: _Fitted, simpler: _Fitted, p: float, called: str) -> str:
    """Return why a model does not stand beside the simpler one, which is `called` so; empty where it does.

    That nothing tells the two apart is no praise of the simpler one where it misses the points itself.
    """
    if fitted.widest > WIDEST:
        return f"it misses a point by {fitted.widest:.0%}"
    if p <= SURE:
        return ""
    if simpler.widest > WIDEST:
        return f"the points do not tell it from {called}, which misses one by {simpler.widest:.0%}"
    return f"{called} describes the points as well"


def _improvement(fitted: _Fitted, simpler: _Fitted) -> float:
    """Return the p-value that a parameter more describes the points no better than chance would (F test)."""
    from scipy import special

    gained = simpler.squares - fitted.squares
    if gained <= 0 or simpler.widest < MEETS:
        return 1.0
    if fitted.squares < 1e-24:  # the model meets every point
        return 0.0
    return float(special.fdtrc(1, fitted.freedom, gained / (fitted.squares / fitted.freedom)))


def _fit(fitted: _Fitted, p: float, peak: Estimate | None = None) -> Fit:
    import numpy as np

    reach = student(fitted.freedom)
    errors = np.sqrt(np.clip(np.diag(fitted.covariance), 0, None)) * reach
    parameters = []
    for name, value, error in zip(fitted.model.parameters, fitted.values, errors, strict=True):
        low, high = float(value - error), float(value + error)
        if name == ONE:
            parameters.append(Estimate(name, math.exp(value), math.exp(low), math.exp(high)))
        else:
            parameters.append(Estimate(name, float(value), max(0.0, low), high))
    return Fit(fitted.model.name, tuple(parameters), fitted.widest, p, fitted.model.source, peak)


def _peak(fitted: _Fitted) -> Estimate | None:
    """Return where the USL turns, its interval by the delta method on the logarithm."""
    _, serial, crosstalk = map(float, fitted.values)
    peak = peak_of(serial, crosstalk)
    if peak is None:
        return None
    import numpy as np

    slope = np.array([-0.5 / (1 - serial), -0.5 / crosstalk])
    variance = float(slope @ fitted.covariance[1:, 1:] @ slope)
    reach = student(fitted.freedom) * math.sqrt(max(0.0, variance))
    return Estimate("peak", peak, peak * math.exp(-min(reach, 50.0)), peak * math.exp(min(reach, 50.0)))
