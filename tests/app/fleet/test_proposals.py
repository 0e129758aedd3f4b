"""Designs of the next study by what a study measured: their time, their cost, and why there is none."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.fleet.estimate import SETUP
from app.fleet.planner import FleetGoal, FleetRequest
from app.fleet.proposals import NO_TIME, Proposals, propose_for
from app.fleet.results import FleetResults
from app.host_attributes import HostAttributes
from app.plans.context import step_context
from app.ranking.candidates import Price
from app.services import Workstation
from tests.app.fleet.measured_studies import measured_study
from tests.app.fleet.studies import CPU

REQUEST = FleetRequest(FleetGoal.HALF_WIDTH, 0.05)
STATED = HostAttributes(price=0.36, currency="USD")


@pytest.fixture
def found(workstation: Workstation) -> FleetResults:
    """Return the results of a study of two groups."""
    return workstation.fleet_results(measured_study(workstation, 3, {}).id)


def with_stated(found: FleetResults, *stated: HostAttributes) -> FleetResults:
    """Return results whose hosts have the attributes `stated` in turn."""
    plan = found.study.plan
    hosts = tuple(replace(host, attributes=stated[number % len(stated)]) for number, host in enumerate(plan.hosts))
    return replace(found, study=replace(found.study, plan=replace(plan, hosts=hosts)))


def proposed(found: FleetResults) -> Proposals:
    return propose_for(found, found.metrics[0], REQUEST)


def test_the_time_of_a_trial_is_that_of_every_step_with_the_warm_ups(found: FleetResults) -> None:
    measured, given = found.metrics[0].record.seconds, found.study.plan.plan.repetition
    assert measured is not None
    assert measured > 0
    effort = proposed(found).cost.effort
    assert (effort.trial, effort.setup) == (measured + given.pause, SETUP + given.uncounted * effort.trial)
    plan = found.study.plan.plan
    more = replace(plan, steps=(*plan.steps, CPU), repetition=replace(given, warm_ups=2))
    longer = replace(found, study=replace(found.study, plan=replace(found.study.plan, plan=more)))
    expected = CPU.suite.estimate(CPU.values, step_context(CPU, "a", {})).duration
    assert expected is not None
    effort = proposed(longer).cost.effort
    assert effort.trial == pytest.approx(measured + expected + 2 * given.pause)
    assert effort.setup == pytest.approx(SETUP + 2 * effort.trial)


def test_the_price_is_the_mean_of_the_groups(found: FleetResults) -> None:
    plan = found.study.plan
    dear, *rest = plan.groups
    hosts = [host for host in plan.hosts if host.group != dear or host.name == plan.groups[dear][0]]
    stated = [replace(host, attributes=replace(STATED, price=9.0 if host.group == dear else 1.0)) for host in hosts]
    few = replace(found, study=replace(found.study, plan=replace(plan, hosts=tuple(stated))))
    assert len(rest) == 1
    assert proposed(few).cost.effort.price == Price(5.0, "USD")


def test_the_time_of_a_trial_is_that_of_the_study(found: FleetResults) -> None:
    one = replace(found.metrics[0], record=replace(found.metrics[0].record, seconds=1000.0))
    slower = replace(found, metrics=(one, *found.metrics[1:]))
    assert proposed(slower).designs[0].hours > proposed(found).designs[0].hours
    assert NO_TIME not in proposed(found).notes


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ((STATED, replace(STATED, currency="EUR")), "No cost: Prices in USD and EUR cannot be compared."),
        ((STATED, HostAttributes()), "No cost: 4 hosts without a price."),
    ],
)
def test_why_there_is_no_cost_is_a_note(
    found: FleetResults, stated: tuple[HostAttributes, HostAttributes], reason: str
) -> None:
    proposals = proposed(with_stated(found, *stated))
    assert proposals.designs[0].cost is None
    assert reason in proposals.notes


def test_prices_in_one_currency_or_none_need_no_note(found: FleetResults) -> None:
    for stated in ((STATED, replace(STATED, currency="usd")), (HostAttributes(),)):
        assert not [note for note in proposed(with_stated(found, *stated)).notes if note.startswith("No cost")]


def test_a_goal_of_nothing_is_refused(found: FleetResults, tmp_path: Path) -> None:
    call = partial(CliRunner().invoke, benchwright)
    words = ["--store", str(tmp_path / "runs.sqlite3"), "fleet", "propose", found.study.id]
    for goal in ("--half-width", "--difference"):
        assert call([*words, goal, "0"]).exit_code == 2
        assert call([*words, goal, "5"]).exit_code == 0
