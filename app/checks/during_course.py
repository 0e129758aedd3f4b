"""How the rate of a trial goes while it runs: a burst that is used up, a start that does not end."""

import math
from dataclasses import replace
from itertools import pairwise

from app.checks import after_time
from app.checks.after_rounds import by_rounds
from app.checks.after_time import APART, FEWEST, bucket_in
from app.checks.during_words import RUNNING
from app.comparing.levels import within_of
from app.wording import duration_text, figure_text, share_text
from suites.base import metrics_of
from suites.checks import Check, Outcome, TrialCheck, When
from suites.evidence import DONE, TrialEvidence
from suites.vocab import Kind, Level, Metric, Sample

SETTLED = 10
"""Samples that the lower rate has to last while the trial still runs: a dip may end."""

SETTLED_PART = 0.1
"""The share of all samples that it has to last, too."""

LATE = 0.6
"""The share of the expected time after which a rate should no longer be on its way (M13: the last level has to last
a third of the run)."""

CLIMBS = 0.05
"""By which share each third has to differ from the one before."""


def _leading(trial: TrialEvidence) -> tuple[Metric, list[Sample]] | None:
    """Return the samples so far of the trial's leading rate, of the first labels that it has."""
    if trial.state not in {DONE, RUNNING} or by_rounds(trial):
        return None
    for metric in metrics_of(trial.suite, trial.values):
        first = next((one for one in trial.samples if one.metric.name == metric.name), None)
        if first is not None:
            found = list(trial.series(metric.name, first.labels))
            return (metric, found) if metric.kind is Kind.RATE and len(found) >= FEWEST else None
    return None


def _bucket(trial: TrialEvidence) -> Outcome | None:
    leading = _leading(trial) if trial.state == RUNNING else None
    if leading is None:
        return None
    metric, samples = leading
    least = max(SETTLED, round(SETTLED_PART * len(samples)))
    found = bucket_in(metric, samples[: -least + 5]), bucket_in(metric, samples)
    return found[1] if all(found) else None


def _on_its_way(trial: TrialEvidence) -> Outcome | None:
    leading = _leading(trial)
    if leading is None:
        return None
    metric, samples = leading
    late = trial.state == DONE or samples[-1].time >= LATE * (trial.expected or math.inf)
    third = len(samples) // 3
    thirds = (samples[:third], samples[third:-third], samples[-third:])
    parts = [_mean_and_error([one.value for one in part]) for part in thirds] if late else []
    if not parts or not _moves([mean for mean, _ in parts], [error for _, error in parts]):
        return None
    (first, _), (middle, _), (last, _) = parts
    way = "climbs" if last > first else "falls"
    means = ", then ".join(figure_text(metric, mean) for mean in (first, middle, last))
    return Outcome(f"After {duration_text(samples[-1].time)} the rate still {way}: {means}, a third of the time each.")


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean, and the square of its standard error without what a straight line explains."""
    import numpy as np

    at = np.arange(len(values), dtype=float)
    slope, start = np.polyfit(at, values, 1)
    within = within_of(np.asarray(values) - start - slope * at)
    return float(np.mean(values)), 0.0 if within is None else within.variance / within.worth


def _moves(means: list[float], errors: list[float]) -> bool:
    """Return whether each mean surely lies beyond the one before, all in one direction."""
    steps = [after - before for before, after in pairwise(means)]
    unsure = [APART * math.sqrt(before + after) for before, after in pairwise(errors)]
    least = CLIMBS * abs(means[1])
    return steps[0] * steps[1] > 0 and all(abs(step) >= max(least, u) for step, u in zip(steps, unsure, strict=True))


TOKEN_BUCKET = replace(
    next(check for check in after_time.OF_A_TRIAL if check.id == "token-bucket"), when=When.DURING, evaluate=_bucket
)
"""The same as after the trial, told as soon as the lower rate has lasted."""

OF_A_TRIAL: tuple[TrialCheck, ...] = (
    TOKEN_BUCKET,
    Check(
        id="still-on-its-way",
        level=Level.INFO,
        title="The rate has not settled",
        why="Caches, clocks or credits are still filling or draining: a longer trial gives another figure.",
        remedy="Let it ramp up longer or precondition the device, and measure longer.",
        source="Barrett et al., OOPSLA 2017: the last level has to be the longest part.",
        evaluate=_on_its_way,
        when=When.DURING,
        needs=f"the samples of the leading rate, when {share_text(LATE)} of the expected time is over",
    ),
)
