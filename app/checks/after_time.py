"""Does one trial hold its rate: token buckets, changes late in a run, and steady state by both criteria."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.checks.after_rounds import by_rounds, unsteady_rounds
from app.comparing.levels import within_of
from app.runs.unsteady_start import change_point
from app.wording import duration_text, figure_text, quantity, share_text
from suites.checks import Check, Outcome, TrialCheck, When
from suites.evidence import TrialEvidence
from suites.snia.steady import PTS_RANGE, PTS_SLOPE, WINDOWS_AGREE
from suites.verdict import Trust
from suites.vocab import Kind, Level, Metric, Sample

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

FEWEST = 20
"""Samples below which the course of a trial cannot be told from its noise."""

DROP = 0.10
"""The least share by which a rate has to fall to count as a bucket that ran empty (check M12)."""

APART = 4.0
"""Standard errors between the two parts, counted in independent samples (check M12)."""

STEP_EXPLAINS = 0.8
"""The most that a step may leave unexplained, by what a straight line leaves: below, it is a step and no slope."""

FLAT_SIDE = 0.25
"""By which share of the drop the halves of each side may differ: both sides have to be level."""

ROUNDS = 10
"""Rounds that a trial is cut into; the last five are the window of the industry’s test (SNIA PTS)."""

FAR_APART = 0.20
"""The share from which a figure that mixes both windows is doubtful, not merely a caveat."""

LONG_ENOUGH = 60.0
"""Seconds of samples from which a steady state is asked for."""

LAST_PART = 1 / 3
"""The share of a run that its last level has to last (check M13, after Barrett 2017)."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A rate that fell from `high` to `low` at `until` seconds, as where a token bucket ran empty."""

    until: float
    high: float
    low: float

    @property
    def size(self) -> float:
        """What the bucket held: (high - low) × until, in the metric's unit times seconds."""
        return (self.high - self.low) * self.until


def token_bucket(times: Sequence[float], values: Sequence[float]) -> Bucket | None:
    """Return the one step down of a rate that is level on both sides, or None.

    Of 300-second trials with a drop of 15 %, 96 % are found at a spread of up to 5 %; of steady ones, 1.7 % are
    called buckets, of ramps and dips none (simulated for this project).
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
    left = float(((first - high) ** 2).sum() + ((second - low) ** 2).sum())
    if _apart(first, second) < APART or left > STEP_EXPLAINS * _off_the_line(samples):
        return None
    if not (_level(first, high - low) and _level(second, high - low)):
        return None
    return Bucket(float(times[cut - 1]), high, low)


def _apart(first: "Numbers", second: "Numbers") -> float:
    """Return how many standard errors two parts lie apart; neighbours may hang together."""
    error = 0.0
    for part in (first, second):
        within = within_of(part)
        error += 0.0 if within is None else within.variance / within.worth
    distance = abs(float(first.mean() - second.mean()))
    return distance / math.sqrt(error) if error else math.inf if distance else 0.0


def _off_the_line(samples: "Numbers") -> float:
    """Return what a straight line leaves unexplained."""
    import numpy as np

    at = np.arange(len(samples), dtype=float)
    slope, start = np.polyfit(at, samples, 1)
    return float(((samples - start - slope * at) ** 2).sum())


def _level(part: "Numbers", drop: float) -> bool:
    half = len(part) // 2
    return abs(float(part[:half].mean() - part[half:].mean())) <= FLAT_SIDE * drop


@dataclass(frozen=True, slots=True)
class Windows:
    """A trial cut into rounds: the means of its two halves, and the range and slope of the last one, by its mean."""

    first: float
    last: float
    range: float
    slope: float

    @property
    def change(self) -> float:
        """By which share the last window differs from the first."""
        return abs(self.last / self.first - 1) if self.first else math.inf

    @property
    def steady(self) -> bool:
        """Whether both criteria are met: the window of PTS, and that two disjoint windows agree."""
        return self.range <= PTS_RANGE and self.slope <= PTS_SLOPE and self.change <= WINDOWS_AGREE


def windows_of(values: Sequence[float]) -> Windows | None:
    """Return the two windows of five rounds each; None for fewer than FEWEST samples."""
    import numpy as np

    samples = np.asarray(values, dtype=float)
    if len(samples) < FEWEST:
        return None
    rounds = np.array([part.mean() for part in np.array_split(samples, ROUNDS)])
    first, last = rounds[: ROUNDS // 2], rounds[ROUNDS // 2 :]
    mean = float(last.mean())
    if not mean:
        return None
    slope = float(np.polyfit(np.arange(len(last), dtype=float), last, 1)[0]) * (len(last) - 1)
    return Windows(float(first.mean()), mean, float(np.ptp(last)) / mean, abs(slope) / mean)


def _leading(trial: TrialEvidence) -> tuple[Metric, list[Sample]] | None:
    """Return the samples of the trial's leading rate, where it has enough of them."""
    figure = trial.headline
    if not trial.done or figure is None or figure.metric.kind is not Kind.RATE or by_rounds(trial):
        return None
    found = list(trial.series(figure.metric.name, figure.labels))
    return (figure.metric, found) if len(found) >= FEWEST else None


def _bucket(trial: TrialEvidence) -> Outcome | None:
    leading = _leading(trial)
    if leading is None:
        return None
    return bucket_in(*leading)


def bucket_in(metric: Metric, samples: Sequence[Sample]) -> Outcome | None:
    """Return the bucket that ran empty in the course of a rate, in words; None where none did."""
    found = token_bucket([one.time for one in samples], [one.value for one in samples])
    if found is None:
        return None
    held = quantity(found.size, metric.unit).removesuffix("/s")
    return Outcome(
        f"{figure_text(metric, found.high)} until {duration_text(found.until)}, then "
        f"{figure_text(metric, found.low)}. A bucket that empties so holds about {held} beyond the lower rate."
    )


def _unsteady(trial: TrialEvidence) -> Outcome | None:
    if by_rounds(trial):
        return unsteady_rounds(trial) if trial.done else None
    leading = _leading(trial)
    if leading is None or _bucket(trial) is not None:
        return None
    metric, samples = leading
    values = [one.value for one in samples]
    if samples[-1].time - samples[0].time < LONG_ENOUGH:
        return None
    found = windows_of(values)
    half = len(values) // 2
    if found is None or found.steady or not _surely(values, half, found):
        return None
    window = f"the last five of ten rounds range over {share_text(found.range)} and change by {share_text(found.slope)}"
    both = f"the first five gave {figure_text(metric, found.first)}, the last {figure_text(metric, found.last)}"
    said = f"Of this trial, {window}; {both} ({share_text(found.change)} apart)."
    return Outcome(said, trust=Trust.DOUBTFUL if found.change > FAR_APART else None)


def _surely(values: Sequence[float], half: int, found: Windows) -> bool:
    """Return whether it is more than noise: the halves stand apart, or the last rounds go up and down widely."""
    import numpy as np

    samples = np.asarray(values, dtype=float)
    moved = found.change > WINDOWS_AGREE and _apart(samples[:half], samples[half:]) >= APART
    return moved or found.range > PTS_RANGE or found.slope > PTS_SLOPE


def _late_change(trial: TrialEvidence) -> Outcome | None:
    import numpy as np

    leading = _leading(trial)
    if leading is None or _bucket(trial) is not None:
        return None
    metric, samples = leading
    values = np.asarray([one.value for one in samples], dtype=float)
    cut = change_point(values)
    first, last = values[:cut], values[cut:]
    before, after = float(first.mean()), float(last.mean())
    if len(last) >= LAST_PART * len(values) or len(last) < 5 or not before:
        return None
    if abs(after / before - 1) < DROP or _apart(first, last) < APART:
        return None
    return Outcome(
        f"{figure_text(metric, before)} until {duration_text(samples[cut - 1].time)}, "
        f"{figure_text(metric, after)} in the last {duration_text(samples[-1].time - samples[cut - 1].time)}."
    )


_COURSE = "the samples of the leading rate, at least 20"

OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="token-bucket",
        level=Level.WARNING,
        title="A burst was used up",
        why="The figure mixes two rates: that of the burst, and the one that lasts. Which of them counts depends on "
        "how long the application works.",
        remedy="Quote both. To measure the lasting rate alone, run until the burst is gone and leave that time out.",
        source="Least-squares change point, level on both sides; burst credits of cloud volumes and networks.",
        evaluate=_bucket,
        when=When.AFTER,
        needs=_COURSE,
    ),
    Check(
        id="not-steady",
        level=Level.WARNING,
        title="No steady state was reached",
        why="The rate was still on its way, so the figure depends on how long it was measured.",
        remedy="Precondition the device, let it ramp up, and measure longer.",
        source="SNIA PTS: range ≤ 20 %, slope ≤ 10 % of the mean; and two windows that agree within 5 %.",
        evaluate=_unsteady,
        when=When.AFTER,
        needs=f"{_COURSE}, over {LONG_ENOUGH:.0f} s",
    ),
    Check(
        id="changed-late",
        level=Level.WARNING,
        title="The rate changed near the end",
        why="What came last had lasted for less than a third of the run: nobody knows whether it would have stayed.",
        remedy="Measure three times as long.",
        source="Barrett et al., OOPSLA 2017: the last segment has to be the longest part.",
        evaluate=_late_change,
        when=When.AFTER,
        needs=_COURSE,
    ),
)
