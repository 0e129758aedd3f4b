"""Steady state over rounds: the window of the SNIA PTS, and agreement of two disjoint windows."""

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW = 5
"""Rounds of the measurement window (SNIA PTS)."""

PTS_RANGE = 0.20
PTS_SLOPE = 0.10
"""Shares of the mean: the largest range within the window, and the largest change along its fitted line (SNIA PTS)."""

WINDOWS_AGREE = 0.05
"""Maximum difference of two disjoint windows of five rounds, as a share. The window alone accepts a slow decay, 29 %
too high, and never sees a later drop; both together are within 2 % if they accept (simulated for this project)."""

_ROUNDING = 1e-9
"""Tolerance of the bounds: the host evaluates with awk what is evaluated here with Python."""


@dataclass(frozen=True, slots=True)
class Window:
    """The last five rounds, or as many as there are: mean, range and change along the fitted line, divided by that
    mean.

    `before` is the mean of the five rounds before, None if there are fewer.
    """

    rounds: int
    values: tuple[float, ...]
    mean: float
    range: float
    slope: float
    intercept: float  # of the fitted line at the window's first round
    step: float  # of the fitted line, from round to round
    before: float | None

    @property
    def difference(self) -> float | None:
        """Relative difference of the window from the five rounds before it."""
        return abs(self.mean / self.before - 1) if self.before else None

    @property
    def meets_pts(self) -> bool:
        """Whether the criterion of SNIA PTS is met, which uses the window alone."""
        whole = len(self.values) == WINDOW
        return whole and self.range <= PTS_RANGE + _ROUNDING and self.slope <= PTS_SLOPE + _ROUNDING

    @property
    def steady(self) -> bool:
        """Whether both criteria are met."""
        return self.meets_pts and self.difference is not None and self.difference <= WINDOWS_AGREE + _ROUNDING


def window_of(values: Sequence[float]) -> Window | None:
    """Return the window that ends with the last of `values`, one per round; None without any."""
    last = tuple(values[-WINDOW:])
    mean = sum(last) / len(last) if last else 0.0
    if not mean > 0:
        return None
    middle = (len(last) - 1) / 2
    spread = sum((place - middle) ** 2 for place in range(len(last)))
    step = sum((place - middle) * (value - mean) for place, value in enumerate(last)) / spread if spread else 0.0
    earlier = values[-2 * WINDOW : -WINDOW]
    return Window(
        rounds=len(values),
        values=last,
        mean=mean,
        range=(max(last) - min(last)) / mean,
        slope=abs(step) * (len(last) - 1) / mean,
        intercept=mean - middle * step,
        step=step,
        before=sum(earlier) / WINDOW if len(earlier) == WINDOW else None,
    )


def steady_round(values: Sequence[float], *, both: bool) -> int | None:
    """Return the round at which the steady state is declared, by the window alone or by both criteria; or None."""
    for rounds in range(1, len(values) + 1):
        window = window_of(values[:rounds])
        if window is not None and (window.steady if both else window.meets_pts):
            return rounds
    return None
