"""The choice of a model for a curve: the simplest that its trials do not reject, or the reasons for none."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.centres import student
from app.json_converter import publish
from app.numeric import np, special
from app.scaling.knees import ROUNDING
from app.scaling.models import (
    AMDAHL,
    CROSSTALK,
    LIMIT,
    LINEAR,
    ONE,
    SERIAL,
    USL,
    WIDEST,
    CurveTrials,
    Fitted,
    clamped,
    fitted,
    is_exact,
)
from suites.quantities import share_text

FEWEST_POINTS = 6
"""Fewest points for a fit (check M29): the USL has three parameters, and residuals need degrees of freedom."""

SURE = 0.01
"""Significance level of the F tests, for one more parameter and for lack of fit.

For points from 1 to 8 threads that follow Amdahl's law, the USL has a false peak in 52 % of cases without the test, in
under 1 % with it (simulated for this project)."""

PAST = 1
"""Fewest points on each side of the USL's peak: a peak at the edge of the data is extrapolated."""

STRONGER = 6.0
"""Difference of the BIC from which a limit is preferred to the laws: strong evidence (Kass and Raftery 1995)."""

CLAMPED = "clamped"

SOURCES = {
    "Amdahl": "Amdahl 1967: a serial share of the work",
    "USL": "Gunther 2007: a serial share (contention), and a cost per pair (coherency)",
    CLAMPED: "linear or Amdahl's law below a hard limit, such as a quota or a rate limit",
}


@dataclass(frozen=True, slots=True)
class ParameterEstimate:
    """A parameter with its 95 % interval; without one it is at its bound, and not estimated."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model, of the trials of all points.

    `residual` is the largest relative residual of a point, `p` the p-value of the F test against the model with one
    parameter less (None for a limit), `lack_of_fit` that of the test against the pure error of the trials (None with
    too few), `peak` the peak of the USL with its interval, `clamped_from` the first point at a limit.
    """

    model: str
    parameters: tuple[ParameterEstimate, ...]
    residual: float
    p: float | None
    source: str
    peak: ParameterEstimate | None = None
    lack_of_fit: float | None = None
    clamped_from: float | None = None
    fitted: Fitted = field(kw_only=True, repr=False, compare=False)

    def at(self, n: float) -> float:
        """Return the fitted value at `n`."""
        return self.band([n])[0][0]

    def band(self, counts: Sequence[float]) -> list[tuple[float, float, float]]:
        """Return the fitted value at each n, and the bounds of its 95 % confidence band."""
        curves = self.fitted.curve(np.asarray(counts, dtype=float))
        return list(zip(*(np.exp(curve).tolist() for curve in curves), strict=True))


def fit_models(points: Sequence[tuple[float, Sequence[float]]]) -> tuple[Fit | None, tuple[str, ...]]:
    """Return the accepted model of `points` (n, values of the trials), and the reasons against the others.

    All trials are fitted, as logarithms. The simplest law that is not rejected is accepted; for the straight line there
    is no fit. A model is rejected by a significant lack of fit (F test against the pure error of the trials), or by a
    residual above WIDEST.
    """
    refused = _too_few(points)
    if refused:
        return None, (refused,)
    trials = CurveTrials.of(points)
    linear, amdahl, usl = (fitted(trials, law) for law in (LINEAR, AMDAHL, USL))
    if linear is None or amdahl is None:
        return None, ("no fit: the optimisation did not converge",)
    laws = [law for law in (linear, amdahl, usl) if law is not None]
    clamp = _clamp(trials, min(law.bic for law in laws))
    if clamp is not None:
        return _fit(CLAMPED, clamp, None), ()
    if _is_flat(laws[-1]):
        return None, (f"no fit: {_without_law(trials)}",)
    fit, reason = (None, "the optimisation did not converge") if usl is None else _fit_usl(usl, amdahl)
    if fit is not None:
        return fit, ()
    simpler, why = _fit_amdahl(amdahl, linear)
    return simpler, (f"no USL: {reason}", *([f"no Amdahl: {why}"] if why else []))


def _too_few(points: Sequence[tuple[float, Sequence[float]]]) -> str:
    if len(points) < FEWEST_POINTS:
        return f"no fit: needs {FEWEST_POINTS} points, has {len(points)}"
    if min(min(x, *values) for x, values in points) <= 0:
        return "no fit: a point is not above zero"
    return ""


def _clamp(trials: CurveTrials, bic: float) -> Fitted | None:
    """Return the limit whose BIC is well below that of the best law, `bic`, and that is not rejected; else None.

    Below the limit the law is linear, unless Amdahl's is as much better.
    """
    best = None
    for law in (LINEAR, AMDAHL):
        one = clamped(trials, law)
        if one is not None and one.bic < (bic if best is None else best.bic) - STRONGER:
            best = one
    return None if best is None or _misfit(best) else best


def _is_flat(law: Fitted) -> bool:
    """Return whether a law is not significantly better than a constant, the law with a serial share of 1."""
    if law.squares < ROUNDING:
        return law.trials.squares < ROUNDING
    more = max(1, law.parameters - 1)
    gained = max(0.0, law.trials.squares - law.squares) / more
    return float(special.fdtrc(more, law.freedom, gained / law.variance)) > SURE


def _without_law(trials: CurveTrials) -> str:
    """Return what a curve is that no law describes better than a constant (one-way analysis of variance)."""
    if trials.squares < ROUNDING:
        return "no significant difference between the points"
    if not trials.freedom:
        return "no law fits better than a constant"
    more = len(trials.points) - 1
    ratio = (trials.squares - trials.pure) / more / max(trials.pure / trials.freedom, ROUNDING)
    differ = float(special.fdtrc(more, trials.freedom, ratio)) <= SURE
    return "the points differ, but follow no law" if differ else "no significant difference between the points"


def _fit_amdahl(law: Fitted, simpler: Fitted) -> tuple[Fit | None, str]:
    p = _improvement(law, simpler)
    refused = _no_better(law, simpler, p, "a straight line")
    return (None, refused) if refused else (_fit("Amdahl", law, p), "")


def _fit_usl(law: Fitted, simpler: Fitted) -> tuple[Fit | None, str]:
    p = _improvement(law, simpler)
    refused = _no_better(law, simpler, p, "Amdahl's law")
    if refused:
        return None, refused
    peak = _peak(law)
    if isinstance(peak, str):
        return None, peak
    points = law.trials.points
    past = int((points > peak.value).sum())
    if past < PAST or len(points) - past < PAST:
        where = "beyond" if past < PAST else "below"
        return None, f"its peak, at about {peak.value:.{0 if peak.value >= 1 else 1}f}, is {where} the measured points"
    return _fit("USL", law, p, peak), ""


def _no_better(law: Fitted, simpler: Fitted, p: float, called: str) -> str:
    """Return why a law is rejected against the simpler one, `called` so; empty if it is accepted.

    If both are equally good, the reason names the misfit of a simpler one that is rejected itself.
    """
    misfit = _misfit(law)
    if misfit:
        return misfit
    if p <= SURE:
        return ""
    misfit = _misfit(simpler)
    return f"no better than {called} ({misfit})" if misfit else f"{called} fits as well"


def _misfit(one: Fitted) -> str:
    """Return why a model does not fit the points, or an empty text."""
    p = _lack_of_fit(one)
    if p is not None and p <= SURE:
        return f"significant lack of fit (F test, p = {p:.1g}), largest residual {share_text(one.widest)}"
    return f"largest residual {share_text(one.widest)}" if one.widest > WIDEST else ""


def _lack_of_fit(one: Fitted) -> float | None:
    """Return the p-value of the F test for lack of fit; None without the pure error of at least two trials a point."""
    trials = one.trials
    spare = len(trials.points) - one.parameters
    if not trials.freedom or trials.pure < ROUNDING or spare < 1:
        return None
    excess = max(0.0, one.squares - trials.pure) / spare
    return float(special.fdtrc(spare, trials.freedom, excess / (trials.pure / trials.freedom)))


def _improvement(law: Fitted, simpler: Fitted) -> float:
    """Return the p-value of the F test for one more parameter; 1 if it is at its bound."""
    gained = simpler.squares - law.squares
    if gained <= 0 or is_exact(simpler):
        return 1.0
    if law.squares < ROUNDING:  # exact fit
        return 0.0
    return float(special.fdtrc(1, law.freedom, gained / law.variance))


def _fit(model: str, one: Fitted, p: float | None, peak: ParameterEstimate | None = None) -> Fit:
    reach = student(one.freedom) * one.variance**0.5
    free = dict(zip(one.free, reach * np.sqrt(np.diag(one.inverse)), strict=True))
    names = {"USL": (ONE, SERIAL, CROSSTALK), "Amdahl": (ONE, SERIAL)}.get(model, (ONE, SERIAL)[: len(one.free)])
    parameters = [_estimate(name, float(one.values[index]), free.get(index)) for index, name in enumerate(names)]
    if one.clamp is not None:
        parameters.append(_estimate(LIMIT, one.clamp.level, reach / one.clamp.count**0.5))
    return Fit(
        model, tuple(parameters), one.widest, p, SOURCES[model], peak, _lack_of_fit(one),
        None if one.clamp is None else one.clamp.since, fitted=one,
    )  # fmt: skip


def _estimate(name: str, value: float, half: float | None) -> ParameterEstimate:
    """Return a parameter with its interval, cut at its bounds; without a `half` width it is at its bound."""
    if half is None:
        return ParameterEstimate(name, value)
    low, high = value - float(half), value + float(half)
    if name in {ONE, LIMIT}:  # fitted as logarithms
        return ParameterEstimate(name, math.exp(value), math.exp(low), math.exp(high))
    return ParameterEstimate(name, value, max(0.0, low), min(1.0, high))


def _peak(law: Fitted) -> ParameterEstimate | str:
    """Return the USL's peak, sqrt((1 - serial) / crosstalk), or why there is none.

    Its interval is that of the delta method on the logarithm; it is unbounded if that of the crosstalk includes 0.
    """
    _, serial, crosstalk = map(float, law.values)
    if crosstalk <= 0 or serial >= 1:
        return "no peak"
    slope = np.array([{1: -0.5 / (1 - serial), 2: -0.5 / crosstalk}.get(index, 0.0) for index in law.free])
    reach = student(law.freedom) * law.variance**0.5
    if crosstalk <= reach * float(law.inverse[-1, -1]) ** 0.5:
        return "the interval of its peak is unbounded"
    half = min(reach * float(slope @ law.inverse @ slope) ** 0.5, 50.0)
    peak = ((1 - serial) / crosstalk) ** 0.5
    return ParameterEstimate("peak", peak, peak * math.exp(-half), peak * math.exp(half))


publish(Fit, "model parameters residual p lack_of_fit source peak clamped_from")
