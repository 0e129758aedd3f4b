"""Variance of a fleet study by level: trial, session, instance and type, with 95 % intervals and shares."""

import math
import statistics
from dataclasses import dataclass

from app.comparison.variance import GROUP, HOST, ROUNDING, RUN, TRIAL, VarianceComponent, components_with_groups
from app.fleet.moments import MomentEffect, moment_effects, without_moments
from app.fleet.study import FleetMetric
from app.sample_size.report import cov_of
from suites.quantities import count_text, ends_text, share_text

TITLES = {TRIAL: "trial", RUN: "session", HOST: "instance", GROUP: "type"}
"""Titles of the levels, innermost first."""

ABSENT = {
    TRIAL: "one trial in each session: part of the variance between sessions",
    RUN: "one session on each instance: part of the variance between instances",
    HOST: "one instance of each type",
    GROUP: "one type",
}
"""Why a level that was not repeated has no variance of its own."""

MOST_COV = 10.0
"""The largest bound of a coefficient of variation that is shown: that of few units may be any."""

UNSEPARATED = "neither trials nor sessions were repeated"

IDENTICAL = "all values are identical"


@dataclass(frozen=True, slots=True)
class FleetLevel:
    """A level: the coefficient of variation that it adds, with its 95 % interval, and its share of the variance.

    `n` are its units. All but `n` are None where the level was not repeated, for `reason`.
    """

    name: str
    n: int
    cov: float | None = None
    low: float | None = None
    high: float | None = None
    share: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """The level as a line: ``instance: CoV 3.1 % (95 % CI 2.4 to 4.2 %), 61 % of the variance, n = 90``."""
        title = TITLES[self.name]
        if self.cov is None:
            return f"{title}: not known, {self.reason}"
        share = "" if self.share is None else f", {share_text(self.share)} of the variance"
        return f"{title}: {self.cov_text}{share}, {count_text(self.n, title)}"

    @property
    def cov_text(self) -> str:
        """The coefficient of variation with its interval; empty where it is not known."""
        return "" if self.cov is None else f"CoV {share_text(self.cov)} (95 % CI {self.interval_text})"

    @property
    def interval_text(self) -> str:
        """The 95 % interval of the coefficient of variation, ``2.4 to 4.2 %``; empty where it is not known."""
        if self.low is None or self.high is None:
            return ""
        high = share_text(min(self.high, MOST_COV)).removesuffix(" %")
        above = "over " if self.high > MOST_COV else ""
        return ends_text(share_text(self.low).removesuffix(" %"), f"{above}{high}", " %")


@dataclass(frozen=True, slots=True)
class FleetLevels:
    """The variance of a metric by level, innermost first, and the effects of moments that all hosts share.

    With a significant moment, the variance between sessions is that without the effects of moments. `components` are
    the variances of logarithms, for a plan of the next study.
    """

    levels: tuple[FleetLevel, ...]
    components: tuple[VarianceComponent, ...]
    moments: tuple[MomentEffect, ...] = ()

    @property
    def shared_moments(self) -> tuple[MomentEffect, ...]:
        """The moments at which all hosts differ significantly."""
        return tuple(each for each in self.moments if each.significant)

    @property
    def moment_variance(self) -> float:
        """The variance of the effects of moments, on logarithms; 0 unless one is significant."""
        if not self.shared_moments:
            return 0.0
        groups: dict[str, list[float]] = {}
        for each in self.moments:
            groups.setdefault(each.group, []).append(math.log(each.ratio))
        scales = [(len(own) - 1) / len(own) for own in groups.values()]  # relative to the mean of the others
        return statistics.fmean(
            scale**2 * statistics.variance(own) for scale, own in zip(scales, groups.values(), strict=True)
        )

    def moments_matter(self, margin: float) -> bool:
        """Return whether the moments differ significantly, and one in 20 by more than `margin`, a share."""
        return 2 * cov_of(self.moment_variance) > margin

    @property
    def moment_text(self) -> str:
        """The coefficient of variation of moments with the number of sessions: ``CoV 4.3 %, 3 sessions``."""
        sessions = {each.session for each in self.moments}
        return f"CoV {share_text(cov_of(self.moment_variance))}, {count_text(len(sessions), 'session')}"

    @property
    def moment_lines(self) -> tuple[str, ...]:
        """The effects of moments as lines of text, after their coefficient of variation; none without significance."""
        if not self.shared_moments:
            return ()
        head = f"moments that all hosts share: {self.moment_text}, in no share above"
        return head, *(each.text for each in self.shared_moments)

    def level(self, name: str) -> FleetLevel:
        """Return the level `name`."""
        return next(level for level in self.levels if level.name == name)


def fleet_levels(one: FleetMetric) -> FleetLevels:
    """Return the variance levels of a metric; units may have any number of units below them.

    Trials are nested in sessions, these in instances, and these in types. Types count as a random sample of types like
    these; for the types of the study alone, compare their means. Method: components_with_groups(). The 95 % intervals
    contained the known components (CoV of trials 1 %, sessions 1 %, instances 3 %, types 10 %) in this share of 1,000
    simulated studies:

    | types x instances x sessions x trials   | trial | session | instance | type |
    | 9 x 10 x 4 x 3                          |  .947 |   .958  |   .951   | .937 |
    | the same, uneven and with lost sessions |  .962 |   .943  |   .951   | .945 |
    | the same, all slower in session 2       |  .947 |   .956  |   .951   | .937 |
    | 3 x 6 x 2 x 3                           |  .950 |   .945  |   .953   | .949 |
    | 2 x 3 x 2 x 2                           |  .945 |   .946  |   .952   | .953 |

    With tails the intervals are wider (components_with_groups()), and still too narrow for few units, which do not show
    them: 300 simulated studies of 2 x 10 x 2 x 3, by what has them, in brackets as if all were normal:

    | instances t3 | instances exponential | instances log-normal | trials t3  |
    | .82 (.74)    |       .85 (.79)       |      .90 (.82)       |  .82 (.57) |

    Trials that are autocorrelated within sessions have too small a variance, and their sessions too large a one.
    """
    moments = moment_effects(one)
    used = without_moments(one, moments) if any(each.significant for each in moments) else one
    components = components_with_groups(used.nested(), tails=True)
    whole = sum(each.variance or 0.0 for each in components)
    return FleetLevels(tuple(_level(each, components, whole) for each in components), components, moments)


def _level(one: VarianceComponent, every: tuple[VarianceComponent, ...], whole: float) -> FleetLevel:
    if one.variance is None or one.low is None or one.high is None:
        above = dict(zip(every, (each.n for each in every[1:]), strict=False)).get(one, 1)
        return FleetLevel(one.name, one.n, reason=ABSENT[one.name] if one.n == above else UNSEPARATED)
    if one.high < ROUNDING**2:
        return FleetLevel(one.name, one.n, reason=IDENTICAL)
    cov, low, high = (cov_of(variance) for variance in (one.variance, one.low, one.high))
    return FleetLevel(one.name, one.n, cov, low, high, one.variance / whole if whole else None)
