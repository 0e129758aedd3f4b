"""Checks of the rate over a trial: token buckets, changes late in it, and steady state by both criteria."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from app.change_points import change_point
from app.checks.evidence import RUNNING
from app.comparison.estimates import within_of
from suites.checks import Check, CheckOutcome, CheckPhase
from suites.evidence import DONE, TrialCheck, TrialEvidence
from suites.quantities import duration_text, figure_text, quantity, share_text
from suites.snia.output import ROUNDS, STEADY_AFTER, WINDOW_DIFFERENCE, WINDOW_RANGE, WINDOW_SLOPE
from suites.snia.steady import PTS_RANGE, PTS_SLOPE, WINDOW, WINDOWS_AGREE
from suites.verdict import Trust
from suites.vocab import Metric, MetricKind, Sample, Severity

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

FEWEST = 20
"""Fewest samples to tell a trend from noise."""

DROP = 0.10
"""Least relative drop of the rate that counts as an empty token bucket (check M12)."""

MIN_CHANGE_ERRORS = 4.0
"""Least difference of the two parts in standard errors, with the effective sample size (check M12)."""

STEP_EXPLAINS = 0.8
"""Greatest residual sum of squares of a step relative to a line's: below it, the drop is a step, not a slope."""

FLAT_SIDE = 0.25
"""Greatest difference of the halves of each side, relative to the drop: both sides must be level."""

PARTS = 10
"""Rounds that a trial is divided into; the last five are the measurement window of SNIA PTS."""

DOUBTFUL_DIFFERENCE = 0.20
"""Relative difference of the two windows from which the figure is doubtful instead of a caveat."""

LONG_ENOUGH = 60.0
"""Seconds of samples from which a steady state is required."""

LAST_PART = 1 / 3
"""Least share of a run that its last level must last (check M13, after Barrett 2017)."""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """A rate that dropped from `high` to `low` at `until` seconds, as when a token bucket is empty."""

    until: float
    high: float
    low: float

    @property
    def size(self) -> float:
        """The bucket's size: (high - low) × until, in the metric's unit times seconds."""
        return (self.high - self.low) * self.until


def token_bucket(times: Sequence[float], values: Sequence[float]) -> TokenBucket | None:
    """Return the single downward step of a rate that is level on both sides, or None.

    Simulated for this project, 300 s trials: detects 96 % of drops of 15 % at a CoV up to 5 %; false positives are
    1.7 % of steady trials and none of ramps and dips.
    """
    import numpy as np

    samples = np.asarray(values, dtype=float)
    if len(samples) < FEWEST:
        return None
    cut = change_point(samples)
    first, second = samples[:cut], samples[cut:]
    high, low = float(first.mean()), float(second.mean())
    if min(len(first), len(second)) < 5 or low >= (1 - DROP) * high:
        return None
    residual = float(((first - high) ** 2).sum() + ((second - low) ** 2).sum())
    if _standard_errors(first, second) < MIN_CHANGE_ERRORS or residual > STEP_EXPLAINS * _line_residual(samples):
        return None
    if not (_level(first, high - low) and _level(second, high - low)):
        return None
    return TokenBucket(float(times[cut - 1]), high, low)


def _standard_errors(first: "Numbers", second: "Numbers") -> float:
    """Return the difference of two means in standard errors, corrected for autocorrelation."""
    error = 0.0
    for part in (first, second):
        within = within_of(part)
        error += 0.0 if within is None else within.variance / within.worth
    distance = abs(float(first.mean() - second.mean()))
    return distance / math.sqrt(error) if error else math.inf if distance else 0.0


def _line_residual(samples: "Numbers") -> float:
    """Return the residual sum of squares of a least-squares line."""
    import numpy as np

    at = np.arange(len(samples), dtype=float)
    slope, start = np.polyfit(at, samples, 1)
    return float(((samples - start - slope * at) ** 2).sum())


def _level(part: "Numbers", drop: float) -> bool:
    half = len(part) // 2
    return abs(float(part[:half].mean() - part[half:].mean())) <= FLAT_SIDE * drop


@dataclass(frozen=True, slots=True)
class SteadyWindows:
    """The means of a trial's two halves, and the range and slope of the last half relative to its mean."""

    first: float
    last: float
    range: float
    slope: float

    @property
    def change(self) -> float:
        """The relative difference of the last window from the first."""
        return abs(self.last / self.first - 1) if self.first else math.inf

    @property
    def steady(self) -> bool:
        """Whether both criteria hold: the measurement window of PTS, and the agreement of two disjoint windows."""
        return self.range <= PTS_RANGE and self.slope <= PTS_SLOPE and self.change <= WINDOWS_AGREE


def windows_of(values: Sequence[float]) -> SteadyWindows | None:
    """Return the two windows of five rounds each; None for fewer than FEWEST samples or a mean of 0."""
    import numpy as np

    samples = np.asarray(values, dtype=float)
    if len(samples) < FEWEST:
        return None
    rounds = np.array([part.mean() for part in np.array_split(samples, PARTS)])
    first, last = rounds[: PARTS // 2], rounds[PARTS // 2 :]
    mean = float(last.mean())
    if not mean:
        return None
    slope = float(np.polyfit(np.arange(len(last), dtype=float), last, 1)[0]) * (len(last) - 1)
    return SteadyWindows(float(first.mean()), mean, float(np.ptp(last)) / mean, abs(slope) / mean)


def _headline_samples(trial: TrialEvidence) -> tuple[Metric, list[Sample]] | None:
    """Return the samples of the trial's headline rate; None for fewer than FEWEST."""
    figure = trial.headline
    if not trial.done or figure is None or figure.metric.kind is not MetricKind.RATE or by_rounds(trial):
        return None
    found = list(trial.headline_series())
    return (figure.metric, found) if len(found) >= FEWEST else None


def _bucket(trial: TrialEvidence) -> CheckOutcome | None:
    headline = _headline_samples(trial)
    if headline is None:
        return None
    return bucket_in(*headline)


def bucket_in(metric: Metric, samples: Sequence[Sample]) -> CheckOutcome | None:
    """Return the outcome for a token bucket in the samples of a rate; None without one."""
    found = token_bucket([one.time for one in samples], [one.value for one in samples])
    if found is None:
        return None
    size = quantity(found.size, metric.unit).removesuffix("/s")
    return CheckOutcome(
        f"{figure_text(metric, found.high)} until {duration_text(found.until)}, then "
        f"{figure_text(metric, found.low)}. This fits a token bucket of about {size} above the lower rate."
    )


def _unsteady(trial: TrialEvidence) -> CheckOutcome | None:
    if by_rounds(trial):
        return unsteady_rounds(trial) if trial.done else None
    headline = _headline_samples(trial)
    if headline is None or _bucket(trial) is not None:
        return None
    metric, samples = headline
    values = [one.value for one in samples]
    if samples[-1].time - samples[0].time < LONG_ENOUGH:
        return None
    found = windows_of(values)
    half = len(values) // 2
    if found is None or found.steady or not _significant(values, half, found):
        return None
    window = f"Last five of ten rounds: range {share_text(found.range)}, slope {share_text(found.slope)} of the mean"
    means = f"mean {figure_text(metric, found.last)}, first five {figure_text(metric, found.first)}"
    measured = f"{window}; {means} ({share_text(found.change)} difference)."
    return CheckOutcome(measured, trust=Trust.DOUBTFUL if found.change > DOUBTFUL_DIFFERENCE else None)


def _significant(values: Sequence[float], half: int, found: SteadyWindows) -> bool:
    """Return whether the change exceeds noise: the halves differ significantly, or the last window fails PTS."""
    import numpy as np

    samples = np.asarray(values, dtype=float)
    moved = found.change > WINDOWS_AGREE and _standard_errors(samples[:half], samples[half:]) >= MIN_CHANGE_ERRORS
    return moved or found.range > PTS_RANGE or found.slope > PTS_SLOPE


def _late_change(trial: TrialEvidence) -> CheckOutcome | None:
    import numpy as np

    headline = _headline_samples(trial)
    if headline is None or _bucket(trial) is not None:
        return None
    metric, samples = headline
    values = np.asarray([one.value for one in samples], dtype=float)
    cut = change_point(values)
    first, last = values[:cut], values[cut:]
    before, after = float(first.mean()), float(last.mean())
    if len(last) >= LAST_PART * len(values) or len(last) < 5 or not before:
        return None
    if abs(after / before - 1) < DROP or _standard_errors(first, last) < MIN_CHANGE_ERRORS:
        return None
    return CheckOutcome(
        f"{figure_text(metric, before)} until {duration_text(samples[cut - 1].time)}, "
        f"{figure_text(metric, after)} in the last {duration_text(samples[-1].time - samples[cut - 1].time)}."
    )


def by_rounds(trial: TrialEvidence) -> bool:
    """Return whether the trial's figures are those of its last rounds, independent of the rounds before."""
    return ROUNDS in trial.suite.metrics


def unsteady_rounds(trial: TrialEvidence) -> CheckOutcome | None:
    """Return the outcome for last rounds that are not steady by both criteria; None if they are.

    A missed criterion of the standard is an error. Met alone, the figure may be that of a slow decay: doubtful if
    two windows differ, a caveat if there are too few rounds for two.
    """
    rounds, difference = trial.value(ROUNDS.name), trial.value(WINDOW_DIFFERENCE.name)
    shares = (trial.value(WINDOW_RANGE.name), trial.value(WINDOW_SLOPE.name))
    if rounds is None or None in shares:
        return None
    windows = _rounds_text(trial)
    standard = rounds >= WINDOW and all(
        share is not None and share <= 100 * bound + 1e-6
        for share, bound in zip(shares, (PTS_RANGE, PTS_SLOPE), strict=True)
    )
    if not standard:
        return CheckOutcome(f"After {rounds:.0f} rounds: {windows}.", severity=Severity.ERROR, trust=Trust.DOUBTFUL)
    if difference is None:
        only = f"Steady by one window of {WINDOW} rounds only; {rounds:.0f} rounds are too few for two."
        return CheckOutcome(f"{only} {windows.capitalize()}.", trust=Trust.CAVEATS)
    if difference > 100 * WINDOWS_AGREE + 1e-6:
        level = Severity.WARNING if trial.value(STEADY_AFTER.name) else Severity.ERROR
        return CheckOutcome(f"After {rounds:.0f} rounds: {windows}.", severity=level, trust=Trust.DOUBTFUL)
    return None


def _rounds_text(trial: TrialEvidence) -> str:
    figures = {figure.metric.name: figure for figure in trial.figures if not figure.labels}
    parts = (
        (WINDOW_RANGE, "range {} of the mean over the last five", PTS_RANGE),
        (WINDOW_SLOPE, "slope {}", PTS_SLOPE),
        (WINDOW_DIFFERENCE, "difference {} from the five before", WINDOWS_AGREE),
    )
    return ", ".join(
        f"{text.format(figure_text(metric, figures[metric.name].value))} (at most {100 * bound:.0f} %)"
        for metric, text, bound in parts
        if metric.name in figures
    )


SETTLED = 10
"""Samples that the lower rate must last in a running trial: a dip may end."""

SETTLED_PART = 0.1
"""The share of all samples that the lower rate must last."""

LATE = 0.6
"""The share of the expected time after which the rate must have settled (M13: the last level must last a third of the
run)."""

CLIMBS = 0.05
"""Least relative difference of each third from the one before."""


def _headline_so_far(trial: TrialEvidence) -> tuple[Metric, list[Sample]] | None:
    """Return the samples so far of the trial's headline rate; None for fewer than FEWEST."""
    if trial.state not in {DONE, RUNNING} or by_rounds(trial):
        return None
    found = list(trial.headline_series())
    if len(found) < FEWEST or found[0].metric.kind is not MetricKind.RATE:
        return None
    return found[0].metric, found


def _bucket_so_far(trial: TrialEvidence) -> CheckOutcome | None:
    headline = _headline_so_far(trial) if trial.state == RUNNING else None
    if headline is None:
        return None
    metric, samples = headline
    least = max(SETTLED, round(SETTLED_PART * len(samples)))
    found = bucket_in(metric, samples[: -least + 5]), bucket_in(metric, samples)
    return found[1] if all(found) else None


def _not_settled(trial: TrialEvidence) -> CheckOutcome | None:
    headline = _headline_so_far(trial)
    if headline is None:
        return None
    metric, samples = headline
    late = trial.state == DONE or samples[-1].time >= LATE * (trial.expected or math.inf)
    third = len(samples) // 3
    thirds = (samples[:third], samples[third:-third], samples[-third:])
    parts = [_mean_and_error([one.value for one in part]) for part in thirds] if late else []
    if not parts or not _moves([mean for mean, _ in parts], [error for _, error in parts]):
        return None
    (first, _), (middle, _), (last, _) = parts
    way = "rising" if last > first else "falling"
    means = ", ".join(figure_text(metric, mean) for mean in (first, middle, last))
    return CheckOutcome(f"After {duration_text(samples[-1].time)} the rate is still {way}; means of thirds: {means}.")


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean and its squared standard error after removal of a linear trend."""
    import numpy as np

    at = np.arange(len(values), dtype=float)
    slope, start = np.polyfit(at, values, 1)
    within = within_of(np.asarray(values) - start - slope * at)
    return float(np.mean(values)), 0.0 if within is None else within.variance / within.worth


def _moves(means: list[float], errors: list[float]) -> bool:
    """Return whether the means change significantly in one direction."""
    steps = [after - before for before, after in pairwise(means)]
    unsure = [MIN_CHANGE_ERRORS * math.sqrt(before + after) for before, after in pairwise(errors)]
    least = CLIMBS * abs(means[1])
    return steps[0] * steps[1] > 0 and all(abs(step) >= max(least, u) for step, u in zip(steps, unsure, strict=True))


_SERIES = "the samples of the headline rate, at least 20"

TOKEN_BUCKET: TrialCheck = Check(
    id="token-bucket",
    severity=Severity.WARNING,
    title="Throughput dropped after a burst",
    why="The figure mixes the burst rate and the sustained rate. The application's runtime decides which one matters.",
    remedy="Quote both. To measure the sustained rate, run until the burst is used up and exclude that time.",
    source="Least-squares change point, level on both sides; burst credits of cloud volumes and networks.",
    evaluate=_bucket,
    when=CheckPhase.AFTER,
    needs=_SERIES,
)


TOKEN_BUCKET_SO_FAR: TrialCheck = replace(TOKEN_BUCKET, when=CheckPhase.DURING, evaluate=_bucket_so_far)
"""The same check during the trial, once the lower rate has lasted."""

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    TOKEN_BUCKET_SO_FAR,
    TOKEN_BUCKET,
    Check(
        id="still-on-its-way",
        severity=Severity.INFO,
        title="Rate has not settled",
        why="Caches, clocks or credits are still filling or draining: a longer trial gives another figure.",
        remedy="Set a longer ramp-up or precondition the device, and measure longer.",
        source="Barrett et al., OOPSLA 2017: the last level has to be the longest part.",
        evaluate=_not_settled,
        when=CheckPhase.DURING,
        needs=f"the samples of the headline rate, after {share_text(LATE)} of the expected time",
    ),
    Check(
        id="not-steady",
        severity=Severity.WARNING,
        title="Steady state not reached",
        why="The rate was still changing, so the figure depends on the runtime.",
        remedy="Precondition the device, set a ramp-up, and measure longer.",
        source="SNIA PTS: range ≤ 20 %, slope ≤ 10 % of the mean; and two windows that agree within 5 %.",
        evaluate=_unsteady,
        when=CheckPhase.AFTER,
        needs=f"{_SERIES}, over {LONG_ENOUGH:.0f} s",
    ),
    Check(
        id="changed-late",
        severity=Severity.WARNING,
        title="Rate changed near the end",
        why="The last level lasted for less than a third of the run and may not be stable.",
        remedy="Measure three times as long.",
        source="Barrett et al., OOPSLA 2017: the last segment has to be the longest part.",
        evaluate=_late_change,
        when=CheckPhase.AFTER,
        needs=_SERIES,
    ),
)
