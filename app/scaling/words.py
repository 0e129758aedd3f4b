"""What scaling says, in words."""

from collections.abc import Iterator

from app.scaling.fits import Estimate, Fit
from app.scaling.models import ONE
from app.scaling.scaling import Scaling
from app.wording import figure_text, share_text


def scaling_lines(one: Scaling) -> Iterator[str]:
    """Yield what a curve says: its knee, its efficiency at the end, its model, and why there is no more."""
    foot = one.curve.label.replace("_", " ")
    last = one.curve.points[-1]
    if one.knee is not None:
        share = one.knee.median / max(point.median for point in one.curve.points)
        yield f"The knee is at {foot} = {one.knee.text}: {share_text(share)} of the best, and more gives hardly more."
    elif one.curve.growing:
        yield f"It still grows at {foot} = {last.text}: there is no knee below that."
    if one.base is not None and len(one.efficiencies) > 1:
        end = one.efficiencies[-1]
        sure = "" if end.low is None or end.high is None else f" (95 % CI {_percent(end.low)} to {_percent(end.high)})"
        base = f"of that at {foot} = {one.base.text}"
        yield f"At {foot} = {last.text} the efficiency is {_percent(end.value)}{sure} {base}."
    if one.fit is not None:
        yield fit_text(one, one.fit)
    for reason in one.reasons:
        yield f"{reason[:1].upper()}{reason[1:]}."


def fit_text(one: Scaling, fit: Fit) -> str:
    """Return a model in words, each parameter with its interval."""
    parts = [_parameter(one, each) for each in fit.parameters]
    if fit.peak is not None:
        parts.append(f"peak at {fit.peak.value:.0f} ({fit.peak.low:.0f} to {fit.peak.high:.0f})")
    return f"{fit.model}: {', '.join(parts)}; it misses no point by more than {share_text(fit.residual)}."


def _parameter(one: Scaling, each: Estimate) -> str:
    if each.name == ONE:
        texts = [figure_text(one.curve.metric, value) for value in (each.value, each.low, each.high)]
    else:
        texts = [share_text(value) for value in (each.value, each.low, each.high)]
    return f"{each.name} {texts[0]} ({texts[1]} to {texts[2]})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
