"""Power of a comparison: the smallest difference that a design of hosts, sessions and trials shows."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from app.comparison.estimates import ERROR
from app.comparison.verdicts import FEWEST, Level
from app.numeric import np, optimize, special

POWER = 0.8
"""Share of comparisons that show the smallest detectable difference (Cohen 1988)."""

_MOST_LOGARITHM = 50.0
"""A bound on the logarithm of a difference, far beyond any that is measured."""


@dataclass(frozen=True, slots=True)
class NestedVariance:
    """Variances of the logarithms of trials within a session, of sessions on a host, and of hosts.

    None if the level was not replicated; `host` then includes `session` if only that was not.
    """

    trial: float
    session: float | None = None
    host: float | None = None


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """Hosts of each side, sessions on each host, and trials of each session."""

    hosts: int
    sessions: int
    trials: int

    @property
    def level(self) -> Level:
        """The level of the values that are compared: the highest that is replicated."""
        if self.hosts > 1:
            return Level.HOST
        return Level.SESSION if self.sessions > 1 else Level.TRIAL

    @property
    def count(self) -> int:
        """The values of each side."""
        return {Level.HOST: self.hosts, Level.SESSION: self.sessions, Level.TRIAL: self.trials}[self.level]

    @property
    def text(self) -> str:
        """The design as text: ``3 x 2 x 6``."""
        return f"{self.hosts} x {self.sessions} x {self.trials}"


@dataclass(frozen=True, slots=True)
class ErrorParts:
    """The parts of hosts, sessions and trials in the variance of the mean of a side, in squared logarithms."""

    host: float
    session: float
    trial: float

    @property
    def whole(self) -> float:
        """The variance of the mean of a side."""
        return self.host + self.session + self.trial


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """The test of a comparison: its power, whether both sides use the same hosts, and how many metrics are tested."""

    power: float = POWER
    paired: bool = False
    metrics: int = 1

    def in_pairs(self, design: SampleDesign) -> bool:
        """Return whether the values are pairs of hosts."""
        return self.paired and design.level is Level.HOST

    def ratios(self, design: SampleDesign) -> int:
        """Return the ratios that compare() tests together: of pairs of hosts also those of each host alone.

        A host has one of its own if its sessions, or the trials of its only session, are enough for a verdict.
        """
        one = replace(design, hosts=1)
        return self.metrics * (1 + (design.hosts if self.in_pairs(design) and one.count >= FEWEST[one.level] else 0))


ONE_TEST = PlannedTest()


def error_parts(noise: NestedVariance, design: SampleDesign, test: PlannedTest = ONE_TEST) -> ErrorParts | None:
    """Return the parts of the variance of the mean of a side; None if a level that counts is not known.

    s_host^2 / h + s_session^2 / (h k) + s_trial^2 / (h k n) for h hosts, k sessions and n trials (nested analysis of
    variance: Searle, Casella and McCulloch 1992; Kalibera and Jones 2013). The claim decides on the levels that count:
    one host is no claim on others, and one session none on other moments. In pairs, both sides use the same hosts,
    whose differences cancel; those of their sessions do not.
    """
    level, (h, k, n) = design.level, (design.hosts, design.sessions, design.trials)
    trial = noise.trial / (h * k * n)
    if level is Level.TRIAL:
        return ErrorParts(0.0, 0.0, trial)
    if level is Level.HOST and not test.paired:
        if noise.host is None or (noise.session is None and k > 1):
            return None
        return ErrorParts(noise.host / h, (noise.session or 0.0) / (h * k), trial)
    return None if noise.session is None else ErrorParts(0.0, noise.session / (h * k), trial)


def least_detectable(noise: NestedVariance, design: SampleDesign, test: PlannedTest = ONE_TEST) -> float | None:
    """Return the smallest difference, as a share, that two sides of `design` show; None if it is not known.

    It is shown if the 95 % interval of the ratio excludes 1, after Holm's correction for all ratios in the worst case,
    which it does with the power of the test.
    """
    parts = error_parts(noise, design, test)
    if parts is None or design.count < 2:
        return None
    distance = standard_distance(design.count, test.power, test.ratios(design), paired=test.in_pairs(design))
    return math.expm1(min(distance * math.sqrt(2 * parts.whole), _MOST_LOGARITHM))


@lru_cache(maxsize=1024)
def standard_distance(count: int, power: float = POWER, ratios: int = 1, *, paired: bool = False) -> float:
    """Return the true difference in standard errors that a test of `count` values a side, or pairs, shows.

    `ratios` are tested together; the first of them has 1 / `ratios` of the error (Holm 1979).
    The statistic has a noncentral t distribution (Cohen 1988, 2.5): of pairs with count - 1 degrees of freedom. That of
    Welch's test for sides of equal variance has 2 (count - 1), whatever the share of one side of the variance, which
    has a beta distribution and decides on the degrees of freedom of the critical value. With 3 values on each side they
    are 3.1 on average, not 4.
    """
    half, quantile = (count - 1) / 2, 1 - ERROR / (2 * ratios)
    if paired:
        freedom, critical = 2 * half, special.stdtrit([2 * half], quantile)
    else:
        share = special.betaincinv(half, half, (np.arange(200) + 0.5) / 200)
        freedom, critical = 4 * half, special.stdtrit(2 * half / (share**2 + (1 - share) ** 2), quantile)

    def missed(effect: float) -> float:
        below = np.nan_to_num(special.nctdtr(freedom, effect, critical))  # NaN: far below
        return float(np.mean(below)) - (1 - power)

    return float(optimize.brentq(missed, 0.0, 1e4, xtol=1e-6))
