"""Designs of the next study, from the variance that a study measured and from what its trials and hosts cost."""

import statistics
from dataclasses import dataclass, replace

from app.fleet.estimate import SETUP
from app.fleet.planner import FleetCost, FleetDesign, FleetGoal, FleetRequest, plan_text, propose_fleet
from app.fleet.results import PAIRED, FleetResults
from app.fleet.study import FleetError, FleetMetric
from app.fleet_study import FleetPlan
from app.plans.context import step_context
from app.ranking.candidates import Price, PriceError, one_currency
from app.sample_size.designs import Effort
from app.sample_size.report import cov_of
from suites.quantities import count_text, exact_share_text, first_upper, share_text

EXPECTED = "The half width is the expected one: about half of such studies reach it."
NO_TIME = "The time of some trials is not known: hours and cost leave them out."
ONE_MOMENT = "One session shows instances at its moment."

MOST_INSTANCES = 20
"""Most instances of a type, unless the user wants more."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """Designs that reach the goal of a request for a metric, the cheapest first.

    `outliers` is how instances vary without the outliers of the study; empty if it has none. `unknown` are notes on
    what the cost leaves out.
    """

    one: FleetMetric
    request: FleetRequest
    cost: FleetCost
    designs: tuple[FleetDesign, ...]
    outliers: str = ""
    unknown: tuple[str, ...] = ()

    def lines(self, most: int) -> list[str]:
        """Return the first `most` designs as lines of text."""
        return [plan_text(design, self.request, self.cost) for design in self.designs[:most]]

    @property
    def notes(self) -> list[str]:
        """What the designs claim and what would change them, as lines of text."""
        moments = share_text(cov_of(self.request.moments))
        if self.request.goal is FleetGoal.DIFFERENCE:
            power = exact_share_text(self.request.test.power)
            lines = [f"Shown with a power of {power}, if the variance is as estimated and types share their moments."]
        else:
            lines = [EXPECTED]
        lines = [*lines, *self.unknown] if self.designs else []
        if self.request.goal is FleetGoal.HALF_WIDTH and self.request.moments:
            lines.append(f"Moments that all hosts share have a CoV of {moments}: only more sessions reduce it.")
        elif self.request.goal is FleetGoal.HALF_WIDTH and any(one.design.sessions == 1 for one in self.designs):
            lines.append(ONE_MOMENT)
        return [*lines, *([f"Outliers are in the variance. {first_upper(self.outliers)}."] if self.outliers else [])]


def propose_from(found: FleetResults, request: FleetRequest, metric: str = "") -> Proposals:
    """Return designs of the next study by the variance of the first headline metric, or of the one named `metric`.

    Raises FleetError for a study without the metric, or whose variance is not known.
    """
    known = zip(found.metrics, found.levels, strict=True)
    chosen = [(one, levels) for one, levels in known if levels and metric in {"", one.metric.name}]
    if not chosen:
        raise FleetError(
            f"{found.study.id} has no result that counts.", f"See why: benchwright fleet results {found.study.id}"
        )
    return propose_for(found, chosen[0][0], request)


def propose_for(found: FleetResults, one: FleetMetric, request: FleetRequest) -> Proposals:
    """Return designs of the next study by the variance of a metric of `found`.

    Raises FleetError if its variance is not known.
    """
    levels = found.levels[found.metrics.index(one)]
    if levels is None:
        raise FleetError(PAIRED, "Choose another metric.")
    plan = found.study.plan
    effort, known = _effort(found)
    price, no_price = _price(plan)
    unknown = [*([] if known else [NO_TIME]), *([no_price] if no_price else [])]
    effort = effort.with_price(price)
    wanted = replace(request, types=len(one.groups), moments=levels.moment_variance)
    cost = FleetCost(effort)
    designs = tuple(propose_fleet(levels.components, wanted, cost))
    return Proposals(one, wanted, cost, designs, found.text_without_outliers(one), tuple(unknown))


def _effort(found: FleetResults) -> tuple[Effort, bool]:
    """Return the effort of a trial of every step with its pause, warm-ups in the set-up; and whether it is known.

    The next study has all steps. Their times are those measured, else those of their estimates.
    """
    plan = found.study.plan
    given, measured = plan.plan.repetition, {one.step: one.record.seconds for one in found.metrics}
    seconds = [
        measured.get(step.name) or step.suite.estimate(step.values, step_context(step, plan.hosts[0].name, {})).duration
        for step in plan.plan.steps
    ]
    trial = sum(each or 0.0 for each in seconds) + len(seconds) * given.pause
    setup = SETUP * (bool(plan.solo_steps) + bool(plan.network_steps)) + given.uncounted * trial
    return Effort(trial, setup, given.every), None not in seconds


def _price(plan: FleetPlan) -> tuple[Price | None, str]:
    """Return the mean price of the groups, or None and why there is no cost; the latter is empty without any price.

    A design has as many hosts of each group.
    """
    stated = [host.attributes for host in plan.hosts]
    prices = [Price(one.price, one.currency) for one in stated if one.price is not None]
    if not prices:
        return None, ""
    if missing := len(stated) - len(prices):
        return None, f"No cost: {count_text(missing, 'host')} without a price."
    try:
        currency = one_currency(prices)
    except PriceError as error:
        return None, f"No cost: {error.message}"
    groups = [[plan.by_name[name].attributes.price or 0.0 for name in names] for names in plan.groups.values()]
    return Price(statistics.fmean(map(statistics.fmean, groups)), currency), ""
