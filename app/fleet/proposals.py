"""Designs of the next study, from the variance that a study measured and from what its trials and hosts cost."""

from dataclasses import replace

from app.fleet.estimate import SETUP
from app.fleet.planner import FleetCost, FleetDesign, FleetRequest, propose_fleet
from app.fleet.results import FleetResults
from app.fleet.study import FleetError, FleetMetric
from app.fleet_study import FleetPlan
from app.plans.context import step_context
from app.ranking.candidates import Price, PriceError, one_currency
from app.sample_size.designs import Effort
from suites.quantities import listed


def propose_from(found: FleetResults, request: FleetRequest, metric: str = "") -> tuple[FleetMetric, list[FleetDesign]]:
    """Return the metric of a study, and the designs that reach the goal, the cheapest first.

    Raises FleetError for a study without the metric, or whose variance is not known.
    """
    known = zip(found.metrics, found.levels, strict=True)
    chosen = [(one, levels) for one, levels in known if levels and metric in {"", one.metric.name}]
    if not chosen:
        names = listed([one.metric.name for one in found.metrics], 8) or "none"
        raise FleetError(f"{found.study.id} has no result of {metric[:60] or 'a metric'}.", f"Its metrics: {names}.")
    one, levels = chosen[0]
    plan = found.study.plan
    effort = Effort(_trial_seconds(plan, one.step), SETUP, plan.plan.repetition.every, _price(plan))
    wanted = replace(request, types=len(one.groups))
    return one, propose_fleet(levels.components, wanted, FleetCost(effort))


def _trial_seconds(plan: FleetPlan, step: str) -> float:
    """Return the seconds of a trial of a step by its estimate; 0 if they are not known."""
    found = plan.plan.step(step)
    return found.suite.estimate(found.values, step_context(found, plan.hosts[0].name, {})).duration or 0.0


def _price(plan: FleetPlan) -> Price | None:
    """Return the mean price of the hosts; None if one has none, or for several currencies."""
    stated = [host.attributes for host in plan.hosts]
    prices = [Price(one.price, one.currency) for one in stated if one.price is not None]
    try:
        currency = one_currency(prices)
    except PriceError:
        return None
    if not prices or len(prices) < len(stated):
        return None
    return Price(sum(price.amount for price in prices) / len(prices), currency)
