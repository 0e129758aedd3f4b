"""Scaling models (linear, Amdahl's law, Gunther's USL) and their fits, shown only if the data support them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.comparison.estimates import student
from app.numeric import Numbers, np, optimize, special

ONE, SERIAL, CROSSTALK = "value at 1", "serial share", "crosstalk"
"""Names of the parameters: lambda, sigma and kappa of the USL."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its name, its parameters, and the logarithm of its prediction for n.

    The first parameter is the logarithm of the value at 1; the others are bounded from below by 0.
    """

    name: str
    parameters: tuple[str, ...]
    predict: "Callable[..., Numbers]"
    source: str

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """Lower and upper bounds of the parameters."""
        free = len(self.parameters) - 1
        return [-math.inf, *[0.0] * free], [math.inf, *[1.0] * free]


def _linear(n: Numbers, one: float) -> Numbers:
    return np.asarray(one + np.log(n), dtype=float)


def _amdahl(n: Numbers, one: float, serial: float) -> Numbers:
    return np.asarray(one + np.log(n) - np.log1p(serial * (n - 1)), dtype=float)


def _usl(n: Numbers, one: float, serial: float, crosstalk: float) -> Numbers:
    return np.asarray(one + np.log(n) - np.log1p(serial * (n - 1) + crosstalk * n * (n - 1)), dtype=float)


LINEAR = Model("linear", (ONE,), _linear, "n times the value at 1")
AMDAHL = Model("Amdahl", (ONE, SERIAL), _amdahl, "Amdahl 1967: a serial share of the work")
USL = Model(
    "USL", (ONE, SERIAL, CROSSTALK), _usl, "Gunther 2007: a serial share (contention), and a cost per pair (coherency)"
)


def peak_of(serial: float, crosstalk: float) -> float | None:
    """Return the n of the USL's peak, sqrt((1 - serial) / crosstalk), or None."""
    return math.sqrt((1 - serial) / crosstalk) if crosstalk > 0 and serial < 1 else None


FEWEST_POINTS = 6
"""Fewest points for a fit (check M29): the USL has three parameters, and residuals need degrees of freedom."""

WIDEST = 0.10
"""Largest relative residual of an accepted model."""

SURE = 0.01
"""Significance level of the F test for one more parameter.

For points from 1 to 8 threads that follow Amdahl's law, the USL has a false peak in 52 % of cases without the test, in
under 1 % with it (simulated for this project)."""

PAST = 1
"""Fewest points on each side of the USL's peak: a peak at the edge of the data is extrapolated."""

MEETS = 1e-4
"""Relative residual below which a fit is exact: the rest is numerical error, which one more parameter must not fit."""


@dataclass(frozen=True, slots=True)
class ParameterEstimate:
    """A parameter with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model. `residual` is the largest relative residual, `p` the p-value of the F test against the model with
    one parameter less, `peak` the peak of the USL with its interval."""

    model: str
    parameters: tuple[ParameterEstimate, ...]
    residual: float
    p: float
    source: str
    peak: ParameterEstimate | None = None

    def at(self, n: float) -> float:
        """Return the prediction for `n`."""
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
    """Return the accepted model of `points` (n, value), and the reasons against the others.

    Logarithms of the values are fitted, so that residuals are relative; intervals are Student's on the covariance of
    scipy's curve_fit. The simplest model that is not rejected is accepted; for the straight line there is no fit.
    """
    refused = _too_few(points)
    if refused:
        return None, (refused,)
    n, logs = np.array([x for x, _ in points]), np.log([value for _, value in points])
    linear, amdahl, usl = (_fitted(model, n, logs) for model in (LINEAR, AMDAHL, USL))
    if linear is None or amdahl is None:
        return None, ("no fit: the optimisation did not converge",)
    fit, reason = (None, "the optimisation did not converge") if usl is None else _fit_usl(usl, amdahl, n)
    if fit is not None:
        return fit, ()
    simpler, why = _fit_amdahl(amdahl, linear)
    return simpler, (f"no USL: {reason}", *([f"no Amdahl: {why}"] if why else []))


def _too_few(points: Sequence[tuple[float, float]]) -> str:
    if len(points) < FEWEST_POINTS:
        return f"no fit: needs {FEWEST_POINTS} points, has {len(points)}"
    if min(min(x, value) for x, value in points) <= 0:
        return "no fit: a point is not above zero"
    return ""


def _fitted(model: Model, n: Numbers, logs: Numbers) -> _Fitted | None:
    import warnings

    start = [float(logs[0] - np.log(n[0])), *([0.05, 0.001][: len(model.parameters) - 1])]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optimize.OptimizeWarning)  # no covariance at a bound
            values, covariance = optimize.curve_fit(
                model.predict, n, logs, p0=start, bounds=model.bounds, method="trf", max_nfev=2000
            )
    except RuntimeError:  # curve_fit did not converge
        return None
    return _Fitted(model, values, covariance, logs - model.predict(n, *values))


def _fit_amdahl(fitted: _Fitted, simpler: _Fitted) -> tuple[Fit | None, str]:
    p = _improvement(fitted, simpler)
    refused = _no_better(fitted, simpler, p, "a straight line")
    return (None, refused) if refused else (_fit(fitted, p), "")


def _fit_usl(fitted: _Fitted, simpler: _Fitted, n: Numbers) -> tuple[Fit | None, str]:
    p = _improvement(fitted, simpler)
    refused = _no_better(fitted, simpler, p, "Amdahl's law")
    if refused:
        return None, refused
    peak = _peak(fitted)
    if peak is None:
        return None, "no peak"
    past = sum(float(each) > peak.value for each in n)
    if past < PAST or len(n) - past < PAST:
        where = "beyond" if past < PAST else "below"
        return None, f"its peak, at about {peak.value:.{0 if peak.value >= 1 else 1}f}, is {where} the measured points"
    return _fit(fitted, p, peak), ""


def _no_better(fitted: _Fitted, simpler: _Fitted, p: float, called: str) -> str:
    """Return why a model is rejected against the simpler one, `called` so; empty if it is accepted.

    If both are equally good, the reason names the residual of a simpler model that misses points itself.
    """
    if fitted.widest > WIDEST:
        return f"largest residual {fitted.widest:.0%}"
    if p <= SURE:
        return ""
    if simpler.widest > WIDEST:
        return f"no better than {called}, whose largest residual is {simpler.widest:.0%}"
    return f"{called} fits as well"


def _improvement(fitted: _Fitted, simpler: _Fitted) -> float:
    """Return the p-value of the F test for one more parameter."""
    gained = simpler.squares - fitted.squares
    if gained <= 0 or simpler.widest < MEETS:
        return 1.0
    if fitted.squares < 1e-24:  # exact fit
        return 0.0
    return float(special.fdtrc(1, fitted.freedom, gained / (fitted.squares / fitted.freedom)))


def _fit(fitted: _Fitted, p: float, peak: ParameterEstimate | None = None) -> Fit:
    reach = student(fitted.freedom)
    errors = np.sqrt(np.clip(np.diag(fitted.covariance), 0, None)) * reach
    parameters = []
    for name, value, error in zip(fitted.model.parameters, fitted.values, errors, strict=True):
        low, high = float(value - error), float(value + error)
        if name == ONE:
            parameters.append(ParameterEstimate(name, math.exp(value), math.exp(low), math.exp(high)))
        else:
            parameters.append(ParameterEstimate(name, float(value), max(0.0, low), high))
    return Fit(fitted.model.name, tuple(parameters), fitted.widest, p, fitted.model.source, peak)


def _peak(fitted: _Fitted) -> ParameterEstimate | None:
    """Return the peak of the USL, its interval by the delta method on the logarithm."""
    _, serial, crosstalk = map(float, fitted.values)
    peak = peak_of(serial, crosstalk)
    if peak is None:
        return None
    slope = np.array([-0.5 / (1 - serial), -0.5 / crosstalk])
    variance = float(slope @ fitted.covariance[1:, 1:] @ slope)
    reach = student(fitted.freedom) * math.sqrt(max(0.0, variance))
    return ParameterEstimate("peak", peak, peak * math.exp(-min(reach, 50.0)), peak * math.exp(min(reach, 50.0)))
