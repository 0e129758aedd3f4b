"""What a rule of repetition decides, in words."""

from app.plans.repetition import Decision
from app.wording import duration_text, figure_text, metric_text
from suites.vocab import Labels, Metric


def decision_text(metric: Metric | None, labels: Labels, decision: Decision) -> str:
    """Return what the trials say so far: ``IOPS, read: 412k IOPS, ±3.1 % after 7 trials, wanted ±2 %``."""
    if metric is None:
        return decision.reason
    shown = decision.value is not None and not decision.of_ratio
    value = f"{figure_text(metric, decision.value, _half(decision))}, " if shown and decision.value is not None else ""
    return f"{metric_text(metric, labels)}: {value}{decision.reason}"


def forecast_text(decision: Decision) -> str:
    """Return what is still to come: ``about 5 more trials, 2 min``; an empty string where nothing is."""
    if decision.stop:
        return ""
    if decision.more is None:
        return "how many more trials it takes is not known"
    plural = "" if decision.more == 1 else "s"
    time = "" if decision.seconds is None else f", {duration_text(decision.seconds)}"
    return f"about {decision.more} more trial{plural}{time}"


def _half(decision: Decision) -> float | None:
    """Return half the width of the interval, which decides how many digits are shown."""
    if decision.low is None or decision.high is None:
        return None
    return (decision.high - decision.low) / 2 or None
