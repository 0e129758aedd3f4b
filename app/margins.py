"""Margins of comparisons: the relative difference of a metric that does not matter to the user."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from app.plans.plan import Plan, Policy, Repetition
from suites.errors import BenchwrightError
from suites.units import ungrouped
from suites.vocab import Metric

DEFAULT_MARGIN = 0.05
"""Margin of rates, means and low percentiles without one from the user or a plan.

It is a convention, not a property of any host: SPEC accepts results of MPI2007 that reproduce within 5 %. Tools that
time code on one machine call a smaller change a change: criterion from 1 % (noise_threshold), pyperf from 0 %
(--min-speed). Set 1 % to compare builds of a program.
"""

TAIL_MARGIN = 0.10
"""Default margin of tail percentiles. A change of the p99 concerns one request in a hundred, and limits on tail latency
are set in steps of 10 % or more."""

TAIL_FROM = 99.0
"""Percentile from which a metric is a tail; the maximum is the percentile 100."""

YOURS = "yours"
PLANNED = "the plan’s"


class MarginError(BenchwrightError):
    """A margin is invalid."""


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin as a share: 0.05 is 5 %. `origin` is who set it: YOURS, PLANNED, or empty for the default."""

    share: float
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Margins:
    """The margins of a comparison, as shares by metric. Noise sets none of them: it decides on the number of trials.

    `every` and `given` are the user's for this comparison: of all metrics, and of some by name. `kept` are the user's
    defaults of metrics by name (SavedMargins). Raises MarginError for one outside 0 to 1.
    """

    every: float | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the range."""
        for share in (*([] if self.every is None else [self.every]), *self.given.values(), *self.kept.values()):
            if not 0 <= share <= 1:
                raise MarginError(f"Margin {100 * share:g} % is out of range.", "Set 0 to 100 %, such as 5.")

    def of(self, metric: Metric, repetitions: Iterable[Repetition] = ()) -> Margin:
        """Return the margin of a metric: the given one, else the plan's, else the user's default, else the default.

        `repetitions` are those of the plans that are compared. Those that repeat until a verdict have a margin, so that
        the comparison has the verdict at which the run stopped; of several the widest.
        """
        given = self.given.get(metric.name, self.every)
        if given is not None:
            return Margin(given, YOURS)
        planned = [share for one in repetitions if (share := _planned(one, metric)) is not None]
        if planned:
            return Margin(max(planned), PLANNED)
        kept = self.kept.get(metric.name)
        if kept is not None:
            return Margin(kept, YOURS)
        tail = metric.percentile is not None and metric.percentile >= TAIL_FROM
        return Margin(TAIL_MARGIN if tail else DEFAULT_MARGIN)

    def widest(self, metrics: Iterable[Metric]) -> Margin:
        """Return the widest margin of some metrics, for a score of all of them."""
        return max(map(self.of, metrics), key=lambda margin: margin.share)


DEFAULTS = Margins()


def _planned(repetition: Repetition, metric: Metric) -> float | None:
    if repetition.policy is not Policy.UNTIL_VERDICT:
        return None
    return repetition.margin if repetition.margin is not None else dict(repetition.margins).get(metric.name)


def with_margins(plan: Plan, margins: Margins) -> Plan:
    """Return `plan` with the user's defaults where it repeats until a verdict and gives no margin.

    A plan is frozen before it runs: changing a default later changes neither its decisions nor a comparison of its run.
    """
    given = plan.repetition
    if given.policy is not Policy.UNTIL_VERDICT or given.margin is not None:
        return plan
    return replace(plan, repetition=replace(given, margins=tuple(sorted(margins.kept.items()))))


def parse_margins(words: Iterable[str]) -> Margins:
    """Return the margins of ``3`` (percent, all metrics) and ``latency_p99=10`` (one metric); raise MarginError."""
    every, given = None, {}
    for word in words:
        metric, equals, number = word.rpartition("=")
        try:
            share = float(ungrouped(number.strip()).removesuffix("%")) / 100 + 0.0  # no minus zero
        except (ValueError, BenchwrightError):
            share = -1.0
        if not 0 <= share <= 1 or (equals and not metric.strip()):
            raise MarginError(f"“{word[:60]}” is not a margin.", "Write 5 for 5 %, or latency_p99=10 for one metric.")
        if equals:
            given[metric.strip()] = share
        else:
            every = share
    return Margins(every, given)
