"""Whether the start of a trial differs from its rest: found, said, shown, and never left out by itself."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.checks import raised
from app.checks.raised import Place, finding_of
from app.wording import duration_text, figure_text, metric_text, share_text
from suites.vocab import Figure, Finding, Sample

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

BATCH = 5
"""Samples that MSER-5 takes together."""

ALIKE = 1.1
"""Times the least error up to which a cut counts as good as the best: the least lies there by chance."""

FEWEST_SAMPLES = 20
"""Samples below which a start cannot be told from a rest."""

STANDS_OUT = 5.0
"""Standard errors by which the start has to differ from the rest, counted in independent samples. Of steady trials of
60 seconds, 3 % are called unsteady where neighbouring seconds hang together with 0.8, none where they do not
(simulated for this project)."""

MATTERS = 0.005
"""Share of the figure below which a start is not worth a word."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a trial that differs from its rest: until when it lasts, in seconds, the mean of all samples, and
    the mean without it."""

    until: float
    whole: float
    rest: float

    @property
    def change(self) -> float:
        """By which share of itself the figure would change if the start were left out."""
        return self.rest / self.whole - 1


def mser5(values: "Numbers") -> int:
    """Return how many samples at the start to leave out, so that the mean of the rest is surest (White 1997).

    MSER-5: of all cuts in the first half, in batches of five, the one with the least estimated error of the mean; of
    those within ALIKE of it the first, for a later one leaves out more than it gains. A start that is slow for 20 of
    120 seconds costs 6.6 % of the figure, and 0.4 % after the cut (simulated for this project). What changes at the
    end it does not see.
    """
    import numpy as np

    count = len(values) // BATCH
    if count < 4:
        return 0
    means = values[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    left = np.arange(count, count - count // 2 - 1, -1)  # batches that stay, for each cut
    sums = np.cumsum(means[::-1])[::-1][: len(left)]
    squares = np.cumsum(means[::-1] ** 2)[::-1][: len(left)]
    errors = (squares - sums**2 / left) / left**2
    return int(np.argmax(errors <= ALIKE * errors.min())) * BATCH


def change_point(values: "Numbers") -> int:
    """Return where to cut the samples in two so that the means of both parts explain most: least squares.

    At least three samples stand on each side. By cumulative sums, in a time that grows with the samples; a library's
    search for any number of changes (ruptures, PELT) takes ten thousand times as long, and one is all that is asked.
    """
    import numpy as np

    count = len(values)
    places = np.arange(3, count - 2)
    sums = np.cumsum(values)
    before = sums[places - 1] / places
    after = (sums[-1] - sums[places - 1]) / (count - places)
    return int(places[np.argmax(places * (count - places) * (before - after) ** 2)])


def start_of(times: "Sequence[float] | Numbers", values: "Sequence[float] | Numbers") -> Start | None:
    """Return the start that differs from the rest, or None. `times` are those of the samples, in seconds.

    MSER-5 looks for it first, a change point where that finds none. It has to stand out by STANDS_OUT and to change
    the figure by MATTERS, and to be shorter than the rest.
    """
    import numpy as np

    samples = np.asarray(values, dtype=float)
    whole = float(samples.mean()) if len(samples) else 0.0
    if len(samples) < FEWEST_SAMPLES or not whole:
        return None
    for find in (mser5, change_point):
        cut = find(samples)
        rest = samples[cut:]
        if 0 < cut <= len(samples) // 2 and _apart(samples[:cut], rest) >= STANDS_OUT:
            found = Start(float(times[cut - 1]), whole, float(rest.mean()))
            return found if abs(found.change) >= MATTERS else None
    return None


def _apart(start: "Numbers", rest: "Numbers") -> float:
    """Return how many standard errors the means lie apart; neighbours hang together as in the rest."""
    from app.comparing.levels import within_of

    within = within_of(rest)
    if within is None:
        return 0.0
    worth = within.worth / within.n
    error = math.sqrt(within.variance * (1 / within.worth + 1 / max(1.0, len(start) * worth)))
    apart = abs(float(start.mean()) - within.mean)
    return apart / error if error else math.inf if apart else 0.0


def start_text(start: Start) -> str:
    """Return what leaving the start out would do: ``the first 20 s left out would change the figure by +3 %``."""
    sign = "+" if start.change > 0 else "−"
    change = f"{sign}{share_text(abs(start.change))}"
    return f"the first {duration_text(start.until)} left out would change the figure by {change}"


def start_findings(
    figures: Sequence[Figure], samples: Sequence[Sample], leading: str, step: str, host: str
) -> Iterator[Finding]:
    """Yield a finding for each series of the metric `leading` whose start differs from its rest."""
    for figure in figures:
        if figure.metric.name != leading:
            continue
        own = [
            sample
            for sample in samples
            if sample.metric.name == leading and sample.labels == figure.labels and not sample.warm_up
        ]
        start = start_of([sample.time for sample in own], [sample.value for sample in own])
        if start is not None:
            yield _finding(figure, start, step, host)


def _finding(figure: Figure, start: Start, step: str, host: str) -> Finding:
    means = f"{figure_text(figure.metric, start.whole)} with it, {figure_text(figure.metric, start.rest)} without"
    return finding_of(
        raised.UNSTEADY_START,
        Place(host, step),
        f"{metric_text(figure.metric, figure.labels)}: {start_text(start)} ({means}).",
    )
